"""V ↦ C V for the Gram matrix C = DᵀD of data: what principal components are made of."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, all_finite, dot, is_array, is_double, namespace, require_real, to_numpy
from ..operators import Matrix, from_linear_operator, spectrum

SPARSE = 4
"""What a product with one entry of a sparse matrix costs, in those with an entry of a dense one; 8 without memory."""
RANGE = 1e-30, 1e30
"""‖D‖² between which single precision has room for what is made of D."""


class Covariance:
    """V ↦ C V with C = DᵀD, D centred on request: through C itself or through D, whichever is cheaper.

    Sparse D is centred implicitly: (D - 1μᵀ)V = DV - 1(μᵀV), so it is never made dense. `mean` is μ, None where D is
    not centred. Made once, it serves any number of functions: `PCAVariance` and `PCAReconstruction` take it for D.
    """

    def __init__(self, name: str, D: Any, center: bool):
        require_real(f"{name}: D", D)
        if scipy.sparse.issparse(D):
            D = scipy.sparse.csr_array(D)
        elif not is_array(D):
            D = np.asarray(D, dtype=float)
        if D.ndim != 2 or 0 in D.shape:
            raise ValueError(
                f"{name}: D must be a non-empty 2-D array (samples, features), got shape {tuple(D.shape)}"
            )
        if (scipy.sparse.issparse(D) or type(D) is np.ndarray) and not np.issubdtype(D.dtype, np.floating):
            D = D.astype(float)
        if not all_finite(D.data if scipy.sparse.issparse(D) else D):
            raise ValueError(f"{name}: D contains NaN or infinity")
        self.shape = self.samples, features = D.shape
        self.mean: Any = None
        if scipy.sparse.issparse(D):
            entries = SPARSE * D.nnz
            if center:
                self.mean = np.asarray(D.mean(axis=0), dtype=D.dtype).reshape(-1)
        else:
            entries = self.samples * features
            if center:
                self.mean = namespace(D).mean(D, axis=0)
                D = D - self.mean[None, :]
        self.D, self._transpose = D, scipy.sparse.csr_array(D.T) if scipy.sparse.issparse(D) else D.T
        # C V costs features² per column of V, DᵀDV twice the entries of D
        self.C = self._gram() if features**2 <= 2 * entries else None

    @cached_property
    def single(self) -> Covariance | None:
        """The same in single precision; None where D is not a dense float64 array of NumPy, or beyond `RANGE`."""
        if not is_double(self.D) or not RANGE[0] < self.total < RANGE[1]:
            return None
        rounded = copy.copy(self)
        rounded.D = self.D.astype(np.float32)
        rounded._transpose = rounded.D.T
        rounded.C = None if self.C is None else self.C.astype(np.float32)
        return rounded

    @property
    def _offset(self) -> Any:
        """What the rows of D have too much: the means of sparse data; None where D is centred, or is not to be."""
        return self.mean if scipy.sparse.issparse(self.D) else None

    def _gram(self) -> Array | None:
        """C = DᵀD of the centred data; None where the means are so large that it would keep few digits."""
        product = self._transpose @ self.D
        if not scipy.sparse.issparse(product):
            return product
        dense = product.toarray()
        if self.mean is None:
            return dense
        C = dense - self.samples * np.outer(self.mean, self.mean)
        return C if np.trace(dense) <= 1e6 * np.trace(C) else None

    def apply(self, V: Array) -> Array:
        """C V."""
        if self.C is not None:
            return self.C @ V
        W, offset = self.scores(V), self._offset
        if offset is None:
            return self._transpose @ W
        # the columns of W sum to zero only up to rounding, which a large mean would magnify
        return self._transpose @ W - (np.outer(offset, W.sum(axis=0)) if V.ndim == 2 else offset * W.sum())

    def scores(self, V: Array) -> Array:
        """D V, of the centred data."""
        offset = self._offset
        return self.D @ V if offset is None else self.D @ V - offset @ V

    def features(self, columns: np.ndarray) -> Gram | Covariance:
        """Of some of the features."""
        if self.C is not None:
            return Gram(self.C[np.ix_(columns, columns)], self.samples)
        return Covariance("Covariance", self.D[:, columns], center=self.mean is not None)

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of C: squared norms of the columns."""
        if not scipy.sparse.issparse(self.D):
            return (self.D * self.D).sum(axis=0) if self.C is None else np.diagonal(to_numpy(self.C))
        squares = np.asarray(self.D.multiply(self.D).sum(axis=0)).reshape(-1)
        return squares if self.mean is None else np.maximum(squares - self.samples * self.mean**2, 0.0)

    @cached_property
    def total(self) -> float:
        """‖D‖² = tr C."""
        if not scipy.sparse.issparse(self.D):
            return float(dot(self.D, self.D))
        square = float(np.dot(self.D.data, self.D.data))
        return square if self.mean is None else square - self.samples * float(np.dot(self.mean, self.mean))

    @cached_property
    def largest(self) -> float:
        """λ_max(C), or a safe bound close to it."""
        if self.C is not None:
            return spectrum.largest_eigenvalue(to_numpy(self.C))
        mean, D, Dt = self._offset, self.D, self._transpose
        if mean is None:
            return Matrix(self.D).norm() ** 2
        centred = scipy.sparse.linalg.LinearOperator(
            self.shape,
            matvec=lambda v: D @ v - mean @ v,
            rmatvec=lambda w: Dt @ w - mean * w.sum(),
            dtype=float,
        )
        return from_linear_operator(centred, shape=self.shape[1]).norm() ** 2


class Gram:
    """V ↦ C V for a matrix C = DᵀD alone, of data D with so many samples."""

    def __init__(self, C: Array, samples: int):
        self.C, self.samples = C, samples
        self.shape = samples, C.shape[1]

    def apply(self, V: Array) -> Array:
        """C V."""
        return self.C @ V

    @cached_property
    def single(self) -> Gram | None:
        """The same in single precision, None as above."""
        usual = is_double(self.C) and RANGE[0] < self.total < RANGE[1]
        return Gram(self.C.astype(np.float32), self.samples) if usual else None

    @cached_property
    def total(self) -> float:
        """‖D‖² = tr C."""
        return float(np.trace(to_numpy(self.C)))

    @cached_property
    def largest(self) -> float:
        """λ_max(C), or a safe bound close to it."""
        return spectrum.largest_eigenvalue(to_numpy(self.C))
