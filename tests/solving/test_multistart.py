"""Several starts, some of which may diverge."""

import numpy as np
import pytest

from ipds import Block, DivergenceError, Problem, Status, multistart, solve
from ipds.functions import (
    L1,
    LeastSquares,
    Quadratic,
)


def downhill():
    """-‖x‖²/2 + ⟨1, x⟩ against a norm: falls without bound from almost everywhere."""
    f = Quadratic(-np.eye(3), np.ones(3))
    return Problem([Block(f=f, A=-1.0, shape=3), Block(h=L1(0.5), shape=3)])


def test_an_objective_that_falls_for_ever_is_divergence():
    with pytest.raises(DivergenceError) as caught:
        solve(downhill())
    assert np.isfinite(caught.value.result.fun)


def lasso3():
    return Problem([Block(f=LeastSquares(np.eye(3), np.ones(3)), A=-1.0, shape=3), Block(h=L1(0.1), shape=3)])


def test_multistart_survives_starts_that_diverge(monkeypatch):
    with pytest.raises(DivergenceError, match="all 2 starts"):
        multistart(downhill(), 2, n_jobs=1)
    outcomes = iter([True, False, True])

    def sometimes(problem, *args, **options):
        return solve(downhill() if next(outcomes) else problem, *args, **options)

    monkeypatch.setitem(multistart.__globals__, "solve", sometimes)
    found = multistart(lasso3(), 3, n_jobs=1)
    assert found.best.success
    assert [result.status is Status.DIVERGED for result in found.results] == [False, True, True]
