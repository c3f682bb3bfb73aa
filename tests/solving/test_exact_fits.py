"""Losses that are not convex of many residuals in few unknowns: descents from fits of a few rows."""

import itertools

import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L1, Cardinality, LHalf, smooth
from ipds.modelling import sum_squares, term
from ipds.solving.exact_fits import exact_fits, loss_of


class Truncated:
    """Σ min(x², 1)."""

    def __call__(self, x):
        return float(np.minimum(x**2, 1.0).sum())

    def prox(self, v, step):
        near = v / (1 + 2 * step)
        return np.where(near**2 + (v - near) ** 2 / (2 * step) < 1.0, near, v)


def line(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    G = np.c_[np.ones(24), rng.standard_normal(24)]
    y = G @ [1.0, 2.0] + 0.2 * rng.standard_normal(24)
    y[:10] = 30 + 8 * rng.standard_normal(10)
    return G, y


def truncated(G: np.ndarray, y: np.ndarray) -> float:
    """The least value: from every pair of points, refitted to those that count until none changes."""
    best = np.inf
    for pair in itertools.combinations(range(len(y)), 2):
        x = np.linalg.solve(G[list(pair)], y[list(pair)])
        for _ in range(20):
            on = np.abs(G @ x - y) < 1
            x = np.linalg.lstsq(G[on], y[on], rcond=None)[0] if on.sum() > 1 else x
        best = min(best, float(np.minimum((G @ x - y) ** 2, 1).sum()))
    return best


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize("seed", range(4))
def test_a_line_through_most_points(seed, unit):
    G, y = line(seed)
    x = Variable(2, name="x")
    for problem in (
        minimize(term(Truncated(), G @ (unit * x) - y)),
        Problem([Block(A=unit * G, shape=2), Block(h=Truncated(), A=-1.0, shape=24)], b=y),
    ):
        result = solve(problem)
        assert result.success
        assert result.fun == pytest.approx(truncated(G, y), rel=1e-6)


def test_with_a_price_of_the_unknowns():
    G, y = line(0)
    x = Variable(2, name="x")
    result = minimize(term(Truncated(), G @ x - y) + 0.1 * sum_squares(x)).solve()
    assert result.success
    assert result.fun <= truncated(G, y) + 0.1 * float(np.sum(np.linalg.lstsq(G, y, rcond=None)[0] ** 2) + 25)
    assert np.allclose(result.value(x), [1, 2], atol=0.5)


def test_what_is_no_such_loss():
    G, y = line(0)
    wave = smooth(lambda x: float(np.cos(x).sum()), lambda x: -np.sin(x))
    u = Block(h=Truncated(), A=-1.0, shape=24)
    for blocks in (
        [Block(A=G, shape=2), Block(h=L1(1.0), A=-1.0, shape=24)],  # convex
        [Block(A=G, shape=2), Block(h=Cardinality(3), A=-1.0, shape=24)],  # a set
        [Block(h=L1(1.0), A=G, shape=2), u],
        [Block(A=np.eye(24), shape=24), u],  # as many unknowns as rows
    ):
        assert loss_of(Problem(blocks, b=y)) is None
    assert loss_of(Problem([Block(f=wave, shape=2)])) is None
    assert loss_of(Problem([Block(A=G, f=wave, shape=2), u], b=y)) is not None


def test_no_fit_is_looked_at_when_it_is_late():
    G, y = line(0)
    loss = loss_of(Problem([Block(A=G, shape=2), Block(h=Truncated(), A=-1.0, shape=24)], b=y))
    assert loss is not None
    assert exact_fits(loss, 3, lambda: True) == []


class Root:
    """Σ √|x|, known by its prox."""

    is_convex = False

    def __call__(self, x):
        return float(np.sqrt(np.abs(x)).sum())

    def prox(self, v, step):
        return LHalf(1.0).prox(v, step)


@pytest.mark.parametrize("h", [Truncated(), Root()])
@pytest.mark.parametrize("seed", range(4))
def test_exact_fits_are_certified_where_they_stand(seed, h):
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((20, 2))
    y = G @ [1.0, -2.0]
    y[:8] += rng.uniform(3, 9, 8)
    x = Variable(2, name="x")
    result = minimize(term(h, G @ x - y)).solve()
    pairs = map(list, itertools.combinations(range(20), 2))
    best = min(h(G @ np.linalg.solve(G[s], y[s]) - y) for s in pairs)
    assert result.success
    assert result.fun <= best * (1 + 1e-6)
    assert np.allclose(result.value(x), [1.0, -2.0])
