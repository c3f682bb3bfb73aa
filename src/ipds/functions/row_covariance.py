"""V ↦ DᵀD V for data whose rows are distributed: V travels to the rows, one array of its shape back from each group."""

from __future__ import annotations

import operator
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, adopted
from ..operators import RowMatrix, spectrum
from .covariance import Gram

FEATURES = 4000
"""Data with at most so many features sends its Gram matrix once, and nothing after that."""


class RowCovariance:
    """V ↦ C V with C = DᵀD of a Dask array D cut by rows, centred on request without a centred copy.

    One pass finds the column sums, one more C itself, where D has few features; else every product is a pass.
    `gram` overrides that choice; `data` is what errors call D.
    """

    single = None
    """None is made in single precision."""

    def __init__(self, name: str, D: Any, center: bool, gram: bool | None = None, data: str = "D"):
        if D.ndim != 2:
            raise ValueError(f"{name}: {data} must be 2-D (samples, features), got shape {tuple(D.shape)}")
        self.D = adopted(D, name)
        self.shape = self.samples, features = self.D.shape
        sums, finite = np.sum(self.D, axis=0), np.all(np.isfinite(self.D))
        if not finite:
            raise ValueError(f"{name}: {data} contains NaN or infinity")
        self.mean = np.asarray(sums) / self.samples
        self.A = RowMatrix(self.D, mean=self.mean if center else None)
        few = features <= FEATURES and features <= 2 * self.samples if gram is None else gram
        self.C = self.A.gram_matrix if few else None

    def apply(self, V: Array) -> Array:
        """C V."""
        return self.C @ V if self.C is not None else self.A.adjoint(self.A.apply(V))

    def scores(self, V: np.ndarray) -> np.ndarray:
        """The r×r root of VᵀCV, which serves as well as D V: lengths and angles are the same."""
        w, q = np.linalg.eigh(V.T @ np.asarray(self.apply(V)))
        return (q * np.sqrt(np.maximum(w, 0.0))).T

    def features(self, columns: np.ndarray) -> Gram | None:
        """Of some of the features, where C is known."""
        return None if self.C is None else Gram(self.C[np.ix_(columns, columns)], self.samples)

    @cached_property
    def total(self) -> float:
        """‖D‖² = tr C."""
        return float(np.sum(self.diagonal))

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal of C: squared norms of the columns."""
        if self.C is not None:
            return np.diagonal(self.C)
        return np.asarray(self.D.reduce(_squares, operator.add, self.A.mean))

    @cached_property
    def largest(self) -> float:
        """λ_max(C), or a safe bound close to it."""
        if self.C is not None:
            return spectrum.largest_eigenvalue(self.C)
        return spectrum.lanczos_upper(lambda v: np.asarray(self.apply(v)), self.shape[1])


def _squares(chunk: np.ndarray, mean: np.ndarray) -> np.ndarray:
    centred = chunk - mean
    return np.einsum("ij,ij->j", centred, centred)
