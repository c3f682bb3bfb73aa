"""GivenFace: along a path of weights the answer is next to the last one, and is found from there."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_diabetes

from ipds import Block, Problem, Variable, minimize, solve
from ipds.errors import AssumptionError
from ipds.functions import L1, MCP, HuberLoss, LeastSquares, Zero
from ipds.methods.faces import GivenFace
from ipds.modelling import huber, logistic, norm1, quantile, sum_squares


def data(rows: int = 60, columns: int = 25) -> tuple[np.ndarray, np.ndarray]:
    g = np.random.default_rng(3)
    G = g.standard_normal((rows, columns))
    return G, G[:, :5] @ g.standard_normal(5) + 0.5 * g.standard_normal(rows)


G, Y = data()
MODELS = {
    "lasso": lambda x, w: 0.5 * sum_squares(G @ x - Y) + 80 * w * norm1(x),
    "elastic net": lambda x, w: 0.5 * sum_squares(G @ x - Y) + 80 * w * norm1(x) + 5 * sum_squares(x),
    "weights": lambda x, w: 0.5 * sum_squares(G @ x - Y) + L1(80 * w * np.linspace(0.5, 1.5, 25))(x),
    "sparse": lambda x, w: 0.5 * sum_squares(scipy.sparse.csr_array(G) @ x - Y) + 80 * w * norm1(x),
    "huber": lambda x, w: HuberLoss(G, Y)(x) + 40 * w * norm1(x),
    "logistic": lambda x, w: logistic(np.sign(Y)[:, None] * G @ x) + 15 * w * norm1(x),
    "quantile": lambda x, w: quantile(G @ x - Y, 0.3) + 8 * w * norm1(x),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_path_is_followed_on_its_faces_and_ends_where_cold_solves_do(name):
    x = Variable(25, name="x")
    path = np.geomspace(0.6, 0.02, 12)
    warm, found = minimize(MODELS[name](x, path[0])).solve(), 0
    for w in path[1:]:
        problem = minimize(MODELS[name](x, w))
        warm = problem.solve(warm_start=warm)
        cold = problem.solve(tol=1e-8)
        found += warm.method == "auto: GivenFace"
        assert warm.success
        assert warm.fun == pytest.approx(cold.fun, rel=1e-7)
        np.testing.assert_allclose(warm.value(x), cold.value(x), atol=2e-4 * np.max(np.abs(cold.value(x))))
        if warm.method == "auto: GivenFace":
            assert warm.nit == 1
            assert warm.certificate.relative < 1e-9
    assert found >= 10


def test_a_path_of_losses_that_are_rows_is_followed_by_newton_steps():
    x = Variable(25, name="x")
    path = np.geomspace(0.6, 0.02, 12)
    warm = minimize(huber(G @ x - Y) + 40 * path[0] * norm1(x)).solve()
    for w in path[1:]:
        problem = minimize(huber(G @ x - Y) + 40 * w * norm1(x))
        warm = problem.solve(warm_start=warm)
        assert warm.success
        assert warm.nit <= 3
        assert warm.fun == pytest.approx(problem.solve(tol=1e-8).fun, rel=1e-6)


def test_correlated_columns_change_their_places_one_by_one():
    """The serum columns of the diabetes data: where many changes at once lead astray, single ones do not."""
    X, y = load_diabetes(return_X_y=True)
    X, y = X / X.std(axis=0), (y - y.mean()) / y.std()
    w, path = Variable(10, name="w"), np.max(np.abs(X.T @ y)) * np.geomspace(0.9, 0.01, 50)
    results = [minimize(0.5 * sum_squares(X @ w - y) + path[0] * norm1(w)).solve()]
    for weight in path[1:]:
        results.append(
            minimize(0.5 * sum_squares(X @ w - y) + weight * norm1(w)).solve(warm_start=results[-1])
        )
    assert all(result.method == "auto: GivenFace" for result in results[1:])
    assert all(result.certificate.relative < 1e-9 for result in results[1:])


def test_a_far_start_is_no_obstacle():
    """The steps may settle or decline: the answer is the same."""
    x = Variable(25, name="x")
    problem = minimize(MODELS["lasso"](x, 0.1))
    best = problem.solve(tol=1e-8)
    for scale in (0.0, 1.0, 1e6):
        start = (scale * np.random.default_rng(0).standard_normal(25),)
        x0 = [*start, *(np.zeros(block.shape) for block in problem.blocks[1:])]
        given = [np.array(xi) for xi in x0]
        result = solve(problem, x0, np.zeros(problem.shape))
        assert result.success
        assert result.fun == pytest.approx(best.fun, rel=1e-6)
        assert all(map(np.array_equal, x0, given))


@pytest.mark.parametrize(
    "problem",
    [
        Problem([Block(f=LeastSquares(G, Y), h=MCP(1.0, 3.0), A=-1.0, shape=25), Block(h=Zero(), shape=25)]),
        Problem([Block(f=LeastSquares(G, Y), A=-G, shape=25), Block(h=L1(1.0), shape=60)]),
    ],
    ids=["not convex", "a kink of M x beside f"],
)
def test_other_problems_are_left_to_others(problem):
    x0 = tuple(np.ones(block.shape) for block in problem.blocks)
    with pytest.raises(AssumptionError, match="GivenFace"):
        GivenFace().init(problem, x0, np.zeros(problem.shape))


def test_a_second_step_is_not_its_own():
    """An answer that is not accepted is not offered again."""
    problem = Problem([Block(f=LeastSquares(G, Y), h=L1(5.0), A=-1.0, shape=25), Block(h=Zero(), shape=25)])
    x0 = (np.ones(25), np.ones(25))
    setup, carry = GivenFace().init(problem, x0, np.zeros(25))
    carry, state = GivenFace().step(setup, carry)
    assert state.t == 1
    with pytest.raises(AssumptionError, match="not accepted"):
        GivenFace().step(setup, carry)
