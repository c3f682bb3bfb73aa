"""Convex models against CVXPY: objective, variables and multipliers."""

import cvxpy as cp
import numpy as np
import pytest
from convex_models import CASES

from ipds import solve

TOLERANCE = 1e-4


def apart(mine, theirs):
    """Largest difference, relative to the largest entry."""
    theirs = np.asarray(theirs)
    return float(np.max(np.abs(np.asarray(mine) - theirs)) / max(float(np.max(np.abs(theirs))), 1e-3))


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_cvxpy(name):
    case = CASES[name](np.random.default_rng(0))
    case.reference.solve(solver=cp.CLARABEL)
    result = solve(case.problem, tol=1e-5)
    assert result.success, result.message
    value = case.reference.value
    assert abs(result.fun - value) <= TOLERANCE * max(1.0, abs(value))
    for mine, theirs in case.pairs:
        assert apart(result.value(mine), theirs.value) <= TOLERANCE
    if case.duals:
        for mine, theirs in zip(case.problem.constraints, case.reference.constraints, strict=False):
            assert apart(result.dual(mine), theirs.dual_value) <= TOLERANCE, mine


def test_forty_models():
    assert len(CASES) >= 40
