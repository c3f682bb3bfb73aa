"""Variances, scores and leading components of data given by their covariance: dense, sparse or distributed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from sklearn.utils import check_random_state

from ..functions.covariance import Covariance
from ..functions.row_covariance import RowCovariance
from ._scaling import column_means

Data = Covariance | RowCovariance
"""Centred data, made once for a fit: their Gram matrix is what costs."""
GRAM = 4000
"""Features up to which covariances are looked at one by one."""


def largest_covariance(X: Data) -> float:
    """max_{i≠j} |C_ij|; beyond 4000 features bounded by the two largest standard deviations."""
    d = X.shape[1]
    if d == 1:
        return 0.0
    if d > GRAM:
        low, high = np.sort(np.sqrt(variances(X)))[-2:]
        return float(low * high)
    C = np.abs(gram(X))
    np.fill_diagonal(C, 0.0)
    return float(C.max()) / X.samples


def gram(X: Data) -> np.ndarray:
    """DᵀD of the centred data D."""
    return np.asarray(X.apply(np.eye(X.shape[1])) if X.C is None else X.C)


def variances(X: Data) -> np.ndarray:
    """Variance of each feature, over m."""
    return np.asarray(X.diagonal / X.samples)


def share_of_variance(X: Data, V: np.ndarray) -> float:
    """The share of the variance of X that lies in the span of the columns of V."""
    basis = np.linalg.qr(V[:, np.linalg.norm(V, axis=0) > 0])[0]
    total = float(variances(X).sum()) * X.samples
    return float(np.vdot(basis, X.apply(basis))) / total if total > 0 else 0.0


def share_of_squares(X: Any, V: np.ndarray, centre: np.ndarray) -> float:
    """The share of the squares of X - centre, an array or sparse matrix, in the span of the columns of V."""
    basis = np.linalg.qr(V[:, np.linalg.norm(V, axis=0) > 0])[0]
    mean = column_means(X)
    spread = np.asarray((X.multiply(X) if sp.issparse(X) else (X - mean) ** 2).mean(axis=0)).ravel()
    spread = np.maximum(spread - mean**2, 0.0) if sp.issparse(X) else spread
    total = X.shape[0] * float(np.sum(spread + (mean - centre) ** 2))
    return float(np.sum(scores(X, basis, centre) ** 2)) / total if total > 0 else 0.0


def scores(X: Any, V: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """(X - centre) V of an array, or of a sparse matrix without centring it."""
    return np.asarray(X @ V - centre @ V if sp.issparse(X) else (X - centre) @ V)


def single_features(sizes: np.ndarray, r: int) -> np.ndarray:
    """The r unit vectors of largest variance, as columns."""
    V = np.zeros((len(sizes), r))
    V[np.argsort(-sizes, kind="stable")[:r], np.arange(r)] = 1.0
    return V


def principal_axes(X: Data, Y: np.ndarray) -> np.ndarray:
    """The principal axes of the scores within the span of Y."""
    return Y @ np.linalg.eigh(Y.T @ np.asarray(X.apply(Y)))[1][:, ::-1]


def leading(X: Data, r: int, random_state: Any) -> np.ndarray:
    """Leading principal components, as columns: the start."""
    m, d = X.shape
    if d <= 1000:
        return np.linalg.eigh(gram(X))[1][:, ::-1][:, :r].copy()
    if m <= 1000 and isinstance(X, Covariance) and not sp.issparse(X.D):
        V = np.linalg.svd(X.D, full_matrices=False)[2][:r].T
    elif r >= min(m, d):
        raise ValueError(
            f"SparsePCA: n_components must be below min(samples, features) = {min(m, d)} for X of this size, "
            f"got {r}"
        )
    else:
        rng = check_random_state(0 if random_state is None else random_state)
        v0 = np.resize(rng.standard_normal(min(m, d)), d)
        C = spla.LinearOperator((d, d), matvec=lambda v: np.asarray(X.apply(v.ravel())), dtype=float)
        return np.asarray(spla.eigsh(C, k=r, v0=v0, tol=1e-6)[1][:, ::-1])
    if V.shape[1] < r:  # fewer samples than components: complete the basis
        V = np.linalg.qr(np.hstack([V, np.eye(d, r)]))[0][:, :r]
    return V
