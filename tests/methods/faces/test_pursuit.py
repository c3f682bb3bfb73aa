"""Pursuit of a support: where it ends, what it takes, and what is made of it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.deadline import deadline
from ipds.functions import L0, L1, Cardinality, Huber, LeastSquares, NonzeroRows, Quantile
from ipds.methods import AcceleratedIPDS
from ipds.methods.faces import OnFaces, method, pivots
from ipds.methods.faces.method import finish
from ipds.methods.faces.pursuit import may_pursue, pursued
from ipds.methods.faces.restricted import Restricted
from ipds.methods.faces.swaps import column_norms
from ipds.operators import Compose, Matrix, Reshape
from ipds.theory.certificate import certify
from ipds.theory.objective import objective

METHOD, SHARED = OnFaces(AcceleratedIPDS()), OnFaces(AcceleratedIPDS(), {})


def drawn(seed, m=120, n=80, s=5, rho=0.0, noise=0.01, loss=None, units=None):
    """Few columns explain y, but for noise and a fifth of the rows; (problem, truth)."""
    rng = np.random.default_rng([11, seed])
    G = np.sqrt(1 - rho) * rng.standard_normal((m, n)) + np.sqrt(rho) * rng.standard_normal((m, 1))
    x = np.zeros(n)
    x[rng.choice(n, s, replace=False)] = rng.choice([-1, 1], s) * (0.5 + np.abs(rng.standard_normal(s)))
    y = G @ x + noise * rng.standard_normal(m)
    y[rng.choice(m, m // 5, replace=False)] += 30 * rng.standard_normal(m // 5)
    G = G if units is None else G * units
    return Problem([Block(h=Cardinality(s), A=-G, shape=n), Block(h=loss or L1(1.0), shape=m)], b=-y), x


def from_support(problem, support):
    """The pursuit from a point with ones on a support, given as indices."""
    n = problem.blocks[0].shape[0]
    x = np.zeros(n)
    x[list(support)] = 1.0
    u = problem.b - problem.operators[0].apply(x)
    return pursued(problem, 0, (x, u), column_norms(problem, 0))


@pytest.mark.parametrize("loss", [L1(1.0), L1(7.0), Quantile(0.4)], ids=repr)
@pytest.mark.parametrize("seed", range(5))
def test_from_a_wrong_support_to_that_of_the_truth(seed, loss):
    problem, truth = drawn(seed, loss=loss)
    fit = from_support(problem, range(5))
    np.testing.assert_array_equal(fit.restricted.faces[0].label, truth != 0)
    exact = fit.restricted.exactly(fit.restricted.start((truth, problem.b)))
    assert fit.value <= (1 + 1e-3) * fit.restricted.reached(exact)
    pull = fit.restricted.adjoint(0, fit.found.z)
    np.testing.assert_array_equal(pull, problem.operators[0].adjoint(fit.found.z))
    assert fit.restricted.state(1, fit.found).adjoints[0] is pull  # no product of its own


def test_units_of_columns_do_not_matter():
    units = 10.0 ** np.random.default_rng(0).uniform(-3, 3, 80)
    problem, truth = drawn(3, units=units)
    np.testing.assert_array_equal(from_support(problem, range(5)).restricted.faces[0].label, truth != 0)


def test_groups_of_entries_come_and_go_together():
    rng = np.random.default_rng(5)
    G, x = rng.standard_normal((150, 30, 2)), np.zeros((30, 2))
    x[[3, 7, 20]] = rng.standard_normal((3, 2)) + 1
    y = np.einsum("mij,ij->m", G, x) + 0.01 * rng.standard_normal(150)
    y[:20] += 20 * rng.standard_normal(20)
    A = Compose(Matrix(-G.reshape(150, 60)), Reshape((30, 2)))
    problem = Problem([Block(h=NonzeroRows(3), A=A, shape=(30, 2)), Block(h=L1(1.0), shape=150)], b=-y)
    start = np.zeros((30, 2))
    start[:3] = 1.0
    u = problem.b - A.apply(start)
    fit = pursued(problem, 0, (start, u), column_norms(problem, 0))
    label = np.broadcast_to(fit.restricted.faces[0].label, (30, 2))
    np.testing.assert_array_equal(label, x != 0)


def test_it_ends_at_the_lowest_fit_that_it_has_seen(monkeypatch):
    values, rises, reached = [], 0, Restricted.reached
    monkeypatch.setattr(Restricted, "reached", lambda *given: values.append(reached(*given)) or values[-1])
    for seed in range(10):
        problem, _ = drawn(seed, m=60, n=120, s=10, rho=0.5, noise=0.3)
        values.clear()
        fit = from_support(problem, np.random.default_rng(seed).choice(120, 10, replace=False))
        assert fit.value == min(values)
        assert values[:-1] == sorted(values[:-1], reverse=True)
        rises += values[-1] > fit.value
    assert rises > 0  # or the test says nothing


def test_where_the_time_is_over_it_ends_where_it_is():
    """Or a first-order step is made."""
    problem, _ = drawn(1)
    setup, carry = METHOD.init(problem, (np.zeros(80), np.zeros(120)), np.zeros(120))
    asked = itertools.count()
    with deadline(lambda: next(asked) > 0):
        one = from_support(problem, range(5))
    assert from_support(problem, range(5)).value < one.value
    with deadline(lambda: True):
        assert from_support(problem, range(5)) is None
        carry, state = METHOD.step(setup, carry)
    assert (carry.t, state.t) == (1, 1)
    assert not state.due


def test_a_support_takes_one_product(monkeypatch):
    """The last of them confirms the support, and serves the certificate of what is shown."""
    problem, truth = drawn(1)
    setup, carry = METHOD.init(problem, (np.zeros(80), np.zeros(120)), np.zeros(120))
    supports, products = [], []
    nearly, adjoint = Restricted.nearly, Matrix.adjoint
    monkeypatch.setattr(Restricted, "nearly", lambda *given: supports.append(given) or nearly(*given))
    monkeypatch.setattr(Matrix, "adjoint", lambda *given: products.append(given) or adjoint(*given))
    carry, state = METHOD.step(setup, carry)
    certify(problem, state)
    assert len(supports) in (2, 3)
    # that of the start, one for each support, and |A|ᵀ|z| of the certificate
    assert len(products) == 1 + len(supports) + 1
    monkeypatch.undo()
    assert state.due
    assert not state.settled
    np.testing.assert_array_equal(state.q[0] != 0, truth != 0)
    np.testing.assert_array_equal(state.adjoints[0], problem.operators[0].adjoint(state.z))


def test_no_whole_product_comes_before_the_first_point(monkeypatch):
    """A start of zeros adds nothing to the equation, and a fit has the columns of its support at hand."""
    problem, truth = drawn(0)
    A, given, shown, apply = problem.operators[0], [], [], Matrix.apply
    monkeypatch.setattr(Matrix, "apply", lambda op, x: (op is A and given.append(x)) or apply(op, x))

    def first(intermediate_result):
        shown.append((intermediate_result.fun, len(given)))
        raise StopIteration

    result = solve(problem, tol=1e-7, callback=first)
    monkeypatch.undo()
    ((value, products),) = shown
    assert products == 0
    assert value < 1.001 * np.abs(problem.b - A.apply(truth)).sum()
    (own, _), (x, _) = result.state.products, result.state.x
    np.testing.assert_allclose(own, A.apply(x), rtol=0, atol=1e-13)


def test_first_order_steps_begin_after_it_and_end_where_they_did():
    """Where nothing is saved; a carry that is has one structure from the first."""
    problem, _ = drawn(1)
    start = (np.zeros(80), np.zeros(120)), np.zeros(120)
    saved, later = (list(itertools.islice(_states(method, problem, start), 6)) for method in (METHOD, SHARED))
    assert saved[0][0].first.t == 0
    assert later[0][0].first is None
    for (one, state), (other, same) in zip(saved[1:], later[1:], strict=True):
        assert (one.t, one.first.t) == (other.t, other.first.t) == (state.t, state.t)
        np.testing.assert_array_equal(state.q[0], same.q[0])


def _states(method, problem, start):
    setup, carry = method.init(problem, *start)
    while True:
        carry, state = method.step(setup, carry)
        yield carry, state


def test_first_order_steps_that_find_the_same_support_settle_it():
    """Without a pursuit they take four looks; the steps are the same, and so is the answer."""
    problem, _ = drawn(2)
    ended = []
    for pursues in (True, False):
        setup, carry = METHOD.init(problem, (np.zeros(80), np.zeros(120)), np.zeros(120))
        setup = replace(setup, pursues=pursues and setup.pursues)
        while not carry.holds:
            carry, state = METHOD.step(setup, carry)
        assert certify(problem, state).relative <= 1e-9
        assert state.due
        ended.append((carry.t, state.q[0]))
    (soon, x), (late, y) = ended
    assert (soon, late) == (10, 20)
    np.testing.assert_allclose(x, y, rtol=1e-9)


def test_from_what_is_near_a_solution_reweighted_least_squares_come_before_exchanges(monkeypatch):
    """A pursuit's fit is no vertex, an exact solution is: exchanges alone would be many, or none."""
    problem, _ = drawn(2)
    calls, reweighted = [], pivots.reweighted
    monkeypatch.setattr(pivots, "reweighted", lambda *given: calls.append(given) or reweighted(*given))
    fit = from_support(problem, range(5))
    exact = fit.restricted.exactly(fit.found.q)
    faces = dict(fit.restricted.faces)
    near, end = ((faces[0].embed(found.q[0]), found.q[1]) for found in (fit.found, exact))
    assert not fit.restricted.is_vertex(near)
    assert fit.restricted.is_vertex(end)
    setup, carry = METHOD.init(problem, (np.zeros(80), np.zeros(120)), np.zeros(120))
    state = METHOD.step(setup, carry)[1]
    for x, count in ((near, 1), (end, 0)):
        calls.clear()
        monkeypatch.setattr(method, "improve", lambda *given: given[:2])  # without swaps, which refit as well
        assert objective(problem, finish(setup, state, faces, x)) == pytest.approx(
            fit.restricted.reached(exact)
        )
        assert len(calls) == count


def test_a_lower_solution_on_another_face_is_not_forgotten():
    """What a pursuit has found counts at the end, also where first-order steps settle on a support that is worse."""
    lower = 0
    for seed in range(8):
        problem, _ = drawn(seed, m=60, n=120, s=8, rho=0.5, noise=0.3)
        setup, carry = METHOD.init(problem, (np.zeros(120), np.zeros(60)), np.zeros(60))
        poor = np.zeros(120)
        poor[np.random.default_rng(seed).choice(120, 8, replace=False)] = 1.0
        faces = {0: problem.blocks[0].h.face(poor)}
        while not carry.holds:
            carry, state = METHOD.step(setup, carry)
        best = objective(problem, state)
        high = replace(state, x=(poor, problem.b - problem.operators[0].apply(poor)), products=(None, None))
        high = replace(high, x_breve=high.x[1], adjoints=None)
        with_it, without = (finish(setup, high, faces, known) for known in (state.x, None))
        assert objective(problem, with_it) <= best * (1 + 1e-9)
        lower += objective(problem, without) > best * (1 + 1e-6)
    assert lower > 0  # or the test says nothing


def test_where_there_is_none():
    """With prices of entries, a smooth f, or a loss that is not one of deviations."""
    plain, _ = drawn(0)
    assert may_pursue(plain, (0,))
    assert not may_pursue(plain, ())
    assert not may_pursue(drawn(0, loss=Huber(1.0))[0], (0,))
    priced = Problem([Block(h=L0(1.0), A=plain.operators[0], shape=80), plain.blocks[1]], b=plain.b)
    assert not may_pursue(priced, (0,))
    smooth = Problem(
        [
            Block(f=LeastSquares(np.eye(80), np.zeros(80)), h=Cardinality(5), A=plain.operators[0], shape=80),
            plain.blocks[1],
        ],
        b=plain.b,
    )
    assert not may_pursue(smooth, (0,))
    assert solve(priced, seed=0).success
