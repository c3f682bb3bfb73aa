"""What the data decide: alpha by criterion and cross-validation, paths, classes, groups by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoLarsIC, QuantileRegressor

from ipds.functions import Logistic
from ipds.models import FusedLasso, OverlappingGroupLasso, SparseQuantileRegressor, quantile

NILE = np.fromstring(
    """
    1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180 799 958 1140 1100 1210
    1150 1250 1260 1220 1030 1100 774 840 874 694 940 833 701 916 692 1020 1050 969 831 726 456 824 702 1120
    1100 832 764 821 768 845 864 862 698 845 744 796 1040 759 781 865 845 944 984 897 822 1010 771 676 649
    846 812 742 801 1040 860 874 848 890 744 749 838 1050 918 986 797 923 975 815 1020 906 901 1170 912 746
    919 718 714 740
    """,
    sep=" ",
)
"""Flow of the Nile 1871-1970 (Cobb 1978); the dam at Aswan was begun in 1898."""


def data(loss: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 8))
    y = X @ np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]) + 0.5 * rng.standard_normal(80)
    return X, y if loss == "squared" else np.where(y > 0, "yes", "no")


def test_the_nile_has_two_segments() -> None:
    model = FusedLasso().fit(sp.eye_array(100, format="csr"), NILE)
    assert np.array_equal(np.bincount(model.segments_), [28, 72])
    assert "alpha" in model.summary.choices
    assert "Bayesian" in str(model.summary)


@pytest.mark.parametrize("alpha", ["bic", "cv"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(
    "model",
    [FusedLasso(), FusedLasso(edges=[(0, 1), (1, 2), (4, 5)]), OverlappingGroupLasso([[0, 1], [1, 2, 3]])],
)
def test_alpha_is_chosen_among_those_that_matter(model: Any, loss: str, alpha: str) -> None:
    X, y = data(loss)
    model.set_params(alpha=alpha, loss=loss, cv=3).fit(X, y)
    top = model.alpha_max(X, y)
    assert 0 < model.alpha_ <= 1.02 * top
    assert min(model.selection_.values()) <= model.selection_[model.alpha_] + 1
    assert model.score(X, y) > 0.7
    assert model.problem(X, y).blocks[1].h.lam == pytest.approx(len(X) * model.alpha_)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(
    "model",
    [
        FusedLasso(),
        FusedLasso(edges=[(0, 1), (1, 2), (0, 2), (4, 5)]),
        OverlappingGroupLasso([[0, 1], [2, 3, 4]]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*the fit is constant")
def test_alpha_max_is_where_the_penalty_vanishes(model: Any, loss: str) -> None:
    X, y = data(loss)
    model.set_params(loss=loss, tol=1e-8)
    top = model.alpha_max(X, y)

    def left(alpha: float) -> float:
        model.set_params(alpha=alpha).fit(X, y)
        A = model.problem(X, y).blocks[1].h
        return float(A(model.result_.x[1]))

    assert left(1.001 * top) <= 1e-6
    exact = not isinstance(model, FusedLasso) or model.edges is None
    assert left((0.97 if exact else 0.4) * top) > 1e-4


def test_the_lasso_by_bic_is_that_of_scikit_learn() -> None:
    X, y = load_diabetes(return_X_y=True)
    ours, theirs = OverlappingGroupLasso().fit(X, y), LassoLarsIC("bic").fit(X, y)
    assert np.array_equal(np.flatnonzero(ours.coef_), np.flatnonzero(theirs.coef_))
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=2e-3)


def test_a_path_is_what_single_fits_give() -> None:
    X, y = data("squared")
    model = OverlappingGroupLasso([[0, 1], [1, 2, 3], [4, 5, 6, 7]], tol=1e-8)
    path = model.path(X * [1, 1, 1000, 1, 1, 1, 1, 1], y)
    assert path.alphas.shape == (20,)
    assert path.alphas[0] == pytest.approx(1.02 * model.alpha_max(X * [1, 1, 1000, 1, 1, 1, 1, 1], y))
    assert path.nonzeros[0] == 0
    assert path.nonzeros[-1] == 8
    alone = model.set_params(alpha=path.alphas[7]).fit(X * [1, 1, 1000, 1, 1, 1, 1, 1], y)
    np.testing.assert_allclose(path.coefs[7], alone.coef_, atol=5e-3)
    assert path.intercepts[7] == pytest.approx(alone.intercept_, abs=5e-3)


@pytest.mark.parametrize("model", [FusedLasso(loss="logistic"), OverlappingGroupLasso(loss="logistic")])
def test_more_than_two_classes(model: Any) -> None:
    for X, y in (load_iris(return_X_y=True), load_wine(return_X_y=True)):
        model.fit(X, y)
        assert model.coef_.shape == (3, X.shape[1])
        assert model.score(X, y) > 0.94
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert np.array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
        assert model.result_.success


def test_class_weights_are_repeated_samples() -> None:
    X, y = data("logistic")
    repeated = np.r_[np.arange(80), np.flatnonzero(y == "yes")]
    groups = [[0, 1], [2, 3]]
    weighted = OverlappingGroupLasso(
        groups, 0.02, loss="logistic", class_weight={"yes": 2.0, "no": 1.0}, standardize=False, tol=1e-9
    ).fit(X, y)
    alpha = 0.02 * 80 / len(repeated)
    plain = OverlappingGroupLasso(groups, alpha, loss="logistic", standardize=False, tol=1e-9)
    plain.fit(X[repeated], y[repeated])
    np.testing.assert_allclose(weighted.coef_, plain.coef_, atol=1e-5)
    f, x = Logistic(X, np.where(y == "yes", 1.0, -1.0), np.linspace(0, 2, 80)), np.full(8, 0.3)
    e = 1e-6 * np.eye(8)
    np.testing.assert_allclose(f.grad(x), [(f(x + d) - f(x - d)) / 2e-6 for d in e], atol=1e-6)
    np.testing.assert_allclose(
        f.curvature(x, np.ones(8)), (f.grad(x + 1e-5) - f.grad(x - 1e-5)) / 2e-5, rtol=1e-6
    )


def test_groups_by_name() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y = data("squared")
    frame = pandas.DataFrame(X, columns=list("abcdefgh"))
    named = OverlappingGroupLasso(
        {"first": ["a", "b"], "second": ["b", "c", "d"], "rest": ["e", "f", "g", "h"]}, 0.1
    )
    numbered = OverlappingGroupLasso([[0, 1], [1, 2, 3], [4, 5, 6, 7]], 0.1)
    np.testing.assert_allclose(named.fit(frame, y).coef_, numbered.fit(X, y).coef_, rtol=1e-9)
    assert set(named.summary.terms["coefficients"]) >= {"a", "b"}
    with pytest.raises(ValueError, match="pass a DataFrame or indices"):
        OverlappingGroupLasso([["a"]]).fit(X, y)
    with pytest.raises(ValueError, match=r"groups name \['z'\]"):
        OverlappingGroupLasso([["a", "z"]]).fit(frame, y)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_quantiles_are_those_of_scikit_learn(quantile: float, sparse: bool, intercept: bool) -> None:
    X, y = load_diabetes(return_X_y=True)
    X = 20 * X + 1
    theirs = QuantileRegressor(quantile=quantile, alpha=0.05, fit_intercept=intercept).fit(X, y)
    ours = SparseQuantileRegressor(quantile, 0.05, fit_intercept=intercept, standardize=False, tol=1e-9)
    ours.fit(sp.csr_array(X) if sparse else X, y)

    def value(model: Any) -> float:
        residual = y - model.predict(X)
        loss = np.maximum(quantile * residual, (quantile - 1) * residual).mean()
        return float(loss + 0.05 * np.abs(model.coef_).sum())

    assert value(ours) <= value(theirs) * (1 + 1e-7)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.result_.success


def test_a_quantile_by_few_features() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 30))
    y = 3 * X[:, 4] - 2 * X[:, 20] + rng.standard_t(2, 500)
    for alpha in ("bic", "cv"):
        model = SparseQuantileRegressor(0.75, alpha, cv=3).fit(X, y)
        assert set(model.support_) >= {4, 20}
        assert len(model.support_) <= 4
        assert model.quality_["share below"] == pytest.approx(0.75, abs=0.02)
    top = model.alpha_max(X, y)
    with pytest.warns(ConvergenceWarning, match="the fit is constant"):
        model.set_params(alpha=1.001 * top).fit(X, y)
    assert len(model.set_params(alpha=0.98 * top).fit(X, y).support_) > 0
    path = model.path(X, y)
    assert path.nonzeros[0] == 0
    with pytest.raises(ValueError, match="quantile must lie between 0 and 1"):
        SparseQuantileRegressor(1.5).fit(X, y)


@pytest.mark.parametrize("sparse", [False, True])
def test_quantiles_of_large_data_begin_with_few_features(
    sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same path, choice and coefficients as with all features in every solve; the last one has them all."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((200, 60))
    y = X[:, :4] @ [2.0, -1.0, 1.0, 0.5] + rng.standard_normal(200)
    data = sp.csr_array(X) if sparse else X
    whole = SparseQuantileRegressor(0.7).fit(data, y)
    monkeypatch.setattr(quantile, "ENTRIES", 1000)
    monkeypatch.setattr(quantile, "FIRST", 3)
    widths: list[int] = []
    solve = SparseQuantileRegressor._solve
    monkeypatch.setattr(
        SparseQuantileRegressor,
        "_solve",
        lambda self, problem, *a, **k: (
            widths.append(problem.blocks[0].shape[0]),
            solve(self, problem, *a, **k),
        )[1],
    )
    model = SparseQuantileRegressor(0.7).fit(data, y)
    assert widths[0] == 3
    assert widths[-1] == 60
    assert model.alpha_ == whole.alpha_
    assert model.result_.success
    assert np.allclose(model.coef_, whole.coef_, atol=1e-6)
    assert list(model.selection_) == pytest.approx(list(whole.selection_))
    assert list(model.selection_.values()) == pytest.approx(list(whole.selection_.values()), rel=1e-3)
