"""The estimators with default arguments on real data, beside what users would otherwise take. One thread.

    python benchmarks/real_data.py [--write docs/models.md]

Data of scikit-learn, and of statsmodels where that is installed; ruptures takes part where it is. Seconds of processor
time; quality as the column says. `--write` puts the table between its markers.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import covariance, datasets, decomposition, ensemble, linear_model
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipds import models

Row = tuple[str, str, str, str, float]
"""Model, data, who, quality, seconds."""


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


def regression_rows() -> list[Row]:
    rows = []
    for name, (X, y) in regressions().items():
        contenders: dict[str, list[tuple[str, Callable[[], Any]]]] = {
            "RobustSparseRegressor": [
                ("**ours**", models.RobustSparseRegressor),
                ("HuberRegressor, scaled", lambda: scaled(linear_model.HuberRegressor(max_iter=1000))),
                ("TheilSenRegressor, scaled", lambda: scaled(linear_model.TheilSenRegressor(random_state=0))),
            ],
            "SparseQuantileRegressor": [
                ("**ours**", models.SparseQuantileRegressor),
                (
                    "QuantileRegressor(alpha=0), scaled",
                    lambda: scaled(linear_model.QuantileRegressor(alpha=0.0)),
                ),
            ],
            "OverlappingGroupLasso": [
                ("**ours** (the lasso)", models.OverlappingGroupLasso),
                ("LassoCV, scaled", lambda: scaled(linear_model.LassoCV())),
                ("LassoLarsIC, scaled", lambda: scaled(linear_model.LassoLarsIC("bic"))),
            ],
        }
        for model, entries in contenders.items():
            for who, make in entries:
                prediction, seconds = held_out(make, X, y)
                error = np.abs(y - prediction)
                quality = f"held-out MAE {error.mean():.4g}"
                if model == "OverlappingGroupLasso":
                    quality = f"held-out R² {1 - np.sum(error**2) / np.sum((y - y.mean()) ** 2):.3f}"
                fitted = make().fit(X, y)
                coef = getattr(fitted, "coef_", None)
                coef = fitted[-1].coef_ if coef is None else coef
                quality += f", {np.count_nonzero(np.abs(coef) > 1e-10)} of {X.shape[1]} features"
                rows.append((model, name, who, quality, seconds))
    return rows


def component_rows() -> list[Row]:
    rows = []
    for name, load in (
        ("wine", datasets.load_wine),
        ("breast cancer", datasets.load_breast_cancer),
        ("iris", datasets.load_iris),
    ):
        X = load().data
        ours, seconds = timed(lambda X=X: models.SparsePCA().fit(X))
        Z = (X - ours.mean_) / ours.feature_scales_
        r = ours.n_components_
        theirs, other = timed(lambda Z=Z, r=r: decomposition.SparsePCA(r, random_state=0).fit(Z))
        pca, third = timed(lambda Z=Z, r=r: decomposition.PCA(r).fit(Z))
        for who, C, spent in (
            ("**ours**", ours.loadings_, seconds),
            (f"scikit-learn SparsePCA({r}), scaled alike", theirs.components_, other),
            (f"PCA({r}), scaled alike", pca.components_, third),
        ):
            C = C[np.linalg.norm(C, axis=1) > 0]
            basis = np.linalg.qr(C.T)[0]
            held = np.sum((Z @ basis) ** 2) / np.sum(Z**2)
            rows.append(
                ("SparsePCA", name, who, f"variance {held:.3f} by {np.count_nonzero(C)} loadings", spent)
            )
    return rows


def outlier_rows() -> list[Row]:
    """One class, and a few samples of the others as outliers."""
    rows = []
    rng = np.random.default_rng(0)
    for name, load, inside in (
        ("wine", datasets.load_wine, 1),
        ("breast cancer", datasets.load_breast_cancer, 1),
        ("digits (0)", datasets.load_digits, 0),
    ):
        X, y = load(return_X_y=True)
        few = rng.choice(np.flatnonzero(y != inside), max(5, np.sum(y == inside) // 10), replace=False)
        X = np.vstack([X[y == inside], X[few]])
        outlier = np.r_[np.zeros(np.sum(y == inside)), np.ones(len(few))]
        for who, make in (
            ("**ours**", models.DualPCP),
            ("IsolationForest", lambda: ensemble.IsolationForest(random_state=0)),
            ("EllipticEnvelope", lambda: covariance.EllipticEnvelope(random_state=0)),
        ):
            fitted, seconds = timed(lambda make=make, X=X: make().fit(X))
            area = roc_auc_score(outlier, -fitted.score_samples(X))
            rows.append(("DualPCP", name, who, f"area under ROC {area:.3f}", seconds))
    return rows


def low_rank_rows() -> list[Row]:
    """A twentieth of the entries ruined: the error on those that are not."""
    rows = []
    for name, load in (
        ("wine", datasets.load_wine),
        ("iris", datasets.load_iris),
        ("digits, 300", datasets.load_digits),
    ):
        X = load().data[:300]
        X = X / np.maximum(X.std(axis=0), 1e-9) if name == "wine" else X
        rng = np.random.default_rng(0)
        gross = rng.random(X.shape) < 0.05
        M = np.where(gross, X + 10 * X.std() * rng.choice([-1, 1], X.shape), X)
        ours, seconds = timed(lambda M=M: models.RobustLowRank().fit(M))
        r = ours.rank_
        svd, other = timed(lambda M=M, r=r: decomposition.TruncatedSVD(r, random_state=0).fit(M))
        for who, V, spent in (
            ("**ours**", ours.low_rank_, seconds),
            (f"TruncatedSVD({r})", svd.transform(M) @ svd.components_, other),
        ):
            quality = f"median error on clean entries {np.median(np.abs(V - X)[~gross]):.3g}, rank {r}"
            rows.append(("RobustLowRank", name, who, quality, spent))
    return rows


def segment_rows() -> list[Row]:
    signals = {}
    if find_spec("statsmodels"):
        import statsmodels.api as sm

        signals["Nile"] = sm.datasets.nile.load_pandas().data.volume.to_numpy(float)
        signals["sunspots"] = sm.datasets.sunspots.load_pandas().data.SUNACTIVITY.to_numpy(float)
        signals["CO2 differences"] = np.diff(
            sm.datasets.co2.load_pandas().data.co2.interpolate().to_numpy(float)[:800]
        )
    rows = []
    for name, y in signals.items():
        n = len(y)
        fused, seconds = timed(lambda y=y, n=n: models.FusedLasso().fit(sp.eye_array(n, format="csr"), y))
        found = [("**ours**", fused.segments_, seconds)]
        if find_spec("ruptures"):
            import ruptures

            penalty = 2 * np.log(n) * np.var(np.diff(y)) / 2
            cuts, spent = timed(
                lambda y=y, p=penalty: ruptures.Pelt("l2", jump=1, min_size=2).fit_predict(y, p)
            )
            found.append(("ruptures Pelt(l2)", np.searchsorted(cuts, np.arange(n), side="right"), spent))
        for who, segments, spent in found:
            means = np.bincount(segments, y) / np.bincount(segments)
            left = np.sum((y - means[segments]) ** 2)
            k = len(means)
            criterion = n * np.log(left / n) + 2 * k * np.log(n)
            rows.append(("FusedLasso", name, who, f"{k} segments, BIC {criterion:.1f}", spent))
    return rows


def quantile_rows() -> list[Row]:
    """Size: 100,000 samples of 100 features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 100))
    w = np.zeros(100)
    w[:10] = rng.standard_normal(10)
    y = X @ w + rng.standard_t(3, 100_000)
    model, seconds = timed(lambda: models.SparseQuantileRegressor(alpha=0.02).fit(X, y))
    quality = f"{len(model.support_)} of 10 features, certificate {model.result_.certificate.relative:.0e}"
    return [("SparseQuantileRegressor", "100,000 x 100, made", "**ours**(alpha=0.02)", quality, seconds)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, default=None)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    models.OverlappingGroupLasso().fit(*datasets.load_diabetes(return_X_y=True))  # first-use costs
    parts = (
        regression_rows,
        component_rows,
        outlier_rows,
        low_rank_rows,
        segment_rows,
        quantile_rows,
    )
    rows = [row for part in parts for row in part()]
    lines = ["| model | data | by | quality | seconds |", "|---|---|---|---|---|"]
    lines += [f"| {m} | {d} | {who} | {quality} | {s:.3g} |" for m, d, who, quality, s in rows]
    text = "\n".join(lines) + "\n"
    print(text)
    if args.write is not None:
        page = args.write.read_text(encoding="utf-8")
        head, rest = page.split("<!-- real data -->\n", 1)
        tail = rest.split("<!-- /real data -->\n", 1)[1]
        args.write.write_text(
            f"{head}<!-- real data -->\n{text}<!-- /real data -->\n{tail}", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
