"""Single precision is kept, and suffices."""

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import (
    L1,
    Logistic,
    PCAVariance,
    Stiefel,
)
from ipds.methods import AcceleratedIPDS
from problems import data, lasso


def deviations(dtype):
    G, y = data(dtype)
    return Problem([Block(h=L1(0.1), A=-G, shape=40), Block(h=L1(1.0), shape=60)], b=-y)


def logistic(dtype):
    G, y = data(dtype)
    return Problem([Block(f=Logistic(G, np.sign(y)), A=-1.0, shape=40), Block(h=L1(2.0), shape=40)])


def components(dtype):
    f = PCAVariance(data(dtype)[0])
    return Problem([Block(f=f, h=Stiefel(), A=-1.0, shape=(40, 3)), Block(h=L1(0.1), shape=(40, 3))])


@pytest.mark.parametrize(
    ("build", "tol"), [(lasso, 3e-4), (deviations, 2e-2), (logistic, 3e-4), (components, 3e-4)]
)
@pytest.mark.parametrize("method", ["auto", AcceleratedIPDS()])
def test_single_precision_is_kept_and_suffices(build, tol, method):
    """The penalty of the deviations is 1/400 of the forces that it balances: single precision leaves few digits."""
    problem = build(np.float32)
    g = np.random.default_rng(0)
    x0 = [block.h.prox(g.standard_normal(block.shape), 1.0) for block in problem.blocks]
    single = solve(problem, [xi.astype(np.float32) for xi in x0], method=method, tol=tol)
    double = solve(build(float), x0, method=method, tol=tol)
    assert single.success
    assert {array.dtype for array in (*single.x, single.z)} == {np.dtype("float32")}
    assert single.fun == pytest.approx(double.fun, rel=5e-3)
