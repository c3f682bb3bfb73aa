"""Losses, cones and balls in interior-point steps: their scalings, steps and answers."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag
from scipy.sparse.linalg import LinearOperator

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import (
    PSD,
    Entropy,
    Exponential,
    Huber,
    KLDivergence,
    L2Ball,
    Linear,
    LogDet,
    LogisticLoss,
    NegativeLog,
    Nuclear,
    Precomposed,
    Scaled,
    SecondOrderCone,
    SumSquares,
    smooth,
)
from ipds.methods import NewtonALM
from ipds.methods.newton import returning, saddle
from ipds.methods.newton.barriers import known_barriers, placed
from ipds.methods.newton.saddle import Saddle
from ipds.methods.newton.terms import Piece
from ipds.methods.newton.weights import Weights, along_diagonal
from ipds.modelling import (
    concatenate,
    diff,
    entropy,
    huber,
    kl_div,
    log_det,
    norm1,
    norm21,
    nuclear,
    sum_squares,
)
from ipds.presolve import presolve
from ipds.theory.structure import has_barrier

SHIFT = np.array([[0.3, 0.1], [0.1, -0.2]])
CONES = {
    "eigenvalues": (PSD(), (4, 4)),
    "cones": (SecondOrderCone(), (5, 3)),
    "one cone": (SecondOrderCone(), (6,)),
    "singular values": (Nuclear(0.7), (4, 3)),
    "ball": (L2Ball(2.0), (5,)),
    "shifted": (Precomposed(PSD(), -2.0, SHIFT), (2, 2)),
    "multiple of singular values": (Scaled(Nuclear(0.7), 3.0), (4, 3)),
}
LOSSES = {
    "logarithm": (NegativeLog(0.5), (6,)),
    "entropy": (Entropy(2.0), (6,)),
    "exponential": (Exponential(0.3, -1.5), (6,)),
    "counts": (KLDivergence(np.arange(1.0, 7.0)), (6,)),
    "logistic": (LogisticLoss(), (6,)),
    "determinant": (LogDet(1.3), (3, 3)),
    "multiple of squares": (Scaled(SumSquares(2.0), 0.5), (6,)),
    "multiple of a determinant": (Scaled(Precomposed(LogDet(1.3), 2.0, 0.1 * np.eye(3)), 0.5), (3, 3)),
}


def made(name, scale=0.8):
    h, shape = {**CONES, **LOSSES}[name]
    size = int(np.prod(shape))
    (found,) = known_barriers([Piece(h, shape, slice(0, size), scale, np.zeros(1))], 2 * size, 0)
    return found, size


def inside(barrier, size, seed=0):
    """A point inside, of no special place."""
    rng = np.random.default_rng(seed)
    return barrier.start(rng.standard_normal(size), rng.standard_normal(size), 1.3, 1.0)


@pytest.mark.parametrize("name", CONES)
def test_steps_change_products_as_they_should(name):
    """⟨du, s⟩ + ⟨u, ds⟩ = pairs·goal - ⟨u, s⟩, to first order of what is not linear."""
    barrier, size = made(name)
    u, y = inside(barrier, size)
    scaling, goal = barrier.at(u, y, 1.3, 1e8), 0.37
    dy = 0.1 * np.random.default_rng(1).standard_normal(size)
    du = scaling.change(dy, scaling.shift(goal))
    assert scaling.product == pytest.approx(barrier.product(u, y))
    step = 1e-6
    moved = barrier.product(*scaling.moved(du, dy, step))
    change = barrier.degree * goal - scaling.product
    assert (moved - scaling.product) / step == pytest.approx(change, rel=1e-4, abs=1e-4)
    psi = block_diag(*scaling.psi) if scaling.psi.ndim == 3 else scaling.psi
    np.testing.assert_allclose(du[:size], psi @ dy + scaling.shift(goal)[:size], rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(0.5 * (psi + psi.T))[0] > 0


def centre(name, barrier):
    """A point with u∘s = 1."""
    A = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.3
    if name == "eigenvalues":
        return A.ravel() / barrier.k, -barrier.k * np.linalg.inv(A).ravel()
    if name == "singular values":
        extra = np.concatenate([np.eye(n).ravel() / barrier.lam for n in barrier.shape])
        return np.concatenate([np.zeros(12), extra]), np.zeros(12)
    if name == "ball":
        U = np.array([0.5, -0.2, 0.3, 0.1, 0.4])
        return U / barrier.k, barrier.k * U * (2 / (barrier.radius**2 - U @ U))
    U = np.random.default_rng(4).standard_normal((5, 3))
    U[:, 0] = 1 + np.linalg.norm(U, axis=1)
    S = U * [1, -1, -1] / (U[:, 0] ** 2 - U[:, 1] ** 2 - U[:, 2] ** 2)[:, None]
    return U.ravel() / barrier.k, -barrier.k * S.ravel()


@pytest.mark.parametrize("name", ["eigenvalues", "cones", "singular values", "ball"])
def test_the_corrector_takes_off_what_the_first_step_leaves(name):
    """From the central path: products are off by the second order of a step, and by the third if corrected."""
    barrier, size = made(name)
    u, y = centre(name, barrier)
    scaling = barrier.at(u, y, 1.3, 1e8)
    np.testing.assert_allclose(scaling.shift(1.0), 0.0, atol=1e-9)
    off = {}
    for t in (1e-2, 1e-3):
        dy = t * np.random.default_rng(1).standard_normal(size)
        first = scaling.change(dy, scaling.shift(1.0))
        second = scaling.change(dy, scaling.shift(1.0, first, dy))
        off[t] = [
            abs(barrier.product(*scaling.moved(du, dy, 1.0)) - barrier.degree) for du in (first, second)
        ]
    (plain, corrected), (plain_near, corrected_near) = off[1e-2], off[1e-3]
    assert 30 < plain / plain_near < 300
    assert corrected < 0.3 * plain
    assert corrected_near < 0.03 * plain_near


@pytest.mark.parametrize("name", CONES)
def test_longest_steps_end_at_the_boundary(name):
    barrier, size = made(name)
    u, y = inside(barrier, size)
    scaling = barrier.at(u, y, 1.3, 1e8)
    dy = np.random.default_rng(2).standard_normal(size)
    du = scaling.change(dy, scaling.shift(0.0))
    longest = 1 / scaling.inverse_length(du, dy)
    barrier.at(*scaling.moved(du, dy, 0.999 * longest), 1.3, 1e8)
    if name != "ball":
        assert is_inside(barrier, *scaling.moved(du, dy, 0.999 * longest))
        assert not is_inside(barrier, *scaling.moved(du, dy, 1.001 * longest))
    else:
        ends = [ball_room(barrier, *scaling.moved(du, dy, t * longest)) for t in (0.999, 1.001)]
        assert ends[0] > 0 > ends[1]


def is_inside(barrier, u, y):
    X, Z = barrier.primal(u), barrier.dual(y)
    if hasattr(barrier, "shape") and type(barrier).__name__ == "Cones":
        return all(np.all(A[:, 0] > np.linalg.norm(A[:, 1:], axis=1)) for A in (X, Z))
    return min(np.linalg.eigvalsh(X)[0], np.linalg.eigvalsh(Z)[0]) > 0


def ball_room(barrier, u, y):
    U = barrier.k * u + barrier.shift
    return min(barrier.radius - np.linalg.norm(U), float(U @ y) / barrier.k)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_stay_on_their_graph_however_long_a_step(name):
    barrier, size = made(name)
    h, shape = LOSSES[name]
    u, y = inside(barrier, size)
    scaling = barrier.at(u, y, 1.3, 1e8)
    dy = 30 * np.random.default_rng(2).standard_normal(size)
    for length in (0.0, 1e-3, 1.0):
        v, z = scaling.moved(scaling.change(dy, scaling.shift(0.0)), dy, length)
        point = (v / 0.8).reshape(shape)
        assert np.isfinite(h(point))
        if "determinant" in name:
            z = 0.5 * (z.reshape(shape) + z.reshape(shape).T)
        slope = h.subgradient(point) / 0.8
        np.testing.assert_allclose(z.reshape(shape), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_scalings_of_losses_are_inverse_hessians(name):
    barrier, size = made(name)
    u, y = inside(barrier, size)
    dy = np.random.default_rng(3).standard_normal(size)
    if "determinant" in name:
        dy = (dy.reshape(3, 3) + dy.reshape(3, 3).T).ravel()
    step = 1e-6
    scaling = barrier.at(u, y, 1.3, 1e8)
    du = scaling.change(dy, scaling.shift(0.0))
    v, z = scaling.moved(du, dy, step)
    np.testing.assert_allclose((v - u) / step, du, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose((z - y) / step, dy, rtol=1e-3, atol=1e-5)


def test_what_has_a_barrier():
    assert has_barrier(PSD(), (30, 30))
    assert not has_barrier(PSD(), (31, 31))
    assert not has_barrier(L2Ball(0.0), (3,))
    assert has_barrier(Precomposed(Nuclear(), 2.0), (3, 4))
    assert has_barrier(Scaled(Huber(), 2.0), (3,))
    large = [Piece(PSD(), (20, 20), slice(0, 400), 1.0, np.zeros(1))]
    assert known_barriers(large, 401, 0) is None
    many = [Piece(SecondOrderCone(), (100, 4), slice(0, 400), 1.0, np.zeros(1))]
    assert known_barriers(many, 700, 5000) is not None
    assert known_barriers(many, 700, 50_000) is None
    assert known_barriers(many, 5_000, 40_000) is not None
    assert known_barriers(many, 5_000, 60_000) is None
    assert known_barriers(many, 5_000, 30_000, 20_000) is None
    assert known_barriers(many, 10_001, 0) is None
    assert known_barriers([Piece(Entropy(), (500,), slice(0, 500), 1.0, np.zeros(1))], 1000, 0) is not None
    numbers = [one.numbers for one in placed([made("singular values")[0], made("ball")[0]], 7)]
    assert numbers == [slice(0, 37), slice(37, 42)]


def test_saddle_solves_with_groups_and_inverses():
    """[K, Rᵀ; R, -W⁻¹] with a diagonal, two groups and a matrix; a row without weight has no force."""
    rng = np.random.default_rng(0)
    n, Q, R = 4, np.diag(np.arange(1.0, 5.0)), rng.standard_normal((9, 4))
    B = rng.standard_normal((3, 3))
    direction = np.array([0.6, 0.8, 1.0])
    W = Weights(
        np.array([1.0, 1, 1, 3, 3, 2, 5, 0, 7.0]),
        9,
        np.array([3, 4, 5]),
        np.array([0, 0, 1]),
        direction,
        np.array([0.5, 4.0]),
        inverses=((np.arange(3)[None], (B @ B.T + np.eye(3))[None]),),
    )
    _, augmented = Saddle(n, Q, [R]).factorise(W.diagonal, np.full(n, 0.1), None, W)
    a, b = rng.standard_normal(n), rng.standard_normal(9)
    x, t = augmented(a, b)
    counts = W.diagonal > 0
    np.testing.assert_allclose(Q @ x + 0.1 * x + R.T @ t, a, atol=1e-12)
    np.testing.assert_allclose((R @ x - W.divide(t))[counts], b[counts], atol=1e-12)
    assert t[7] == 0.0


def test_large_saddles_with_few_entries_are_factorised_as_such(monkeypatch):
    """As the dense one is, with blocks, a group and a row that does not count; the pattern is found once."""
    rng, n, m = np.random.default_rng(0), 300, 150
    R = sp.random_array((m, n), density=0.01, rng=rng, format="csr")
    diagonal = rng.random(m) + 0.1
    diagonal[8:12], diagonal[40] = 0.7, 0.0
    direction = rng.standard_normal(4)
    direction /= np.linalg.norm(direction)
    W = Weights(diagonal, m, np.arange(8, 12), np.zeros(4, int), direction, np.array([0.3]))
    blocks = np.array([2 * np.eye(4) + 0.1, np.eye(4) - 0.2])
    W = W._replace(inverses=(along_diagonal(slice(0, 8), blocks),))
    a, b, found, patterns = rng.standard_normal(n), rng.standard_normal(m), [], []
    for small in (10_000, 100):
        monkeypatch.setattr(saddle, "SMALL", small)
        found.append(Saddle(n, None, [R]).factorise(W.diagonal, np.full(n, 0.1), None, W)[1](a, b))
    np.testing.assert_allclose(np.concatenate(found[0]), np.concatenate(found[1]), atol=1e-10)
    assert found[1][1][40] == 0.0
    plain = saddle.Pattern
    monkeypatch.setattr(saddle, "Pattern", lambda *given: patterns.append(1) or plain(*given))
    kept = Saddle(n, None, [R])
    for k in (1.0, 2.0):
        doubled = W._replace(inverses=(along_diagonal(slice(0, 8), k * blocks),))
        rest = k * sp.eye_array(n, k=1) + k * sp.eye_array(n, k=-1) + 3 * k * sp.eye_array(n)
        x, t = kept.factorise(W.diagonal, np.full(n, 0.1), rest, doubled)[1](a, b)
        left = (R @ x - doubled.divide(t) - b)[W.diagonal > 0]
        np.testing.assert_allclose(left, 0.0, atol=1e-10)
        np.testing.assert_allclose(rest @ x + 0.1 * x + R.T @ t, a, atol=1e-10)
    assert len(patterns) == 1
    assert "_start" not in vars(kept)


@pytest.mark.parametrize(("steps", "pace"), [(40, 0.375), (80, 0.25)])
def test_cones_along_a_trajectory(steps, pace):
    """700 and 1,700 rows and columns: semismooth steps took 130 and 220."""
    place, speed, thrust = Variable((steps + 1, 3)), Variable((steps + 1, 3)), Variable((steps, 3))
    fall = np.array([0.0, 0.0, -3.7]) * np.ones((steps, 1))
    ends = [
        place[0] == [50.0, 50, 100],
        speed[0] == [-10.0, 0, -10],
        place[steps] == 0.0,
        speed[steps] == 0.0,
    ]
    moves = [speed[1:] == speed[:-1] + pace * (thrust + fall), place[1:] == place[:-1] + pace * speed[1:]]
    limit = SecondOrderCone()(concatenate([12.0 + 0 * thrust[:, :1], thrust], axis=1))
    result = solve(minimize(norm21(thrust) + limit, [*ends, *moves, place[:, 2] >= 0]), tol=1e-6)
    assert result.success
    assert result.nit <= 18


def cut(rng):
    n = 6
    L = np.triu(rng.random((n, n)) < 0.6, 1) * 1.0
    L = np.diag((L + L.T).sum(1)) - L - L.T
    X, x = Variable((n, n)), cp.Variable((n, n), symmetric=True)
    i = np.arange(n)
    best = cp.Problem(cp.Minimize(-cp.sum(cp.multiply(L, x))), [x >> 0, cp.diag(x) == 1])
    return minimize(-(L * X).sum() + PSD()(X), [X[i, i] == 1]), best


def slanted_matrix(rng):
    """Not symmetric in the objective: the set alone makes it so."""
    C, X, x = rng.standard_normal((4, 4)), Variable((4, 4)), cp.Variable((4, 4), symmetric=True)
    best = cp.Problem(cp.Minimize(cp.sum(cp.multiply(C, x))), [x >> 0, cp.trace(x) == 1])
    return minimize((C * X).sum() + PSD()(X), [(np.eye(4) * X).sum() == 1]), best


def recovery(rng):
    A, X, x = rng.standard_normal((9, 20)), Variable((5, 4)), cp.Variable((5, 4))
    b = A @ np.outer(rng.standard_normal(5), rng.standard_normal(4)).ravel()
    best = cp.Problem(cp.Minimize(cp.normNuc(x)), [A @ cp.vec(x, order="C") == b])
    return minimize(nuclear(X), [A @ X.reshape((20,)) == b]), best


def design(rng):
    V = rng.standard_normal((15, 3))
    M, w, c = np.array([np.outer(v, v).ravel() for v in V]).T, Variable(15), cp.Variable(15)
    best = cp.Problem(cp.Minimize(-cp.log_det(V.T @ cp.diag(c) @ V)), [c >= 0, c <= 0.2, cp.sum(c) == 1])
    return minimize(-log_det((M @ w).reshape((3, 3))), [w >= 0, w <= 0.2, w.sum() == 1]), best


def growth(rng):
    R, x, c = 1 + 0.2 * rng.standard_normal((30, 8)), Variable(8), cp.Variable(8)
    R = np.maximum(R, 0.1)
    best = cp.Problem(cp.Minimize(-cp.sum(cp.log(R @ c))), [c >= 0, cp.sum(c) == 1])
    return minimize(NegativeLog()(R @ x), [x >= 0, x.sum() == 1]), best


def risk_and_groups(rng):
    """A cone, a norm of groups and bounds at once."""
    A, q, X, x = (
        rng.standard_normal((6, 6)),
        rng.standard_normal((3, 2)),
        Variable((3, 2)),
        cp.Variable((3, 2)),
    )
    flat = cp.vec(x, order="C")
    objective = cp.sum(cp.multiply(q, x)) + 0.3 * cp.sum(cp.norm(x, 2, axis=1))
    best = cp.Problem(cp.Minimize(objective), [cp.norm(A @ flat) <= 1, x >= -0.4])
    ours = (q * X).sum() + 0.3 * norm21(X) + L2Ball(1.0)(A @ X.reshape((6,)))
    return minimize(ours, [X >= -0.4]), best


@pytest.mark.parametrize("draw", [cut, slanted_matrix, recovery, design, growth, risk_and_groups])
@pytest.mark.parametrize("seed", range(3))
def test_answers_in_few_steps(draw, seed):
    problem, best = draw(np.random.default_rng(seed))
    result = solve(problem, method=NewtonALM(), tol=1e-6)
    assert result.success
    assert result.nit <= 25
    assert result.fun == pytest.approx(best.solve(solver="CLARABEL"), rel=1e-5, abs=1e-6)


def test_many_balls_are_cones_of_one_function():
    rng = np.random.default_rng(0)
    P, A, b = rng.standard_normal((6, 2)), Variable((2, 2), name="A"), Variable(2, name="b")
    balls = [L2Ball(1.0)(A @ p + b) for p in P]
    problem = minimize(-log_det(A) + sum(balls[1:], balls[0]))
    kinds = [type(h).__name__ for h, _ in problem.blocks[-1].h.parts]
    assert kinds == ["LogDet", "SecondOrderCone"]
    result = solve(problem)
    reach = np.linalg.norm(P @ result.value(A).T + result.value(b), axis=1)
    assert result.success
    assert reach.max() == pytest.approx(1.0, abs=1e-4)


def test_zeros_among_entries_in_units_of_their_own():
    """A prox of eigenvalues makes 1e-20 of them, and v has another 1e-20: the rows that say both are one hold."""
    rng = np.random.default_rng(0)
    units = np.array([1.0, 30.0, 0.05, 200.0])
    S = np.cov(rng.standard_normal((200, 4)) * units, rowvar=False)
    weights = 0.5 * np.sqrt(np.outer(S.diagonal(), S.diagonal()))
    K = Variable((4, 4), name="K")
    result = solve(minimize((S * K).sum() - log_det(K) + norm1(weights * K)))
    assert result.success
    off = result.value(K) * np.outer(units, units) * (1 - np.eye(4))
    assert np.abs(off).max() < 1e-12


def test_a_constant_in_the_objective_is_no_force():
    """Multipliers of dependent sums, to all digits: rows were once compared with a constant over a force of 1e-14."""
    X, Q = Variable((4, 3), name="X"), np.random.default_rng(0).random((4, 3))
    sums = [X.sum(axis=1) == 0.25, X.sum(axis=0) == 1 / 3]
    result = solve(minimize(kl_div(X, Q), sums), tol=1e-9)
    assert result.success
    plain = solve(minimize(-entropy(X) - (np.log(Q) * X).sum(), sums), tol=1e-9)
    np.testing.assert_allclose(result.value(X), plain.value(X), atol=1e-8)


def test_cones_by_hand():
    rng = np.random.default_rng(1)
    A, q = rng.standard_normal((3, 5)), np.array([1.0, 0.2, -0.1, 0.3, 0.1])
    b = A @ np.array([2.0, 0.5, 0.5, -0.5, 0.5])
    x = cp.Variable(5)
    best = cp.Problem(cp.Minimize(q @ x), [A @ x == b, cp.norm(x[1:]) <= x[0]]).solve(solver="CLARABEL")
    result = solve(Problem([Block(f=Linear(q), h=SecondOrderCone(), A=A, shape=5)], b=b), tol=1e-6)
    assert result.success
    assert result.fun == pytest.approx(best, rel=1e-5)


def test_weights_before_terms_of_several_variables_leave_interior_point_steps():
    """A trend, a season and outliers: ½ of the squares of a sum of three variables took 68 to 83 steps."""
    rng, n = np.random.default_rng(0), 60
    y = 0.05 * np.arange(n) + np.sin(np.arange(n) / 2) + 0.2 * rng.standard_normal(n)
    y[::17] += 6
    s, q, o = Variable(n, name="s"), Variable(12, name="q"), Variable(n, name="o")
    rest = y - s - np.tile(np.eye(12), (5, 1)) @ q - o
    result = solve(
        minimize(0.5 * sum_squares(rest) + 10 * norm1(diff(diff(s))) + 0.5 * norm1(o), [q.sum() == 0]),
        tol=1e-6,
    )
    assert result.success
    assert result.nit <= 20


def test_huber_beside_bounds_in_raw_units():
    rng = np.random.default_rng(1)
    G = rng.standard_normal((100, 8)) * 10.0 ** np.arange(-3, 5)
    y = G @ (10 / np.linalg.norm(G, axis=0)) + rng.standard_normal(100)
    w, b = Variable(8, name="w"), Variable(name="b")
    loss = huber(G @ w + b - y, 0.3)
    result = solve(minimize(loss + 0.5 * norm1(w) + 0.1 * sum_squares(w), [w >= -0.5, w <= 0.5]), tol=1e-6)
    assert result.success
    assert result.nit <= 30


@pytest.mark.parametrize("seed", range(3))
def test_sweeps_end_on_faces_of_losses_that_are_quadratic_in_pieces(seed):
    """A path with outliers: steps along graphs of Huber losses go to and fro between two faces."""
    rng, n = np.random.default_rng(seed), 200
    y = np.cumsum(rng.standard_normal((n, 2)), axis=0) + rng.standard_normal((n, 2))
    y[::15] += 20
    X, V = Variable((n, 2), name="X"), Variable((n - 1, 2), name="V")
    plain = solve(minimize(huber(X - y) + 2 * sum_squares(diff(diff(X, axis=0), axis=0))), tol=1e-6)
    speeds = solve(
        minimize(huber(X - y) + 2 * sum_squares(diff(V, axis=0)), [diff(X, axis=0) == V]), tol=1e-6
    )
    assert plain.success
    assert speeds.success
    assert max(plain.nit, speeds.nit) <= 5
    assert plain.fun == pytest.approx(speeds.fun, rel=1e-6)


@pytest.mark.parametrize("priced", [False, True])
def test_plans_whose_entries_are_beyond_rounding_are_certified_and_positive(priced):
    """Entropies of 1e-50 beside 0.1: rounding of M v is negative there, where the objective is infinite."""
    rng, t, P = np.random.default_rng(0), np.linspace(0, 1, 15), Variable((15, 15), name="P")
    a, b = rng.dirichlet(np.ones(15), 2)
    far = (((t[:, None] - t) ** 2) * P).sum() - 0.01 * entropy(P)
    sums = P.sum(axis=0), P.sum(axis=1)
    if priced:
        problem = minimize(far + 0.5 * kl_div(sums[0], a) + 0.5 * kl_div(sums[1], b))
    else:
        problem = minimize(far, [sums[0] == a, sums[1] == b])
    result = solve(problem, tol=1e-6)
    assert result.success
    assert np.isfinite(result.fun)
    assert result.nit <= 20
    assert 0 < result.value(P).min() < 1e-30


@pytest.mark.parametrize("weight", [0.005, 0.002])
def test_plans_with_little_entropy(weight):
    """Exponents of -500: steps along the graph with one β for all rows went to and fro, and nothing was certified."""
    rng, t, P = np.random.default_rng(0), np.linspace(0, 1, 15), Variable((15, 15), name="P")
    a, b = rng.dirichlet(np.ones(15), 2)
    cost = (t[:, None] - t) ** 2
    problem = minimize((cost * P).sum() - weight * entropy(P), [P.sum(axis=0) == a, P.sum(axis=1) == b])
    result = solve(problem, tol=1e-6)
    assert result.success
    assert result.nit <= 40
    f, g = np.zeros(15), np.zeros(15)
    for _ in range(5000):  # Sinkhorn, in logarithms
        f = weight * (np.log(b) - np.log(np.exp((g - cost) / weight).sum(axis=1)))
        g = weight * (np.log(a) - np.log(np.exp((f[:, None] - cost) / weight).sum(axis=0)))
    plan = np.exp((f[:, None] + g - cost) / weight)
    assert result.fun == pytest.approx(float(a @ g + b @ f), rel=1e-4)
    np.testing.assert_allclose(result.value(P), plan, atol=1e-3)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_logarithms_tell_the_first_weight_by_what_constraints_allow(unit):
    """Slopes of logarithms have any size: a weight of 1 took 10 steps, and up to 14 under inequalities."""
    r = np.random.default_rng(4)
    A = unit * (1.0 + 0.2 * r.standard_normal((40, 8)))
    x = Variable(8, name="x")
    growth = solve(minimize(NegativeLog()(A @ x), [x >= 0, x.sum() == 1.0]), tol=1e-6)
    assert growth.success
    assert growth.nit <= 7
    limits = solve(minimize(NegativeLog()(x), [np.abs(A[:5]) @ x <= 1.0]), tol=1e-6)
    assert limits.success
    assert limits.nit <= 4
    moments = solve(minimize(-entropy(x), [A[:2] @ x == A[:2] @ np.full(8, 0.125)]), tol=1e-6)
    assert moments.success
    assert moments.nit <= 2


@pytest.mark.parametrize(("name", "tried"), [("entropy", 0), ("covariance", 1)])
def test_sweeps_predict_faces_where_they_are_near(monkeypatch, name, tried):
    """Residuals of a third after ten sweeps say nothing of the face, those of a fiftieth do."""
    rng, t, X = np.random.default_rng(0), np.linspace(-1, 1, 100), Variable((4, 4), name="X")
    A, S = np.vstack([np.ones(100), t, t**2]), np.cov(rng.standard_normal((40, 4)), rowvar=False)
    problem = {
        "entropy": Problem([Block(h=Entropy(), A=A, shape=100)], b=A @ rng.dirichlet(np.ones(100))),
        "covariance": minimize((S * X).sum() - log_det(X) + 0.1 * norm1(X)),
    }[name]
    asked, after_sweeps = [], []
    settle, warm = returning.settle, NewtonALM._warm

    def swept(self, setup, carry):
        carry = warm(self, setup, carry)
        after_sweeps.append(len(asked))
        return carry

    monkeypatch.setattr(returning, "settle", lambda *given: asked.append(given) or settle(*given))
    monkeypatch.setattr(NewtonALM, "_warm", swept)
    assert solve(problem, method="newton").success
    assert after_sweeps[0] == tried


def test_cones_beside_products_are_left_to_other_steps(monkeypatch):
    """The saddle-point matrix of cones needs all entries of K: those of maps and of unknown Hessians are not there."""
    monkeypatch.setattr("ipds.methods.newton.inside.EXPLICIT", 400)
    r, n = np.random.default_rng(0), 450
    A, c, B = r.standard_normal((8, n)), 0.01 * r.standard_normal(n), r.standard_normal((3, n))

    def value(v):
        top = float(v.max())
        return float(np.log(np.exp(v - top).sum()) + top + 0.5 * np.sum((B @ v) ** 2) + 0.01 * v @ v + c @ v)

    def gradient(v):
        e = np.exp(v - v.max())
        return e / e.sum() + B.T @ (B @ v) + 0.02 * v + c

    x = Variable(n, name="x")
    near = L2Ball(0.1)(x[:6] + 1) + L2Ball(0.2)(x[6:16] - 1)
    op = LinearOperator(
        A.shape, matvec=lambda v: A @ v.ravel(), rmatvec=lambda y: A.T @ y.ravel(), dtype=float
    )
    maps = minimize(sum_squares(op @ x - 1) + 0.01 * sum_squares(x) + L2Ball(0.1)(op @ x) + near)
    rows = minimize(sum_squares(A @ x - 1) + 0.01 * sum_squares(x) + L2Ball(0.1)(A @ x) + near)
    for problem in (minimize(smooth(value, gradient, convex=True)(x) + near), maps):
        given = presolve(problem).problem
        x0 = tuple(np.zeros(block.shape) for block in given.blocks)
        setup, _ = NewtonALM().init(given, x0, np.zeros(given.shape))
        assert setup.interior is None
        none = np.empty(0, int)
        W = Weights(
            np.ones(3),
            3,
            none,
            none,
            np.empty(0),
            np.empty(0),
            inverses=(along_diagonal(slice(0, 3), np.eye(3)),),
        )
        with pytest.raises(np.linalg.LinAlgError, match="entries of K"):
            setup.system.factor(np.zeros(0), None, W, 1.0)
    assert solve(maps, tol=1e-6).fun == pytest.approx(solve(rows, tol=1e-6).fun, rel=1e-5)


def test_plans_with_entropy_are_factorised_by_their_few_sums(monkeypatch):
    """W of losses is a diagonal: a saddle of all 900 entries beside their 60 sums would fill in for nothing."""
    rng, n, made = np.random.default_rng(0), 30, []
    monkeypatch.setattr(Saddle, "factorise", lambda *given: made.append(1))
    cost, a, b = rng.random((n, n)), rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
    P = Variable((n, n))
    sums = [P.sum(axis=1) == a, P.sum(axis=0) == b]
    assert solve(minimize((cost * P).sum() - 0.01 * entropy(P), sums), tol=1e-6).success
    assert not made
