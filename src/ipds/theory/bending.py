"""Whether a smooth function that does not say so is convex, as far as looks at its gradient tell.

    bends_down    its gradient is not monotone between points near each other: two gradients a look
    curves_down   its second derivative has a negative eigenvalue somewhere: 2n gradients a look, and no direction is
                  missed, where chords at random see the average of n
    seems_convex  no f of a problem curves down near zero, at a few looks

They look around a point, near and far, within the set that the block must stay in. None proves that f is convex.
Where the time of a solve is over (`deadline`) they end, and f may bend down for all that is known.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..deadline import late
from ..functions import Nonsmooth, Smooth
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


def seems_convex(problem: Problem) -> bool:
    """Whether no f that does not say so bends down around the prox of 0, at a few looks."""
    return not any(
        block.f is not None and block.f.is_convex is None and _curves_near_zero(block)
        for block in problem.blocks
    )


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

    Also where ∇²f is not known at more than half of them. There are `most` points at most.
    """
    if f.is_convex is not None:
        return not f.is_convex
    rng, units = np.random.default_rng(0), _units(f, x)
    count = min(most, int(np.clip(GRADIENTS // (2 * max(1, x.size)), *LOOKS)))
    seen = 0
    for width, share in zip((0.0, *np.resize(WIDTHS, count - 1)), np.resize(SHARES, count), strict=True):
        v = _within(f, h, x, x + width * units * rng.standard_normal(x.shape), share) if width else x
        H = _second_derivative(f, v, np.maximum(np.abs(v), 0.1 * units))
        if H is None:
            continue
        seen += 1
        if _has_negative(*H):
            return True
    return 2 * seen < count


def _within(f: Smooth, h: Nonsmooth, x: np.ndarray, v: np.ndarray, share: float = 0.5) -> np.ndarray:
    """v, or a part of the way from x to the nearest point of a set, or where f is defined."""
    if h.is_set:
        v = (1 - share) * x + share * h.prox(v, 1.0)
    return v if f.domain is None else np.asarray(f.domain.inside(v))


def _units(f: Smooth, x: np.ndarray) -> np.ndarray:
    """How large the entries of x are: as f bends, 1/√(∂²f/∂x_j²) times what makes them as long as x."""
    size = float(np.sqrt(np.mean(np.square(x)))) or 1.0
    plain = np.where(x == 0, size, np.abs(x))
    H = _second_derivative(f, x, plain)
    if H is None or not np.any(x):
        return np.full(x.shape, size)
    bend = np.abs(np.diag(H[0])).reshape(x.shape) / plain**2
    bend = np.maximum(bend, 1e-12 * np.max(bend)) if np.any(bend) else np.ones(x.shape)
    return float(np.sqrt(np.mean(bend * x**2))) / np.sqrt(bend)


def _second_derivative(f: Smooth, v: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, float] | None:
    """(U ∇²f U, max |U ∇f|) at v with U = diag(units), by central differences; None where it is not finite, or late."""
    t, rows = np.finfo(float).eps ** (1 / 3), []
    try:
        with np.errstate(all="ignore"):
            for d in _directions(units):
                if late():
                    return None
                rows.append((f.grad(v + t * d) - f.grad(v - t * d)).ravel() / (2 * t))
            slope = float(np.max(np.abs(units * f.grad(v))))
            H = np.stack(rows) * units.ravel()
            H = 0.5 * (H + H.T)
    except Exception:  # of the caller's function: a look is not worth one
        return None
    return (H, slope) if np.all(np.isfinite(H)) and np.isfinite(slope) else None


def _directions(units: np.ndarray) -> Iterator[np.ndarray]:
    for j, unit in enumerate(units.ravel()):
        d = np.zeros(units.size)
        d[j] = unit
        yield d.reshape(units.shape)


def _has_negative(H: np.ndarray, slope: float) -> bool:
    """Whether H has an eigenvalue that is negative beyond rounding, in units in which its diagonal is one."""
    diagonal = np.diag(H)
    floor = max(NOISE / NEGATIVE * slope, 1e-12 * float(np.max(np.abs(diagonal))), np.finfo(float).tiny)
    s = 1 / np.sqrt(np.maximum(np.abs(diagonal), floor))
    return bool(np.linalg.eigvalsh(s[:, None] * H * s)[0] < -NEGATIVE)
