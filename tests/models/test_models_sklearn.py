"""The estimators against scikit-learn's own checks of its API."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from ipds.models import (
    DualPCP,
    FusedLasso,
    OverlappingGroupLasso,
    RobustLowRank,
    RobustSparseRegressor,
    SparsePCA,
    SparsePhaseRetrieval,
    SparseQuantileRegressor,
    TrendFilter,
)


class FirstFeature(TrendFilter):
    """A trend along the first of many features: the checks give several, and pass over models of one (as
    `IsotonicRegression`)."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
        tags.regressor_tags.poor_score = True  # the target has to do with all of them
        return tags

    def _column(self, X: Any, reset: bool, samples: int = 1) -> np.ndarray:
        return validate_data(self, X, reset=reset, dtype=float, ensure_min_samples=samples)[:, 0]


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
    FirstFeature(),
    FirstFeature(2, 0.1),
]


def exempted(estimator: Any) -> dict[str, str]:
    """Checks that an estimator is not meant to pass, each with its reason."""
    return {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # checks run five iterations
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=exempted)
def test_scikit_learn_api(estimator: Any, check: Any) -> None:
    check(estimator)
