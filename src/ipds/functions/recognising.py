"""What a user's own h is, told by its prox: an entrywise function with one kink and bounds has a prox of four slopes.

For h(u) = Σ max(left(u - place), right(u - place)) + [lower ≤ u ≤ upper] the prox of every entry is

    prox(v, s) = clip(v - clip(v - place, s·left, s·right), lower, upper).

Far out it is v - s·right or v - s·left, or stands at a bound; in the middle of a long step it stands at the kink. That
gives the numbers, and the formula has to give the prox at other points as well, over many orders of magnitude.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Array, Shape, choose, namespace, scalar, to_numpy, truth
from ..deadline import raise_if_late
from .adapters import InUnits
from .base import Nonsmooth
from .kinks import Kinks
from .rescaling import one_unit, units
from .scalar import fit, own_step
from .sets import slack

FAR = 1e7
"""How far out the prox is looked at first, with a step of 1."""
LARGE = 100_000
"""Entries of a block up to which its prox is looked at."""
NEAR = 1e-7
"""Half of the distance of two points whose prox is compared, in units of theirs."""
TRIALS = 24
"""Points at which the formula has to hold."""
BETWEEN = 64
"""Steps from bound to bound in which gaps are looked for."""
ENOUGH = 1e-9
"""To which fraction of what it is computed from."""
WIDE, LINES, ROUNDED = 8, 2, 1e-6
"""Orders of magnitude, up and down from 1, over which values are looked at, along how many lines, and what is rounding
there."""
ODD = 1.2345
"""A number that is no place of jumps."""
ALONG = np.concatenate(
    [-np.logspace(WIDE, -WIDE, 2 * WIDE + 1), [0.0], np.logspace(-WIDE, WIDE, 2 * WIDE + 1)]
)
"""Where on these lines."""


class PiecewiseLinear(Nonsmooth):
    """h(x) = Σ max(l_i (x_i - p_i), r_i (x_i - p_i)) for lo ≤ x ≤ hi, with the numbers of `Kinks`.

    prox(v, s) = clip(v - clip(v - p, s l, s r), lo, hi).
    """

    is_convex = True
    is_entrywise = True

    def __init__(self, kinks: Kinks) -> None:
        self._kinks = kinks
        self.is_set = not (np.any(to_numpy(kinks.left)) or np.any(to_numpy(kinks.right)))

    def _numbers(self, x: Array) -> Kinks:
        return Kinks(*[fit(value, x) for value in self._kinks])

    def __call__(self, x: Array) -> float:
        xp, (left, right, place, lower, upper) = namespace(x), self._numbers(x)
        room = slack(x) * (1.0 + xp.abs(x))
        inside = truth(xp.all((x >= lower - room) & (x <= upper + room)))
        return choose(inside, scalar(xp.sum(xp.maximum(left * (x - place), right * (x - place)))), math.inf)

    def prox(self, v: Array, step: Any) -> Array:
        xp, (left, right, place, lower, upper) = namespace(v), self._numbers(v)
        step = own_step(step, v)
        return xp.clip(v - xp.clip(v - place, step * left, step * right), lower, upper)

    def prox_jacobian(self, v: Array, step: Any) -> Array:
        """0 at the kink and at bounds, else 1."""
        xp, (left, right, place, lower, upper) = namespace(v), self._numbers(v)
        step = own_step(step, v)
        shift = v - place
        u = v - xp.clip(shift, step * left, step * right)
        held = (shift >= step * left) & (shift <= step * right) & (left < right)
        return xp.astype(~(held | (u <= lower) | (u >= upper)), v.dtype)

    def subgradient(self, x: Array) -> Array:
        xp, (left, right, place, _, _) = namespace(x), self._numbers(x)
        return xp.where(x > place, right, xp.where(x < place, left, 0.5 * (left + right)))

    def lipschitz(self, shape: Shape) -> float:
        left, right, _, lower, upper = (to_numpy(value) for value in self._kinks.filled(shape))
        bounded = np.any(np.isfinite(lower)) or np.any(np.isfinite(upper))
        return math.inf if bounded else float(np.linalg.norm(np.maximum(np.abs(left), np.abs(right))))

    def kinks(self, shape: Shape) -> Kinks:
        return self._kinks

    def rescaled(self, d: float | Array) -> PiecewiseLinear:
        """u ↦ h(d·u): the slopes times d, the places over d."""
        return PiecewiseLinear(self._kinks.of(units(d)))


def recognised(h: Nonsmooth, shape: Shape) -> PiecewiseLinear | None:
    """h up to a constant, where it is entrywise with one kink and bounds, and says so by its prox alone; else None.

    >>> class Absolute:
    ...     def __call__(self, x): return 2.0 * float(np.sum(np.abs(x - 1.0)))
    ...     def prox(self, v, step): return v - np.clip(v - 1.0, -2.0 * step, 2.0 * step)
    >>> found = recognised(Absolute(), (3,))
    >>> [float(value[0]) for value in found.kinks((3,))]
    [-2.0, 2.0, 1.0, -inf, inf]
    """

    def look(rng: np.random.Generator) -> PiecewiseLinear | None:
        found = _numbers(h, shape) if _is_entrywise(h, shape, rng) else None
        if found is None or not _holds(h, found, shape, rng) or not _has_no_gap(h, shape):
            return None
        return found if _costs_as_much(h, found, shape, rng) else None

    return _looked_at(shape, look)


def _looked_at(shape: Shape, look: Callable[[np.random.Generator], Any]) -> Any:
    """What a look finds by asking a prox at random points; None for large blocks, and where it takes no such points.

    None as well where the time is over before it is found.
    """
    if math.prod(shape) > LARGE:
        return None
    try:
        with np.errstate(all="ignore"):
            return look(np.random.default_rng(0))
    except Exception:  # solves will tell where the prox fails
        return None


def _asked(h: Nonsmooth, v: np.ndarray, step: float) -> np.ndarray:
    raise_if_late()
    u = np.asarray(to_numpy(h.prox(v, step)), dtype=float)
    if u.shape != v.shape or not np.all(np.isfinite(u)):
        raise ValueError
    return u


def _value(h: Any, v: np.ndarray) -> float:
    raise_if_late()
    return float(h(v))


def _is_entrywise(h: Nonsmooth, shape: Shape, rng: np.random.Generator) -> bool:
    """Whether entries stay where they are while others move."""
    v, half = rng.standard_normal(shape), rng.random(shape) < 0.5
    for size in (1.0, 1e3):
        moved = np.where(half, size * v, size * rng.standard_normal(shape))
        if np.any((_asked(h, size * v, 1.0) != _asked(h, moved, 1.0)) & half):
            return False
    return True


def _numbers(h: Nonsmooth, shape: Shape) -> PiecewiseLinear | None:
    """The function whose prox it would be."""
    far = np.full(shape, FAR)
    upper, lower = _bound(h, far), _bound(h, -far)
    right, left = _slope(h, far, np.isfinite(upper)), _slope(h, -far, np.isfinite(lower))
    both = np.isfinite(lower) & np.isfinite(upper)
    if np.any(both):  # linear between two bounds
        middle = np.where(both, 0.5 * (lower + upper), 0.0)
        step = 1e-3 * np.min((upper - lower)[both]) if np.any((upper > lower)[both]) else 1.0
        inside = (middle - _asked(h, middle, step)) / step
        left, right = np.where(both, inside, left), np.where(both, inside, right)
    left = np.where(np.isfinite(lower) & ~both, right, left)  # linear up to its bound
    right = np.where(np.isfinite(upper) & ~both, left, right)
    if not np.all(left <= right):
        return None
    place = np.zeros(shape)
    kinked = right - left > ENOUGH * (np.abs(left) + np.abs(right))
    if np.any(kinked):
        step = 4 * FAR / float(np.min((right - left)[kinked]))
        at = _asked(h, 0.5 * step * (left + right), step)
        place = np.where(kinked, at, 0.0)
    right = np.where(kinked, right, left)
    return PiecewiseLinear(Kinks(left, right, place, lower, upper))


def _bound(h: Nonsmooth, far: np.ndarray) -> np.ndarray:
    """Where the prox stands still far out; infinite where it does not."""
    near, further = _asked(h, far, 1.0), _asked(h, 2 * far, 1.0)
    return np.where(near == further, near, np.sign(far) * math.inf)


def _slope(h: Nonsmooth, far: np.ndarray, bounded: np.ndarray) -> np.ndarray:
    """The slope of h far out, with a step so long that the prox moves about as far; 0 where a bound is there."""
    slope = np.where(bounded, 0.0, far - _asked(h, far, 1.0))
    size = float(np.max(np.abs(slope)))
    if size == 0.0:
        return slope
    step = FAR / (4 * size)
    return np.where(bounded, 0.0, (far - _asked(h, far, step)) / step)


def _holds(h: Nonsmooth, found: PiecewiseLinear, shape: Shape, rng: np.random.Generator) -> bool:
    """Whether the formula gives the prox at points near the kink and the bounds, and far from them."""
    left, right, place, lower, upper = (to_numpy(value) for value in found.kinks(shape).filled(shape))
    finite = [np.abs(value[np.isfinite(value)]) for value in (place, lower, upper)]
    size = max([float(np.max(value, initial=0.0)) for value in finite]) or 1.0
    steep = float(np.max(np.maximum(np.abs(left), np.abs(right)))) or 1.0
    centres = [place, np.where(np.isfinite(lower), lower, place), np.where(np.isfinite(upper), upper, place)]
    for trial in range(TRIALS):
        step = size / steep * 10.0 ** rng.uniform(-4, 4)
        reach = max(step * steep, size * 10.0 ** rng.uniform(-6, 2))
        v = centres[trial % 3] + reach * rng.uniform(-3, 3, shape)
        close = ENOUGH * (np.abs(v) + reach * (trial % 2) + np.abs(place))
        if np.any(np.abs(found.prox(v, step) - _asked(h, v, step)) > close):
            return False
    return True


class Sloped(InUnits):
    """A convex entrywise h known by its prox alone, with the derivative of that by differences.

    One difference gives the derivatives of all entries, as none depends on another.
    """

    def __init__(self, h: Nonsmooth, d: float):
        super().__init__(h, d)
        self.is_convex = True

    def prox_jacobian(self, v: Array, step: float) -> Array:
        """(prox(v + e) - prox(v - e))/2e, a number between 0 and 1 for every entry."""
        xp = namespace(v)
        e = NEAR * (xp.abs(v) + xp.max(xp.abs(v)) + 1e-300)
        return xp.clip((self.prox(v + e, step) - self.prox(v - e, step)) / (2 * e), 0.0, 1.0)

    def rescaled(self, d: float | Array) -> Sloped | None:
        unit = one_unit(d)
        return None if unit is None else Sloped(self.h, self.d * unit)


def sloped(h: Nonsmooth, shape: Shape) -> Sloped | None:
    """h with the derivative of its prox, where h is seen to be entrywise and convex, and offers none; else None.

    A function of one variable is convex if and only if its prox never falls and never moves further than its argument:
    Moreau, Proximité et dualité dans un espace hilbertien, Bull. Soc. Math. France 93 (1965).
    """

    def look(rng: np.random.Generator) -> Sloped | None:
        if h.prox_jacobian(np.zeros(shape), 1.0) is not None or not _is_entrywise(h, shape, rng):
            return None
        convex = _is_nonexpansive(h, shape, rng) and _is_convex_far_out(h, shape, rng)
        return Sloped(h, 1.0) if convex else None

    return _looked_at(shape, look)


def _is_nonexpansive(h: Nonsmooth, shape: Shape, rng: np.random.Generator) -> bool:
    """Whether 0 ≤ prox(v + d) - prox(v) ≤ d for all d ≥ 0 that are tried."""
    for _ in range(2 * TRIALS):
        v = rng.standard_normal(shape) * 10.0 ** rng.uniform(-4, 4, shape)
        d = np.abs(v) * 10.0 ** rng.uniform(-2, 1, shape)
        step = 10.0 ** rng.uniform(-3, 3)
        moved = _asked(h, v + d, step) - _asked(h, v, step)
        room = ENOUGH * (np.abs(v) + d)
        if np.any((moved < -room) | (moved > d + room)):
            return False
    return _has_no_gap(h, shape)


def _has_no_gap(h: Nonsmooth, shape: Shape) -> bool:
    """Whether the prox moves no further than its argument all the way from bound to bound, where there are two."""
    upper, lower = _bound(h, np.full(shape, FAR)), _bound(h, np.full(shape, -FAR))
    both = np.isfinite(lower) & np.isfinite(upper)
    low, span = np.where(both, lower, 0.0), np.where(both, upper - lower, 0.0)
    if not np.any(span > 0):
        return True
    size = ENOUGH * (np.abs(low) + span)
    points = np.array([_asked(h, low + share * span, ENOUGH) for share in np.linspace(0, 1, BETWEEN + 1)])
    return not np.any(np.diff(points, axis=0) > span / BETWEEN + size)


def _lines(shape: Shape, rng: np.random.Generator) -> list[np.ndarray]:
    """Points along lines through 0, from far on one side to far on the other.

    The entries of the first are alike, those of the others of any size and sign.
    """
    along = ALONG.reshape(-1, *(1 for _ in shape))
    sizes = [10.0 ** rng.uniform(-WIDE / 2, WIDE / 2, shape) for _ in range(LINES)]
    ways = [np.ones(shape), *(rng.choice([-1.0, 1.0], shape) * size for size in sizes)]
    return [along * way for way in ways]


def _costs_as_much(h: Nonsmooth, found: PiecewiseLinear, shape: Shape, rng: np.random.Generator) -> bool:
    """Whether values differ by a constant, at points of any size: a prox does not tell of jumps that it passes over."""
    *_, lower, upper = (to_numpy(value) for value in found.kinks(shape).filled(shape))
    points = np.clip(np.concatenate(_lines(shape, rng)), lower, upper)
    pairs = np.array([(_value(h, v), found(v)) for v in points])
    pairs = pairs[np.all(np.isfinite(pairs), axis=1)]
    rest, size = pairs[:, 0] - pairs[:, 1], np.abs(pairs).sum(axis=1)
    return not np.any(np.abs(rest[:, None] - rest) > ROUNDED * (size[:, None] + size))


def _is_convex_far_out(h: Nonsmooth, shape: Shape, rng: np.random.Generator) -> bool:
    """Whether no value along lines is above the chord between those next to it."""
    gaps = np.diff(ALONG)
    share = gaps[1:] / (gaps[:-1] + gaps[1:])
    for points in _lines(shape, rng):
        values = np.array([_value(h, v) for v in points])
        below, middle, above = values[:-2], values[1:-1], values[2:]
        chord = share * below + (1 - share) * above
        room = ROUNDED * (np.abs(below) + np.abs(middle) + np.abs(above))
        if np.any(np.isfinite(chord) & ~(middle <= chord + room)):
            return False
    return True


def is_flat(h: Any, shape: Shape) -> bool:
    """Whether h counts, as far as its values tell: they are the same next to points of any size."""
    points = ODD * np.concatenate(_lines(shape, np.random.default_rng(0)))
    try:
        with np.errstate(all="ignore"):
            return all(_value(h, v) == _value(h, (1 + NEAR) * v) for v in points)
    except Exception:  # solves will tell where it fails
        return False


def is_said_not_convex(h: Any) -> bool:
    """Whether a user's own function, or the one that it wraps, says that it is not convex: not by a default."""
    while isinstance(getattr(h, "h", None), Nonsmooth):
        h = h.h
    own = getattr(h, "function", h)
    classes = itertools.takewhile(lambda c: c is not Nonsmooth, type(own).__mro__)
    said = [named["is_convex"] for named in (vars(own), *map(vars, classes)) if "is_convex" in named]
    return bool(said) and not said[0]


def own_of_user(h: Any) -> bool:
    """Whether a function is a user's own, or such a one in other units, and nothing but its prox is known of it."""
    while not isinstance(h, PiecewiseLinear) and hasattr(h, "h") and isinstance(h.h, Nonsmooth):
        h = h.h
    return hasattr(h, "function") or not type(h).__module__.startswith("ipds.")
