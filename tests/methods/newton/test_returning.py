"""Newton steps on predicted faces: starts near a solution end there in a few steps, and others are not harmed."""

from itertools import pairwise

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L1, Linf, Nuclear, smooth
from ipds.methods import NewtonALM
from ipds.methods.newton import returning, rounds
from ipds.methods.newton.carry import INTERIOR, RETURNING
from ipds.methods.newton.method import ARRIVED
from ipds.modelling import hinge, logistic, norm1, norm21, quad_form, quantile, sum_squares, total_variation
from ipds.presolve import presolve

RNG = np.random.default_rng(3)
G, SIGNS = RNG.standard_normal((80, 12)), np.sign(RNG.standard_normal(80))
S = np.cov(RNG.standard_normal((30, 12)), rowvar=False)


def frontier(weight):
    a = Variable(12, name="a")
    return minimize(quad_form(a, S) - weight * (np.linspace(0, 1, 12) @ a), [a >= 0, a.sum() == 1, a <= 0.3])


def classifier(weight):
    w, b = Variable(12, name="w"), Variable(name="b")
    return minimize(logistic(-SIGNS * (G @ w + b)) + 10 * weight * norm1(w))


def support_vectors(weight):
    w, b = Variable(12, name="w"), Variable(name="b")
    return minimize(hinge(SIGNS * (G @ w + b)) + 10 * weight * sum_squares(w))


def groups(weight):
    X = Variable((4, 3), name="X")
    return minimize(0.5 * sum_squares(G @ X.reshape(-1) - SIGNS) + 20 * weight * norm21(X), [X >= -0.1])


def signal(weight):
    s = Variable(80, name="s")
    return minimize(
        0.5 * sum_squares(s - np.repeat([0, 2, -1, 1], 20) - 0.1 * SIGNS) + 5 * weight * total_variation(s)
    )


def quantiles(weight):
    x = Variable(12, name="x")
    return minimize(quantile(SIGNS - G @ x, 0.8) + weight * norm1(x))


@pytest.mark.parametrize("model", [frontier, classifier, support_vectors, groups, signal, quantiles])
def test_paths_end_where_cold_starts_do(model):
    steps, before = [], None
    for weight in np.geomspace(0.9, 0.1, 12):
        problem = model(weight)
        exact = problem.solve(tol=1e-9, method="newton")
        before = problem.solve(warm_start=before, method="newton")
        assert before.success
        assert before.fun == pytest.approx(exact.fun, rel=1e-4, abs=1e-6)
        steps.append(before.nit)
    # a linear program: fewer faces are foreseen; a step is not the last where the equation is off by more than 1e-5
    assert steps[1:].count(1) >= (4 if model is quantiles else 7)


def test_one_step_solves_a_quadratic_problem_on_the_right_face():
    problem = frontier(0.5)
    result = solve(problem, method="newton", tol=1e-10)
    setup, carry = NewtonALM().init(problem, result.x, result.z)
    v = carry.v + 0.01 * np.abs(carry.v).max() * (carry.v > 1e-6) * RNG.standard_normal(12)
    u, y = returning.pair(setup.form, carry.v, carry.y, carry.beta)
    W = returning.held(setup.form.terms.weights(u + y / carry.beta, carry.beta), carry.beta)
    assert max(returning.residuals(setup.form, v, u, y)[:2]) > 1e-4
    v, y = returning.step(setup.form, setup.system, v, u, y, W, setup.curvature)
    u, y = returning.pair(setup.form, v, y, carry.beta)
    assert max(returning.residuals(setup.form, v, u, y)[:2]) < 1e-9


def test_a_multiplier_that_predicts_the_wrong_face_does_no_harm():
    for model in (frontier, classifier, quantiles):
        problem = model(0.3)
        exact = problem.solve(tol=1e-9)
        z = 100 * RNG.standard_normal(problem.shape)
        x = [RNG.standard_normal(block.shape) for block in problem.blocks]
        result = solve(problem, x, z, method="newton")
        assert result.success
        assert result.fun == pytest.approx(exact.fun, rel=1e-4)


def test_faces_whose_jacobian_is_a_full_matrix_are_left_to_other_steps():
    X = Variable((4, 3), name="X")
    problem = minimize(0.5 * sum_squares(G @ X.reshape(-1) - SIGNS) + Nuclear(2.0)(X))
    result = problem.solve(method="newton")
    again = problem.solve(warm_start=result, method="newton")
    assert again.success
    assert again.fun == pytest.approx(result.fun, rel=1e-6)


def interior_run(steps, stated=quantiles):
    """Carries of Newton steps on a problem, from zero."""
    problem = presolve(stated(0.5)).problem
    method = NewtonALM()
    setup, carry = method.init(problem, *zeros(problem))
    carries = []
    for _ in range(steps):
        carry, _ = method.step(setup, carry)
        carries.append(carry)
    return method, setup, carries


def zeros(problem):
    return tuple(np.zeros(block.shape) for block in problem.blocks), np.zeros(problem.shape)


def test_interior_points_end_on_the_face_that_they_predict():
    """At a gap where the point itself is far from the solution, the steps on its face are not."""
    _, setup, carries = interior_run(12)
    ended = next(carry for carry in carries if carry.phase == RETURNING)
    assert ended.t < 12
    assert 1e-8 < ended.gap < 1e-3
    assert max(returning.residuals(setup.form, ended.v, ended.u, ended.y)[:2]) < 1e-10


def test_sweeps_end_on_the_face_that_they_predict():
    """Where f is quadratic, one Newton step on the right face leaves what ε and δ do, and another one rounding."""
    _, setup, carries = interior_run(2, frontier)
    for ended, left in zip(carries, (1 / returning.REGULAR, 1e-14), strict=True):
        assert ended.phase == RETURNING
        assert max(returning.residuals(setup.form, ended.v, ended.u, ended.y)[:2]) < left


def test_faces_are_tried_as_soon_as_sweeps_are_near(monkeypatch):
    """Not after one or two rounds of thirty: faces are right at residuals of 0.05 mostly."""
    taken = []
    swept = rounds.swept
    monkeypatch.setattr(rounds, "swept", lambda *args: taken.append(args[-1]) or swept(*args))
    interior_run(1, frontier)
    assert sum(taken) < 30


def test_equations_and_a_quadratic_take_one_step():
    def on_a_plane(total):
        x = Variable(12, name="x")
        return minimize(sum_squares(G @ x - SIGNS), [x.sum() == total])

    _, setup, (ended,) = interior_run(1, on_a_plane)
    assert ended.taken == 0, "no sweeps"
    assert max(returning.residuals(setup.form, ended.v, ended.u, ended.y)[:2]) <= ARRIVED


def test_interior_points_go_on_where_the_face_was_not_enough(monkeypatch):
    method, setup, carries = interior_run(12)
    ended = next(carry for carry in carries if carry.phase == RETURNING)
    monkeypatch.setattr(returning, "settle", lambda *_: None)
    gaps = [ended.gap]
    carry = ended
    for _ in range(3):
        carry, _ = method.step(setup, carry)
        assert carry.phase == INTERIOR
        gaps.append(carry.gap)
    assert gaps[3] < gaps[2] < gaps[1] < gaps[0]


def test_a_quadratic_alone_takes_one_step_however_it_bends():
    """Fixed entries substituted, a spline through points is one linear system, of condition 1e12."""
    D, x = np.diff(np.eye(100), 3, axis=0), Variable(100, name="x")
    at, values = [0, 30, 60, 99], np.array([0.0, 3.0, -2.0, 1.0])
    result = solve(minimize(sum_squares(D @ x), [x[at] == values]))
    assert result.success
    assert result.nit <= 3
    free = np.delete(np.arange(100), at)
    best = np.zeros(100)
    best[at] = values
    best[free] = np.linalg.lstsq(D[:, free], -D[:, at] @ values, rcond=None)[0]
    assert result.fun == pytest.approx(np.sum((D @ best) ** 2), rel=1e-5)


def test_faces_are_certified_whatever_tells_their_rows_apart():
    """A polynomial of degree 12: rows part at 1e-5 beside values of 1, so β is 1e8 and rounds y = β(w - u)."""
    t = np.linspace(-1, 1, 200)
    A, x = np.vander(t, 13), Variable(13, name="x")
    result = solve(minimize(Linf(1.0)(A @ x - np.exp(t) * np.sin(5 * t))), tol=1e-5)
    assert result.success
    assert result.nit <= 60
    assert result.fun == pytest.approx(2.953339e-5, rel=1e-5)


@pytest.mark.parametrize("seed", [0, 1])
def test_slanted_columns_under_a_linear_objective(seed):
    """The largest residual of rows with condition 1e6: the level that bounds it is a linear term."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((m, 20)))[0] for m in (100, 20))
    A = left @ np.diag(np.logspace(0, -6, 20)) @ right.T
    y, x = A @ rng.standard_normal(20) + 0.1 * rng.standard_normal(100), Variable(20, name="x")
    result = solve(minimize(Linf(1.0)(A @ x - y)))
    assert result.success
    assert result.nit <= 60


def test_the_end_of_the_digits_is_an_end():
    """Energies of third differences: residuals of 1e-15 of what adds up are all that steps on a face can leave."""
    D, at = 100 * np.diff(np.eye(120), 3, axis=0), [0, 40, 80, 119]
    for seed in (3, 8):
        points, p = 3 * np.random.default_rng(seed).standard_normal((4, 2)), Variable((120, 2))
        result = minimize(sum_squares(D @ p), [p[at] == points, p <= 12, p >= -12]).solve(method="newton")
        assert result.success
        assert result.nit <= 5


def test_a_face_is_tried_after_a_first_round_that_has_come_near(monkeypatch):
    swept, made = rounds.swept, []

    def counted(*arguments):
        made.append(arguments)
        return swept(*arguments)

    monkeypatch.setattr(rounds, "swept", counted)
    rng = np.random.default_rng(0)
    x, A, B = Variable(40, name="x"), rng.standard_normal((10, 40)), rng.standard_normal((80, 40))
    result = solve(
        minimize(0.01 * sum_squares(B @ x) + rng.standard_normal(40) @ x, [A @ x <= 1, x <= 1, x >= -1])
    )
    assert result.success
    assert result.nit == 1
    assert len(made) == 1


def test_no_gradient_is_asked_for_twice():
    """Sweeps, searches and Newton steps share those of one point; but for steps that are rounding and move nothing."""
    asked = []

    def slope(x):
        asked.append(x.tobytes())
        return 4 * (x - 1.0) ** 3 + x

    f = smooth(lambda x: float(np.sum((x - 1.0) ** 4) + 0.5 * x @ x), slope, convex=True)
    done = presolve(
        Problem(
            [
                Block(f=f, shape=5, A=np.random.default_rng(0).standard_normal((3, 5))),
                Block(h=L1(0.5), shape=3, A=-1.0),
            ]
        )
    )
    method, x0 = NewtonALM(), (np.zeros(5), np.zeros(3))
    setup, carry = method.init(done.problem, *done.start(x0, np.zeros(3), False))
    asked.clear()
    for _ in range(4):
        carry = method._advance(setup, carry)
    again = sum(a == b for a, b in pairwise(asked))
    assert again < 0.05 * len(asked)
