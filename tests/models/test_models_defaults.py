"""What models choose for themselves: components, rank, codimension, thresholds; and what they give beside the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from ipds.models import DualPCP, RobustLowRank, RobustSparseRegressor, SparsePCA, SparsePhaseRetrieval
from models_data import low_rank, regression, subspace


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_iris])
def test_default_components_are_worth_looking_at(load: Any) -> None:
    X = load().data
    model = SparsePCA().fit(X)
    assert model.n_components_ <= 8
    assert np.count_nonzero(model.components_[0]) > 1  # no permutation matrix
    assert np.count_nonzero(model.components_) < model.components_.size
    pca = SparsePCA(model.n_components_, alpha=0.0).fit(X)
    assert model.score(X) >= 0.88 * pca.score(X)
    assert np.all(np.diff(model.explained_variance_) <= 1e-9)
    assert model.result_.success


def test_more_than_eight_components_are_asked_for() -> None:
    X = load_digits().data[:300]
    with pytest.warns(UserWarning, match=r"8 components are taken.*set n_components"):
        model = SparsePCA(alpha=2.0).fit(X)
    assert model.n_components_ == 8
    share = SparsePCA(0.5, alpha=0.0).fit(X)
    assert share.score(X) >= 0.5
    assert SparsePCA(share.n_components_ - 1, alpha=0.0).fit(X).score(X) < 0.5


@pytest.mark.parametrize("alpha", ["bic", "cv"])
def test_alpha_of_components_by_other_rules(alpha: str) -> None:
    X = load_wine().data
    model = SparsePCA(3, alpha, cv=3).fit(X)
    assert 0 < model.alpha_ <= model.alpha_max(X)
    assert 3 < np.count_nonzero(model.components_) < 39


def test_outliers_as_scikit_learn_has_them() -> None:
    data = subspace(0, d=10, c=2, inliers=150, outliers=40)
    model = DualPCP().fit(data.X)
    assert model.n_codimensions_ == 2
    assert np.array_equal(model.predict(data.X) == 1, data.inlier)
    assert np.array_equal(DualPCP().fit_predict(data.X), model.predict(data.X))
    scores = model.score_samples(data.X)
    np.testing.assert_allclose(model.decision_function(data.X), scores - model.offset_)
    assert np.array_equal(model.decision_function(data.X) >= 0, data.inlier)
    tenth = DualPCP(2, contamination=0.1).fit(data.X)
    assert (tenth.predict(data.X) == -1).sum() == 19
    for wrong in (0.0, 0.7, "many"):
        with pytest.raises(ValueError, match="contamination must be"):
            DualPCP(2, contamination=wrong).fit(data.X)
    with pytest.raises(ValueError, match="not both"):
        DualPCP(2, contamination=0.1, threshold=0.1).fit(data.X)


@pytest.mark.parametrize("rank", [1, 3])
def test_the_rank_is_found(rank: int) -> None:
    data = low_rank(0, n=50, r=rank, errors=0.1, observed=0.9)
    model = RobustLowRank().fit(data.M)
    assert model.rank_ == rank
    assert model.score(data.M) > 0.5
    assert f"rank {rank} was chosen" in str(model.summary)
    with pytest.raises(ValueError, match="rank must be a number"):
        RobustLowRank().fit_measurements(np.eye(4), np.ones(4), (2, 2))


def test_videos_in_and_out() -> None:
    rng = np.random.default_rng(0)
    frames = rng.uniform(50, 200, (6, 8)) * np.ones((12, 1, 1))
    clean = frames.copy()
    for t in range(12):
        frames[t, 2:4, t % 7] = 255
    model = RobustLowRank(1).fit(frames)
    assert model.low_rank_.shape == model.residual_.shape == frames.shape
    assert np.abs(model.low_rank_ - clean).max() < 0.5
    back = model.inverse_transform(model.transform(frames[:3]))
    assert back.shape == (3, 6, 8)
    assert np.abs(back - clean[:3]).max() < 0.5
    assert model.score(frames) > 0.9


def test_prediction_intervals_cover_what_they_say() -> None:
    data = regression(0, d=10, s=3)
    model = RobustSparseRegressor(3).fit(data.X, data.y)
    inside = np.delete(np.arange(200), model.outliers_)
    low, high = model.predict_interval(data.X, 0.8).T
    assert np.mean(
        (low <= data.y) & (data.y <= high), where=np.isin(np.arange(200), inside)
    ) == pytest.approx(0.8, abs=0.03)
    wide = model.predict_interval(data.X, 0.95, outliers=True)
    assert np.all(wide[:, 1] - wide[:, 0] > high - low)
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(data.X, 1.5)


def test_tables_that_cannot_be_intensities_are_refused() -> None:
    X = np.random.default_rng(0).standard_normal((30, 4))
    with pytest.raises(ValueError, match=r"is negative, and intensities .* RobustSparseRegressor"):
        SparsePhaseRetrieval().fit(X, X[:, 0])
