"""Ways to factorise K = ε + Q + MᵀWM: each solves with the matrix that it stands for."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy
import scipy.sparse as sp
from kinds import differences

from ipds import Variable, minimize, solve
from ipds.functions import smooth
from ipds.methods.newton import algebra, patterns, strategies, units
from ipds.methods.newton.algebra import Rows, System
from ipds.methods.newton.gram import Gram
from ipds.methods.newton.inside import Inside
from ipds.methods.newton.smooth import Part, SmoothPart
from ipds.methods.newton.sparse import Sparse, reordered
from ipds.methods.newton.strategies import Beside, Bordered, Dense, Lowered
from ipds.methods.newton.weights import Weights
from ipds.modelling import kl_div, norm1, norm2

N = 60
EPS = 1e-2
rng = np.random.default_rng(0)
none = np.empty(0, int)


def dense(G: sp.csr_array, W: Weights) -> np.ndarray:
    """ε + GᵀWG, column by column."""
    return EPS * np.eye(N) + np.stack([G.T @ W.times(G @ e) for e in np.eye(N)], axis=1)


def test_rows_with_one_entry_only_touch_the_diagonal():
    sums = sp.kron(sp.eye_array(5), np.ones((1, 12)))
    G = sp.csr_array(sp.vstack([sp.diags_array(rng.uniform(-2, 2, N)), sums]))
    weights = rng.uniform(0.1, 10.0, N + 5) * (rng.random(N + 5) < 0.8)
    W = Weights(weights, N + 5, none, none, np.empty(0), np.empty(0))
    system = System(None, None, Rows(G, none, N), W)
    assert isinstance(system.strategy, Beside)
    factor, a, b = (
        system.factor(np.empty(0), None, W, EPS),
        rng.standard_normal(N),
        rng.standard_normal(N + 5),
    )
    np.testing.assert_allclose(factor.solve(a), np.linalg.solve(dense(G, W), a), rtol=1e-8)
    dv, dy = factor.saddle(a, b, 1e-12, 3)
    np.testing.assert_allclose(EPS * dv + G.T @ dy, a, atol=1e-9)
    on = weights > 0
    np.testing.assert_allclose((G @ dv - b)[on], dy[on] / weights[on], atol=1e-9)
    assert not dy[~on].any()


def test_dense_rows_beside_groups_are_bordered(monkeypatch):
    """Two sums over all entries, beside norms of pairs of differences: RᵀR would be full."""
    monkeypatch.setattr(strategies, "DENSE", 20)
    pairs = sp.diags_array([-np.ones(N - 2), np.ones(N - 2)], offsets=[0, 1], shape=(N - 2, N))
    G = sp.csr_array(sp.vstack([pairs, rng.standard_normal((2, N))]))
    label = np.arange(N - 2) // 2
    direction = rng.standard_normal(N - 2)
    direction /= np.sqrt(np.bincount(label, direction**2))[label]
    across, along = rng.uniform(1.0, 2.0, N // 2 - 1), rng.uniform(0.1, 0.5, N // 2 - 1)
    W = Weights(np.r_[across[label], 3.0, 4.0], N, np.arange(N - 2), label, direction, along)
    Q = sp.csr_array(sp.diags_array(rng.uniform(1.0, 2.0, N)))
    system, g = System(Q, None, Rows(G, none, N), W), rng.standard_normal(N)
    assert isinstance(system.strategy, Bordered)
    x = system.factor(np.empty(0), None, W, EPS).solve(g)
    np.testing.assert_allclose((dense(G, W) + Q.toarray()) @ x, g, atol=1e-9)


@pytest.mark.parametrize("groups", [2, 20])
def test_low_ranks_and_groups_of_many_rows_leave_the_band_as_it_is(monkeypatch, groups):
    """As matrices, norms of many differences are full: those of pairs stay in the pattern."""
    monkeypatch.setattr(strategies, "SMALL", 0)
    r = np.random.default_rng(0)
    D, label = differences(N), np.repeat(np.arange(groups), 40 // groups)
    direction = r.standard_normal(40)
    direction /= np.sqrt(np.bincount(label, direction**2))[label]
    across, along = r.uniform(1.0, 2.0, groups), r.uniform(0.1, 0.5, groups)
    W = Weights(np.r_[across[label], np.full(19, 3.0)], N - 1, np.arange(40), label, direction, along)
    V = np.linalg.qr(r.standard_normal((19, 2)))[0]
    W = W._replace(low=((slice(40, 59), V, np.array([1.0, 2.0])),))
    unknown = W._replace(
        low=((slice(40, 59), V[:, :0], np.zeros(0)),), direction=np.full(40, (groups / 40) ** 0.5)
    )
    system, g = System(np.ones(N), None, Rows(D, none, N), unknown), r.standard_normal(N)
    assert isinstance(system.strategy, Lowered)
    assert system.strategy.has_groups == (groups == 2)
    for own in (unknown, W):
        x = system.factor(np.empty(0), None, own, EPS).solve(g)
        np.testing.assert_allclose((dense(D, own) + np.eye(N)) @ x, g, atol=1e-9)


def test_a_norm_of_many_differences_is_no_full_matrix():
    """36 million entries of a full one, which would take 300 MB: at the answer the forces of both terms cancel."""
    c, x, D = (
        np.cumsum(np.random.default_rng(0).standard_normal(6000)),
        Variable(6000, name="x"),
        differences(6000),
    )
    tracemalloc.start()
    result = solve(minimize(norm1(x - c) + 50.0 * norm2(D @ x)), tol=1e-6)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.success
    assert most < 1e8
    jumps, off = D @ result.value(x), result.value(x) - c
    force = 50.0 * (D.T @ jumps) / np.linalg.norm(jumps)
    assert np.all(np.abs(force) <= 1 + 1e-3)
    moved = np.abs(off) > 1e-4
    assert moved.any()
    np.testing.assert_allclose(force[moved], -np.sign(off[moved]), atol=1e-2)


@pytest.mark.parametrize("n", [1000, 3500])  # columns that a full K may have, and more
def test_a_dense_equation_beside_differences(n, monkeypatch):
    """It is held far more firmly than other rows: as a row of K its multiplier would be all rounding."""
    made, choose = [], strategies.choose
    monkeypatch.setattr(algebra, "choose", lambda *given: made.append(choose(*given)) or made[-1])
    c, x = 0.1 * np.cumsum(np.random.default_rng(0).standard_normal(n)), Variable(n, name="x")
    result = solve(minimize(norm1(x - c) + 2.0 * norm1(differences(n) @ x), [x.mean() == 0]), tol=1e-6)
    assert result.success
    assert result.nit < 100
    assert [type(one) for one in made] == [Bordered]
    assert abs(result.value(x).mean()) < 1e-6


@pytest.mark.parametrize("bandwidth", [150, 0])
def test_groups_of_sparse_rows_have_a_known_pattern(monkeypatch, bandwidth):
    """Groups of one to four rows beside single ones and a matrix Q: the entries of K are one product with W."""
    monkeypatch.setattr(strategies, "SMALL", 0)
    monkeypatch.setattr(strategies, "FEW", 10.0)
    monkeypatch.setattr(patterns, "BANDWIDTH", bandwidth)
    monkeypatch.setattr(patterns, "FULL", 10.0)
    G = sp.csr_array(sp.random_array((50, N), density=0.03, rng=rng) + sp.eye_array(50, N))
    label = np.repeat(np.arange(12), [1, 2, 3, 4] * 3)
    direction = rng.standard_normal(30)
    direction /= np.sqrt(np.bincount(label, direction**2))[label]
    across, along = rng.uniform(1.0, 2.0, 12), rng.uniform(0.1, 0.5, 12)
    W = Weights(np.r_[across[label], rng.uniform(0.0, 3.0, 20)], 50, np.arange(30), label, direction, along)
    Q = sp.csr_array(differences(N).T @ differences(N))
    system, g = System(Q, None, Rows(G, none, N), W), rng.standard_normal(N)
    assert isinstance(system.strategy, Sparse)
    assert system.strategy.gram is not None
    for changed in (W, W._replace(diagonal=2 * W.diagonal, direction=-direction, along=along[::-1])):
        x = system.factor(np.empty(0), None, changed, EPS).solve(g)
        np.testing.assert_allclose((dense(G, changed) + Q.toarray()) @ x, g, atol=1e-9)


def test_a_table_is_raked_by_newton_steps():
    """Relative entropy under given sums of rows and columns: K is a diagonal and 100 rows."""
    r, shape = np.random.default_rng(27), (40, 60)
    table = r.gamma(0.5, 200, shape) + 1
    rows, columns = table.sum(1) * r.uniform(0.8, 1.3, 40), table.sum(0) * r.uniform(0.8, 1.3, 60)
    columns *= rows.sum() / columns.sum()
    X = Variable(shape, name="X")
    result = solve(minimize(kl_div(X, table), [X.sum(axis=1) == rows, X.sum(axis=0) == columns]))
    assert result.success
    assert result.method.startswith("auto: NewtonALM")
    raked = table.copy()
    for _ in range(200):
        raked *= (rows / raked.sum(1))[:, None]
        raked *= columns / raked.sum(0)
    np.testing.assert_allclose(result.value(X), raked, rtol=1e-3, atol=1e-3)


def test_rows_of_neighbours_keep_their_order():
    """No order has a narrower band than one in which the entries of the longest row are next to each other."""
    D = differences(50)
    order, width = reordered(D)
    assert width == 1
    assert np.array_equal(order, np.arange(50))
    mixed = np.random.default_rng(0).permutation(50)
    order, width = reordered(D[:, mixed])
    assert width == 1
    assert not np.array_equal(order, np.arange(50))
    assert reordered(sp.csr_array((0, 3)))[1] == 0


def test_hessians_are_made_once_for_all_units():
    """Those of a function known by its gradient take two of these for every entry."""
    calls = []

    def gradient(x):
        calls.append(x)
        return np.exp(x)

    f = smooth(lambda x: float(np.exp(x).sum()), gradient, convex=True)
    part = Part(f, slice(0, 3), (3,), np.zeros(3), unknown=(f,))
    one, x, C = SmoothPart([part], np.ones(3)), np.array([0.5, 1.0, -2.0]), np.array([2.0, 0.5, 4.0])
    first = one.curvature(x)
    made = len(calls)
    assert one.rescaled(np.ones(3)) is one
    assert np.allclose(one.rescaled(C).curvature(x / C), C**2 * first)
    assert len(calls) == made


@pytest.mark.parametrize("bounded", [False, True])
def test_rough_hessians_take_half_of_the_gradients(bounded):
    """To seven digits; one with all of them is made anew where it is asked for, and serves as a rough one."""
    calls = []

    def gradient(x):
        calls.append(x)
        return np.exp(x) + x.sum()

    f = smooth(lambda x: float(np.exp(x).sum() + 0.5 * x.sum() ** 2), gradient, convex=True)
    f = Inside(f, np.full(3, -3.0), np.full(3, 3.0)) if bounded else f
    one, x = (
        SmoothPart([Part(f, slice(0, 3), (3,), np.zeros(3), unknown=(f,))], np.ones(3)),
        np.array([0.5, 1, -2]),
    )
    exact, counts, errors = np.diag(np.exp(x)) + 1, [], []
    for rough in (True, True, False, True):
        before = len(calls)
        errors.append(np.max(np.abs(one.hessian(x, rough)[1] - exact)))
        counts.append(len(calls) - before)
    assert counts == [4, 0, 6, 0]
    assert errors[0] < 1e-6
    assert errors[2] < 1e-8


def test_products_of_rows_are_kept_for_the_weights_asked_for_last():
    """Rows of f with weights that stay and that change, beside rows whose weights always do."""
    R, G = rng.standard_normal((20, N)), sp.csr_array(differences(N))
    W = Weights(np.ones(N - 1), N - 1, none, none, np.empty(0), np.empty(0))
    system, g = System(None, R, Rows(G, none, N), W), rng.standard_normal(N)
    assert isinstance(system.strategy, Dense)
    for D in (np.ones(20), np.ones(20), np.arange(1.0, 21.0), np.ones(20)):
        own = W._replace(diagonal=rng.uniform(0.5, 2.0, N - 1))
        x = system.factor(D, None, own, EPS).solve(g)
        np.testing.assert_allclose((dense(G, own) + R.T @ (D[:, None] * R)) @ x, g, atol=1e-9)


def test_networks_without_an_order_have_dense_factors():
    """Arcs between any two nodes fill the factors, those between neighbours do not; far too many nodes stay sparse."""
    rng = np.random.default_rng(0)

    def network(n, far):
        tail = np.tile(np.arange(n), 5)
        head = (tail + (rng.integers(1, n, tail.size) if far else rng.integers(1, 3, tail.size))) % n
        arcs = np.arange(tail.size)
        data = np.concatenate([np.ones(tail.size), -np.ones(tail.size)])
        place = np.concatenate([tail, head]), np.concatenate([arcs, arcs])
        return sp.csr_array((data, place), shape=(n, tail.size))

    assert Gram(network(300, True).T.tocsr()).is_full
    assert not Gram(network(300, False).T.tocsr()).is_full
    assert not Gram(network(3500, True).T.tocsr()).is_full
    A = network(60, True)
    cost, cap, right = rng.random(A.shape[1]), 1 + rng.random(A.shape[1]), A @ rng.random(A.shape[1])
    x = Variable(A.shape[1], name="x")
    result = solve(minimize(cost @ x, [A @ x == right, x >= 0, x <= cap]), tol=1e-7)
    found = scipy.optimize.linprog(cost, A_eq=A, b_eq=right, bounds=np.stack([0 * cap, cap], axis=1))
    assert result.success
    assert result.fun == pytest.approx(found.fun, rel=1e-6)


def test_one_unit_for_all_rows_takes_no_pass(monkeypatch):
    """Passes take square roots of what is left: they are for the differences between rows and columns."""
    monkeypatch.setattr(units, "PASSES", 1)
    G = 1e6 * np.where(np.random.default_rng(3).random((12, 5)) < 0.5, -1.0, 1.0)
    E, C = units.equilibrated(G, 5, np.zeros(5), np.empty(0, int))
    rows = np.linalg.norm(E[:, None] * G * C, axis=1)
    assert rows.min() > 2**-0.5
    assert rows.max() < 2**0.5
