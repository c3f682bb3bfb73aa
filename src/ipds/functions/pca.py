"""The two smooth objectives of principal component analysis, on dense or sparse data."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import array_api_compat

from .._arrays import Array, dot, namespace, zeros
from ..operators import Matrix
from .base import Smooth
from .composed import Weighted
from .covariance import Covariance, Gram
from .rescaling import one_unit
from .row_covariance import RowCovariance


def _covariance(name: str, D: Any, center: bool) -> Covariance | Gram | RowCovariance:
    """Of data in memory or cut by rows; one that was made before stays as it is."""
    if isinstance(D, Covariance | Gram | RowCovariance):
        return D
    return (RowCovariance if array_api_compat.is_dask_array(D) else Covariance)(name, D, center)


class OfData(Smooth):
    """A function of the covariance of data D of m rows."""

    def __init__(self, D: Any, center: bool = False):
        self._data = _covariance(type(self).__name__, D, center)

    @cached_property
    def single(self) -> Self | None:
        """That of the data in single precision."""
        data = self._data.single
        return None if data is None else type(self)(data)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._data.shape[0]}x{self._data.shape[1]})"


class PCAReconstruction(OfData):
    """f(V) = ‖D - D V Vᵀ‖²/(2m) for data D of m rows and V of shape (features, r): the paper's quartic.

    With C = DᵀD: f = (tr C - 2⟨V, CV⟩ + ⟨VᵀCV, VᵀV⟩)/(2m), ∇f = (-2 CV + CV·VᵀV + V·VᵀCV)/m.
    No global Lipschitz constant: see `local_lipschitz`. On VᵀV = I it equals ‖D‖²/(2m) + `PCAVariance`.
    `center=True` subtracts the column means of D, for sparse D without making it dense.

    >>> import numpy as np
    >>> f = PCAReconstruction(np.diag([2.0, 1.0]))
    >>> f(np.array([[1.0], [0.0]]))
    0.25

    Reference: Zou, Hastie & Tibshirani, *Sparse principal component analysis*, JCGS 2006.
    """

    lipschitz = None
    is_convex = False

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


class PCAVariance(OfData):
    """f(V) = -‖D V‖²/(2m) for data D of m rows; ∇f(V) = -DᵀD V/m, Lipschitz with ‖D‖²/m (spectral norm).

    Concave. `center=True` subtracts the column means of D, for sparse D without making it dense.

    Reference: Jolliffe, *Principal Component Analysis* (2002), §1.1.
    """

    is_convex = False
    is_quadratic = True

    def __call__(self, x: Array) -> float:
        return self.value_and_grad(x)[0]

    def grad(self, x: Array) -> Array:
        return self._data.apply(x) * (-1.0 / self._data.samples)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        gradient = self.grad(x)
        return 0.5 * dot(x, gradient), gradient

    def grad_at_zero(self, x: Array) -> Array:
        return zeros(tuple(x.shape), x)

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

    def rescaled(self, d: float | Array) -> Smooth | None:
        """d² times f, for one number; else None."""
        unit = one_unit(d)
        return None if unit is None else Weighted(self, unit * unit)
