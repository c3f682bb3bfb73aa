"""Verify a function before trusting it: is its prox a global minimiser?

Our own tests call these; call them on functions of your own. NumPy arrays by default, any array API library
through `xp`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, Shape, to_numpy
from .adapters import called, require_nonsmooth

STEPS = (1e-3, 1e-2, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0, 1e3)
GRID = 2001
"""Points on the line that sums over entries are compared at."""


@dataclass(frozen=True)
class CheckReport:
    """What was looked at: how many cases, how many comparisons, and the worst (relative) excess seen."""

    name: str
    cases: int
    comparisons: int
    worst: float


def check_prox(
    h: Any,
    shape: Shape,
    *,
    steps: Sequence[float] = STEPS,
    points: Sequence[Array] | None = None,
    seed: int = 0,
    dtype: str = "float64",
    xp: Any = np,
    tol: float | None = None,
) -> CheckReport:
    """Check that `h.prox(v, step)` is a *global* minimiser of h(u) + ‖u - v‖²/(2 step), up to rounding.

    Over the steps and over points v (random ones of several sizes, zeros of both signs and ties; or those
    given), the objective at the returned point is compared with many others. For sums over entries, which
    offer `terms(x)`: a dense grid per entry. For all others: changed entries, other prox points, perturbed,
    scaled, permuted, sparsified and low-rank points. The input must be left alone, dtype and shape kept, and
    the value at the result be finite.
    `AssertionError` names the function, the step and the better point.

    Parameters
    ----------
    h : any object with `h(x)` and `h.prox(v, step)`.
    shape : of the points.
    steps : steps to try; 1e-3 to 1e3 by default.
    points : points v in place of random ones.
    seed, dtype, xp : of the random points, and the array library to hand them over in.
    tol : excess of the objective allowed, relative; default: rounding of the dtype.

    Returns
    -------
    CheckReport : how much was compared, and the worst excess seen.

    >>> from ipds.functions import L1
    >>> check_prox(L1(0.5), (3,)).worst < 1e-10
    True
    """
    require_nonsmooth(h, "check_prox")
    rng = np.random.default_rng(seed)
    tol = tol or (1e-9 if dtype == "float64" else 2e-5)
    given = [np.asarray(to_numpy(p), dtype=dtype) for p in points or []]
    worst, cases, comparisons = -math.inf, 0, 0
    earlier: list[np.ndarray] = []
    for step in steps:
        for v in given or _points(rng, shape, step, dtype):
            case = _Case(h, v, step, xp, tol)
            earlier = [*earlier[-3:], case.u]
            cases += 1
            if hasattr(h, "terms"):
                excess, extra = _grid_search(case)
                worst, comparisons = max(worst, excess), comparisons + extra
                continue
            others = list(_competitors(rng, case, earlier))
            worst = max(worst, case.compare(others))
            comparisons += len(others)
    return CheckReport(type(h).__name__, cases, comparisons, worst)


class _Case:
    """One prox call: what it returned, and how other points compare with it."""

    def __init__(self, h: Any, v: np.ndarray, step: float, xp: Any, tol: float) -> None:
        self.h, self.v, self.step, self.xp, self.tol = h, v, step, xp, tol
        arg = xp.asarray(v.copy())
        u = h.prox(arg, step)
        if not np.array_equal(to_numpy(arg), v, equal_nan=True):
            raise AssertionError(f"{self.name}: the input was changed")
        if type(u) is not type(arg):
            raise AssertionError(f"{self.name}: returned a {type(u).__name__}, expected {type(arg).__name__}")
        if u.dtype != arg.dtype or tuple(u.shape) != v.shape:
            raise AssertionError(f"{self.name}: returned {u.dtype} {u.shape}, expected {arg.dtype} {v.shape}")
        if xp is np and np.shares_memory(u, arg):
            raise AssertionError(f"{self.name}: the result shares memory with the input")
        self.u = np.array(to_numpy(u))
        self.h_u = self.value(self.u)
        if not math.isfinite(self.h_u):
            raise AssertionError(f"{self.name}: value {self.h_u} at the result {show(self.u)}, not finite")
        self.objective = self.h_u + _half_square(self.u - v) / step
        self.eps = float(np.finfo(v.dtype).eps)
        self.size = _half_square(v) + _half_square(self.u)

    @property
    def name(self) -> str:
        return f"{called(self.h)}.prox(v, {self.step:g}) with v = {show(self.v)}"

    def value(self, x: np.ndarray) -> float:
        return float(self.h(self.xp.asarray(x.astype(self.v.dtype))))

    def compare(self, others: Sequence[tuple[str, np.ndarray]]) -> float:
        """The best relative gain among `others` over u; raises where one is more than rounding."""
        found = [(label, x.astype(self.v.dtype)) for label, x in others]
        values = [self.value(x) for _, x in found]
        scale = abs(self.h_u) + (_half_square(self.u - self.v) + 1e-12 * self.size) / self.step + 1e-300
        room = self.tol * scale
        bounded = math.inf in values
        if bounded:  # members of a set are members up to √eps: allow others what that slack can win
            room += 8.0 * math.sqrt(self.eps) * (abs(self.h_u) + self.size / self.step)
        worst = -math.inf
        for (label, other), value in zip(found, values, strict=True):
            if value == math.inf:
                continue
            gain = self.objective - value - _half_square(other - self.v) / self.step
            worst = max(worst, gain / (scale + room))
            if gain > room:
                raise AssertionError(
                    f"{self.name}: not a global minimiser. Returned {show(self.u)} with objective "
                    f"{self.objective:.12g}; the {label} {show(other)} is better by {gain:.3g}"
                )
            if getattr(self.h, "is_convex", False) and not bounded:
                self.first_order(label, other, value, max(values))
        return worst

    def first_order(self, label: str, other: np.ndarray, value: float, top: float) -> None:
        """Convex h: (v - u)/step must be a subgradient at u; sees errors the objective only has squared."""
        apart = other.astype(float) - self.u
        slope = (self.v.astype(float) - self.u) / self.step
        gain = self.h_u + float(np.sum(slope * apart)) - value
        distance = float(np.linalg.norm(apart))
        room = self.tol * (abs(self.h_u) + abs(value) + distance * float(np.linalg.norm(slope)))
        room += 50.0 * self.eps * (distance * math.sqrt(2.0 * self.size) / self.step + top)
        if gain > room:
            raise AssertionError(
                f"{self.name}: (v - u)/step is no subgradient at the result {show(self.u)}: "
                f"the inequality fails at the {label} {show(other)} by {gain:.3g}"
            )


def _half_square(x: np.ndarray) -> float:
    return 0.5 * float(np.sum(x.astype(float) ** 2))


def show(x: np.ndarray) -> str:
    """x in a message: few digits, few entries."""
    return np.array2string(x, precision=6, threshold=8).replace("\n", " ")


def _points(rng: np.random.Generator, shape: Shape, step: float, dtype: str) -> Iterator[np.ndarray]:
    """Points that find the borders: several sizes, zeros of both signs, ties."""
    for size in (0.1, 1.0, 10.0, math.sqrt(step), step):
        yield (size * rng.standard_normal(shape)).astype(dtype)
    yield np.zeros(shape, dtype)
    yield np.full(shape, -0.0, dtype)
    yield np.round(rng.standard_normal(shape)).astype(dtype)  # ties and zeros
    yield np.full(shape, 1.5 * math.sqrt(step), dtype)


def _competitors(
    rng: np.random.Generator, case: _Case, earlier: Sequence[np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """Points that could be better than u, most of them in the domain of h."""
    u, v, step = case.u, case.v, case.step
    size = max(float(np.max(np.abs(v), initial=0.0)), float(np.max(np.abs(u), initial=0.0)), 1e-3)

    def prox(at: np.ndarray, s: float) -> np.ndarray:
        return np.asarray(to_numpy(case.h.prox(case.xp.asarray(at.astype(v.dtype)), s)))

    yield "input", v
    yield "origin", np.zeros_like(v)
    for old in earlier:
        yield "earlier result", old
    for s in (1e-6 * step, 0.3 * step, 3.0 * step, 1e3 * step):
        yield f"prox with step {s:g}", prox(v, s)
    for noise in (1e-6, 1e-3, 0.1, 1.0):
        nudge = noise * size * rng.standard_normal(v.shape)
        yield "perturbed result", u + nudge
        for at, s in itertools.product((v + nudge, u + nudge), (1e-6 * step, step)):
            yield "prox of a perturbed point", prox(at, s)
    for factor in (-1.0, 0.5, 0.99, 1.01, 2.0):
        yield "scaled result", factor * u
        yield "scaled input", factor * v
    for part in (0.01, 0.5, 0.99):
        yield "mean of result and input", (1.0 - part) * u + part * v
    yield from _structured(rng, u, v, size)


def _structured(
    rng: np.random.Generator, u: np.ndarray, v: np.ndarray, size: float
) -> Iterator[tuple[str, np.ndarray]]:
    """Coordinate changes, permutations, low rank, constant, thresholded."""
    flat = u.reshape(-1)
    for i in rng.permutation(flat.size)[:6]:
        for value in (
            0.0,
            v.reshape(-1)[i],
            -flat[i],
            flat[i] + 1e-3 * size,
            flat[i] - 1e-3 * size,
            size,
            -size,
        ):
            changed = flat.copy()
            changed[i] = value
            yield "result with one entry changed", changed.reshape(u.shape)
    for _ in range(3):
        yield "permuted result", rng.permutation(flat).reshape(u.shape)
    yield "rounded result", np.round(u)
    if flat.size:
        yield "mean of the input", np.full_like(v, v.mean())
        for level in rng.uniform(0.0, size, 4):
            yield "hard-thresholded input", np.where(np.abs(v) > level, v, 0.0)
            yield "soft-thresholded input", np.sign(v) * np.maximum(np.abs(v) - level, 0.0)
    if u.ndim == 2 and min(u.shape) > 1:
        left, s, right = np.linalg.svd(v.astype(float), full_matrices=False)
        for k in range(1, min(u.shape)):
            yield "truncated input", (left[:, :k] * s[:k]) @ right[:k]
        for i in range(u.shape[0]):
            changed = u.copy()
            changed[i] = 0.0
            yield "result without one row", changed


def _grid_search(case: _Case) -> tuple[float, int]:
    """For sums over entries: all entries at once, each over a dense grid, special points and nearby ones."""
    u, v, step = case.u.astype(float), case.v.astype(float), case.step
    far = 1.5 * float(np.max(np.abs(np.stack([u, v])), initial=1e-3))
    line = np.concatenate([np.linspace(-far, far, GRID), np.geomspace(1e-9 * far, far, GRID // 4)])
    line = np.concatenate([line, -line[GRID:], [0.0]])
    trial = np.broadcast_to(line.reshape((-1,) + (1,) * u.ndim), (len(line), *u.shape))
    local = u + 1e-4 * far * np.linspace(-1.0, 1.0, 201).reshape((-1,) + (1,) * u.ndim)
    trial = np.concatenate([trial, local, v[None], -u[None], 0.5 * (u + v)[None]]).astype(case.v.dtype)

    def objective(x: np.ndarray) -> np.ndarray:
        terms = to_numpy(case.h.terms(case.xp.asarray(x))).astype(float)
        return terms + (x.astype(float) - v) ** 2 / (2.0 * step)

    here = objective(case.u[None])
    gain = (here - objective(trial)).max(axis=0)
    room = np.abs(here[0]) + (u**2 + v**2) / step * 1e-4 + 1e-300
    excess = gain / room
    if np.any(excess > case.tol):
        i = np.unravel_index(int(np.argmax(excess)), u.shape)
        best = np.take_along_axis(trial, np.argmin(objective(trial), axis=0)[None], axis=0)[0][i]
        raise AssertionError(
            f"{case.name}: not a global minimiser at entry {tuple(map(int, i))}, v = {v[i]:.9g}: "
            f"returned {u[i]:.9g}, but {best:.9g} is better by {gain[i]:.3g}"
        )
    return float(np.max(excess, initial=0.0)), trial.size
