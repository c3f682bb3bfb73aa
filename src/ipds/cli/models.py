"""The models `ipds solve` knows, and their parameters as options.

Defaults stand here as well as in the estimators, so that help need not import scikit-learn; a test compares them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """A parameter of the estimator: its type on the command line, and how that becomes its value."""

    name: str
    type: Any
    default: Any
    help: str
    convert: Callable[[str], Any] | None = None


@dataclass(frozen=True)
class Model:
    """A model: its estimator, what it is for, what data it takes."""

    estimator: str
    help: str
    parameters: tuple[Parameter, ...]
    tol: float
    example: str
    target: str | None = None
    """What the target is, for models that want one."""
    sparse: bool = False
    missing: bool = False
    complex: bool = False
    """Whether the model takes such data."""


def matrix(text: str) -> Any:
    """A file with an array."""
    from ..io import read_array

    return read_array(Path(text))


def nested(text: str) -> Any:
    """JSON, given inline or as a file."""
    file = Path(text)
    try:
        return json.loads(file.read_text(encoding="utf-8") if file.is_file() else text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{text[:60]!r} is neither a file nor readable JSON such as [[0, 1], [1, 2]] ({error})"
        ) from None


def counts(text: str) -> Any:
    """A number, numbers separated by commas, or a word."""
    parts = text.split(",")
    if not all(part.strip().isdigit() for part in parts):
        return text
    return int(text) if len(parts) == 1 else [int(part) for part in parts]


def number(text: str) -> float | str:
    """A number, or a word."""
    try:
        return float(text)
    except ValueError:
        return text


def amount(text: str) -> float | int:
    """A whole number, or a share."""
    return int(text) if text.strip().isdigit() else float(text)


def nothing(text: str) -> str | None:
    """ "none" for None."""
    return None if text.lower() == "none" else text


def switch(text: str) -> str | bool:
    """ "auto", or yes or no."""
    words: dict[str, str | bool] = {"auto": "auto", "yes": True, "true": True, "no": False, "false": False}
    if text.lower() not in words:
        raise ValueError(f"{text!r} is none of auto, yes, no")
    return words[text.lower()]


INTERCEPT = Parameter("fit_intercept", bool, True, "Fit a constant term.")
LOSS = Parameter("loss", str, "squared", "squared (regression) or logistic (classes).")
STANDARDIZE = Parameter(
    "standardize",
    str,
    "auto",
    "Bring features to one size: auto (where units differ 10-fold), yes, no.",
    switch,
)
CLASS_WEIGHT = Parameter("class_weight", str | None, None, "balanced, for --loss logistic.")
FOLDS = Parameter("cv", int, 5, "Folds, for --alpha cv.")
ALPHA_L1 = Parameter("alpha_l1", float, 0.0, "Weight of the ℓ1 norm of the coefficients.")
LINEAR = (LOSS, INTERCEPT, CLASS_WEIGHT, FOLDS, STANDARDIZE)
"""Those of regression and classification alike."""

MODELS = {
    "sparse-pca": Model(
        "SparsePCA",
        "Orthonormal principal components with few nonzero loadings.",
        (
            Parameter(
                "n_components",
                str | None,
                None,
                "Number or share of variance (default: .9, up to 8).",
                amount,
            ),
            Parameter("alpha", str, "auto", "Weight of the ℓ1 norm (0 is PCA), auto, bic or cv.", number),
            Parameter("formulation", str, "variance", "variance or reconstruction."),
            Parameter("sparsity", int | None, None, "Nonzeros per component, in place of the ℓ1 norm."),
            FOLDS,
            STANDARDIZE,
        ),
        1e-4,
        "ipds solve sparse-pca data.csv --n-components 5 --alpha 0.1 --out components.csv",
        sparse=True,
    ),
    "robust-regression": Model(
        "RobustSparseRegressor",
        "Linear regression with few coefficients and gross errors in the target.",
        (
            Parameter(
                "sparsity", str, "bic", "Coefficients at most: a number, candidates 2,4,8, bic or cv.", counts
            ),
            INTERCEPT,
            Parameter("refit", str, "lad", "Refit on the support: lad, ls or none.", nothing),
            Parameter(
                "outlier_threshold", float, 3.5, "Robust standard deviations beyond which lie outliers."
            ),
            Parameter("cv", int, 5, "Folds, where --sparsity is chosen by cross-validation."),
            STANDARDIZE,
        ),
        1e-5,
        "ipds solve robust-regression data.csv --target price --sparsity 5 --json",
        target="the numbers to predict",
        sparse=True,
    ),
    "quantile-regression": Model(
        "SparseQuantileRegressor",
        "A linear model of a quantile of the target, by few features.",
        (
            Parameter("quantile", float, 0.5, "The quantile, between 0 and 1."),
            Parameter("alpha", str, "bic", "Weight of the ℓ1 norm: a number, bic or cv.", number),
            INTERCEPT,
            FOLDS,
            STANDARDIZE,
        ),
        1e-6,
        "ipds solve quantile-regression data.csv --target price --quantile 0.9",
        target="the numbers to predict",
        sparse=True,
    ),
    "dual-pcp": Model(
        "DualPCP",
        "The subspace that most samples lie on; marks the outliers.",
        (
            Parameter("n_codimensions", str, "auto", "Number of normals of the subspace, or auto.", counts),
            Parameter("normalize", bool, True, "Scale samples to unit norm first."),
            Parameter(
                "threshold",
                float | None,
                None,
                "Distance up to which a sample is an inlier (default: found).",
            ),
            Parameter("contamination", str, "auto", "Share of samples that are outliers, or auto.", number),
            STANDARDIZE,
        ),
        1e-6,
        "ipds solve dual-pcp points.npy --n-codimensions 2 --out subspace.npz",
    ),
    "robust-low-rank": Model(
        "RobustLowRank",
        "The low-rank matrix under gross errors and missing entries; background of a video.",
        (Parameter("rank", str, "auto", "Rank of the matrix, or auto.", counts), STANDARDIZE),
        1e-4,
        "ipds solve robust-low-rank frames/ --plot separation.png --out video.npz",
        missing=True,
    ),
    "phase-retrieval": Model(
        "SparsePhaseRetrieval",
        "A sparse signal from squared measurements |G v|².",
        (
            Parameter("alpha", float, 0.01, "Weight of the ℓ1 norm."),
            Parameter("D", str | None, None, "File with the matrix D of the constraint D v ≥ 0.", matrix),
            Parameter(
                "n_nonzero", int | None, None, "Coordinates of the spectral start (default: several tried)."
            ),
        ),
        1e-6,
        "ipds solve phase-retrieval measurements.npz --key G --target z --alpha 0.002",
        target="the squared measurements",
        complex=True,
    ),
    "fused-lasso": Model(
        "FusedLasso",
        "Coefficients that are equal along a chain or graph; denoises a signal.",
        (
            Parameter("alpha", str, "bic", "Weight of the differences: a number, bic or cv.", number),
            ALPHA_L1,
            Parameter(
                "edges", str | None, None, "File with pairs of features, a row each (default: chain).", matrix
            ),
            Parameter("adjacency", str | None, None, "File with a symmetric matrix of weights.", matrix),
            *LINEAR,
        ),
        1e-6,
        "ipds solve fused-lasso signal.csv --alpha 0.01 --plot signal.png",
        target="numbers or classes (none for a signal, which is denoised)",
        sparse=True,
    ),
    "trend-filter": Model(
        "TrendFilter",
        "A signal as a piecewise polynomial with few knots.",
        (
            Parameter("order", int, 1, "Degree of the pieces: 0 steps, 1 lines, 2 parabolas, 3 cubics."),
            Parameter("alpha", str, "bic", "Weight of the changes at knots: a number, bic or cv.", number),
            FOLDS,
        ),
        1e-6,
        "ipds solve trend-filter co2.csv --target co2 --order 2 --plot trend.png",
        target="the signal, at the positions in the one other column (none for a signal alone)",
    ),
    "group-lasso": Model(
        "OverlappingGroupLasso",
        "Coefficients that vanish by groups, which may overlap.",
        (
            Parameter(
                "groups",
                str | None,
                None,
                "JSON or a file of it, like [[0, 1], [1, 2]] (default: the lasso).",
                nested,
            ),
            Parameter("alpha", str, "bic", "Weight of the groups: a number, bic or cv.", number),
            Parameter(
                "weights", str | None, None, "JSON or a file of it, one per group (default: √size).", nested
            ),
            ALPHA_L1,
            *LINEAR,
        ),
        1e-6,
        "ipds solve group-lasso data.parquet --target y --groups groups.json",
        target="numbers or classes",
        sparse=True,
    ),
}
