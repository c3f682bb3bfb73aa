"""Problems without a solution are called by their name, with a proof that stands on its own; others are not."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from ipds import Block, Problem, Status, Variable, minimize, solve
from ipds.functions import (
    L1,
    Box,
    Cardinality,
    HalfSpace,
    HuberLoss,
    L2Ball,
    LeastSquares,
    Linear,
    Logistic,
    NonNegative,
    Quadratic,
    Simplex,
)
from ipds.methods import IPDS, AcceleratedIPDS
from ipds.modelling import norm1, sum_squares
from ipds.theory.proofs import falls, separates

g = np.random.default_rng(11)


def boxes(offset, gap=1.0):
    """Two boxes that a gap separates, at an offset."""
    c = np.full(3, offset)
    return Problem([Block(h=Box(c - 1, c + 1), A=-1.0, shape=3), Block(h=Box(c + 1 + gap, c + 3), shape=3)])


def checked_infeasible(problem, proof, domains):
    """⟨b, w⟩ + Σ sup over the domain of ⟨-A_iᵀw, x⟩ < 0, by linear programming over boxes."""
    w = proof.direction
    total = float(np.vdot(np.broadcast_to(problem.b, problem.shape), w))
    for op, (lo, hi) in zip(problem.operators, domains, strict=True):
        y = -op.adjoint(w)
        y = np.where(np.abs(y) < 1e-9, 0.0, y)
        total -= linprog(-y, bounds=list(zip(lo, hi, strict=True))).fun
    assert total < 0
    assert -total == pytest.approx(proof.margin, rel=1e-5)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("method", ["auto", AcceleratedIPDS(), IPDS()])
def test_disjoint_boxes_at_any_offset(offset, method):
    problem = boxes(offset)
    result = solve(problem, method=method, seed=0, max_iter=3000)
    assert (result.status, result.success) == (Status.INFEASIBLE, False)
    assert "separates" in result.message
    lo, hi = np.full(3, offset - 1), np.full(3, offset + 3)
    checked_infeasible(problem, result.proof, [(lo, lo + 2), (hi - 1, hi)])


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_boxes_that_touch_are_feasible(offset):
    problem = boxes(offset, gap=-0.5)
    result = solve(problem, seed=0)
    assert result.status is Status.CONVERGED
    assert problem.infeasibility(result.x) < 1e-3


INFEASIBLE = {
    "equations and signs": lambda: Problem(
        [Block(f=Linear(np.ones(5)), h=NonNegative(), A=g.random((3, 5)), shape=5), Block(h=NonNegative(), shape=3)],
        b=-1.0,
    ),
    "a ball and a half space": lambda: Problem(
        [Block(f=LeastSquares(np.eye(4), np.ones(4)), h=L2Ball(1.0), A=-1.0, shape=4),
         Block(h=HalfSpace(np.ones(4), -5.0), shape=4)]
    ),
    "a simplex and a box": lambda: Problem(
        [Block(h=Simplex(), A=-1.0, shape=4), Block(f=Quadratic(1.0), h=Box(0.5, 1.0), shape=4)]
    ),
    "three blocks": lambda: Problem(
        [Block(f=HuberLoss(g.standard_normal((6, 3)), np.ones(6)), h=Box(0.0, 1.0), A=g.random((4, 3)), shape=3),
         Block(h=Simplex(), A=g.random((4, 3)), shape=3), Block(h=NonNegative(), shape=4)],
        b=-3.0,
    ),
    "a row without variables": lambda: Problem(
        [Block(f=LeastSquares(np.eye(3), np.ones(3)), A=np.array([[1.0, 1, 1], [0, 0, 0]]), shape=3),
         Block(h=L1(1.0), A=np.array([[1.0, 0], [0, 0]]), shape=2)],
        b=np.array([0.0, 1.0]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INFEASIBLE)
def test_infeasible_problems_are_called_so(name):
    problem = INFEASIBLE[name]()
    result = solve(problem, seed=0, max_iter=3000, time_limit=20)
    assert result.status is Status.INFEASIBLE
    assert result.proof.excluded > 1e6
    assert separates(problem, result.proof.direction, result.x) is not None
    # and it is the direction that proves it, not the mere look of the run
    assert (
        separates(problem, g.standard_normal(problem.shape), result.x) is None or math.prod(problem.shape) < 3
    )


UNBOUNDED = {
    "linear": lambda: Problem(
        [Block(f=Linear(-np.ones(4)), h=NonNegative(), A=np.array([[1.0, -1, 0, 0]]), shape=4),
         Block(h=NonNegative(), shape=1)],
        b=1.0,
    ),
    "too weak a penalty": lambda: Problem(
        [Block(f=Linear(np.arange(1.0, 6.0)), h=L1(0.5), A=g.standard_normal((2, 5)), shape=5),
         Block(f=Quadratic(1.0), shape=2)],
        b=1.0,
    ),
    "flat in a direction": lambda: Problem(
        [Block(f=Quadratic(np.diag([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])), A=-1.0, shape=3),
         Block(h=Box(-np.inf, 5.0), shape=3)]
    ),
    "separable labels": lambda: Problem(
        [Block(f=Logistic(np.eye(2), np.ones(2)), A=-1.0, shape=2), Block(f=Linear(-np.ones(2)), shape=2)]
    ),
    "one block": lambda: Problem([Block(f=Linear(np.ones(3)), h=L1(0.5), shape=3)]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNBOUNDED)
def test_unbounded_problems_are_called_so(name):
    problem = UNBOUNDED[name]()
    result = solve(problem, seed=0, max_iter=3000, time_limit=20)
    assert (result.status, result.success) == (Status.UNBOUNDED, False)
    d, far = result.proof.direction, 1e8
    assert np.linalg.norm(problem.residual([far * di for di in d]) + problem.b) < 1e-5 * far
    x = [xi + far * di for xi, di in zip(result.x, d, strict=True)]
    assert problem.objective(x) < problem.objective(result.x) - 0.4 * far * result.proof.margin
    assert falls(problem, [-di for di in d]) is None


def test_ill_conditioned_is_not_unbounded():
    """x* is 1e8 times as long as the data, almost in the kernel of G: the objective is bounded all the same."""
    f = LeastSquares(np.diag([1.0, 1e-8]), np.ones(2))
    problem = Problem([Block(f=f, A=-1.0, shape=2), Block(f=Linear(np.array([0.0, -1e-9])), shape=2)])
    assert falls(problem, [np.array([1.0, 1e8])] * 2) is None


def test_what_a_nonconvex_problem_without_a_solution_looks_like():
    problem = Problem(
        [Block(h=Cardinality(1), A=-1.0, shape=3), Block(f=Quadratic(1.0), h=Box(1.0, 2.0), shape=3)]
    )
    result = solve(problem, seed=0, max_iter=400)
    assert not result.success
    assert result.proof is None
    assert "the equation stays" in result.message


def test_entries_that_no_row_holds_fall_without_end():
    """x₁ + x₂ = 1 says nothing of the others, which are no part of any A d; beside them u stays where it is."""
    x = Variable(6, name="x")
    plain = Problem(
        [Block(f=Linear(-np.ones(6)), h=NonNegative(), A=np.array([[1.0, 1.0, 0, 0, 0, 0]]), shape=6)], b=1.0
    )
    penalised = minimize(-x.sum() + norm1(x[:3]), [x[:2].sum() == 1, x >= 0])
    for problem in (plain, penalised):
        result = solve(problem)
        assert result.status is Status.UNBOUNDED
        assert result.nit <= 100
        assert result.proof.margin > 0.1


def revealed(seed):
    """Choices at prices that no increasing utility explains (Afriat): two baskets, each dearer where it was taken."""
    rng = np.random.default_rng(seed)
    P, Q = rng.uniform(0.5, 2, (6, 3)), rng.uniform(0.5, 2, (6, 3))
    Q[:2], P[:2] = [[2, 1, 1], [1, 2, 1]], [[2, 1, 1], [1, 2, 1]]
    u, slopes = Variable(6), Variable(6)
    rows = [
        u[i] <= u[j] + slopes[j] * float(P[j] @ (Q[i] - Q[j])) for i in range(6) for j in range(6) if i != j
    ]
    return minimize(sum_squares(u), [*rows, slopes >= 1])


def too_little(seed):
    """Plants that cannot meet the demand of one hour of 24."""
    most = np.random.default_rng(seed).uniform(50, 100, 5)
    demand = np.full(24, 0.8 * most.sum())
    demand[12] = 1.05 * most.sum()
    p = Variable((24, 5))
    return minimize(sum_squares(p), [p >= 0, p <= most, p.sum(axis=1) == demand])


@pytest.mark.parametrize("problem", [revealed, too_little])
@pytest.mark.parametrize("seed", range(3))
def test_a_proof_is_looked_for_where_nothing_balances(problem, seed):
    result = solve(problem(seed))
    assert result.status is Status.INFEASIBLE
    assert result.nit <= 20  # at the next of the regular tries multipliers have overgrown all digits
