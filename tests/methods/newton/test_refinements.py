"""Refinements of steps, and equations that ask for far tails."""

import numpy as np
import pytest
from stepping import run

from ipds import Block, Problem, solve
from ipds.functions import L1, LeastSquares, Linear, NonNegative
from ipds.methods.newton import algebra, rounds
from ipds.operators import FlatStack, SumOver


def between_densities(seed, n=30):
    """The cheapest plan between two normal densities on a grid, whose tails are 1e-20 of their middles."""
    rng, t, shape = np.random.default_rng(seed), np.linspace(0, 1, n), (n, n)
    middles = np.array([0.2, 0.8]) + 0.05 * rng.standard_normal(2)
    a, b = (np.exp(-(((t - middle) / 0.1) ** 2)) for middle in middles)
    A = FlatStack([SumOver(shape, axis=1), SumOver(shape, axis=0)], shape)
    plan = Block(f=Linear(np.subtract.outer(t, t) ** 2), h=NonNegative(), A=A, shape=shape)
    return Problem([plan], b=np.concatenate([a / a.sum(), b / b.sum()]))


@pytest.mark.parametrize("seed", [5, 7, 10, 13, 15])
def test_far_tails_are_transported(seed):
    """Rows held alike let go of 1e-12 in a step, and multipliers of tails that ask for less crept for hundreds."""
    result = solve(between_densities(seed), tol=1e-6, max_iter=60)
    assert result.success, result.message


def lasso(seed=0):
    rng = np.random.default_rng(seed)
    f = LeastSquares(rng.standard_normal((60, 20)), rng.standard_normal(60))
    return Problem([Block(f=f, A=-1.0, shape=20), Block(h=L1(2.0), shape=20)])


def test_refinements_end_at_rounding(monkeypatch):
    """A right-hand side of the size of rounding beside large multipliers leaves residuals that no solve takes away."""
    setup, carry, _ = run(lasso())
    form, taken = setup.form, []
    W = rounds.uniform(form, carry.beta)
    factor = setup.system.factor(*form.smooth.hessian(carry.v), W, 1e-8)
    plain = algebra.Factor._saddle
    monkeypatch.setattr(algebra.Factor, "_saddle", lambda *given: taken.append(1) or plain(*given))
    b = np.random.default_rng(0).standard_normal(form.m)
    dv, dy = factor.saddle(1e-16 * np.ones(form.n), b, 1e-10, 8)
    assert len(taken) <= 2
    left = factor.curved(dv) + form.adjoint(dy)
    assert np.linalg.norm(left) <= 1e-14 * np.linalg.norm(dy)
