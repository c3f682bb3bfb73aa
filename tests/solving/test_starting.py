"""Starts: where functions are defined, of any size, and at solutions that are not left again."""

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L1,
    L21,
    Affine,
    Box,
    LeastSquares,
    Logistic,
    PhaseRetrieval,
    Quadratic,
    Rank,
    Simplex,
    Stiefel,
    smooth,
)
from ipds.methods import AcceleratedIPDS
from ipds.modelling import concatenate, sum_squares
from ipds.operators import Compose, Diagonal, Matrix
from ipds.solving.inventing import downhill, drawn
from ipds.solving.starting import starting_point
from problems import data, lasso


def test_a_start_whose_last_block_is_rounding_does_not_set_the_scale():
    """A portfolio that starts at what it holds: x_n = w - w_0 = 1e-17, and β⁰ = C_h/‖x_n‖ was 1e16."""
    n, g = 40, np.random.default_rng(1)
    G, gain = g.standard_normal((60, n)), 0.1 * g.standard_normal(n)
    f = Quadratic(G.T @ G / 60, -gain)
    held = np.full(n, 1 / n)
    problem = Problem([Block(f=f, h=Simplex(), shape=n), Block(h=L1(0.02), A=-1.0, shape=n)], b=held)
    result = solve(problem, tol=1e-6)
    assert result.success
    reference = solve(problem, [np.eye(n)[0], np.eye(n)[0] - held], method="ipds", tol=1e-6)
    assert result.fun == pytest.approx(reference.fun, rel=1e-5)


def test_a_function_undefined_at_zero_starts_in_its_domain():
    f = smooth(lambda x: float((2 * x - np.log(x)).sum()), lambda x: 2 - 1 / x)
    problem = Problem([Block(f=f, h=Box(1e-3, 10), A=-1.0, shape=4), Block(h=L1(0.1), shape=4)])
    result = solve(problem)
    assert result.success
    np.testing.assert_allclose(result.x[0], 1 / 2.1, rtol=1e-3)


def logistic(dtype):
    G, y = data(dtype)
    return Problem([Block(f=Logistic(G, np.sign(y)), A=-1.0, shape=40), Block(h=L1(2.0), shape=40)])


@pytest.mark.parametrize("tol", [1e-4, 1e-6])
@pytest.mark.parametrize("method", ["auto", "ipds"])
def test_a_restart_from_a_solution_stays_there(method, tol):
    f = LeastSquares(np.eye(100), np.repeat([0, 2, -1, 1.0], 25) + np.sin(np.arange(100)))
    D = np.diff(np.eye(100), axis=0)
    fused = Problem([Block(f=f, A=-D, shape=100), Block(h=L1(1.0), shape=99)])
    for problem in (fused, lasso(float), logistic(float)):
        first = solve(problem, method=method, tol=tol)
        again = solve(problem, first.x, first.z, method, tol=tol)
        assert first.success
        assert again.success
        assert again.nit <= 10


def test_a_restart_stays_where_the_eliminated_block_has_an_f():
    g = np.random.default_rng(1)
    G, H, y = g.standard_normal((12, 8)), g.standard_normal((12, 8)), 5 * g.standard_normal(12)
    blocks = [
        Block(f=LeastSquares(G, y), h=L1(0.5), shape=8),
        Block(f=LeastSquares(H, -y), h=L1(0.7), shape=8),
    ]
    problem = Problem(blocks, b=1.0)
    first = solve(problem, tol=1e-8, method=AcceleratedIPDS())
    assert solve(problem, first.x, first.z, tol=1e-8, method=AcceleratedIPDS()).nit == 1


def design():
    """-log det Σ w_i g_i g_iᵀ, 0 ≤ w ≤ 0.2, Σ w = 1: of no value at w = 0, where all would start."""
    G = np.random.default_rng(0).standard_normal((25, 3))

    def information(w):
        return G.T @ (w[:, None] * G)

    f = smooth(
        lambda w: -float(np.linalg.slogdet(information(w))[1]),
        lambda w: -np.einsum("ij,jk,ik->i", G, np.linalg.inv(information(w)), G),
        convex=True,
    )
    total = Affine(np.ones((1, 25)), np.ones(1))
    return f, Problem([Block(f=f, h=Box(0.0, 0.2), A=-1.0, shape=25), Block(h=total, shape=25)])


def test_a_function_without_a_value_at_zero_starts_elsewhere():
    """And steps stay inside: sweeps on a free w would stop at the first bound that they meet, and stay there."""
    f, problem = design()
    result = solve(problem, tol=1e-6)
    assert result.success
    assert result.nit <= 20
    w, slope = result.x[0], f.grad(result.x[0])
    inside, full = (w > 1e-4) & (w < 0.2 - 1e-4), w >= 0.2 - 1e-4
    level = slope[inside].mean()  # one slope for all that are free, less where w is at its most
    np.testing.assert_allclose(slope[inside], level, rtol=1e-3)
    assert np.all(slope[full] <= level + 1e-3)
    assert np.all(slope[~inside & ~full] >= level - 1e-3)
    np.testing.assert_allclose(w.sum(), 1.0, rtol=1e-5)


def test_a_start_near_the_identity_is_the_last_resort():
    f = smooth(lambda X: -float(np.log(np.linalg.det(X))), lambda X: -np.linalg.inv(X).T, convex=True)
    problem = Problem([Block(f=f, A=-1.0, shape=(2, 2)), Block(h=Box(-0.5, 2.0), shape=(2, 2))])
    with np.errstate(all="ignore"):
        result = solve(problem)
    np.testing.assert_allclose(np.diag(result.x[0]), 2.0, atol=1e-2)


def test_an_f_that_has_no_value_anywhere_is_still_refused():
    f = smooth(lambda x: np.nan, lambda x: x)
    with pytest.raises(ValueError, match="not finite at the starting point"):
        solve(Problem([Block(f=f, shape=3)]))


def test_starts_at_a_saddle_are_turned_downhill():
    """Phase retrieval from the spectral start: as drawn, a third of such runs end in a poor minimum."""
    wrong = 0
    for seed in range(10):
        g = np.random.default_rng(100 + seed)
        G, truth = g.standard_normal((80, 20)), np.zeros(20)
        truth[:6] = 2 * g.standard_normal(6)
        problem = Problem([Block(f=PhaseRetrieval(G, (G @ truth) ** 2), h=L1(0.01), shape=20)])
        wrong += solve(problem, seed=0).fun > 1.01 * 0.01 * np.abs(truth).sum()
    assert wrong <= 1


def test_other_draws_are_not_turned():
    """Several starts are to differ: all turned downhill they would be one."""
    f = PhaseRetrieval(np.eye(3) * [1.0, 2.0, 3.0], np.ones(3))
    block = Block(f=f, shape=3)
    v = np.array([1.0, 1.0, 0.0])
    turned = downhill(block, v)
    assert abs(turned[1]) > 10 * abs(turned[0])  # the second derivative at zero is -2 Σ z g gᵀ
    assert f(turned) < f(np.zeros(3))
    draws = [
        drawn(Problem([block]), v, np.random.default_rng(s).standard_normal, lambda *_: True)[0]
        for s in (0, 1)
    ]
    assert abs(draws[0] @ draws[1]) < 0.99 * np.linalg.norm(draws[0]) * np.linalg.norm(draws[1])
    concave = Block(f=Quadratic(-1.0), shape=3)  # falls for ever: as drawn
    assert downhill(concave, v) is v


def test_convex_functions_are_not_asked_where_they_are_flat():
    """The start of a convex problem takes one pass over the data, to see that they fit."""
    calls = []

    class Counted(LeastSquares):
        def value_and_grad(self, x):
            calls.append("both")
            return super().value_and_grad(x)

        def grad(self, x):
            calls.append("gradient")
            return super().grad(x)

    f = Counted(np.ones((3, 2)), np.ones(3))
    problem = Problem([Block(f=f, A=-1.0, shape=2), Block(h=L1(1.0), shape=2)])
    starting_point(problem, None, None, 0)
    assert calls == ["both"]


def test_matrices_that_were_looked_at_when_they_were_made_are_not_multiplied(monkeypatch):
    """A product with a start tells whether all entries of A are finite: of others it is taken still."""
    products, apply = [], Matrix.apply
    monkeypatch.setattr(Matrix, "apply", lambda self, x: products.append(self) or apply(self, x))
    x0 = [np.ones(3), np.ones(2)]
    for A, count in ((np.ones((2, 3)), 0), (Compose(Matrix(np.ones((2, 3))), Diagonal(np.ones(3))), 1)):
        problem = Problem([Block(A=A, shape=3), Block(h=L1(1.0), shape=2)])
        products.clear()
        starting_point(problem, x0, None, None)
        assert len(products) == count


def test_starts_move_what_a_function_of_several_variables_is_made_of():
    """W H ≈ Y as a function of (W, H): the copy that f is a function of was drawn, and then made of zeros."""
    rng = np.random.default_rng(0)
    Y, W, H = rng.random((6, 2)) @ rng.random((2, 5)), Variable((6, 2)), Variable((2, 5))

    def parts(v):
        return v[:12].reshape(6, 2), v[12:].reshape(2, 5)

    def value(v):
        w, h = parts(v)
        return 0.5 * float(np.sum((w @ h - Y) ** 2))

    def gradient(v):
        w, h = parts(v)
        return np.concatenate([((w @ h - Y) @ h.T).ravel(), (w.T @ (w @ h - Y)).ravel()])

    fit = smooth(value, grad=gradient)(concatenate([W.reshape(12), H.reshape(10)]))
    result = solve(minimize(fit, [W >= 0, H >= 0]), seed=0)
    assert result.success
    assert np.allclose(result.value(W) @ result.value(H), Y, atol=1e-2)


def test_many_short_starts_follow_one_that_fails():
    """A first start and others that are given as long may all creep along one valley: 5 times the least value."""
    rng = np.random.default_rng([1, 2218])
    Y = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 10)) + 0.1 * rng.standard_normal((12, 10))
    known, X = rng.random((12, 10)) < 0.7, Variable((12, 10))
    result = solve(minimize(0.5 * sum_squares(X[known] - Y[known]) + Rank(2)(X)), seed=0)
    assert result.success
    assert result.fun <= 0.1725


def test_starts_have_the_units_of_the_columns_of_a_function_of_residuals():
    """All but a few points lie far from any line through drawn numbers of one size: there the loss is flat."""
    rng = np.random.default_rng([2, 1070])
    G = np.c_[np.ones(30), rng.uniform(0, 10, 30)]
    y = G @ [2.0, 0.5] + 0.3 * rng.standard_normal(30)
    others = rng.choice(30, 12, replace=False)
    y[others] = rng.uniform(-10, 20, 12)
    loss = smooth(lambda r: float(np.sum(1 - np.exp(-r * r / 2))), grad=lambda r: r * np.exp(-r * r / 2))
    x, w = Variable(2), Variable(2)
    plain, raw = minimize(loss(G @ x - y)), minimize(loss((G * [1e-3, 1e3]) @ w - y))
    assert solve(raw, seed=0).fun == pytest.approx(solve(plain, seed=0).fun, rel=1e-6)


@pytest.mark.parametrize(("price", "unit"), [(1.0, 1.0), (1e4, 1.0), (1e-4, 1.0), (1.0, 1e3), (1.0, 1e-3)])
def test_starts_at_a_saddle_leave_it_in_any_unit(price, unit):
    """At 0 the slope of f vanishes, and the penalty keeps what is near there: starts are as far off as f is low."""
    rng = np.random.default_rng(0)
    t = rng.standard_normal(30)
    y = 2 * np.tanh(1.5 * t - 0.3) + 0.1 * rng.standard_normal(30)

    def fit(v):
        return 0.5 * price * float(np.sum((v[0] * unit * np.tanh(unit * (v[1] * t + v[2])) - y) ** 2))

    def slope(v):
        s = np.tanh(unit * (v[1] * t + v[2]))
        r, bend = v[0] * unit * s - y, v[0] * unit * (1 - s * s)
        return price * unit * np.array([r @ s, r @ (bend * t), r @ bend])

    penalty = L1(0.1 * price * unit)
    result = solve(Problem([Block(f=smooth(fit, slope), h=penalty, shape=3)]), seed=0)
    assert result.success
    assert result.fun < 0.05 * fit(np.zeros(3))


def test_functions_that_take_every_block_of_a_shape_are_not_tried_at_a_start(monkeypatch):
    tried = []
    for kind in (Stiefel, L21):
        monkeypatch.setattr(kind, "prox", lambda self, v, step: tried.append(type(self)) or v)
    frame, rows = Block(h=Stiefel(), A=np.eye(4), shape=(4, 2)), Block(h=L21(1.0), shape=(4, 2))
    x0 = [np.eye(4)[:, :2], np.zeros((4, 2))]
    starting_point(Problem([frame, rows]), x0, None, None)
    assert tried == []
    weights = Block(h=L21(np.ones(4)), shape=(4, 2))
    starting_point(Problem([frame, weights]), x0, None, None)
    assert tried == [L21]


@pytest.mark.parametrize(
    ("h", "shape"), [(Stiefel(), (2, 4)), (Stiefel(), (8,)), (L21(np.ones(3)), (4, 2)), (Rank(1), (8,))]
)
def test_a_function_that_does_not_take_its_block_is_named_at_a_start(h, shape):
    problem = Problem([Block(h=h, shape=shape, name="own"), Block(h=L1(1.0), A=-1.0, shape=shape)])
    with pytest.raises(ValueError, match="block 'own'"):
        starting_point(problem, [np.ones(shape), np.ones(shape)], None, None)


TAKEN = [(Stiefel(), (4, 2)), (Stiefel(), (3, 3)), (L21(2.0), (5,)), (L21(2.0), (2, 3, 2))]


@pytest.mark.parametrize(("h", "shape"), TAKEN)
def test_what_a_function_takes_has_a_prox(h, shape):
    v = np.random.default_rng(0).standard_normal(shape)
    assert h.takes(shape)
    for point in (v, 0.0 * v, 1e200 * v):
        x = h.prox(point, 1.0)
        assert x.shape == shape
        assert np.isfinite(x).all()
