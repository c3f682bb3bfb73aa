"""What all models share: units of features, the summary, limits of a fit, warnings that say what to do."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from ipds.models import (
    DualPCP,
    FusedLasso,
    OverlappingGroupLasso,
    RobustLowRank,
    RobustSparseRegressor,
    SparsePCA,
    SparsePhaseRetrieval,
)
from ipds.models._scaling import unit_ratio

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 6))
Y = X @ np.array([2.0, -1.0, 0.0, 0.0, 0.0, 1.0]) + 0.1 * RNG.standard_normal(60)
UNITS = np.array([1.0, 1e3, 1.0, 1e-3, 1.0, 1e4])

FITTED: list[tuple[Any, tuple[Any, ...]]] = [
    (SparsePCA(2, alpha=0.1), (X,)),
    (RobustSparseRegressor(2), (X, Y)),
    (DualPCP(1), (X,)),
    (RobustLowRank(1), (X,)),
    (SparsePhaseRetrieval(), (X, Y**2)),
    (FusedLasso(0.01), (X, Y)),
    (OverlappingGroupLasso(alpha=0.01), (X, Y)),
]


def test_units_are_told_apart_from_pictures() -> None:
    for data, apart in (
        (load_wine().data, True),
        (load_breast_cancer().data, True),
        (load_iris().data, False),
        (load_digits().data, False),
        (load_digits().data / 16, False),
    ):
        assert (unit_ratio(data) > 10) == apart
    assert unit_ratio(X * UNITS) > 1e5
    assert unit_ratio(sp.csr_array(X * UNITS)) == unit_ratio(X * UNITS)
    rare = sp.random_array((50, 30), density=0.1, rng=RNG, format="csr") * 10.0 ** np.arange(30)
    assert unit_ratio(sp.csr_array(rare)) == 1.0


@pytest.mark.parametrize("model", [FusedLasso, OverlappingGroupLasso])
@pytest.mark.parametrize("sparse", [False, True])
def test_coefficients_in_the_units_of_the_data(model: Any, sparse: bool) -> None:
    convert = sp.csr_array if sparse else np.asarray
    for loss, y in (("squared", Y), ("logistic", np.where(Y > 0, "yes", "no"))):
        here = model(alpha=0.05, standardize=True, loss=loss, tol=1e-9).fit(convert(X), y)
        there = model(alpha=0.05, loss=loss, tol=1e-9).fit(convert(X * UNITS), y)
        assert there.standardize_
        assert any("factor" in note for note in there.notes_)
        np.testing.assert_allclose(there.coef_ * UNITS, here.coef_, atol=1e-6)
        assert there.intercept_ == pytest.approx(here.intercept_, abs=1e-6)
        assert there.score(convert(X * UNITS), y) == pytest.approx(here.score(convert(X), y), abs=1e-9)


def test_components_in_the_units_of_the_data() -> None:
    data = X * UNITS + 5 * UNITS
    here, there = SparsePCA(2, alpha=0.1, standardize=True).fit(X), SparsePCA(2, alpha=0.1).fit(data)
    assert there.standardize_
    np.testing.assert_allclose(np.abs(there.loadings_), np.abs(here.loadings_), atol=1e-6)
    np.testing.assert_allclose(there.loadings_ @ there.loadings_.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose((data - there.mean_) @ there.components_.T, there.transform(data))
    scores = there.transform(data)
    np.testing.assert_allclose(there.transform(there.inverse_transform(scores)), scores, atol=1e-8)
    plain = SparsePCA(2, alpha=0.1, standardize=False).fit(X)
    assert np.array_equal(plain.components_, plain.loadings_)


def test_a_subspace_in_any_units() -> None:
    rng = np.random.default_rng(1)
    half = rng.standard_normal((50, 5)) @ rng.standard_normal((5, 6))
    outliers = 5 * rng.standard_normal((6, 6))
    flat = np.vstack([half, -half, outliers, -outliers]) * UNITS  # medians at the origin
    model = DualPCP(1).fit(flat)
    assert model.standardize_
    assert model.inlier_mask_[:100].all()
    assert model.inlier_mask_[100:].sum() <= 2
    back = model.inverse_transform(model.transform(flat[:100]))
    np.testing.assert_allclose(back / UNITS, flat[:100] / UNITS, atol=1e-4)
    np.testing.assert_allclose(model.distance(flat), model.distances_, atol=1e-12)


def test_low_rank_in_any_units() -> None:
    rng = np.random.default_rng(1)
    units = np.resize(UNITS, 20)
    L = np.outer(rng.standard_normal(40), rng.standard_normal(20)) * units
    M = L + 10 * units * (rng.random(L.shape) < 0.05)
    model = RobustLowRank(1).fit(M)
    assert model.standardize_
    np.testing.assert_allclose(model.low_rank_ / units, L / units, atol=1e-4)
    rows = model.inverse_transform(model.transform(M[:5]))
    np.testing.assert_allclose(rows / units, L[:5] / units, atol=1e-4)


@pytest.mark.parametrize(("model", "data"), FITTED, ids=lambda v: type(v).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_summary_says_what_was_found(
    model: Any, data: tuple[Any, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    model.set_params(verbose=True).fit(*data)
    printed = capsys.readouterr().out
    assert str(model.summary) in printed
    assert type(model).__name__ in printed
    assert model.summary.quality == dict(model.quality_)
    assert len(model.quality_) > 0
    assert all(np.isfinite(value) for value in model.quality_.values())
    assert model.summary.as_dict()["terms"]
    model.set_params(verbose=False)


@pytest.mark.parametrize(("model", "data"), FITTED, ids=lambda v: type(v).__name__)
def test_a_fit_keeps_to_its_time(model: Any, data: tuple[Any, ...]) -> None:
    begin = time.perf_counter()
    model.set_params(time_limit=0.0, tol=1e-14)
    with pytest.warns(ConvergenceWarning, match=r"time limit reached.*raise time_limit"):
        model.fit(*data)
    assert time.perf_counter() - begin < 5
    assert not hasattr(model, "_end") or model._end is None


def test_a_constant_model_is_no_success() -> None:
    for model, data in (
        (FusedLasso(1e3), (sp.eye_array(60, format="csr"), Y)),
        (OverlappingGroupLasso(alpha=1e3), (X, Y)),
    ):
        with pytest.warns(ConvergenceWarning, match="the fit is constant"):
            model.fit(*data)
        assert "the fit is constant" in str(model.summary)


def test_a_checkpoint_is_written_and_resumed(tmp_path: Any) -> None:
    file = tmp_path / "fit.ckpt"
    first = SparsePCA(2, alpha=0.1, checkpoint=file, tol=1e-8).fit(X)
    assert file.exists()
    again = SparsePCA(2, alpha=0.1, checkpoint=file, tol=1e-8).fit(X)
    np.testing.assert_allclose(again.components_, first.components_, atol=1e-6)
