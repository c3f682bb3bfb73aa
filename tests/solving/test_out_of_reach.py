"""Equations that cannot hold on a nonconvex set: the solve ends early, and says what it looks like."""

import numpy as np
import pytest

from ipds import Block, Problem, Status, Variable, minimize, solve
from ipds.functions import Cardinality, LeastSquares
from ipds.methods import AcceleratedIPDS
from ipds.modelling import norm1
from ipds.solving.history import CHECK, History
from ipds.solving.stopping import HUGE, out_of_reach

A, b = np.eye(2, 3), np.array([1.0, 2.0])  # two entries of x are fixed


def by_minimize():
    x = Variable(3)
    return minimize(Cardinality(1)(x) + norm1(x), [A @ x == b])


def by_blocks():
    f = LeastSquares(np.eye(3), np.zeros(3))
    return Problem(
        [Block(h=Cardinality(1), A=-1.0, shape=3), Block(f=f, A=1.0, shape=3)], b=np.array([1.0, 2, 0])
    )


def alone():
    return Problem([Block(h=Cardinality(1), A=A, shape=3)], b=b)


@pytest.mark.parametrize("statement", [by_minimize, alone])
def test_one_nonzero_cannot_meet_two_equations(statement):
    result = solve(statement(), method=AcceleratedIPDS())
    assert result.status is Status.PENALTY_CEILING
    assert result.nit < 500
    assert "from holding, however large the penalty" in result.message


def test_auto_says_the_same():
    result = solve(by_minimize())
    assert not result.success
    assert "it may have no solution" in result.message


def test_what_can_be_met_is_met():
    result = solve(by_blocks())  # the other block takes what one nonzero cannot
    assert result.success


def history(beta, feasibility):
    found = History()
    for t, (penalty, residual) in enumerate(zip(beta, feasibility, strict=True)):
        values = dict.fromkeys(CHECK, 0.0) | {
            "iteration": 10 * t + 1,
            "beta": penalty,
            "feasibility": residual,
        }
        found.record(**values)
    return found


def test_it_takes_a_huge_penalty_for_long_and_no_progress():
    steep, cycle = [1.0, *[HUGE] * 40], [2.0, *[1.0, 3.0] * 20]
    for unit in (1e-6, 1.0, 1e6):
        assert out_of_reach(history(steep, unit * np.asarray(cycle)), 0.5)
    assert not out_of_reach(history(steep, cycle), 1e-3)  # it holds more or less
    assert not out_of_reach(history(steep, np.geomspace(2.0, 1.0, 41)), 0.5)  # it comes nearer
    assert not out_of_reach(history(np.geomspace(1.0, HUGE, 41), cycle), 0.5)  # not for long
    assert not out_of_reach(history([1.0, *[0.1 * HUGE] * 40], cycle), 0.5)
    assert not out_of_reach(history([0.0] * 41, cycle), 0.5)  # no penalty at all
