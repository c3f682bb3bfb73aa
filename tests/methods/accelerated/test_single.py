"""Coolings in single precision: where they may be, and that nothing of it is seen outside."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from ipds import Block, Problem, solve
from ipds.functions import L1, Cardinality, PCAReconstruction, PCAVariance, Stiefel, smooth
from ipds.functions.composed import Weighted
from ipds.methods import AcceleratedIPDS
from ipds.methods.accelerated.single import in_single, rounded, widened

SHAPE = (60, 5)
DATA = np.random.default_rng(0).standard_normal((20, 60))


def trade_off(f=None, h=None, scale=1.0) -> tuple[Problem, tuple]:
    start = np.linalg.qr(np.random.default_rng(1).standard_normal(SHAPE))[0]
    f = PCAVariance(scale * DATA) if f is None else f
    weight = 0.3 * scale**2
    return (
        Problem([Block(f=f, h=h or Stiefel(), A=-1.0, shape=SHAPE), Block(h=L1(weight), shape=SHAPE)]),
        (start, start),
    )


def single(problem, start):
    setup, _ = AcceleratedIPDS().init(problem, start, np.zeros(SHAPE))
    return in_single(setup.reduced.annealed, setup.schedule)


def test_where_coolings_are_in_single_precision():
    R = single(*trade_off())
    assert R.single
    assert R.soft
    assert R.steepest
    x = np.float32(trade_off()[1][0])
    assert R.blocks[0].f.grad(x).dtype == np.float32
    own = smooth(lambda V: -float(np.vdot(V, V)), lambda V: -2 * V, lipschitz=2.0)
    assert single(*trade_off(own)) is None  # nobody knows what a caller's function does with such arrays
    assert single(*trade_off(h=Cardinality(9))) is None  # no bound of its entries
    assert single(*trade_off(scale=1e12)) is None


def test_carries_and_states_are_in_double_precision_all_the_same():
    problem, start = trade_off()
    method, cooled = AcceleratedIPDS("thorough"), 0
    setup, carry = method.init(problem, start, np.zeros(SHAPE))
    assert setup.annealed.single
    for _ in range(260):
        carry, state = method.step(setup, carry)
        cooled += carry.stage.cooling
        arrays = [carry.x[0], carry.gradient[0], carry.target, carry.incumbent.x[0], *state.q, state.z]
        assert {a.dtype for a in arrays} == {np.dtype(float)}
        np.testing.assert_allclose(state.q[0].T @ state.q[0], np.eye(5), atol=1e-12)
    assert cooled > 50


def test_steps_at_once_are_the_same_as_one_by_one():
    problem, start = trade_off()
    method = AcceleratedIPDS("thorough")
    setup, one = method.init(problem, start, np.zeros(SHAPE))
    many = one
    while one.t < 180:
        one, _ = method.step(setup, one)
    while many.t < 180:
        many, _ = method.steps(setup, [many], 180)
    assert one.stage.cooling
    np.testing.assert_array_equal(one.x[0], many.x[0])
    np.testing.assert_array_equal(one.gradient[0], many.gradient[0])


def test_single_precision_ends_as_low_and_is_certified(monkeypatch):
    problem, start = trade_off()
    found = solve(problem, list(start), method=AcceleratedIPDS("thorough"), tol=1e-6)
    monkeypatch.setattr("ipds.methods.accelerated.method.in_single", lambda R, schedule: None)
    double = solve(problem, list(start), method=AcceleratedIPDS("thorough"), tol=1e-6)
    assert found.success
    assert double.success
    assert found.fun == pytest.approx(double.fun, rel=1e-3)


def test_trees_of_arrays_are_rounded_and_widened():
    problem, start = trade_off()
    tree = (start[0], (1.5, None), "text")
    out = rounded(tree)
    assert out[0].dtype == np.float32
    assert out[1:] == tree[1:]
    assert rounded(out, np.float64)[0].dtype == np.float64
    setup, _ = AcceleratedIPDS().init(problem, start, np.zeros(SHAPE))
    (x,) = widened(setup.reduced, (out[0],)).x
    np.testing.assert_allclose(x.T @ x, np.eye(5), atol=1e-14)


@pytest.mark.parametrize("wide", [True, False])  # through DᵀD, and through D
def test_functions_of_data_in_single_precision(wide):
    D = np.random.default_rng(3).standard_normal((40, 8) if wide else (5, 30))
    x = np.linalg.qr(np.random.default_rng(4).standard_normal((D.shape[1], 2)))[0]
    for f in (PCAVariance(D), PCAReconstruction(D), Weighted(PCAVariance(D, center=True), 2.0, 1.0)):
        value, slope = f.single.value_and_grad(np.float32(x))
        assert slope.dtype == np.float32
        assert value == pytest.approx(f(x), rel=1e-5)
        np.testing.assert_allclose(slope, f.grad(x), atol=1e-5 * np.abs(f.grad(x)).max())
    assert PCAVariance(1e20 * D).single is None
    assert PCAVariance(scipy.sparse.csr_array(D)).single is None
    assert PCAVariance(np.float32(D)).single is None
