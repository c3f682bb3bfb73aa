"""What NewtonALM is predicted to cost, and the problems that go to it for that."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from kinds import differences

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L1,
    PSD,
    LeastSquares,
    Logistic,
    Nuclear,
    Zero,
)
from ipds.methods import AcceleratedIPDS, NewtonALM, candidates
from ipds.methods.choosing import handover
from ipds.methods.newton import Cost, cost, predicted
from ipds.methods.newton.gram import Gram
from ipds.modelling import log_det, norm1, nuclear, sum_squares
from ipds.presolve import presolve


def test_costs_grow_with_the_problem():
    small, large = (
        predicted(Problem([Block(A=-np.ones((3 * n, n)), shape=n), Block(h=L1(), shape=3 * n)]))
        for n in (10, 200)
    )
    assert 0 < small.newton < large.newton < math.inf
    assert small.iteration < large.iteration
    chain, plane = differences(60_000), sp.kron(differences(250), sp.eye_array(240), format="csr")
    costs = [
        predicted(Problem([Block(A=-D, shape=D.shape[1]), Block(h=L1(), shape=D.shape[0])])).newton
        for D in (chain, sp.vstack([plane, sp.kron(sp.eye_array(250), differences(240))], format="csr"))
    ]
    assert costs[0] < costs[1]


def test_costs_of_small_patterns_need_their_counts_alone():
    D = differences(300)
    only = [(D, 0), (sp.eye_array(300, format="csr"), 0)]  # rows with one entry do not count
    assert cost._sparse_work(300, only) == cost._without_pattern(300, Gram.work(D))


def test_rows_without_an_order_fill_everything():
    """A random table of words is sparse and its Gram matrix full: it was predicted to cost what a plane costs."""

    def cost(A):
        return predicted(Problem([Block(A=-A, shape=A.shape[1]), Block(h=L1(), shape=A.shape[0])]))

    def words(m, n, density):
        return sp.random_array((m, n), density=density, rng=np.random.default_rng(0), format="csr")

    n = 3600
    along, across = (sp.kron(differences(60), sp.eye_array(60)), sp.kron(sp.eye_array(60), differences(60)))
    assert cost(sp.vstack([along, across], format="csr")).newton < 1.0
    table = cost(words(2 * n, n, 0.01))
    assert table.newton > 10 * table.first_order
    assert cost(words(n, n, 0.001)).newton > 3.0 > cost(sp.eye_array(n, format="csr")).newton
    flat = sp.kron(sp.eye_array(60), np.ones((1, 60)), format="csr")  # MMᵀ is what is factorised
    assert cost(sp.vstack([flat, words(40, n, 0.01)], format="csr")).newton < 1.0


@pytest.mark.parametrize("h", [Nuclear(1.0), PSD()])
def test_full_jacobians_are_counted(h):
    """A prox of singular values or eigenvalues makes K full: first-order steps come first."""
    shape = (30, 30)

    def problem(last):
        return Problem([Block(h=L1(0.2), A=-1.0, shape=shape), Block(h=last, shape=shape)], b=np.eye(30))

    plain, full = predicted(problem(L1())), predicted(problem(h))
    assert full.is_full
    assert not plain.is_full
    assert full.newton > 10 * plain.newton
    assert full.iteration > plain.iteration
    tried = candidates(problem(h))
    first, second, third = tried[:3]
    assert [method.name.split("(")[0] for method in tried[:3]] == [
        "AcceleratedIPDS",
        "NewtonALM",
        "AcceleratedIPDS",
    ]
    assert 60 < handover(first, second, problem(h)) < math.inf
    assert 0 < handover(second, third, problem(h)) < 100
    assert candidates(problem(L1()))[0].name == "NewtonALM"


def test_few_eigenvalues_go_to_newton_steps_soon():
    """Predicted to take 0.2 s and 0.8 s: a quarter of the time, and all of it, is given to first-order steps."""
    for n, share in ((12, 0.25), (20, 1.0)):
        K = Variable((n, n), name="K")
        given = presolve(minimize((np.eye(n) * K).sum() + nuclear(K) + norm1(K - 1))).problem
        known, (first, second, *_) = predicted(given), candidates(given)
        assert known.is_full
        assert handover(first, second, given) == max(30, int(share * known.newton / known.iteration))


def test_few_eigenvalues_with_a_barrier_go_to_newton_steps_at_once():
    """Up to 400 rows and columns in all."""
    for n, name in ((4, "NewtonALM"), (20, "AcceleratedIPDS")):
        K = Variable((n, n), name="K")
        for term in (-log_det(K), PSD()(K)):
            given = presolve(minimize((np.eye(n) * K).sum() + term + norm1(K - 1))).problem
            assert candidates(given)[0].name.startswith(name)
            assert predicted(given).is_full == (n == 20)


def test_newton_steps_have_their_turn_before_the_iterations_end():
    """First-order steps once took all of them where Newton's were predicted to take as long as these."""
    plain = Problem([Block(h=L1(0.2), A=-1.0, shape=3), Block(h=L1(), shape=3)], b=1.0)
    first, second = AcceleratedIPDS(), NewtonALM()
    second.cost = Cost(newton=30.0, iteration=1e-4)
    assert handover(first, second, plain) == 5000
    second.cost = Cost(newton=1e4, iteration=1e-4)
    assert handover(first, second, plain) > 10_000  # hours are not spent unasked


def test_principal_components_beside_outliers_of_their_own():
    """Its semismooth steps once ran for ever, predicted to take hundredths of a second."""
    r = np.random.default_rng(3)
    D = r.standard_normal((50, 5)) @ r.standard_normal((5, 40))
    D[r.random(D.shape) < 0.1] += 5.0
    low, sparse = Variable(D.shape), Variable(D.shape)
    result = solve(minimize(nuclear(low) + norm1(sparse) / math.sqrt(50), [low + sparse == D]), max_iter=3000)
    assert result.success


@pytest.mark.parametrize("loss", [LeastSquares, Logistic])
def test_columns_that_nearly_depend_on_each_other_go_to_newton(loss):
    """First-order steps come first only where f is well conditioned, whatever the units of its columns."""
    r = np.random.default_rng(2)
    G, y = r.standard_normal((60, 8)) * np.geomspace(1, 1e3, 8), np.sign(r.standard_normal(60))
    slanted = G.copy()
    slanted[:, 0] = slanted[:, 1] / 10 + 1e-2 * slanted[:, 0]

    def first(G):
        problem = Problem([Block(f=loss(G, y), h=L1(0.1), A=-1.0, shape=8), Block(h=Zero(), shape=8)])
        return candidates(problem)[0].name.split("(")[0]

    assert first(G) == "AcceleratedIPDS"
    assert first(slanted) == "NewtonALM"


def test_second_differences_are_slanted_though_no_pivot_tells():
    """Of a curve through four points: the smallest pivot is 0.14, the condition 1e6."""
    n = 100
    D = np.delete(np.diff(np.eye(n), 2, axis=0), [0, 30, 60, 99], axis=1)
    for G in (D, sp.csr_array(D)):
        f = LeastSquares(G, np.ones(n - 2))
        assert cost.is_slanted(Problem([Block(f=f, shape=n - 4), Block(shape=n - 4)]))
    plain = LeastSquares(np.random.default_rng(0).standard_normal((3 * n, n)), np.ones(3 * n))
    assert not cost.is_slanted(Problem([Block(f=plain, shape=n), Block(shape=n)]))


def steered(moments, apart):
    """A system that is brought to rest, as one table of states or with a variable for every moment."""
    rng = np.random.default_rng(0)
    A, B, first = 0.9 * np.linalg.qr(rng.standard_normal((6, 6)))[0], rng.standard_normal((6, 2)), np.ones(6)
    if apart:
        x, u = [Variable(6) for _ in range(moments + 1)], [Variable(2) for _ in range(moments)]
        moves = [x[t + 1] == A @ x[t] + B @ u[t] for t in range(moments)]
        cost = sum(sum_squares(x[t + 1]) + sum_squares(u[t]) for t in range(moments))
        return minimize(cost, [x[0] == first, *moves, *(own <= 0.3 for own in u)])
    x, u = Variable((moments + 1, 6)), Variable((moments, 2))
    moves = x[1:] == x[:-1] @ A.T + u @ B.T
    return minimize(sum_squares(x[1:]) + sum_squares(u), [x[0] == first, moves, u <= 0.3])


def test_variables_of_many_moments_have_sparse_equations():
    """The map of each is an array: as many rows of them as there are variables were counted as full ones."""
    table, apart = (steered(40, apart) for apart in (False, True))
    costs = [predicted(presolve(one).problem).newton for one in (table, apart)]
    assert costs[1] < 3 * costs[0]
    results = [solve(one, tol=1e-6) for one in (table, apart)]
    assert all(r.success and r.method.startswith("auto: NewtonALM") for r in results)
    assert results[1].fun == pytest.approx(results[0].fun, rel=1e-6)
