"""Means, variances and scores of data that is dense, sparse (never centred in place) or distributed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from sklearn.utils import check_random_state

from ..functions.row_covariance import RowCovariance


def largest_covariance(X: Any) -> float:
    """max_{i≠j} |C_ij|; beyond 4000 features bounded by the two largest standard deviations."""
    d = X.shape[1]
    if d == 1:
        return 0.0
    if d > 4000:
        low, high = np.sort(np.sqrt(variances(X)))[-2:]
        return float(low * high)
    C = gram(X) / X.shape[0]
    np.fill_diagonal(C, 0.0)
    return float(np.abs(C).max())


def held(X: Any, V: np.ndarray, centre: np.ndarray | None = None) -> float:
    """The share of the variance of X that lies in the span of the columns of V."""
    V = V[:, np.linalg.norm(V, axis=0) > 0]
    basis = np.linalg.qr(V)[0]
    centre = mean(X) if centre is None else centre
    total = X.shape[0] * float(np.sum(variances(X) + (mean(X) - centre) ** 2))
    return float(np.sum(scores(X, basis, centre) ** 2)) / total if total > 0 else 0.0


def mean(X: Any) -> np.ndarray:
    if isinstance(X, RowCovariance):
        return X.mean
    return np.asarray(X.mean(axis=0)).ravel()


def variances(X: Any) -> np.ndarray:
    """Variance of each feature, over m."""
    if isinstance(X, RowCovariance):
        return X.diagonal / X.samples
    if not sp.issparse(X):
        return np.asarray(X.var(axis=0))
    return np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean(X) ** 2, 0.0)


def gram(X: Any) -> np.ndarray:
    """DᵀD of the centred data D."""
    if isinstance(X, RowCovariance):
        return np.asarray(X.apply(np.eye(X.shape[1])))
    product, centre = X.T @ X, mean(X)
    return (product.toarray() if sp.issparse(product) else product) - X.shape[0] * np.outer(centre, centre)


def scores(X: Any, V: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """(X - centre) V without centring a sparse X; of distributed data the r×r root of its Gram matrix, which serves as
    well: lengths and angles are the same.
    """
    if isinstance(X, RowCovariance):
        w, q = np.linalg.eigh(V.T @ np.asarray(X.apply(V)))
        return (q * np.sqrt(np.maximum(w, 0.0))).T
    return np.asarray(X @ V - centre @ V if sp.issparse(X) else (X - centre) @ V)


def single_features(sizes: np.ndarray, r: int) -> np.ndarray:
    """The r unit vectors of largest variance, as columns."""
    V = np.zeros((len(sizes), r))
    V[np.argsort(-sizes, kind="stable")[:r], np.arange(r)] = 1.0
    return V


def rotated(X: Any, Y: np.ndarray) -> np.ndarray:
    """The principal axes of the scores within the span of Y."""
    S = scores(X, Y, mean(X))
    return Y @ np.linalg.eigh(S.T @ S)[1][:, ::-1]


def leading(X: Any, r: int, random_state: Any) -> np.ndarray:
    """Leading principal components, as columns: the start."""
    (m, d), centre = X.shape, mean(X)
    if d <= 1000:
        return np.linalg.eigh(gram(X))[1][:, ::-1][:, :r].copy()
    if m <= 1000 and not sp.issparse(X) and not isinstance(X, RowCovariance):
        V = np.linalg.svd(X - centre, full_matrices=False)[2][:r].T
    elif r >= min(m, d):
        raise ValueError(
            f"SparsePCA: n_components must be below min(samples, features) = {min(m, d)} for X of this size, "
            f"got {r}"
        )
    else:
        rng = check_random_state(0 if random_state is None else random_state)
        v0 = rng.standard_normal(min(m, d))
        if isinstance(X, RowCovariance):
            C = spla.LinearOperator((d, d), matvec=lambda v: np.asarray(X.apply(v.ravel())), dtype=float)
            return spla.eigsh(C, k=r, v0=np.resize(v0, d), tol=1e-6)[1][:, ::-1]
        centred = spla.LinearOperator(
            X.shape,
            matvec=lambda v: X @ v.ravel() - centre @ v.ravel(),
            rmatvec=lambda w: X.T @ w.ravel() - centre * w.sum(),
            dtype=float,
        )
        V = spla.svds(centred, k=r, v0=v0, tol=1e-3)[2][::-1].T
    if V.shape[1] < r:  # fewer samples than components: complete the basis
        V = np.linalg.qr(np.hstack([V, np.eye(d, r)]))[0][:, :r]
    return V
