"""Zeros left as rounding in rows 0 = 0: such points are certified with zeros there, and no others are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from ipds import Block, Problem, solve
from ipds.functions import L1, L2, Box, NonNegative, SumSquares
from ipds.theory.certificate import certify
from ipds.theory.state import State
from ipds.theory.zeros import without_rounding

g = np.random.default_rng(3)
G, Y = g.standard_normal((20, 8)), g.standard_normal(20)
COPY = Problem([Block(h=Box(-2.0, 2.0), shape=2), Block(h=NonNegative(), A=-1.0, shape=2)])


def state_at(x: np.ndarray, w: np.ndarray, z: np.ndarray) -> State:
    """A state of `COPY`: w is the prox of w + z."""
    return State(1, (x, w), w, z, 1.0, 0.0, (None, None), ((x, 1.0), (w + z, 1.0)))


def test_rounding_in_a_row_of_zeros_becomes_a_zero():
    state = state_at(np.array([1.0, 1e-17]), np.array([1.0, 0.0]), np.zeros(2))
    assert certify(COPY, state).rows > 0.1
    cleared = without_rounding(COPY, state, 1e-6)
    assert cleared is not None
    assert cleared.q[0].tolist() == [1.0, 0.0]
    assert certify(COPY, cleared).rows < 1e-12
    assert state.q[0][1] == 1e-17  # the caller's stay


@pytest.mark.parametrize("gap", [1e-3, 1e-7])
def test_what_is_larger_than_rounding_stays(gap):
    state = state_at(np.array([1.0, gap]), np.array([1.0, 0.0]), np.zeros(2))
    assert without_rounding(COPY, state, 1e-9) is None


def test_rows_that_hold_stay():
    state = state_at(np.array([1.0, 1e-17]), np.array([1.0, 1e-17]), np.zeros(2))
    assert without_rounding(COPY, state, 1e-6) is None


@pytest.mark.parametrize("beside", [0.0, 0.5])
def test_a_row_with_a_right_hand_side_is_none_of_zeros(beside):
    problem = Problem(
        [Block(h=Box(-2.0, 2.0), shape=2), Block(h=L1(1.0), A=-1.0, shape=2)], b=np.array([beside, 1e-12])
    )
    x, w = np.array([1.0, 1.001e-12]), np.array([1.0 - beside, 0.0])
    state = State(1, (x, w), w, np.ones(2), 1.0, 0.0, (None, None), ((x, 1.0), (w + 1.0, 1.0)))
    assert abs(problem.residual(state.q)[1]) > 1e-6 * 1e-12
    assert without_rounding(problem, state, 1e-6) is None


@pytest.mark.parametrize("own", [Box(-2.0, 2.0), SumSquares(1e-9)], ids=["box", "squares"])
def test_a_copy_that_must_not_be_negative(own):
    """One bound on x, another on its copy, and least absolute deviations: many zeros in x, all of them copied."""
    eye, zero = np.eye(8), np.zeros((8, 20))
    problem = Problem(
        [
            Block(h=own, A=np.vstack([eye, G]), shape=8),
            Block(h=NonNegative(), A=np.vstack([-eye, np.zeros((20, 8))]), shape=8),
            Block(h=L1(1.0), A=np.vstack([zero, -np.eye(20)]), shape=20),
        ],
        b=np.r_[np.zeros(8), Y],
    )
    result = solve(problem, tol=1e-6)
    assert result.success
    cost, eye = np.r_[np.zeros(8), np.ones(20)], np.eye(20)
    rows = np.block([[G, -eye], [-G, -eye]])
    assert result.fun == pytest.approx(scipy.optimize.linprog(cost, rows, np.r_[Y, -Y]).fun, rel=1e-5)


def test_norms_of_copies():
    eye, zero = np.eye(8), np.zeros((8, 20))
    problem = Problem(
        [
            Block(A=np.vstack([eye, G]), shape=8),
            Block(h=NonNegative(), A=np.vstack([-eye, np.zeros((20, 8))]), shape=8),
            Block(h=L2(1.0), A=np.vstack([zero, -np.eye(20)]), shape=20),
        ],
        b=np.r_[np.zeros(8), Y],
    )
    result = solve(problem, tol=1e-6)
    assert result.success
    assert result.fun == pytest.approx(scipy.optimize.nnls(G, Y)[1], rel=1e-5)
