"""The two smooth objectives of principal component analysis, on dense or sparse data."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import array_api_compat
import numpy as np
import scipy

from .._arrays import Array, all_finite, dot, is_array, namespace, require_real, to_numpy
from ..operators import Matrix, from_linear_operator, spectrum
from .base import Smooth
from .rescaling import one_unit
from .row_covariance import RowCovariance
from .weighted import Weighted

SPARSE = 4
"""What a product with one entry of a sparse matrix costs, in those with an entry of a dense one; 8 without memory."""


class _Covariance:
    """V ↦ C V with C = DᵀD, D centred on request: through C itself or through D, whichever is cheaper.

    Sparse D is centred implicitly: (D - 1μᵀ)V = DV - 1(μᵀV), so it is never made dense.
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
        self.samples, features = D.shape
        self.mean: Any = None
        if scipy.sparse.issparse(D):
            entries = SPARSE * D.nnz
            if center:
                self.mean = np.asarray(D.mean(axis=0), dtype=D.dtype).reshape(-1)
        else:
            entries = self.samples * features
            if center:
                D = D - namespace(D).mean(D, axis=0, keepdims=True)
        self.D, self._transpose = D, scipy.sparse.csr_array(D.T) if scipy.sparse.issparse(D) else D.T
        # C V costs features² per column of V, DᵀDV twice the entries of D
        self.C = self._gram() if features**2 <= 2 * entries else None

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
        if self.C is not None:
            return self.C @ V
        W = self.D @ V
        if self.mean is None:
            return self._transpose @ W
        W = W - self.mean @ V
        # the columns of W sum to zero only up to rounding, which a large mean would magnify
        return self._transpose @ W - (
            np.outer(self.mean, W.sum(axis=0)) if V.ndim == 2 else self.mean * W.sum()
        )

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
        if self.mean is None:
            return Matrix(self.D).norm() ** 2
        n = self.D.shape[1]
        mean, D, Dt = self.mean, self.D, self._transpose
        centred = scipy.sparse.linalg.LinearOperator(
            self.D.shape,
            matvec=lambda v: D @ v - mean @ v,
            rmatvec=lambda w: Dt @ w - mean * w.sum(),
            dtype=float,
        )
        return from_linear_operator(centred, shape=n).norm() ** 2


def _covariance(name: str, D: Any, center: bool) -> _Covariance | RowCovariance:
    if isinstance(D, RowCovariance):
        return D
    return (
        RowCovariance(name, D, center) if array_api_compat.is_dask_array(D) else _Covariance(name, D, center)
    )


class PCAReconstruction(Smooth):
    """f(V) = ‖D - D V Vᵀ‖²/(2m) for data D of m rows and V of shape (features, r): the paper's quartic.

    With C = DᵀD: f = (tr C - 2⟨V, CV⟩ + ⟨VᵀCV, VᵀV⟩)/(2m), ∇f = (-2 CV + CV·VᵀV + V·VᵀCV)/m.
    No global Lipschitz constant: see `local_lipschitz`. On VᵀV = I it equals ‖D‖²/(2m) + `PCAVariance`.
    `center=True` subtracts the column means of D, for sparse D without making it dense.

    >>> f = PCAReconstruction(np.diag([2.0, 1.0]))
    >>> f(np.array([[1.0], [0.0]]))
    0.25

    Reference: Zou, Hastie & Tibshirani, *Sparse principal component analysis*, JCGS 2006.
    """

    lipschitz = None
    is_convex = False

    def __init__(self, D: Any, center: bool = False):
        self._data = _covariance("PCAReconstruction", D, center)

    def __call__(self, x: Array) -> float:
        return self._value(x, self._data.apply(x))[0]

    def grad(self, x: Array) -> Array:
        return self.value_and_grad(x)[1]

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        CV = self._data.apply(x)
        value, inner, gram = self._value(x, CV)
        # -2CV + CV·VᵀV + V·VᵀCV, the scalings on the small r×r factors
        m = self._data.samples
        return value, CV @ (gram / m) + x @ (inner / m) - (2.0 / m) * CV

    def curvature(self, x: Array, d: Array) -> Array:
        """(CU(VᵀV - 2I) + CV(UᵀV + VᵀU) + U VᵀCV + V(UᵀCV + VᵀCU))/m along U."""
        CV, CU, m = self._data.apply(x), self._data.apply(d), self._data.samples
        mixed, bent = d.T @ x, d.T @ CV
        total = (
            CU @ (x.T @ x / m) + CV @ ((mixed + mixed.T) / m) + d @ (x.T @ CV / m) + x @ ((bent + bent.T) / m)
        )
        return total - (2.0 / m) * CU

    def _value(self, V: Array, CV: Array) -> tuple[float, Array, Array]:
        """(f(V), VᵀCV, VᵀV)."""
        inner, gram = V.T @ CV, V.T @ V
        value = self._data.total - 2.0 * dot(V, CV) + dot(inner, gram)
        return value / (2 * self._data.samples), inner, gram

    def local_lipschitz(self, x: Array, radius: float) -> float:
        """A Lipschitz constant of ∇f on the ball of `radius` around x.

        Where ‖V‖ ≤ ν, the terms CU(VᵀV - 2I), CV(UᵀV + VᵀU), U·VᵀCV and V(UᵀCV + VᵀCU) of the second
        derivative along U add up to at most λ_max(C)·(max(2, ν² - 2) + 5ν²)/m.
        """
        xp = namespace(x)
        # the spectral norm of V through its small Gram matrix
        nu = math.sqrt(max(0.0, float(xp.max(xp.linalg.eigvalsh(x.T @ x))))) + radius
        return self._data.largest * (max(2.0, nu**2 - 2) + 5 * nu**2) / self._data.samples

    def __repr__(self) -> str:
        return f"PCAReconstruction({self._data.D.shape[0]}x{self._data.D.shape[1]})"


class PCAVariance(Smooth):
    """f(V) = -‖D V‖²/(2m) for data D of m rows; ∇f(V) = -DᵀD V/m, Lipschitz with ‖D‖²/m (spectral norm).

    Concave. `center=True` subtracts the column means of D, for sparse D without making it dense.

    Reference: Jolliffe, *Principal Component Analysis* (2002), §1.1.
    """

    is_convex = False
    is_quadratic = True

    def __init__(self, D: Any, center: bool = False):
        self._data = _covariance("PCAVariance", D, center)

    def __call__(self, x: Array) -> float:
        return self.value_and_grad(x)[0]

    def grad(self, x: Array) -> Array:
        return self._data.apply(x) * (-1.0 / self._data.samples)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        gradient = self.grad(x)
        return 0.5 * dot(x, gradient), gradient

    def curvature(self, x: Array, d: Array) -> Array:
        return self.grad(d)

    def hessian(self, x: Array) -> Any:
        if self._data.C is None:
            return super().hessian(x)
        matrix = self._data.C * (-1.0 / self._data.samples)
        return matrix if x.ndim == 1 else Matrix(matrix)

    @cached_property
    def lipschitz(self) -> float:  # type: ignore[override]
        """λ_max(DᵀD)/m, computed when first asked for."""
        return self._data.largest / self._data.samples

    def __repr__(self) -> str:
        return f"PCAVariance({self._data.D.shape[0]}x{self._data.D.shape[1]})"

    def rescaled(self, d: float | Array) -> Smooth | None:
        """d² times f, for one number; else None."""
        unit = one_unit(d)
        return None if unit is None else Weighted(self, unit * unit)
