"""Where cycles begin: at random points, midway between two, and with a column exchanged."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ipds import Block, Problem
from ipds.functions import L1, Cardinality, PCAVariance, Smooth, Stiefel, smooth
from ipds.functions.logarithmic import positive
from ipds.methods import AcceleratedIPDS
from ipds.methods.accelerated.annealing import MILD, Begin, Cycle, Effort, Schedule, Stage
from ipds.methods.accelerated.begins import (
    POOR,
    begin_cycle,
    best_column,
    exchanged,
    has_columns,
    has_meetings,
)
from ipds.methods.accelerated.reduced import eliminate

CYCLES = (MILD, *(MILD._replace(begin=begin) for begin in (Begin.ANEW, Begin.ANEW, Begin.MIDWAY)))
CYCLES += (MILD._replace(begin=Begin.EXCHANGED),) * 2


class Barrier(Smooth):
    """-Σ log x_i."""

    domain = positive()

    def __call__(self, x):
        return -float(np.sum(np.log(x)))

    def grad(self, x):
        return -1 / x


def components(h, f=None, weight=0.5, shape=(8, 2)) -> Problem:
    return Problem([Block(f=f, h=h, A=-1.0, shape=shape), Block(h=L1(weight), shape=shape)])


def begin(R, cycle, found, before=None, best=None):
    plan = Schedule(Effort(1.05, (), CYCLES), 1.0, 1.0, 1.0, True, Cycle(math.nan, 0.7, 20))
    stage = Stage(5.0, 0.0, (1.0,), 1.0, cooling=True, cycle=cycle)
    before = found if before is None else before
    return begin_cycle(R, plan, stage, (found,), (before,), (before if best is None else best,))[0]


def test_cycles_meet_on_manifolds_where_f_is_finite():
    finite = smooth(lambda x: float(np.sum(x)), np.ones_like, lipschitz=0.0)
    assert has_meetings(eliminate(components(Stiefel(), finite), 1))
    assert not has_meetings(eliminate(components(Stiefel(), Barrier()), 1))
    assert not has_meetings(eliminate(components(Cardinality(3), finite), 1))


def test_cycles_begin_at_the_best_point_or_at_random_points_of_the_set_each_at_its_own():
    R, x = eliminate(components(Stiefel()), 1), np.eye(8)[:, :2]
    best = np.eye(8)[:, 4:6]
    assert begin(R, 0, x, best=best) is best
    assert begin(R, len(CYCLES), x, best=best) is best  # after the last
    first, again, second = (begin(R, number, x) for number in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.linalg.norm(first - second) > 0.5
    np.testing.assert_allclose(second.T @ second, np.eye(2), atol=1e-12)


def test_midway_between_two_points_is_where_their_nearest_images_agree():
    rng = np.random.default_rng(4)
    R = eliminate(components(Stiefel()), 1)
    x = Stiefel().prox(rng.standard_normal((8, 2)), 1.0)
    np.testing.assert_allclose(begin(R, 3, -x[:, ::-1], x), x, atol=1e-12)
    y = Stiefel().prox(x + 0.2 * rng.standard_normal((8, 2)), 1.0)
    between = begin(R, 3, y, x)
    assert np.linalg.norm(between - x) == pytest.approx(np.linalg.norm(between - y))
    assert np.linalg.norm(between - x) < 0.6 * np.linalg.norm(y - x)


@pytest.mark.parametrize("single", [False, True])
def test_a_poor_column_is_exchanged_for_the_best_that_is_orthogonal_to_all(single):
    f = PCAVariance(np.diag(np.sqrt([8.0, 5.0, 6.0, 4.0, 3.0, 2.0, 1.0, 0.5]) * math.sqrt(8)))
    problem, x = components(Stiefel(), f), np.eye(8)[:, [0, 7]]
    start = Stiefel().prox(np.random.default_rng(1).standard_normal((8, 2)), 1.0)
    setup, _ = AcceleratedIPDS().init(problem, (start, start), np.zeros((8, 2)))
    R = setup.annealed if single else setup.reduced
    assert R.single == single
    first = exchanged(R, x, 0.3, 0, np.random.default_rng(0))
    np.testing.assert_allclose(
        np.abs(first), np.eye(8)[:, [0, 2]], atol=1e-3
    )  # of the others the third is best
    second = exchanged(R, x, 0.3, 1, np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(second), np.eye(8)[:, [2, 7]], atol=1e-3)
    for y in first, second:
        assert y.dtype == float
        np.testing.assert_allclose(y.T @ y, np.eye(2), atol=1e-12)


def test_a_column_is_lower_than_random_ones_and_orthogonal():
    rng = np.random.default_rng(3)
    f, shape = PCAVariance(rng.standard_normal((20, 40))), (40, 3)
    R = eliminate(components(Stiefel(), f, 0.2, shape), 1)
    x = Stiefel().prox(rng.standard_normal(shape), 1.0)
    column = best_column(R, x, 1, 0.5, rng)
    assert np.linalg.norm(column) == pytest.approx(1.0)
    np.testing.assert_allclose(x.T @ column, 0.0, atol=1e-12)

    def value(v):
        y = x.copy()
        y[:, 1] = v
        return f(y) + 0.2 * np.abs(y).sum()

    others = rng.standard_normal((40, 200))
    others -= x @ (x.T @ others)
    assert value(column) < min(value(v / np.linalg.norm(v)) for v in others.T)


def test_exchanges_take_poor_columns_in_turns_and_others_begin_at_random():
    f = PCAVariance(np.random.default_rng(0).standard_normal((9, 8)))
    R, x = eliminate(components(Stiefel(), f), 1), np.eye(8)[:, :2]
    points = [begin(R, cycle, x) for cycle in (4, 5)]
    changed = [int(np.argmax(np.linalg.norm(y - x, axis=0))) for y in points]
    assert sorted(changed) == [0, 1]
    assert POOR > 1
    for y, k in zip(points, changed, strict=True):
        np.testing.assert_allclose(y[:, 1 - k], x[:, 1 - k], atol=1e-12)
    assert not has_columns(eliminate(components(Stiefel()), 1), (x,))  # no f
    square = eliminate(components(Stiefel(), f, shape=(8, 8)), 1)
    assert not has_columns(square, (np.eye(8),))  # no room
    point = begin(square, 4, np.eye(8))
    assert np.linalg.norm(point - np.eye(8)) > 1.0  # a random one
