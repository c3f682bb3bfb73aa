"""Signed selections: steps between vertices of the ℓ1 norm over orthonormal columns, each critical, to the best one."""

import itertools

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.errors import AssumptionError
from ipds.functions import L1, Stiefel, smooth
from ipds.methods import AcceleratedIPDS, candidates
from ipds.methods.selections import SignedSelections, cheapest, outweighed, selection
from ipds.theory.certificate import certify


def variances(seed, n=12):
    """A covariance matrix with variables of different variance, and its largest eigenvalue."""
    rng = np.random.default_rng([33, seed])
    X = rng.standard_normal((30, n)) * np.exp(rng.uniform(-1.5, 0.0, n)) + 0.3 * rng.standard_normal((30, 1))
    A = X.T @ X / 30
    return A, float(np.linalg.norm(A, 2))


def explained(A, L):
    return smooth(lambda V: -0.5 * float(np.vdot(V, A @ V)), lambda V: -A @ V, lipschitz=L)


def pca(A, L, lam, r=3, on="Y", a=-1.0, c=1.0):
    shape, f = (len(A), r), explained(A, L)
    frame = Block(f=f if on == "Y" else None, h=Stiefel(), A=a, shape=shape)
    last = Block(f=f if on == "V" else None, h=L1(lam), A=c, shape=shape)
    return Problem([frame, last], 0.0)


def frame(n=12, r=3, seed=0):
    return np.linalg.qr(np.random.default_rng([34, seed]).standard_normal((n, r)))[0]


def test_a_selection_is_the_best_of_all():
    C = np.random.default_rng(0).standard_normal((5, 3))
    E = selection(C)
    assert np.array_equal(np.abs(E).sum(axis=0), np.ones(3))
    assert np.abs(E).sum(axis=1).max() == 1
    assert np.vdot(C, E) == pytest.approx(
        max(sum(abs(C[i, k]) for k, i in enumerate(rows)) for rows in itertools.permutations(range(5), 3))
    )


@pytest.mark.parametrize("on", ["Y", "V"])
@pytest.mark.parametrize(("a", "c"), [(-1.0, 1.0), (2.0, -0.5), (1.0, 1.0)])
def test_every_step_is_critical_and_the_last_selects_the_largest_variances(on, a, c):
    A, L = variances(0)
    k, V = abs(a / c), frame()
    problem = pca(A, L, (2 * L * max(k**2, 1)) / k, on=on, a=a, c=c)
    method = SignedSelections()
    setup, carry = method.init(problem, (V, -a / c * V), np.zeros(problem.shape))
    values = []
    for _ in range(3):
        carry, state = method.step(setup, carry)
        Y, U = state.q
        assert certify(problem, state).relative < 1e-12
        assert np.array_equal(a * Y + c * U, 0 * Y)
        values.append(sum(state.values))
    assert state.settled
    assert values[0] >= values[1] == values[2]
    assert set(np.abs(Y).argmax(axis=0)) == set(np.argsort(-np.diag(A))[:3])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", [1, -1])
def test_runs_end_no_higher_than_first_order_steps_in_fewer_iterations(seed, order):
    A, L = variances(seed)
    problem, V = pca(A, L, 1.5 * L), frame(seed=seed)
    problem = Problem(problem.blocks[::order], 0.0)
    result = solve(problem, [V, V], tol=1e-7)
    other = solve(problem, [V, V], tol=1e-7, method=AcceleratedIPDS())
    assert result.success
    assert "SignedSelections" in result.method
    assert result.nit < other.nit
    assert result.fun <= other.fun + 1e-9 * abs(other.fun)


def test_the_first_selection_is_shown_before_others_are_looked_at():
    A, L = variances(1)
    shown = []
    solve(pca(A, L, 2 * L), [frame(), frame()], tol=1e-7, callback=lambda point: shown.append(point))
    assert [point.nit for point in shown] == [1, 2, 3][: len(shown)]
    assert shown[0].certificate.relative <= 1e-7
    assert shown[-1].fun <= shown[0].fun


def test_rows_that_stay_keep_their_columns_and_signs():
    A, L = variances(2)
    V = frame()
    setup, _ = SignedSelections().init(pca(A, L, 2 * L), (V, V), 0 * V)
    best = np.argsort(-np.diag(A))
    E = np.zeros((12, 3))
    E[best[[1, 11, 0]], range(3)] = [-1.0, 1.0, 1.0]
    new = cheapest(setup, E)
    assert new[best[1], 0] == -1.0
    assert new[best[0], 2] == 1.0
    assert new[best[2], 1] == 1.0
    assert np.abs(new).sum() == 3


def test_a_linear_f_is_minimised_by_one_assignment():
    C = np.random.default_rng(3).uniform(-1, 1, (6, 2))
    f = smooth(lambda V: float(np.vdot(C, V)), lambda V: C, lipschitz=0.0)
    blocks = [Block(f=f, h=Stiefel(), A=-1.0, shape=(6, 2)), Block(h=L1(1.0), A=1.0, shape=(6, 2))]
    V = frame(6, 2)
    result = solve(Problem(blocks, 0.0), [V, V], tol=1e-8)
    assert result.success
    assert result.fun == pytest.approx(2.0 + np.vdot(C, selection(-C)))


def test_other_problems_are_left_to_others():
    A, L = variances(0)
    V = frame()
    unknown, lighter = pca(A, None, 2 * L), pca(A, L, 0.9 * L)
    shifted = Problem(pca(A, L, 2 * L).blocks, np.ones((12, 3)))
    for problem in (unknown, lighter, shifted):
        assert outweighed(problem) is None
        assert not isinstance(candidates(problem)[0], SignedSelections)
        with pytest.raises(AssumptionError, match="needs a Y"):
            SignedSelections().init(problem, (V, V), 0 * V)


def test_where_a_slope_outweighs_the_norm_first_order_steps_go_on():
    C = 5.0 * np.ones((6, 2))
    f = smooth(lambda V: float(np.vdot(C, V)), lambda V: C, lipschitz=0.0)
    blocks = [Block(f=f, h=Stiefel(), A=-1.0, shape=(6, 2)), Block(h=L1(1.0), A=1.0, shape=(6, 2))]
    V = frame(6, 2)
    result = solve(Problem(blocks, 0.0), [V, V])
    assert result.success
    assert "AcceleratedIPDS" in result.method
