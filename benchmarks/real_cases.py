"""The cases of `real_data`: a model on a data set, and its rivals there."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.interpolate import make_smoothing_spline
from scipy.optimize import least_squares
from sklearn import covariance, datasets, decomposition, ensemble, linear_model
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipds import models

Row = tuple[str, str, str, str, float]
"""Model, data, who, quality, seconds."""
Case = Callable[[], list[Row]]


def first_use() -> None:
    """What only the first fit of a process costs."""
    models.OverlappingGroupLasso().fit(*datasets.load_diabetes(return_X_y=True))


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return run(), time.process_time() - start


def regressions() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    diabetes = datasets.load_diabetes(scaled=False)
    linnerud = datasets.load_linnerud()
    wine = datasets.load_wine()
    return {
        "diabetes": (diabetes.data, diabetes.target),
        "linnerud (weight)": (linnerud.data, linnerud.target[:, 0]),
        "wine (alcohol)": (wine.data[:, 1:], wine.data[:, 0]),
    }


def held_out(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Predictions of samples that were left out in five folds, and the time of a fit to all."""
    _, seconds = timed(lambda: make().fit(X, y))
    return np.asarray(cross_val_predict(make(), X, y, cv=5)), seconds


def scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


def rivals(model: str, X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Who fits the same kind of model."""
    if model == "RobustSparseRegressor":
        return {
            "**ours**": models.RobustSparseRegressor,
            "HuberRegressor, scaled": lambda: scaled(linear_model.HuberRegressor(max_iter=1000)),
            "TheilSenRegressor, scaled": lambda: scaled(linear_model.TheilSenRegressor(random_state=0)),
        }
    if model == "SparseQuantileRegressor":
        return {
            "**ours**": models.SparseQuantileRegressor,
            "QuantileRegressor(alpha=0), scaled": lambda: scaled(linear_model.QuantileRegressor(alpha=0.0)),
        }
    found: dict[str, Callable[[], Any]] = {
        "**ours** (the lasso)": models.OverlappingGroupLasso,
        "LassoCV, scaled": lambda: scaled(linear_model.LassoCV()),
        "LassoLarsIC, scaled": lambda: scaled(linear_model.LassoLarsIC("bic")),
    }
    alpha = models.OverlappingGroupLasso(standardize=True).fit(X, y).alpha_
    if find_spec("celer"):
        import celer

        found["celer Lasso(our alpha), scaled"] = lambda: scaled(celer.Lasso(alpha))
    if find_spec("skglm"):
        import skglm

        found["skglm Lasso(our alpha), scaled"] = lambda: scaled(skglm.Lasso(alpha))
    return found


def regression(model: str, name: str) -> list[Row]:
    X, y = regressions()[name]
    rows = []
    for who, make in rivals(model, X, y).items():
        make().fit(X, y)  # what is compiled at first use
        prediction, seconds = held_out(make, X, y)
        error = np.abs(y - prediction)
        quality = f"held-out MAE {error.mean():.4g}"
        if model == "OverlappingGroupLasso":
            quality = f"held-out R² {1 - np.sum(error**2) / np.sum((y - y.mean()) ** 2):.3f}"
        quality += f", {used(make().fit(X, y))} of {X.shape[1]} features"
        rows.append((model, name, who, quality, seconds))
    return rows


def used(fitted: Any) -> int:
    """Features with a coefficient."""
    coef = np.atleast_2d(getattr(fitted, "coef_", None) if hasattr(fitted, "coef_") else fitted[-1].coef_)
    return int(np.count_nonzero(np.abs(coef).max(axis=0) > 1e-10))


def classification(name: str) -> list[Row]:
    X, y = {
        "breast cancer": datasets.load_breast_cancer,
        "wine": datasets.load_wine,
        "iris": datasets.load_iris,
    }[name](return_X_y=True)
    found: dict[str, Callable[[], Any]] = {
        "**ours** (loss=logistic)": lambda: models.OverlappingGroupLasso(loss="logistic"),
        "LogisticRegressionCV(l1, saga), scaled": lambda: scaled(
            linear_model.LogisticRegressionCV(
                l1_ratios=[1.0], solver="saga", scoring="neg_log_loss", use_legacy_attributes=False
            )
        ),
        "LogisticRegression(), scaled": lambda: scaled(linear_model.LogisticRegression()),
    }
    if len(np.unique(y)) == 2 and find_spec("celer") and find_spec("skglm"):
        import celer
        import skglm

        alpha = models.OverlappingGroupLasso(loss="logistic", standardize=True).fit(X, y).alpha_
        found["celer LogisticRegression(our alpha), scaled"] = lambda: scaled(
            celer.LogisticRegression(C=1 / (alpha * len(y)))
        )
        found["skglm SparseLogisticRegression(our alpha), scaled"] = lambda: scaled(
            skglm.SparseLogisticRegression(alpha)
        )
    rows = []
    for who, make in found.items():
        make().fit(X, y)
        _, seconds = timed(lambda make=make: make().fit(X, y))
        told = np.asarray(cross_val_predict(make(), X, y, cv=5, method="predict_proba"))
        quality = (
            f"held-out accuracy {accuracy_score(y, told.argmax(axis=1)):.3f}, log loss {log_loss(y, told):.3f}, "
            f"{used(make().fit(X, y))} of {X.shape[1]} features"
        )
        rows.append(("OverlappingGroupLasso", name, who, quality, seconds))
    return rows


def components(name: str) -> list[Row]:
    X = getattr(datasets, f"load_{name.replace(' ', '_')}")().data
    ours, seconds = timed(lambda: models.SparsePCA().fit(X))
    Z, r = (X - ours.mean_) / ours.feature_scales_, ours.n_components_
    theirs, other = timed(lambda: decomposition.SparsePCA(r, random_state=0).fit(Z))
    pca, third = timed(lambda: decomposition.PCA(r).fit(Z))
    rows = []
    for who, C, spent in (
        ("**ours**", ours.loadings_, seconds),
        (f"scikit-learn SparsePCA({r}), scaled alike", theirs.components_, other),
        (f"PCA({r}), scaled alike", pca.components_, third),
    ):
        C = C[np.linalg.norm(C, axis=1) > 0]
        basis = np.linalg.qr(C.T)[0]
        held = np.sum((Z @ basis) ** 2) / np.sum(Z**2)
        rows.append(("SparsePCA", name, who, f"variance {held:.3f} by {np.count_nonzero(C)} loadings", spent))
    return rows


def outliers(name: str) -> list[Row]:
    """One class, and a few samples of the others as outliers."""
    load, inside = {
        "wine": (datasets.load_wine, 1),
        "breast cancer": (datasets.load_breast_cancer, 1),
        "digits (0)": (datasets.load_digits, 0),
    }[name]
    X, y = load(return_X_y=True)
    few = np.random.default_rng(0).choice(
        np.flatnonzero(y != inside), max(5, np.sum(y == inside) // 10), replace=False
    )
    X = np.vstack([X[y == inside], X[few]])
    outlier = np.r_[np.zeros(np.sum(y == inside)), np.ones(len(few))]
    rows = []
    for who, make in (
        ("**ours**", models.DualPCP),
        ("IsolationForest", lambda: ensemble.IsolationForest(random_state=0)),
        ("EllipticEnvelope", lambda: covariance.EllipticEnvelope(random_state=0)),
    ):
        fitted, seconds = timed(lambda make=make: make().fit(X))
        area = roc_auc_score(outlier, -fitted.score_samples(X))
        rows.append(("DualPCP", name, who, f"area under ROC {area:.3f}", seconds))
    return rows


def low_rank(name: str) -> list[Row]:
    """A twentieth of the entries ruined: the error on those that are not."""
    X = getattr(datasets, f"load_{name.split(',')[0]}")().data[:300]
    X = X / np.maximum(X.std(axis=0), 1e-9) if name == "wine" else X
    rng = np.random.default_rng(0)
    gross = rng.random(X.shape) < 0.05
    M = np.where(gross, X + 10 * X.std() * rng.choice([-1, 1], X.shape), X)
    ours, seconds = timed(lambda: models.RobustLowRank().fit(M))
    r = ours.rank_
    svd, other = timed(lambda: decomposition.TruncatedSVD(r, random_state=0).fit(M))
    rows = []
    for who, V, spent in (
        ("**ours**", ours.low_rank_, seconds),
        (f"TruncatedSVD({r})", svd.transform(M) @ svd.components_, other),
    ):
        quality = f"median error on clean entries {np.median(np.abs(V - X)[~gross]):.3g}, rank {r}"
        rows.append(("RobustLowRank", name, who, quality, spent))
    return rows


def phases(name: str) -> list[Row]:
    """A handwritten digit (64 pixels, about half of them dark) from 256 random intensities with 1% of noise."""
    digit = int(name.split()[-1])
    data = datasets.load_digits()
    v = data.data[data.target == digit][0]
    rng = np.random.default_rng(0)
    G = rng.standard_normal((256, 64))
    z = (G @ v) ** 2
    z = np.maximum(z + 0.01 * z.mean() * rng.standard_normal(256), 0.0)

    def by_least_squares() -> np.ndarray:
        M = (G.T * z) @ G / len(z)  # the spectral start
        vector = np.linalg.eigh(M)[1]
        start = vector[:, -1] * np.sqrt(z.mean())
        found = least_squares(lambda x: (G @ x) ** 2 - z, start, lambda x: 2 * (G @ x)[:, None] * G)
        return np.asarray(found.x)

    ours, seconds = timed(lambda: models.SparsePhaseRetrieval().fit(G, z).coef_)
    theirs, other = timed(by_least_squares)
    rows = []
    for who, x, spent in (
        ("**ours**", ours, seconds),
        ("scipy least_squares, spectral start", theirs, other),
    ):
        error = min(np.linalg.norm(x - v), np.linalg.norm(x + v)) / np.linalg.norm(v)
        quality = (
            f"relative error {error:.2g}, {np.count_nonzero(x)} pixels lit (truth {np.count_nonzero(v)})"
        )
        rows.append(("SparsePhaseRetrieval", name, who, quality, spent))
    return rows


def series(name: str) -> tuple[np.ndarray, np.ndarray]:
    """(positions, values); missing weeks of carbon dioxide are missing positions."""
    import statsmodels.api as sm

    if name == "CO2":
        data = sm.datasets.co2.load_pandas().data.co2.to_numpy(float)
        at = np.flatnonzero(np.isfinite(data)).astype(float)[:800]
        return at, data[at.astype(int)]
    if name == "log GDP":
        y = np.log(sm.datasets.macrodata.load_pandas().data.realgdp.to_numpy(float))
    elif name == "Nile":
        y = sm.datasets.nile.load_pandas().data.volume.to_numpy(float)
    else:
        y = sm.datasets.sunspots.load_pandas().data.SUNACTIVITY.to_numpy(float)
    return np.arange(float(len(y))), y


def trends(name: str) -> list[Row]:
    """Every fifth sample left out in turn, the ends never, and read off the trend of the others."""
    from statsmodels.nonparametric.smoothers_lowess import lowess
    from statsmodels.tsa.filters.hp_filter import hpfilter

    t, y = series(name)
    alpha = models.TrendFilter().fit(t, y).alpha_

    def by_cvxpy(t: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        import cvxpy as cp

        x, slope = cp.Variable(len(y)), 1 / np.diff(t)
        changes = cp.diff(cp.multiply(slope, cp.diff(x)))
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(y - x) + alpha * cp.norm1(changes))).solve(
            solver="CLARABEL"
        )
        return lambda at: np.interp(at, t, x.value)

    def by_hodrick_prescott(t: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return lambda at: np.interp(at, t, hpfilter(y, 1600)[1])

    ways: dict[str, Callable[[np.ndarray, np.ndarray], Callable[[np.ndarray], np.ndarray]]] = {
        "**ours** (order 1)": lambda t, y: models.TrendFilter().fit(t, y).predict,
        "**ours** (order 3)": lambda t, y: models.TrendFilter(3).fit(t, y).predict,
        "statsmodels hpfilter(1600)": by_hodrick_prescott,
        "statsmodels lowess": lambda t, y: lambda at: lowess(y, t, xvals=at),
        "scipy make_smoothing_spline": lambda t, y: make_smoothing_spline(t, y),
    }
    if find_spec("cvxpy"):
        ways["**ours** (order 1, that alpha)"] = lambda t, y: models.TrendFilter(1, alpha).fit(t, y).predict
        ways["CVXPY, Clarabel (that alpha)"] = by_cvxpy
    rows = []
    for who, way in ways.items():
        way(t, y)(t)
        _, seconds = timed(lambda way=way: way(t, y)(t))
        error = np.zeros(len(y))
        for k in range(1, 6):
            held = np.arange(k, len(y) - 1, 5)
            kept = np.delete(np.arange(len(y)), held)
            error[held] = y[held] - way(t[kept], y[kept])(t[held])
        rows.append(("TrendFilter", name, who, f"held-out RMSE {np.sqrt(np.mean(error**2)):.4g}", seconds))
    return rows


def segments(name: str) -> list[Row]:
    if name == "CO2 differences":
        t, level = series("CO2")
        y = np.diff(np.interp(np.arange(800.0), t, level))
    else:
        y = series(name)[1]
    n = len(y)
    fused, seconds = timed(lambda: models.FusedLasso().fit(sp.eye_array(n, format="csr"), y))
    found = [("**ours**", fused.segments_, seconds)]
    trend, spent = timed(lambda: models.TrendFilter(0).fit(None, y))
    found.append(("**ours** (TrendFilter(0))", np.searchsorted(trend.knots_, np.arange(n)), spent))
    if find_spec("ruptures"):
        import ruptures

        penalty = 2 * np.log(n) * np.var(np.diff(y)) / 2
        cuts, spent = timed(lambda: ruptures.Pelt("l2", jump=1, min_size=2).fit_predict(y, penalty))
        found.append(("ruptures Pelt(l2)", np.searchsorted(cuts, np.arange(n), side="right"), spent))
    rows = []
    for who, parts, spent in found:
        means = np.bincount(parts, y) / np.bincount(parts)
        left, k = np.sum((y - means[parts]) ** 2), len(means)
        criterion = n * np.log(left / n) + 2 * k * np.log(n)
        rows.append(("FusedLasso", name, who, f"{k} segments, BIC {criterion:.1f}", spent))
    return rows


def quantiles_at_size() -> list[Row]:
    """100,000 samples of 100 features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 100))
    w = np.zeros(100)
    w[:10] = rng.standard_normal(10)
    y = X @ w + rng.standard_t(3, 100_000)
    model, seconds = timed(lambda: models.SparseQuantileRegressor(alpha=0.02).fit(X, y))
    quality = f"{len(model.support_)} of 10 features, certificate {model.result_.certificate.relative:.0e}"
    return [("SparseQuantileRegressor", "100,000 x 100, made", "**ours**(alpha=0.02)", quality, seconds)]


def cases() -> dict[str, Case]:
    """All of them, by "model, data"."""
    found: dict[str, Case] = {}

    def add(model: str, names: tuple[str, ...], rows: Callable[[str], list[Row]]) -> None:
        found.update({f"{model}, {name}": lambda name=name: rows(name) for name in names})

    for model in ("RobustSparseRegressor", "SparseQuantileRegressor", "OverlappingGroupLasso"):
        add(
            model,
            ("diabetes", "linnerud (weight)", "wine (alcohol)"),
            lambda name, m=model: regression(m, name),
        )
    found["SparseQuantileRegressor, made"] = quantiles_at_size
    add("OverlappingGroupLasso", ("breast cancer", "wine", "iris"), classification)
    add("SparsePCA", ("wine", "breast cancer", "iris"), components)
    add("DualPCP", ("wine", "breast cancer", "digits (0)"), outliers)
    add("RobustLowRank", ("wine", "iris", "digits, 300"), low_rank)
    add("SparsePhaseRetrieval", ("digit 0", "digit 1", "digit 7"), phases)
    if find_spec("statsmodels"):
        add("FusedLasso", ("Nile", "sunspots", "CO2 differences"), segments)
        add("TrendFilter", ("Nile", "sunspots", "CO2", "log GDP"), trends)
    return found
