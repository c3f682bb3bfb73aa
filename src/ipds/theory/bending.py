"""Whether a smooth function that does not say so is convex, as far as looks at its gradient tell.

    bends_down    its gradient is not monotone between points near each other: two gradients a look
    curves_down   its second derivative has a negative eigenvalue somewhere: n gradients a look, and no direction is
                  missed, where chords at random see the average of n; 2n more where there seems to be one
    seems_convex  no f of a problem curves down near zero, at a few looks

They look around a point, near and far, within the set that the block must stay in. None proves that f is convex.
Where the time of a solve is over (`deadline`) they end, and f may bend down for all that is known.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import scipy

from .._arrays import to_dense
from ..deadline import late, raise_if_late
from ..functions import Nonsmooth, Smooth, SmoothSum
from ..functions.composed import of_fewer
from ..functions.hessians import by_differences, is_still, of_entries
from ..problem import Block, Problem

WIDTHS, CHORDS, SHORT = (0.1, 0.3, 1.0, 3.0, 10.0), 8, 0.3
"""How far around a point the gradient of an f is looked at, in units of its size, between how many pairs of points, and
how near they are to each other in units of that."""
GRADIENTS, LOOKS = 400, (10, 40)
"""Gradients that looks at second derivatives take, and how many of these there are at least and at most."""
SMALL = 1000
"""Entries up to which second derivatives by differences are cheap enough for a function that may be convex."""
FIRST = 4
"""How many there are at most before a first step."""
SHARES = (0.5, 0.9, 0.7)
"""Parts of the way to the nearest points of a set at which these are."""
NEGATIVE = 1e-5
"""An eigenvalue below minus this, in units in which the diagonal is one, is negative."""
NOISE = 1e-8
"""Second derivatives below this part of the slope may be rounding: differences leave some 1e-9 of it."""
STEPS = np.finfo(float).eps ** np.array([0.44, 1 / 3])
"""Of differences to one side and to both, in units of the entries: third derivatives add 1e-7 and 1e-11 of theirs."""


_looked: WeakKeyDictionary[Problem, bool] = WeakKeyDictionary()
"""What `seems_convex` has said of problems: presolve asks it as well as the choice of a method."""


def seems_convex(problem: Problem) -> bool:
    """Whether no f that does not say so bends down around the prox of 0, at a few looks, which are taken once."""
    known = _looked.get(problem)
    if known is not None:
        return known
    unknown = [block for block in problem.blocks if block.f is not None and block.f.is_convex is None]
    seems = not any(map(_curves_near_zero, unknown))
    if not late():
        _looked[problem] = seems
    return seems


def _curves_near_zero(block: Block) -> bool:
    assert block.f is not None
    try:
        x = block.h.prox(np.zeros(block.shape), 1.0)
    except Exception:  # an h of another array library
        return True
    return curves_down(block.f, block.h, x, FIRST)


def bends_down(f: Smooth, h: Nonsmooth, x: np.ndarray) -> bool:
    """Whether f is known not to be convex, or its gradient is not monotone between points around x.

    Where h is a set, they lie in it, halfway to the nearest points of others: beyond it f may bend as it likes.
    """
    if f.is_convex is not None:
        return not f.is_convex
    rng, size = np.random.default_rng(0), float(np.max(np.abs(x), initial=0.0)) or 1.0
    for width in np.repeat(WIDTHS, CHORDS):
        v = x + width * size * rng.standard_normal(x.shape)
        w = v + SHORT * width * size * rng.standard_normal(x.shape)
        if late():
            return True
        v, w = _within(f, h, x, v), _within(f, h, x, w)
        try:
            with np.errstate(all="ignore"):
                rise = float(np.vdot(f.grad(v) - f.grad(w), v - w))
        except (TypeError, ValueError, ArithmeticError):  # not defined so far out
            continue
        if rise < 0:
            return True
    return False


def curves_down(f: Smooth, h: Nonsmooth, x: np.ndarray, most: int = LOOKS[1]) -> bool:
    """Whether f is known not to be convex, or ∇²f has a negative eigenvalue at x or at points around x.

    Also where ∇²f is not known at more than half of them. There are `most` points at most. Of a sum whose terms are
    convex, nothing else is asked. That of a quadratic f is made once: as long as it is the `same` at all points.
    """
    if f.is_convex is not None:
        return not f.is_convex
    if isinstance(f, SmoothSum) and not any(curves_down(term, h, x, most) for term in f.terms):
        return False
    rng, here = np.random.default_rng(0), _derivatives(f, x, _plain(x))
    units = _units(x, here)
    count = min(most, int(np.clip(GRADIENTS // (2 * max(1, x.size)), *LOOKS)))
    seen, same = 0, None
    for width, share in zip((0.0, *np.resize(WIDTHS, count - 1)), np.resize(SHARES, count), strict=True):
        v = _within(f, h, x, x + width * units * rng.standard_normal(x.shape), share) if width else x
        own = np.maximum(np.abs(v), 0.1 * units)
        found = _derivatives(f, v, own, last=same) if width else here
        if found is not None and found[0] is not same and _has_negative(*found, own):
            found = _derivatives(f, v, own, both_sides=True)
            if found is not None and _has_negative(*found, own):
                return True
        if found is not None:
            same = found[0] if not seen or found[0] is same else None
            seen += 1
    return 2 * seen < count


def _within(f: Smooth, h: Nonsmooth, x: np.ndarray, v: np.ndarray, share: float = 0.5) -> np.ndarray:
    """v, or a part of the way from x to the nearest point of a set, or where f is defined."""
    if h.is_set:
        v = (1 - share) * x + share * h.prox(v, 1.0)
    return v if f.domain is None else np.asarray(f.domain.inside(v))


def _plain(x: np.ndarray) -> np.ndarray:
    """How large the entries of x are: as they are, or, where they are 0, as others."""
    return np.where(x == 0, float(np.sqrt(np.mean(np.square(x)))) or 1.0, np.abs(x))


def _units(x: np.ndarray, found: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
    """The same as f bends at x: 1/√(∂²f/∂x_j²) times what makes them as long as x."""
    if found is None or not np.any(x):
        return np.full(x.shape, float(np.sqrt(np.mean(np.square(x)))) or 1.0)
    bend = np.abs(_diagonal(found[0])).reshape(x.shape)
    bend = np.maximum(bend, 1e-12 * np.max(bend)) if np.any(bend) else np.ones(x.shape)
    return float(np.sqrt(np.mean(bend * x**2))) / np.sqrt(bend)


def _derivatives(
    f: Smooth, v: np.ndarray, units: np.ndarray, both_sides: bool = False, last: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """(∇²f, ∇f) at v by differences in `units`, on the flattened block; None where they are not finite, or late.

    The diagonal of ∇²f where it has nothing else. Of g(A x + shift) with fewer entries those of g are moved.
    The `last` matrix, made elsewhere, where it is still that.
    """
    fewer = of_fewer(f, v)
    if fewer is not None:
        own, A = fewer[0], np.asarray(to_dense(fewer[1]), float)
        y = own.inner(v)
        inner = _derivatives(own.f, y, _plain(y), both_sides)
        if inner is None:
            return None
        H, slope = inner
        return A.T @ (H[:, None] * A if H.ndim == 1 else H @ A), A.T @ slope
    steps = STEPS[int(both_sides)] * units.ravel()

    def grad(point: np.ndarray) -> np.ndarray:
        raise_if_late()
        return np.ravel(f.grad(point))

    try:
        with np.errstate(all="ignore"):
            slope = np.array(grad(v), float)
            if last is not None and last.ndim == 2 and is_still(last, grad, v, steps, slope):
                return last, slope
            found = of_entries(grad, v, steps)
            H = by_differences(grad, v, steps, None if both_sides else slope) if found is None else found
    except Exception:  # of the caller's function: a look is not worth one
        return None
    return (H, slope) if np.all(np.isfinite(H)) and np.all(np.isfinite(slope)) else None


def _has_negative(H: np.ndarray, slope: np.ndarray, units: np.ndarray) -> bool:
    """Whether H has an eigenvalue that is negative beyond rounding, in units in which its diagonal is one.

    None is where H + `NEGATIVE` I has a Cholesky factor.
    """
    u = units.ravel()
    steepest = float(np.max(u * np.abs(slope)))
    H = H * u**2 if H.ndim == 1 else u[:, None] * H * u
    largest, diagonal = float(np.max(np.abs(H))), np.abs(_diagonal(H))
    if not 0 < largest < np.inf:
        return False
    floor = max(NOISE / NEGATIVE * steepest, 1e-12 * largest)
    s = 1 / np.sqrt(np.maximum(diagonal, floor) / largest)
    if H.ndim == 1:
        return bool(np.min(H / largest * s**2) < -NEGATIVE)
    shifted = s[:, None] * (H / largest) * s
    shifted.flat[:: len(shifted) + 1] += NEGATIVE
    return scipy.linalg.lapack.dpotrf(shifted, lower=1, clean=0, overwrite_a=1)[1] != 0


def _diagonal(H: np.ndarray) -> np.ndarray:
    return H if H.ndim == 1 else np.diag(H)
