"""Verify derivatives by differences: gradients and curvatures of smooth functions, Jacobians of proxes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays import Array, Shape, to_numpy
from ..operators import Operator
from .adapters import require_nonsmooth, require_smooth
from .checking import CheckReport, show
from .hessians import as_map


def check_gradient(
    f: Any,
    shape: Shape,
    *,
    points: Sequence[Array] | None = None,
    draw: Callable[[np.random.Generator], Array] | None = None,
    seed: int = 0,
    cases: int = 5,
    tol: float = 1e-6,
) -> CheckReport:
    """Check `f.grad` by central differences, `f.value_and_grad` against both, and `f.lipschitz` if given.

    `AssertionError` names the function, the direction's derivative and its difference quotient.

    Parameters
    ----------
    f : any object with `f(x)` and `f.grad(x)`.
    shape : of the points.
    points, draw : points to use, or a function that draws one from a random generator; default: standard normal.
    seed, cases : of the points drawn, and their number.
    tol : relative difference allowed.

    Returns
    -------
    CheckReport : how much was compared, and the worst difference seen.
    """
    f, rng = require_smooth(f, "check_gradient"), np.random.default_rng(seed)
    sample = draw or (lambda r: r.standard_normal(shape))
    xs = [np.asarray(to_numpy(p), dtype=float) for p in points or [sample(rng) for _ in range(cases)]]
    worst, comparisons, name = -math.inf, 0, repr(f)
    for x in xs:
        kept = x.copy()
        value, gradient = f.value_and_grad(x)
        if not (
            np.array_equal(gradient, f.grad(x)) or np.allclose(gradient, f.grad(x), rtol=1e-9, atol=1e-12)
        ):
            raise AssertionError(f"{name}: value_and_grad and grad disagree at x = {show(x)}")
        if not math.isclose(value, f(x), rel_tol=1e-9, abs_tol=1e-12):
            raise AssertionError(f"{name}: value_and_grad says {value}, the value is {f(x)}")
        if gradient.shape != x.shape or not np.array_equal(x, kept):
            raise AssertionError(
                f"{name}: gradient of shape {gradient.shape} for {x.shape}, or the input was changed"
            )
        for direction in (gradient, *rng.standard_normal((4, *x.shape))):
            direction = direction / (np.linalg.norm(direction) or 1.0)
            slope = float(np.sum(gradient * direction))
            quotient, rounding = _difference(f, x, direction)
            excess = abs(slope - quotient) - 10.0 * rounding
            worst = max(worst, excess / (1.0 + float(np.linalg.norm(gradient))))
            comparisons += 1
            if excess > tol * (1.0 + np.linalg.norm(gradient)):
                raise AssertionError(
                    f"{name}: at x = {show(x)} the slope along {show(direction)} is {quotient:.9g} "
                    f"by differences, but the gradient says {slope:.9g}"
                )
    if f.lipschitz is not None:
        comparisons += _check_lipschitz(f, xs, rng)
    return CheckReport(type(f).__name__, len(xs), comparisons, worst)


def check_curvature(
    f: Any,
    shape: Shape,
    *,
    points: Sequence[Array] | None = None,
    seed: int = 0,
    cases: int = 5,
    tol: float = 1e-6,
) -> CheckReport:
    """Check `f.curvature(x, d)` by differences of the gradient, and `f.hessian(x)` against both.

    Parameters
    ----------
    f : any object with `f(x)` and `f.grad(x)`, and what it offers of `curvature` and `hessian`.
    shape : of the points.
    points : points to use; default: `cases` standard normal ones from `seed`.
    tol : difference allowed, relative to ‖∇²f(x) d‖; AssertionError above it.

    Returns
    -------
    CheckReport : how much was compared, and the worst difference seen.

    >>> from ipds.functions import LeastSquares
    >>> check_curvature(LeastSquares(np.eye(3), np.ones(3)), (3,)).worst < 1e-6
    True
    """
    f, rng = require_smooth(f, "check_curvature"), np.random.default_rng(seed)
    xs = [np.asarray(to_numpy(p), dtype=float) for p in points or rng.standard_normal((cases, *shape))]
    worst, comparisons = 0.0, 0
    for x in xs:
        hessian = as_map(f.hessian(x), x.shape)
        for d in rng.standard_normal((4, *x.shape)):
            quotient, rounding = _difference(f.grad, x, d)
            for name, product in (("curvature", f.curvature(x, d)), ("hessian", hessian.apply(d))):
                gap = float(np.abs(product - quotient).max(initial=0.0)) - 100.0 * rounding
                gap /= 1.0 + float(np.abs(quotient).max(initial=0.0))
                worst, comparisons = max(worst, gap), comparisons + 1
                if product.shape != x.shape or gap > tol:
                    raise AssertionError(
                        f"{f!r}: {name} at x = {show(x)} along {show(d)} says {show(product)}, "
                        f"differences of the gradient {show(quotient)}"
                    )
    return CheckReport(type(f).__name__, len(xs), comparisons, worst)


def check_jacobian(
    h: Any,
    shape: Shape,
    *,
    points: Sequence[tuple[Array, float]] | None = None,
    seed: int = 0,
    cases: int = 30,
    tol: float = 1e-5,
) -> CheckReport:
    """Check `h.prox_jacobian(v, step)` by differences of the prox, and that it is symmetric; for convex h, 0 ≼ J ≼ I.

    Differences say something only where the prox is differentiable: where quotients from both sides agree.

    Parameters
    ----------
    h : any object with `h.prox(v, step)` and `h.prox_jacobian(v, step)`.
    shape : of the points; small, as the whole of J is made.
    points : pairs (v, step) to use; default: `cases` random ones from `seed`, of several sizes and steps.
    tol : difference allowed, relative to the largest entry of J; AssertionError above it.

    Returns
    -------
    CheckReport : at how many points, of which `comparisons` with differences, and the worst difference seen.

    >>> from ipds.functions import L2
    >>> check_jacobian(L2(0.5), (3,)).worst < 1e-5
    True
    """
    h, rng = require_nonsmooth(h, "check_jacobian"), np.random.default_rng(seed)
    worst, comparisons, pairs = 0.0, 0, points or [_drawn(rng, shape) for _ in range(cases)]
    for v, step in pairs:
        v = np.asarray(to_numpy(v), dtype=float)
        J, name = _matrix(h, v, step), f"{h!r}.prox_jacobian(v, {step:g}) with v = {show(v)}"
        size = 1.0 + float(np.abs(J).max(initial=0.0))
        if not np.all(np.isfinite(J)) or np.abs(J - J.T).max(initial=0.0) > 1e-9 * size:
            raise AssertionError(f"{name}: not finite or not symmetric: {show(J)}")
        values = np.linalg.eigvalsh(0.5 * (J + J.T)) if J.size else np.zeros(1)
        if h.is_convex and not -1e-9 <= values[0] <= values[-1] <= 1 + 1e-9:
            raise AssertionError(
                f"{name}: eigenvalues from {values[0]:.6g} to {values[-1]:.6g}, not in [0, 1]"
            )
        width = 1e-6 * (1.0 + float(np.abs(v).max(initial=0.0)))
        ahead, behind = _quotients(h, v, step, width), _quotients(h, v, step, -width)
        if np.abs(ahead - behind).max(initial=0.0) > 1e-4 * size:  # a kink near by
            continue
        gap = float(np.abs(J - 0.5 * (ahead + behind)).max(initial=0.0)) / size
        worst, comparisons = max(worst, gap), comparisons + 1
        if gap > tol:
            raise AssertionError(f"{name}: {show(J)}, but differences of the prox say {show(ahead)}")
    return CheckReport(type(h).__name__, len(pairs), comparisons, worst)


def _drawn(rng: np.random.Generator, shape: Shape) -> tuple[np.ndarray, float]:
    """A random point and step: steps over three powers of ten, points from small next to them to large."""
    step = 10.0 ** rng.uniform(-1.5, 1.5)
    return 10.0 ** rng.uniform(-0.5, 1.0) * (1.0 + math.sqrt(step)) * rng.standard_normal(shape), step


def _matrix(h: Any, v: np.ndarray, step: float) -> np.ndarray:
    """J on the flattened block."""
    J = h.prox_jacobian(v, step)
    if J is None:
        raise AssertionError(f"{h!r}: prox_jacobian is not known")
    if isinstance(J, Operator):
        units = np.eye(v.size)
        return np.stack([J.apply(e.reshape(v.shape)).reshape(-1) for e in units], axis=1) if v.size else units
    if J.shape != v.shape:
        raise AssertionError(f"{h!r}: prox_jacobian of shape {J.shape} for v of shape {v.shape}")
    return np.diag(J.reshape(-1))


def _quotients(h: Any, v: np.ndarray, step: float, width: float) -> np.ndarray:
    """Difference quotients of the prox at v, one column for each entry of v."""
    at, units = h.prox(v, step), np.eye(v.size)
    columns = [(h.prox(v + width * e.reshape(v.shape), step) - at).reshape(-1) / width for e in units]
    return np.stack(columns, axis=1) if columns else units


def _difference(function: Callable[[Array], Any], x: np.ndarray, d: np.ndarray) -> tuple[Any, float]:
    """The derivative along d of numbers or arrays, and how much one rounding of them counts in it.

    A central difference quotient, Richardson-extrapolated.
    """
    width = 1e-4 * max(1.0, float(np.linalg.norm(x))) / float(np.linalg.norm(d) or 1.0)
    ends = [function(x + k * width * d) for k in (-2, -1, 1, 2)]
    quotient = (8.0 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / (12.0 * width)
    return quotient, np.finfo(float).eps * max(float(np.max(np.abs(e), initial=0.0)) for e in ends) / width


def _check_lipschitz(f: Any, xs: Sequence[np.ndarray], rng: np.random.Generator) -> int:
    """‖∇f(x) - ∇f(y)‖ ≤ L‖x - y‖ on pairs far and near."""
    pairs = [*itertools.combinations(xs, 2)]
    pairs += [(x, x + w * rng.standard_normal(x.shape)) for x in xs for w in (1e-3, 1.0, 100.0)]
    for x, y in pairs:
        rise, run = np.linalg.norm(f.grad(x) - f.grad(y)), np.linalg.norm(x - y)
        if rise > f.lipschitz * run * (1.0 + 1e-9) + 1e-9:
            raise AssertionError(
                f"{f!r}: the gradient moves by {rise:.6g} over a distance {run:.6g}, "
                f"more than lipschitz = {f.lipschitz:g} allows"
            )
    return len(pairs)
