"""Descents from a start and from its negative: the first is shown, the lower one is followed to the end."""

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import L1, NonNegative
from ipds.methods import AcceleratedIPDS
from ipds.methods.either_sign import CHOICE, SHORT, EitherSign, is_one_sided
from problems import phase_data


def phase(seed, sign=1.0):
    """A sparse signal from squares of noisy measurements, with D x ≥ 0 last; a start near it or its negative."""
    f, D, start = phase_data(seed)
    problem = Problem([Block(f=f, h=L1(0.8), A=-D, shape=24), Block(h=NonNegative(), shape=6)])
    start = sign * start
    return problem, (start, np.maximum(D @ start, 0))


def descent(sign, steps):
    problem, x0 = phase(0, sign)
    method = EitherSign(AcceleratedIPDS())
    setup, carry = method.init(problem, x0, np.zeros(6))
    states = []
    for _ in range(steps):
        carry, state = method.step(setup, carry)
        states.append(state)
    return setup, carry, states


def test_the_descent_from_the_start_is_shown_and_no_answer_before_the_choice():
    problem, x0 = phase(0)
    plain = AcceleratedIPDS()
    setup, carry = plain.init(problem, x0, np.zeros(6))
    expected = []
    for _ in range(CHOICE + 5):
        carry, state = plain.step(setup, carry)
        expected.append(state)
    _, _, states = descent(1.0, CHOICE + 5 - SHORT)
    assert [state.t for state in states] == list(range(SHORT + 1, CHOICE + 6))
    for ours, other in zip(states, expected[SHORT:], strict=True):
        assert np.array_equal(ours.x[0], other.x[0])
    assert not any(state.settled for state in states if state.t < CHOICE)
    assert states[-1].settled


def test_from_the_choice_on_it_is_the_other_sign_where_that_is_lower():
    setup, carry, states = descent(-1.0, CHOICE + 30 - SHORT)
    assert carry.turned == 1
    assert setup.is_better_turned()
    problem, (right, _) = phase(0)
    before = [state for state in states if state.t < CHOICE]
    after = [state for state in states if state.t >= CHOICE]
    assert all(state.x[0] @ right < 0 for state in before)
    assert all(state.x[0] @ right > 0 for state in after)
    assert np.allclose(after[-1].x[0], solve(problem, phase(0)[1], tol=1e-8).x[0], atol=1e-2)


def test_only_problems_with_an_even_f_and_a_constraint_that_is_not_even_have_a_sign():
    problem, _ = phase(0)
    assert is_one_sided(problem)
    frame, last = problem.blocks
    assert not is_one_sided(Problem([frame, Block(h=L1(1.0), shape=last.shape)]))
    assert not is_one_sided(Problem([Block(h=L1(1.0), A=frame.A, shape=frame.shape), last]))


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_as_the_caller_computes_them(seed):
    problem, x0 = phase(seed)
    result = solve(problem, x0, tol=1e-9)
    assert result.success
    assert np.min(-problem.operators[0].matrix @ result.x[0]) >= 0
    assert np.count_nonzero(result.x[1] == 0) > 0
