"""Lengths, references, and the step that a search tries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ipds import Block, Problem
from ipds.deadline import OutOfTime, deadline
from ipds.functions import L1, LeastSquares, Quadratic, Stiefel
from ipds.methods.accelerated.reduced import eliminate, evaluate, known_at
from ipds.methods.accelerated.search import (
    SHORTEST,
    TRIES,
    Measures,
    Reference,
    backtrack,
    barzilai_borwein,
    curvatures,
    next_length,
    try_step,
)


def test_barzilai_borwein_lengths_are_inverse_curvatures_of_a_quadratic():
    H = np.diag([1.0, 10.0])
    dx = np.array([0.3, -0.2])
    dg = H @ dx
    long = barzilai_borwein(dx @ dx, dx @ dg, dg @ dg, long=True)
    short = barzilai_borwein(dx @ dx, dx @ dg, dg @ dg, long=False)
    assert 0.1 <= short <= long <= 1.0
    assert long == pytest.approx(dx @ dx / (dx @ H @ dx))
    assert short == pytest.approx((dx @ H @ dx) / (dg @ dg))


@pytest.mark.parametrize("long", [True, False])
def test_barzilai_borwein_where_the_curvature_is_negative_or_none(long):
    assert barzilai_borwein(4.0, -2.0, 2.0, long=long) == barzilai_borwein(4.0, 2.0, 2.0, long=long) > 0
    assert barzilai_borwein(4.0, 0.0, 2.0, long=long) == 0.0
    assert barzilai_borwein(4.0, 0.0, 0.0, long=long) == 0.0


def test_the_next_length_stays_within_bounds():
    assert next_length(1.0, 0.5) == 0.5
    assert next_length(1.0, 0.0) == 1.0
    assert next_length(1.0, 1e9) == 1e4
    assert next_length(1.0, 1e-9) == 1e-4
    assert next_length(SHORTEST, 1e-320) == SHORTEST


def test_a_reference_is_the_mean_of_zhang_and_hager():
    """C⁺ = (ηQC + Φ)/Q⁺, Q⁺ = ηQ + 1: with η = 0 the last value, with η = 1 the plain mean."""
    values = [3.0, 1.0, 2.0, 5.0]
    last = mean = Reference(values[0])
    for value in values[1:]:
        last, mean = last.after(value, memory=0.0), mean.after(value, memory=1.0)
    assert last.value == values[-1]
    assert mean.value == pytest.approx(np.mean(values))
    reference = Reference(2.0).after(1.0)
    assert 1.0 < reference.value < 2.0
    assert reference.weight == pytest.approx(1.85)


def test_a_search_takes_the_first_length_that_is_accepted():
    tried = []

    def attempt(alpha):
        tried.append(alpha)
        return alpha < 0.1, -alpha

    assert backtrack(attempt, 1.0) == (0.0625, -0.0625)
    assert tried == [1.0, 0.25, 0.0625]


def test_a_search_takes_the_last_try_as_it_is_and_reports_its_length():
    tried = []

    def attempt(alpha):
        tried.append(alpha)
        return False, alpha

    alpha, outcome = backtrack(attempt, 1.0)
    assert len(tried) == TRIES
    assert alpha == outcome == tried[-1] == 0.25 ** (TRIES - 1)
    assert backtrack(lambda alpha: (False, alpha), SHORTEST)[0] == SHORTEST


def test_a_search_that_has_found_nothing_leaves_when_time_is_over():
    with deadline(lambda: True):
        assert backtrack(lambda alpha: (True, "at once"), 1.0) == (1.0, "at once")
        with pytest.raises(OutOfTime):
            backtrack(lambda alpha: (False, None), 1.0)


@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_what_a_tried_step_measures_is_what_its_arrays_say(weight):
    """Two blocks, one of them a manifold: every number against one computed from the point itself."""
    rng = np.random.default_rng(0)
    G, y = rng.standard_normal((6, 4)), rng.standard_normal((6, 2))
    problem = Problem(
        [
            Block(
                f=LeastSquares(rng.standard_normal((5, 4)), rng.standard_normal((5, 2))),
                h=L1(0.3),
                A=G,
                shape=(4, 2),
            ),
            Block(h=Stiefel(), A=rng.standard_normal((6, 3)), shape=(3, 2)),
            Block(h=L1(0.7), shape=(6, 2)),
        ],
        b=y,
    )
    R = eliminate(problem, 2)
    x = rng.standard_normal((4, 2)), Stiefel().prox(rng.standard_normal((3, 2)), 1.0)
    z, beta, tau, alpha = rng.standard_normal((6, 2)), 2.0, (0.5, 1.0), 0.02
    weights, steps, target, s = (weight, 1.0), tuple(alpha * t for t in tau), y - z / beta, 1 / beta
    old = evaluate(R, x, target, s, weights)
    numbers, point, v, warm = try_step(
        R, steps, tau, 2e-16, known_at(R, old.place), old.gradient, target, s, weights, (None, None)
    )
    measures = Measures(*numbers)
    np.testing.assert_array_equal(v[0], x[0] - steps[0] * old.gradient[0])
    np.testing.assert_array_equal(point.x[0], L1(0.3 * weight).prox(v[0], steps[0]))
    np.testing.assert_allclose(point.x[1], Stiefel().prox(x[1] - steps[1] * old.gradient[1], steps[1]))
    assert v[1] is None
    assert warm == (None, None)
    assert measures.value == evaluate(R, point.x, target, s, weights).value
    dx = [a - b for a, b in zip(point.x, x, strict=True)]
    dg = [a - b for a, b in zip(point.gradient, old.gradient, strict=True)]
    pairs = list(zip(dx, dg, tau, strict=True))
    assert measures.dx_dx == pytest.approx(sum(np.sum(a * a) / t for a, _, t in pairs))
    assert measures.dx_dg == pytest.approx(sum(np.sum(a * b) for a, b, _ in pairs))
    assert measures.dg_dg == pytest.approx(sum(np.sum(b * b) * t for _, b, t in pairs))
    left = point.gradient[0] + (v[0] - point.x[0]) / steps[0], point.gradient[1]
    assert math.sqrt(measures.stationarity_square) == pytest.approx(math.hypot(*map(np.linalg.norm, left)))


def test_curvatures_bound_the_change_of_the_gradient_of_a_quadratic():
    H = np.diag([1.0, 50.0])
    problem = Problem([Block(f=Quadratic(H, np.ones(2)), A=3.0, shape=2), Block(h=L1(1.0), A=2.0, shape=2)])
    R = eliminate(problem, 1)
    point = evaluate(R, (np.array([1.0, 2.0]),), np.zeros(2), 0.25)
    (found,) = curvatures(R, point, 0.25, 0.0, [50.0])
    assert found == pytest.approx(50.0 + 9 / 4 / 0.25)
    assert curvatures(R, point, 0.25, 2.0, [50.0])[0] == pytest.approx(found + 2.0 * 9 / 4)
