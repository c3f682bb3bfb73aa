"""Dual principal component pursuit: a subspace through the origin, found among outliers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import threads_for_data
from ..functions import L21, Stiefel
from ..operators import RowMatrix
from ..problem import Block, Problem
from ._base import Estimator, fitting
from ._dask import features_of, is_dask, require_finite


class DualPCP(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """The subspace of codimension c on which most samples lie, by its normals.

        min_V Σ_i ‖g_iᵀV‖₂   subject to   VᵀV = I,   V of shape (features, c)

    Solved as min ι(VᵀV = I) + ‖Y‖₂,₁ over -G V + Y = 0 from the spectral start: the c last right singular vectors of G.

    Parameters
    ----------
    n_codimensions : c, the number of normals; the subspace has dimension d - c.
    normalize : scale every sample to unit norm first, so that none counts more for being long (samples that are zero
        stay so). The subspace must pass through the origin: centre the data yourself where it does not.
    threshold : samples at most this far from the subspace (after `normalize`) are inliers; None finds the gap: Otsu's
        rule on the logarithms of the distances; where its two groups differ by less than a factor 5, all are inliers.
    standardize : measure features from their medians in units of their median absolute deviations first; "auto" where
        one unit is 10 times larger than the median. The subspace passes through the medians then.
    method, tol, max_iter, time_limit, warm_start, random_state, verbose, progress, checkpoint : of the solve; the same
        for all models, see `ipds.models.Estimator`.

    Attributes
    ----------
    normals_ : (c, d), orthonormal rows. components_ : (d - c, d), orthonormal basis of the subspace. Both are divided
        by `feature_scales_`, and the subspace passes through `center_`; these are ones and zeros where features are not
        standardised.
    distances_ : of the training samples to the subspace. threshold_ : in force. inlier_mask_ : of the training samples.
    result_, n_iter_ : of the solve.

    X may be a Dask array cut by rows: it stays on its workers, and `distances_` and `inlier_mask_` are Dask arrays.
    With threshold=None the distances travel to this process once.

    `transform` gives coordinates in the subspace, of the samples as they are; `distance` their distances to it and
    `is_inlier` the mask.

    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.standard_normal((60, 4)) * [1, 1, 1, 0], rng.standard_normal((30, 4))])
    >>> model = DualPCP(n_codimensions=1).fit(X)
    >>> np.abs(model.normals_).round(4), int(model.inlier_mask_.sum())
    (array([[0., 0., 0., 1.]]), 60)

    Reference: Tsakiris & Vidal, *Dual principal component pursuit*, JMLR 2018; Zhu et al., NeurIPS 2018.
    """

    def __init__(
        self,
        n_codimensions: int = 1,
        *,
        normalize: bool = True,
        threshold: float | None = None,
        standardize: Any = "auto",
        method: Any = "auto",
        tol: float = 1e-6,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
        progress: bool = False,
        checkpoint: Any = None,
    ):
        self.n_codimensions = n_codimensions
        self.normalize = normalize
        self.threshold = threshold
        self.standardize = standardize
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.progress = progress
        self.checkpoint = checkpoint

    def problem(self, X: Any, y: Any = None) -> Problem:
        """The optimisation problem behind `fit`."""
        model = self._aside()
        X = model._validated(X)
        return model._problem(model._unit(X))

    @threads_for_data
    @fitting
    def fit(self, X: Any, y: Any = None) -> DualPCP:
        """Find the subspace of the samples X; y is ignored."""
        if self.threshold is not None:
            self._nonnegative("threshold", self.threshold)
        X = self._validated(X)
        G = self._unit(X)
        problem = self._problem(G)
        A = problem.operators[0]
        gram = A.gram_matrix if isinstance(A, RowMatrix) else G.T @ G
        V = np.linalg.eigh(gram)[1][:, : self.n_codimensions]
        V = np.asarray(self._solve(problem, [V, -A.apply(V)]).x[0])
        basis = np.linalg.svd(V, full_matrices=True)[0]
        self.normals_ = V.T / self.feature_scales_
        self.components_ = basis[:, V.shape[1] :].T / self.feature_scales_
        self.distances_ = np.linalg.norm(G @ V, axis=1)
        self.threshold_ = (
            gap(np.asarray(self.distances_)) if self.threshold is None else float(self.threshold)
        )
        self.inlier_mask_ = self.distances_ <= self.threshold_
        outliers = int((~self.inlier_mask_).sum())
        self.quality_ = {"outliers": outliers, "share of outliers": outliers / X.shape[0]}
        return self

    def _terms(self) -> dict[str, dict[str, float]]:
        return {f"normal {k + 1}": self._named(row) for k, row in enumerate(self.normals_)}

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of the samples in the subspace: (X - center_) @ components_.T."""
        return (self._looked_at(X) - self.center_) @ self.components_.T

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The points of the subspace with the given coordinates."""
        check_is_fitted(self)
        rows = self.components_ * self.feature_scales_**2
        return (X if is_dask(X) else np.asarray(X, dtype=float)) @ rows + self.center_

    def distance(self, X: Any) -> np.ndarray:
        """Distance of each sample to the subspace, after `normalize`: compare with `threshold_`."""
        V = (self.normals_ * self.feature_scales_).T
        return np.linalg.norm(self._unit(self._looked_at(X)) @ V, axis=1)

    def is_inlier(self, X: Any) -> np.ndarray:
        """Whether each sample is at most `threshold_` from the subspace."""
        return self.distance(X) <= self.threshold_

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _looked_at(self, X: Any) -> Any:
        """X as the fitted model sees it."""
        check_is_fitted(self)
        if is_dask(X):
            return features_of(self, X, reset=False)
        return validate_data(self, X, reset=False, dtype=float)

    def _validated(self, X: Any) -> Any:
        if is_dask(X):
            X = features_of(self, X, reset=True, least=2)
            require_finite("DualPCP", X, "leave such rows out")
        else:
            X = np.asarray(validate_data(self, X, dtype=float, ensure_min_samples=2, ensure_min_features=2))
            self._in_range("X", X)
        self._count("n_codimensions", self.n_codimensions, X.shape[1] - 1, "features less one")
        self.feature_scales_ = self._scales(X, quiet=True)
        self.center_ = np.zeros(X.shape[1])
        if self.standardize_:
            self.center_ = np.median(X, axis=0)
            self.feature_scales_ = median_deviations(X - self.center_, self.feature_scales_)
        return X

    def _unit(self, X: Any) -> Any:
        if self.standardize_:
            X = (X - self.center_) / self.feature_scales_
        if not self.normalize:
            return X
        return X.map_blocks(unit_rows, dtype=float) if is_dask(X) else unit_rows(X)

    def _problem(self, G: Any) -> Problem:
        (m, d), c = G.shape, self.n_codimensions
        return Problem(
            [Block(h=Stiefel(), A=-G, shape=(d, c), name="V"), Block(h=L21(1.0), shape=(m, c), name="Y")]
        )


def median_deviations(X: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """1.4826 × the median of |X| in each column, where that is positive."""
    deviations = 1.4826 * np.median(np.abs(X), axis=0)
    return np.where(deviations > 1e-9 * otherwise, deviations, otherwise)


def unit_rows(X: np.ndarray) -> np.ndarray:
    """X with rows of norm 1, or 0."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1.0)


def gap(distances: np.ndarray, ratio: float = 5.0) -> float:
    """Where the distances fall into two groups, a level between them; else the largest distance.

    >>> gap(np.array([0.01, 0.02, 0.9, 1.0])) < 0.9
    True
    """
    largest = float(distances.max(initial=0.0))
    # tiny distances differ by luck alone: the lower quarter counts as one
    floor = max(1e-6 * largest, float(np.quantile(distances, 0.25)), 1e-300)
    logs = np.sort(np.log(np.maximum(distances, floor)))
    n = len(logs)
    if n < 2:
        return largest
    counts, sums = np.arange(1, n), np.cumsum(logs)
    between = counts * (n - counts) * (sums[:-1] / counts - (sums[-1] - sums[:-1]) / (n - counts)) ** 2
    cut = int(np.argmax(between)) + 1
    if np.median(logs[cut:]) - np.median(logs[:cut]) < np.log(ratio):
        return largest
    return float(np.exp(0.5 * (logs[cut - 1] + logs[cut])))
