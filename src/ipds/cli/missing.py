"""`--drop-missing` and `--impute`: what is done about missing values before a fit."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from .errors import say

if TYPE_CHECKING:
    from ..io import Data


def fill_missing(data: Data, drop: bool, impute: bool, quiet: bool) -> Data:
    """The data without samples that miss a value, or with the medians of their columns in its place.

    A missing target cannot be imputed: such samples are left out in both cases.

    >>> from ipds.io import Data
    >>> X = np.array([[1.0, 2.0], [np.nan, 4.0], [3.0, 9.0]])
    >>> fill_missing(Data(X), drop=True, impute=False, quiet=True).X.tolist()
    [[1.0, 2.0], [3.0, 9.0]]
    >>> fill_missing(Data(X), drop=False, impute=True, quiet=True).X.tolist()
    [[1.0, 2.0], [2.0, 4.0], [3.0, 9.0]]
    """
    if drop and impute:
        raise ValueError("--drop-missing and --impute are two ways to treat missing values; choose one")
    if not (drop or impute):
        return data
    if data.X.ndim != 2 or not isinstance(data.X, np.ndarray):
        raise ValueError("--drop-missing and --impute are for dense tables of samples and features")
    known = np.ones(len(data.X), bool) if data.y is None or data.y.dtype.kind != "f" else np.isfinite(data.y)
    gaps = ~np.isfinite(data.X)
    if drop:
        known &= ~gaps.any(axis=1)
    if not known.any():
        raise ValueError(
            "--drop-missing leaves no sample: every one misses a value; --impute, or --drop a column"
        )
    X = data.X[known]
    if impute:
        X, gaps = np.array(X, dtype=float), gaps[known]
        if gaps.all(axis=0).any():
            raise ValueError(f"--impute: column {int(gaps.all(axis=0).argmax())} has no value; --drop it")
        medians = np.nanmedian(np.where(gaps, np.nan, X), axis=0)
        X[gaps] = np.broadcast_to(medians, X.shape)[gaps]
    left, filled = int(np.count_nonzero(~known)), int(gaps.sum()) if impute else 0
    if not quiet and (left or filled):
        said = [f"{left} samples left out"] * bool(left) + [f"{filled} values imputed by medians"] * bool(
            filled
        )
        say(f"missing values: {', '.join(said)}")
    return dataclasses.replace(data, X=X, y=None if data.y is None else data.y[known])
