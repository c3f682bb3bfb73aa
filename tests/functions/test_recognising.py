"""A user's own h is recognised by its prox where it has one kink and bounds in every entry, and only there."""

import math

import numpy as np
import pytest

from ipds.functions import (
    L1,
    MCP,
    Box,
    Hinge,
    Huber,
    L2Ball,
    LHalf,
    LogisticLoss,
    Quantile,
    Scaled,
    Simplex,
    Translated,
    check_prox,
)
from ipds.functions.adapters import UserNonsmooth
from ipds.functions.kinks import Kinks
from ipds.functions.recognising import PiecewiseLinear, own_of_user, recognised, sloped
from problems import Missed

rng = np.random.default_rng(3)
WEIGHTS = 10.0 ** rng.uniform(-4, 4, 7)
CENTRES = rng.normal(size=7) * 10.0 ** rng.uniform(-3, 5, 7)


class OnlyProx:
    """A function of the library that shows its value and its prox, and nothing else."""

    def __init__(self, h):
        self._hidden = h

    def __call__(self, x):
        return self._hidden(x)

    def prox(self, v, step):
        return self._hidden.prox(v, step)


@pytest.mark.parametrize(
    "h",
    [
        L1(2.0),
        L1(WEIGHTS),
        Translated(L1(0.3), CENTRES),
        Hinge(1e-3),
        Quantile(0.8, 50.0),
        Box(-1.0, 3.0),
        Box(0.0, math.inf),
        Box(-math.inf, CENTRES),
        Box(1.5, 1.5),
        Scaled(L1(1.0), 1e6),
    ],
    ids=repr,
)
def test_slopes_kinks_and_bounds_are_found(h):
    found = recognised(OnlyProx(h), (7,))
    assert found is not None
    left, right, place, lower, upper = h.kinks((7,)).filled((7,))
    own = found.kinks((7,)).filled((7,))
    np.testing.assert_allclose(own.lower, lower)
    np.testing.assert_allclose(own.upper, upper)
    np.testing.assert_allclose(own.left, left, rtol=1e-9, atol=1e-12 * np.max(np.abs(left)))
    np.testing.assert_allclose(own.right, right, rtol=1e-9, atol=1e-12 * np.max(np.abs(right)))
    kinked = left < right
    np.testing.assert_allclose(own.place[kinked], place[kinked], rtol=1e-9, atol=1e-12)


class Insensitive:
    """max(|x| - 1e-3, 0): two kinks, near each other."""

    def __call__(self, x):
        return float(np.maximum(np.abs(x) - 1e-3, 0.0).sum())

    def prox(self, v, step):
        near = np.clip(v, -1e-3, 1e-3)
        return near + np.sign(v - near) * np.maximum(np.abs(v - near) - step, 0.0)


class Hard:
    """λ‖x‖₀."""

    def __call__(self, x):
        return float(np.count_nonzero(x))

    def prox(self, v, step):
        return np.where(np.abs(v) > math.sqrt(2.0 * step), v, 0.0)


class Refuses:
    def __call__(self, x):
        return 0.0

    def prox(self, v, step):
        raise RuntimeError("not here")


@pytest.mark.parametrize(
    "h", [OnlyProx(Huber()), OnlyProx(Simplex()), OnlyProx(L2Ball(1.0)), Insensitive(), Hard(), Refuses()]
)
def test_other_functions_are_not(h):
    assert recognised(h, (7,)) is None


def test_what_it_becomes_is_a_function_with_an_exact_prox():
    h = PiecewiseLinear(Kinks(-1.0, 2.0, 0.5, -1.0, 4.0))
    check_prox(h, (4,))
    x = rng.normal(size=4)
    assert h.rescaled(3.0)(x) == pytest.approx(h(3.0 * x))
    d = 10.0 ** rng.uniform(-2, 2, 4)
    np.testing.assert_allclose(h.rescaled(d).prox(x, 0.7 / d**2), h.prox(d * x, 0.7) / d)


def test_only_users_own_functions_are_looked_at():
    assert own_of_user(UserNonsmooth(Hard()))
    assert own_of_user(Scaled(UserNonsmooth(Hard()), 2.0))
    assert not own_of_user(L1(1.0))
    assert not own_of_user(Scaled(L1(1.0), 2.0))


def test_other_convex_functions_of_entries_get_the_derivative_of_their_prox():
    h = sloped(UserNonsmooth(Insensitive()), (5,))
    assert h is not None
    assert h.is_convex
    v = np.array([0.0, 1e-4, 0.5, 2.0, -3.0])
    between, at_a_kink, beyond = [1.0, 1.0], [0.0], [1.0, 1.0]
    np.testing.assert_allclose(h.prox_jacobian(v, 1.0), [*between, *at_a_kink, *beyond])
    loss = sloped(UserNonsmooth(OnlyProx(LogisticLoss(1.0))), (5,))
    np.testing.assert_allclose(loss.prox_jacobian(v, 1.0), LogisticLoss(1.0).prox_jacobian(v, 1.0), rtol=1e-5)
    np.testing.assert_allclose(loss.rescaled(2.0).prox(v, 0.5), loss.prox(2.0 * v, 2.0) / 2.0)


@pytest.mark.parametrize(
    "h", [Hard(), OnlyProx(MCP(1.0, 3.0)), OnlyProx(LHalf(1.0)), OnlyProx(Simplex()), Refuses()]
)
def test_functions_that_are_not_convex_or_not_entrywise_do_not(h):
    assert sloped(UserNonsmooth(h), (7,)) is None


@pytest.mark.parametrize("margin", [1e-6, 1.0, 1e3, 1e6])
def test_jumps_that_a_prox_passes_over_are_seen_in_the_values(margin):
    """With short steps the prox is v wherever it was asked, as that of 0 is."""
    h = UserNonsmooth(Missed(margin))
    assert recognised(h, (5,)) is None
    assert sloped(h, (5,)) is None
