"""The estimators against scikit-learn's own checks of its API."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipds.models import (
    DualPCP,
    FusedLasso,
    OverlappingGroupLasso,
    RobustLowRank,
    RobustSparseRegressor,
    SparsePCA,
    SparsePhaseRetrieval,
    SparseQuantileRegressor,
)

ESTIMATORS = [
    SparsePCA(n_components=1),
    SparsePCA(n_components=1, sparsity=1, max_iter=200),
    RobustSparseRegressor(),
    SparseQuantileRegressor(),
    SparseQuantileRegressor(alpha=0.01),
    DualPCP(),
    RobustLowRank(max_iter=200),
    SparsePhaseRetrieval(),
    FusedLasso(),
    FusedLasso(0.1, loss="logistic", max_iter=200),
    OverlappingGroupLasso(),
    OverlappingGroupLasso(alpha=0.1, loss="logistic", max_iter=200),
]


def exempted(estimator: Any) -> dict[str, str]:
    """Checks that an estimator is not meant to pass, each with its reason."""
    return {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # checks run five iterations
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=exempted)
def test_scikit_learn_api(estimator: Any, check: Any) -> None:
    check(estimator)
