"""What the estimators promise with default options: they find the answer the data was made from."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from ipds.models import (
    DualPCP,
    RobustLowRank,
    RobustSparseRegressor,
    SparsePhaseRetrieval,
    _trials,
    separate_video,
)
from ipds.models._lad import least_absolute_deviations
from ipds.models._support import _narrow
from ipds.models.dual_pcp import gap
from ipds.operators import Sampling
from models_data import low_rank, phase, regression, subspace

SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
def test_regression_finds_support_outliers_and_coefficients(seed: int) -> None:
    data = regression(seed)
    model = RobustSparseRegressor(sparsity=8).fit(data.X, data.y + 3.0)
    assert np.array_equal(model.support_, np.flatnonzero(data.v))
    # a gross error may happen to be tiny, and noise may exceed 3.5 deviations: a sample or two either way
    assert len(np.setxor1d(model.outliers_, data.outliers)) <= 3
    assert np.linalg.norm(model.coef_ - data.v) <= 5e-3 * np.linalg.norm(data.v)
    assert model.intercept_ == pytest.approx(3.0, abs=0.02)
    assert model.result_.success


@pytest.mark.parametrize("seed", range(2))
def test_regression_chooses_the_sparsity(seed: int) -> None:
    data = regression(seed)
    by_bic = RobustSparseRegressor().fit(data.X, data.y)
    assert by_bic.sparsity_ == 8
    assert by_bic.selection_[8] == min(by_bic.selection_.values())
    by_cv = RobustSparseRegressor(sparsity=[4, 8, 16], cv=3).fit(data.X, data.y)
    assert by_cv.sparsity_ == 8
    assert list(by_cv.selection_) == [4, 8, 16]


@pytest.mark.parametrize("best", [1, 2, 11, 16, 40, 99])
def test_few_sizes_are_tried_around_the_best(best: int) -> None:
    tried: set[int] = set()

    def criterion(candidates: list[int]) -> dict[int, tuple[float, float]]:
        tried.update(candidates)
        return {s: (abs(math.log(s / best)), 0.0) for s in candidates}

    doubling = [1, 2, 4, 8, 16, 32, 64, 100]
    scores = _narrow(criterion, doubling, criterion(doubling))
    assert min(scores, key=lambda s: scores[s]) == best
    assert {max(1, best - 1), min(100, best + 1)} <= tried  # no neighbour is better
    assert len(tried) <= len(doubling) + 12


def test_regression_by_cross_validation_over_all_s() -> None:
    data = regression(0, m=80, d=12, s=3)
    model = RobustSparseRegressor(sparsity="cv", cv=3).fit(data.X, data.y)
    assert set(np.flatnonzero(data.v)) <= set(model.support_)


@pytest.mark.parametrize("refit", ["lad", "ls", None])
def test_regression_refits(refit: str | None) -> None:
    data = regression(1)
    model = RobustSparseRegressor(8, refit=refit).fit(data.X, data.y)
    assert np.allclose(model.coef_, data.v, atol=0.01)


def test_least_squares_on_inliers_beats_least_absolute_deviations_under_gaussian_noise() -> None:
    errors = {
        refit: np.mean(
            [
                np.linalg.norm(RobustSparseRegressor(8, refit=refit).fit(d.X, d.y).coef_ - d.v)
                for d in map(regression, SEEDS)
            ]
        )
        for refit in ("lad", "ls")
    }
    assert errors["ls"] < errors["lad"]


def test_regression_does_not_depend_on_units() -> None:
    data = regression(2)
    units = 10.0 ** np.random.default_rng(0).uniform(-3, 3, data.X.shape[1])
    plain = RobustSparseRegressor(8).fit(data.X, data.y)
    scaled = RobustSparseRegressor(8).fit(data.X * units + 5 * units, 1e3 * data.y)
    assert np.array_equal(plain.support_, scaled.support_)
    assert np.allclose(scaled.coef_ * units / 1e3, plain.coef_, atol=1e-6)


def test_regression_on_sparse_input_and_constant_columns() -> None:
    data = regression(3, d=40, s=4)
    X = data.X * (np.random.default_rng(0).random(data.X.shape) < 0.5)
    X[:, 0] = 7.0
    v = data.v.copy()
    v[0] = 0.0
    y = X @ v + 1.0
    y[:10] += 30
    s = np.count_nonzero(v)
    dense = RobustSparseRegressor(s).fit(X, y)
    assert dense.coef_[0] == 0
    assert np.allclose(dense.coef_, v, atol=1e-6)
    X[:, 0] = 0.0
    sparse = RobustSparseRegressor(s).fit(sp.csr_array(X), y)
    assert np.allclose(sparse.coef_, v, atol=1e-6)
    assert np.allclose(sparse.predict(sp.csr_array(X)), sparse.predict(X))


def test_least_absolute_deviations_is_exact() -> None:
    rng = np.random.default_rng(0)
    G, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    best = np.abs(G @ least_absolute_deviations(G, y) - y).sum()
    # a solution interpolates as many samples as there are columns: try all triples
    import itertools

    values = [
        np.abs(G @ np.linalg.solve(G[list(rows)], y[list(rows)]) - y).sum()
        for rows in itertools.combinations(range(40), 3)
    ]
    assert best == pytest.approx(min(values), rel=1e-10)
    assert np.array_equal(least_absolute_deviations(G, 0 * y), np.zeros(3))
    twice = least_absolute_deviations(np.column_stack([G, G[:, 0]]), y)  # no basis: by the linear program
    assert np.abs(G @ (twice[:3] + np.array([twice[3], 0.0, 0.0])) - y).sum() == pytest.approx(best, rel=1e-8)
    guess = np.ones(4)
    assert np.array_equal(
        least_absolute_deviations(np.column_stack([G, G[:, 0]]), y, guess, exact=False), guess
    )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rule", ["bic", "cv"])
def test_trials_of_large_data_look_at_few_features(
    rule: str, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same choice, from fits of a fraction of the features; features that are no use alone come in later."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 150))
    X[:, 1] = 0.6 * X[:, 0] + 0.8 * X[:, 1]  # y is uncorrelated with it
    y = 3.0 * X[:, 0] - 1.8 * X[:, 1] + X[:, 7] + 0.05 * rng.standard_normal(300)
    y[:20] += 30.0
    monkeypatch.setattr(_trials, "LARGE", 1000)
    monkeypatch.setattr(_trials, "MORE", 5)
    seen: list[int] = []
    fitted = RobustSparseRegressor._fitted
    monkeypatch.setattr(
        RobustSparseRegressor,
        "_fitted",
        lambda self, samples, *a, **k: (seen.append(samples.X.shape[1]), fitted(self, samples, *a, **k))[1],
    )
    model = RobustSparseRegressor(rule, cv=2).fit(sp.csr_array(X) if sparse else X, y)
    assert model.support_.tolist() == [0, 1, 7]
    assert seen[-1] == 150
    assert max(seen[:2]) < 30


@pytest.mark.parametrize("seed", SEEDS)
def test_dual_pcp_finds_the_subspace(seed: int) -> None:
    data = subspace(seed)
    model = DualPCP(n_codimensions=3).fit(data.X)
    V, S = model.normals_.T, data.normals
    sine = np.linalg.norm(V - S @ (S.T @ V), 2)
    assert np.degrees(np.arcsin(min(1.0, sine))) < 0.01
    assert np.array_equal(model.inlier_mask_, data.inlier)
    assert np.allclose(model.normals_ @ model.components_.T, 0, atol=1e-10)
    assert np.allclose(model.distance(data.X), model.distances_)
    assert np.array_equal(model.is_inlier(data.X), data.inlier)
    inliers = data.X[data.inlier]
    assert np.allclose(model.inverse_transform(model.transform(inliers)), inliers, atol=1e-4)


def test_dual_pcp_without_outliers_calls_all_inliers() -> None:
    X = np.random.default_rng(0).standard_normal((200, 5)) * [1, 1, 1, 1, 0.01]
    model = DualPCP(1).fit(X)
    assert model.inlier_mask_.mean() > 0.9
    assert gap(np.full(5, 0.3)) == 0.3
    assert gap(np.array([0.3])) == 0.3


def test_dual_pcp_threshold_and_zero_samples() -> None:
    data = subspace(0, d=6, c=1, inliers=60, outliers=20)
    X = np.vstack([data.X, np.zeros((1, 6))])
    model = DualPCP(1, threshold=0.01).fit(X)
    assert model.threshold_ == 0.01
    assert model.inlier_mask_[-1]  # the origin lies on every subspace
    lengths = DualPCP(1, normalize=False).fit(data.X)
    assert np.allclose(np.abs(lengths.normals_ @ data.normals), 1, atol=1e-6)


@pytest.mark.parametrize("observed", [1.0, 0.7])
@pytest.mark.parametrize("seed", SEEDS)
def test_low_rank_is_exact_under_gross_errors_and_missing_entries(seed: int, observed: float) -> None:
    data = low_rank(seed, observed=observed)
    model = RobustLowRank(rank=5).fit(data.M)
    assert np.linalg.norm(model.low_rank_ - data.L) < 1e-6 * np.linalg.norm(data.L)
    assert np.linalg.matrix_rank(model.low_rank_) == 5
    seen = ~np.isnan(data.M)
    assert np.allclose((model.low_rank_ + model.residual_)[seen], data.M[seen])
    assert np.all(model.residual_[~seen] == 0)
    again = model.inverse_transform(model.transform(data.M[:5]))
    assert np.allclose(again, data.L[:5], atol=1e-5)


def test_low_rank_takes_a_mask_in_place_of_nan() -> None:
    data = low_rank(0, n=40, r=2, observed=0.8)
    mask = ~np.isnan(data.M)
    by_nan = RobustLowRank(2).fit(data.M)
    by_mask = RobustLowRank(2).fit(np.where(mask, data.M, 123.0), mask=mask)
    assert np.array_equal(by_nan.low_rank_, by_mask.low_rank_)


def test_low_rank_from_general_measurements() -> None:
    data = low_rank(0, n=40, r=2, observed=0.8)
    where = ~np.isnan(data.M)
    by_operator = RobustLowRank(2).fit_measurements(Sampling(where), data.M[where], data.M.shape)
    assert np.linalg.norm(by_operator.low_rank_ - data.L) < 1e-6 * np.linalg.norm(data.L)
    rng = np.random.default_rng(0)
    L = np.outer(rng.standard_normal(12), rng.standard_normal(10))
    G = rng.standard_normal((300, 120))
    z = G @ L.ravel()
    z[:30] += 50 * rng.standard_normal(30)
    gaussian = RobustLowRank(1).fit_measurements(G, z, (12, 10))
    assert np.linalg.norm(gaussian.low_rank_ - L) < 1e-5 * np.linalg.norm(L)
    assert np.count_nonzero(np.abs(gaussian.residual_) > 1e-3) == 30


def test_video_background_comes_out_clean() -> None:
    rng = np.random.default_rng(0)
    scene = rng.uniform(0, 255, (12, 16))
    frames = scene * rng.uniform(0.9, 1.1, (30, 1, 1))  # the light flickers: rank one
    truth = frames.copy()
    for t in range(30):
        frames[t, 3:6, t % 14 : t % 14 + 2] = 255.0
    background, foreground, model = separate_video(frames.astype(np.float32), rank=1)
    assert np.abs(background - truth).max() < 1.0
    assert background.shape == foreground.shape == frames.shape
    assert model.result_.success


@pytest.mark.parametrize("constrained", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_phase_retrieval_reaches_the_basin_of_the_truth(seed: int, constrained: bool) -> None:
    data = phase(seed)
    model = SparsePhaseRetrieval(D=data.D if constrained else None).fit(data.G, data.z)
    v = data.v if constrained or data.v[np.abs(data.v).argmax()] > 0 else -data.v
    # with D the sign is known; without, the convention of the largest entry
    assert np.linalg.norm(model.coef_ - v) < 0.05
    if constrained:
        assert (data.D @ model.coef_).min() > -1e-4
    else:
        assert model.coef_[np.abs(model.coef_).argmax()] > 0


@pytest.mark.parametrize("seed", range(3))
def test_phase_retrieval_from_complex_measurements(seed: int) -> None:
    data = phase(seed, complex_=True)
    model = SparsePhaseRetrieval(D=data.D).fit(data.G, data.z)
    assert np.linalg.norm(model.coef_ - data.v) < 0.05
    assert model.coef_.dtype == float
    assert model.score(data.G, data.z) > 0.99


def test_phase_retrieval_does_not_depend_on_units() -> None:
    data = phase(0)
    plain = SparsePhaseRetrieval().fit(data.G, data.z)
    scaled = SparsePhaseRetrieval().fit(10 * data.G, 25 * data.z)
    assert np.allclose(scaled.coef_, 0.5 * plain.coef_, atol=1e-4)


def test_phase_retrieval_with_a_given_size_of_the_start() -> None:
    data = phase(1)
    model = SparsePhaseRetrieval(n_nonzero=5).fit(data.G, data.z)
    assert np.count_nonzero(model.start_) == 5


def test_low_rank_under_noise_as_well_is_certified() -> None:
    data = low_rank(0, n=60, r=2)
    M = data.M + 0.1 * np.random.default_rng(0).standard_normal(data.M.shape)
    model = RobustLowRank(2).fit(M)  # a warning would be an error here
    assert np.linalg.norm(model.low_rank_ - data.L) < 0.05 * np.linalg.norm(data.L)
    assert model.n_iter_ < 3000
