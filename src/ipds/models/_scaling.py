"""Units of columns: whether they differ, and what the columns are divided by."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..operators.maps import Matrix

APART = 10.0
"""Columns whose sizes differ by more than this factor are taken to be in different units."""
GREY = 255
"""Whole numbers from 0 to this are taken for grey levels or counts of one kind."""
CHUNK = 100_000
"""Entries of X that are squared at a time."""
SAMPLE = 1_000_000
"""Entries, about, from which units are read."""


def unit_ratio(X: Any, quiet: bool = False) -> float:
    """How many times larger the largest unit among the columns of X is than the smallest; `quiet`: than the median.

    The unit of a column is the median size of its nonzero entries, in a sample of the rows where X is large. Only
    columns that vary and are nonzero in at least half of the samples are compared: a column that is mostly zero is
    rare, not small. Pictures and counts (whole numbers from 0 to 255) have one unit. A penalty distorts small and large
    columns alike; a decomposition is drowned by large ones, while small ones may just be quiet.

    >>> unit_ratio(np.array([[1.0, 3000.0], [2.0, 1000.0], [3.0, 2000.0]]))
    1000.0
    """
    X = X[:: max(1, X.shape[0] * X.shape[1] // SAMPLE)]
    m = X.shape[0]
    if sp.issparse(X):
        counts = np.bincount(sp.coo_array(X).coords[1], minlength=X.shape[1])
        X = sp.csc_array(X)[:, np.flatnonzero(2 * counts >= m)].toarray()
    if X.size == 0 or (X.min() >= 0 and X.max() <= GREY and np.all(np.rint(X) == X)):
        return 1.0
    X = X[:, X.min(axis=0) < X.max(axis=0)]
    sizes = np.sort(np.abs(X), axis=0)
    zeros = m - np.count_nonzero(sizes, axis=0)
    medians = sizes[zeros + (m - zeros) // 2, np.arange(X.shape[1])]
    units = medians[2 * zeros <= m]
    if not units.size:
        return 1.0
    return float(units.max() / (np.median(units) if quiet else units.min()))


def scaled(X: Any, scales: np.ndarray) -> Any:
    """X with columns divided by `scales`; sparse X stays sparse."""
    if np.all(scales == 1.0):
        return X
    return sp.csr_array(X @ sp.diags_array(1 / scales)) if sp.issparse(X) else X / scales


def less_means(X: Any, means: np.ndarray) -> Any:
    """X - 1·meansᵀ; sparse X stays sparse, and a map of rank one is taken away from it."""
    if not means.any():
        return X
    if not sp.issparse(X):
        return X - means
    return Matrix(sp.csr_array(X)) - Matrix(np.ones((X.shape[0], 1))) @ Matrix(means[None])


def column_means(X: Any) -> np.ndarray:
    """The means of the columns of an array or sparse matrix."""
    return np.asarray(X.mean(axis=0)).ravel()


def column_scales(X: Any, centre: np.ndarray | None = None, weights: np.ndarray | None = None) -> np.ndarray:
    """Root mean square of each column of X less `centre`, weighted by samples; 1 for columns that are zero."""
    m, d = X.shape
    squares: np.ndarray
    if sp.issparse(X):
        entries, centre = sp.coo_array(X), np.zeros(d) if centre is None else centre
        row, column = entries.coords
        own = np.ones(len(row)) if weights is None else weights[row]
        total = m if weights is None else weights.sum()
        stored = np.bincount(column, own, d)
        squares = np.bincount(column, own * (entries.data - centre[column]) ** 2, d)
        squares = (squares + (total - stored) * centre**2) / total
    else:
        squares = np.zeros(d)
        own = np.ones(m) if weights is None else weights
        step = max(1, CHUNK // max(1, d))
        for first in range(0, m, step):  # no copy of X, and what is read stays in the processor's cache
            rows = slice(first, first + step)
            part = X[rows] if centre is None else X[rows] - centre
            squares += own[rows] @ (part * part)
        squares = squares / own.sum()
    return unit_scales(squares, 0.0 if centre is None else np.abs(centre))


def unit_scales(squares: np.ndarray, centre: Any = 0.0) -> np.ndarray:
    """Root of each mean square; 1 where that is zero or rounding beside `centre`."""
    scales = np.sqrt(squares)
    return np.where(scales > np.maximum(1e-300, 1e-12 * np.asarray(centre)), scales, 1.0)
