"""The estimators beside what users would otherwise pick: objective, recovery, time. One thread, default options.

    python benchmarks/models.py [--seeds 5] [--write docs/models.md]

Prints Markdown tables; `--write` puts them between the markers of that file.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse as sp
from sklearn import decomposition, linear_model
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from ipds import models
from models_data import low_rank, phase, regression, subspace

Row = tuple[str, dict[str, float]]


def timed(fit: Callable[[], Any]) -> tuple[Any, float]:
    """The answer, and the processor time it took: other work on the machine does not count."""
    start = time.process_time()
    return fit(), time.process_time() - start


def table(title: str, runs: list[list[Row]], counts: tuple[str, ...] = ()) -> str:
    """Medians over the seeds; the columns named in `counts` are summed and shown as k of n."""
    names, columns = [name for name, _ in runs[0]], list(runs[0][0][1])
    lines = [f"**{title}** (median of {len(runs)} seeds)" if len(runs) > 1 else f"**{title}**", ""]
    lines += ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for i, name in enumerate(names):
        cells = []
        for column in columns:
            values = [run[i][1][column] for run in runs]
            cells.append(
                f"{sum(values):.0f} of {len(runs)}" if column in counts else show(float(np.median(values)))
            )
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def show(value: float) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def regression_rows(seed: int) -> list[Row]:
    X, y, v, _ = regression(seed)
    s = np.count_nonzero(v)
    makers: dict[str, Callable[[], Any]] = {
        "**RobustSparseRegressor**(8)": lambda: models.RobustSparseRegressor(s),
        "**RobustSparseRegressor**() (s by BIC)": lambda: models.RobustSparseRegressor(),
        "HuberRegressor": lambda: linear_model.HuberRegressor(max_iter=1000),
        "RANSACRegressor": lambda: linear_model.RANSACRegressor(random_state=0, max_trials=500),
        "RANSACRegressor(OMP(8))": lambda: linear_model.RANSACRegressor(
            linear_model.OrthogonalMatchingPursuit(n_nonzero_coefs=s),
            min_samples=40,
            random_state=0,
            max_trials=500,
        ),
        "QuantileRegressor(alpha=.01)": lambda: linear_model.QuantileRegressor(alpha=0.01),
        "LassoCV": lambda: linear_model.LassoCV(),
    }
    rows = []
    for name, make in makers.items():
        model, seconds = timed(lambda make=make: make().fit(X, y))
        coef = getattr(model, "estimator_", model).coef_
        top = np.argsort(-np.abs(coef))[:s]
        rows.append(
            (
                name,
                {
                    "ℓ1 loss": float(np.abs(y - model.predict(X)).sum()),
                    "support": float(set(top) == set(np.flatnonzero(v))),
                    "nonzeros": float(np.count_nonzero(np.abs(coef) > 1e-8)),
                    "relative error": float(np.linalg.norm(coef - v) / np.linalg.norm(v)),
                    "seconds": seconds,
                },
            )
        )
    return rows


def pca_rows() -> list[Row]:
    X = load_digits().data / 16
    X = X - X.mean(axis=0)
    r, alpha, m = 8, 0.03, len(X)
    ours, seconds = timed(lambda: models.SparsePCA(r, alpha=alpha).fit(X))
    count = np.count_nonzero(ours.components_)
    k = round(count / r)
    fits: list[tuple[str, Any, float]] = [(f"**SparsePCA**(alpha={alpha})", ours, seconds)]
    fits.append((f"**SparsePCA**(sparsity={k})", *timed(lambda: models.SparsePCA(r, sparsity=k).fit(X))))
    for name, make in (
        ("sklearn SparsePCA", lambda a: decomposition.SparsePCA(r, alpha=a, random_state=0)),
        (
            "sklearn MiniBatchSparsePCA",
            lambda a: decomposition.MiniBatchSparsePCA(r, alpha=a, random_state=0),
        ),
    ):
        tries = [(a, *timed(lambda a=a, make=make: make(a).fit(X))) for a in (0.5, 1.0, 2.0, 4.0, 8.0)]
        a, model, seconds = min(tries, key=lambda t: abs(np.count_nonzero(t[1].components_) - count))
        fits.append((f"{name}(alpha={a:g}: nearest sparsity)", model, seconds))
    fits.append(("PCA", *timed(lambda: decomposition.PCA(r).fit(X))))
    fits.append(("TruncatedSVD", *timed(lambda: decomposition.TruncatedSVD(r).fit(X))))
    rows = []
    for name, model, seconds in fits:
        C = np.asarray(model.components_)
        norms = np.linalg.norm(C, axis=1, keepdims=True)
        C = C / np.where(norms > 0, norms, 1.0)
        # variance that the scores explain, whatever their correlation: projection on the span
        basis = np.linalg.qr(C.T)[0]
        u, _, w = np.linalg.svd(C, full_matrices=False)
        V = (u @ w).T
        rows.append(
            (
                name,
                {
                    "objective at nearest orthonormal": float(
                        -0.5 * np.sum((X @ V) ** 2) / m + alpha * np.abs(V).sum()
                    ),
                    "nonzeros": float(np.count_nonzero(np.abs(C) > 1e-10)),
                    "variance of the span": float(np.sum((X @ basis) ** 2) / np.sum(X**2)),
                    "largest cosine between components": float(np.abs(C @ C.T - np.eye(r)).max()),
                    "seconds": seconds,
                },
            )
        )
    return rows


def subspace_rows(seed: int) -> list[Row]:
    X, S, inlier = subspace(seed)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    ours, first = timed(lambda: models.DualPCP(3).fit(X))
    svd, second = timed(lambda: decomposition.TruncatedSVD(27, algorithm="arpack").fit(unit))
    rest = np.linalg.svd(svd.components_, full_matrices=True)[2][27:].T
    rows = []
    for name, V, seconds in (("**DualPCP**(3)", ours.normals_.T, first), ("TruncatedSVD(27)", rest, second)):
        sine = min(1.0, float(np.linalg.norm(V - S @ (S.T @ V), 2)))
        distance = np.linalg.norm(unit @ V, axis=1)
        rows.append(
            (
                name,
                {
                    "objective": float(distance.sum()),
                    "angle (degrees)": float(np.degrees(np.arcsin(sine))),
                    "area under ROC": float(roc_auc_score(~inlier, distance)),
                    "seconds": seconds,
                },
            )
        )
    return rows


def low_rank_rows(seed: int, observed: float) -> list[Row]:
    M, L = low_rank(seed, observed=observed)
    seen = ~np.isnan(M)
    ours, first = timed(lambda: models.RobustLowRank(5).fit(M))

    def by_svd() -> np.ndarray:
        pipe = make_pipeline(
            SimpleImputer(strategy="constant", fill_value=0.0), decomposition.TruncatedSVD(5)
        )
        scores = pipe.fit_transform(M)
        return np.asarray(scores @ pipe[-1].components_) / seen.mean()

    theirs, second = timed(by_svd)
    return [
        (
            name,
            {
                "ℓ1 objective": float(np.abs((V - M)[seen]).sum()),
                "relative error": float(np.linalg.norm(V - L) / np.linalg.norm(L)),
                "seconds": seconds,
            },
        )
        for name, V, seconds in (
            ("**RobustLowRank**(5)", ours.low_rank_, first),
            ("TruncatedSVD(5), zeros for missing", theirs, second),
        )
    ]


def phase_rows(seed: int) -> list[Row]:
    G, z, D, v = phase(seed)
    ours, first = timed(lambda: models.SparsePhaseRetrieval(D=D).fit(G, z))
    start = ours.start_
    start = start if np.linalg.norm(start - v) < np.linalg.norm(start + v) else -start
    found, second = timed(
        lambda: (
            scipy.optimize.least_squares(
                lambda w: (G @ w) ** 2 - z, start, jac=lambda w: 2 * (G @ w)[:, None] * G
            ).x
        )
    )
    return [
        (
            name,
            {
                "intensity misfit": float(np.linalg.norm((G @ w) ** 2 - z)),
                "recovered": float(np.linalg.norm(w - v) < 0.05),
                "relative error": float(np.linalg.norm(w - v)),
                "min D v": float((D @ w).min()),
                "seconds": seconds,
            },
        )
        for name, w, seconds in (
            ("**SparsePhaseRetrieval**(D=D)", ours.coef_, first),
            ("scipy least_squares, same start, sign given", found, second),
            ("spectral start alone, sign given", start, float("nan")),
        )
    ]


def fused_rows() -> list[Row]:
    import cvxpy as cp

    rng = np.random.default_rng(0)
    levels = np.repeat([0.0, 2.0, 1.2, -1.0, 0.5], 100)
    n = len(levels)
    y = levels + 0.4 * rng.standard_normal(n)
    alpha = 4.0 / n
    X = sp.eye_array(n, format="csr")
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    chain, first = timed(lambda: models.FusedLasso(alpha, fit_intercept=False).fit(X, y))
    graph, second = timed(lambda: models.FusedLasso(alpha, edges=edges, fit_intercept=False).fit(X, y))
    w = cp.Variable(n)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w - y) / n + alpha * cp.norm1(cp.diff(w))))
    _, third = timed(lambda: problem.solve(solver=cp.CLARABEL))
    return [
        (
            name,
            {
                "objective": float(0.5 * np.sum((c - y) ** 2) / n + alpha * np.abs(np.diff(c)).sum()),
                "error (noise 0.4)": float(np.sqrt(np.mean((c - levels) ** 2))),
                "levels": float(len(np.unique(c))),
                "seconds": seconds,
            },
        )
        for name, c, seconds in (
            ("**FusedLasso** (chain)", chain.coef_, first),
            ("**FusedLasso** (edges)", graph.coef_, second),
            ("CVXPY, Clarabel", w.value, third),
        )
    ]


def group_rows() -> list[Row]:
    import cvxpy as cp

    rng = np.random.default_rng(0)
    m, d, width = 100, 400, 10
    truth = np.zeros(d)
    truth[100:130] = 1 + 0.3 * rng.standard_normal(30)
    X = rng.standard_normal((m, d))
    y = X @ truth + 0.5 * rng.standard_normal(m)
    groups = [list(range(i, i + width)) for i in range(0, d - width + 1, width // 2)]
    alpha = 0.1
    ours, first = timed(lambda: models.OverlappingGroupLasso(groups, alpha).fit(X, y))
    w, t = cp.Variable(d), cp.Variable()
    penalty = sum(np.sqrt(width) * cp.norm2(w[g]) for g in groups)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(X @ w + t - y) / m + alpha * penalty))
    _, second = timed(lambda: problem.solve(solver=cp.CLARABEL))
    lasso, third = timed(lambda: linear_model.LassoCV().fit(X, y))

    def value(c: np.ndarray, t: float) -> float:
        groups_norm = sum(np.sqrt(width) * np.linalg.norm(c[g]) for g in groups)
        return float(0.5 * np.sum((X @ c + t - y) ** 2) / m + alpha * groups_norm)

    return [
        (
            name,
            {
                "objective": value(c, t0),
                "relative error": float(np.linalg.norm(c - truth) / np.linalg.norm(truth)),
                "nonzeros": float(np.count_nonzero(np.abs(c) > 1e-7)),
                "seconds": seconds,
            },
        )
        for name, c, t0, seconds in (
            ("**OverlappingGroupLasso**", ours.coef_, ours.intercept_, first),
            ("CVXPY, Clarabel", w.value, float(t.value), second),
            ("LassoCV", lasso.coef_, lasso.intercept_, third),
        )
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--write", type=Path, default=None)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(args.seeds)
    subspace_rows(0)  # imports and first-use costs out of the way
    each = {
        "Regression 200x100, 8 coefficients, 20% gross errors": regression_rows,
        "Subspace of codimension 3 in 30 dimensions, 300 inliers, 300 outliers": subspace_rows,
        "Low rank 150x150, rank 5, 20% gross errors": lambda seed: low_rank_rows(seed, 1.0),
        "The same with 30% missing": lambda seed: low_rank_rows(seed, 0.7),
        "Phase retrieval, 5 of 40 from 120 intensities": phase_rows,
    }
    once = {
        "Sparse PCA of scikit-learn's digits (1797x64), 8 components": pca_rows,
        "Fused lasso, a signal of 500 samples and 5 levels": fused_rows,
        "Overlapping group lasso, 100x400, 79 groups of 10": group_rows,
    }
    tables = [
        table(title, [rows(seed) for seed in seeds], ("support", "recovered")) for title, rows in each.items()
    ]
    tables += [table(title, [rows()]) for title, rows in once.items()]
    text = "\n".join(tables)
    print(text)
    if args.write is not None:
        page = args.write.read_text(encoding="utf-8")
        head, rest = page.split("<!-- measured -->\n", 1)
        tail = rest.split("<!-- /measured -->\n", 1)[1]
        args.write.write_text(f"{head}<!-- measured -->\n{text}<!-- /measured -->\n{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
