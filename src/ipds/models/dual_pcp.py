"""Dual principal component pursuit: a subspace through the origin, found among outliers."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import threads_for_data
from ..functions import L21, Stiefel
from ..operators import RowMatrix
from ..problem import Block, Problem
from ._base import Decomposition, fitting
from ._dask import features_of, is_dask, require_finite

TRIAL = 500
"""Iterations at most of a solve that only counts normals."""
AVOIDED = 0.2
"""A direction is a normal where the median distance along it is this share of that of normally distributed samples."""

FARTHEST = 0.99
"""Quantile of the distances from which on samples are outliers, where these form one group."""


@dataclass(eq=False, repr=False)
class DualPCP(OutlierMixin, Decomposition):
    """The subspace of codimension c on which most samples lie, by its normals.

        min_V Σ_i ‖g_iᵀV‖₂   subject to   VᵀV = I,   V of shape (features, c)

    Solved as min ι(VᵀV = I) + ‖Y‖₂,₁ over -G V + Y = 0 from the spectral start: the c last right singular vectors of G.

    Parameters
    ----------
    n_codimensions : c, the number of normals; the subspace has dimension d - c. "auto": normals are sought one after
        another, each orthogonal to those before, as long as half of the samples are five times nearer to it than
        samples in all directions would be; at least one.
    normalize : scale every sample to unit norm first, so that none counts more for being long (samples that are zero
        stay so). The subspace must pass through the origin: centre the data yourself where it does not.
    threshold : samples at most this far from the subspace (after `normalize`) are inliers; None finds the gap: Otsu's
        rule on the logarithms of the distances; where its two groups differ by less than a factor 5, the farthest 1%
        are outliers (none where all lie on the subspace).
    contamination : share of the training samples that are outliers, in place of `threshold`; "auto" leaves that to it.
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
    `is_inlier` the mask. As scikit-learn's outlier detectors have them: `score_samples` (the negative distance),
    `decision_function` (that less `offset_`, negative for outliers), `predict` and `fit_predict` (1 and -1).

    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.standard_normal((60, 4)) * [1, 1, 1, 0], rng.standard_normal((30, 4))])
    >>> model = DualPCP(n_codimensions=1).fit(X)
    >>> np.abs(model.normals_).round(4), int(model.inlier_mask_.sum())
    (array([[0., 0., 0., 1.]]), 60)

    Reference: Tsakiris & Vidal, *Dual principal component pursuit*, JMLR 2018; Zhu et al., NeurIPS 2018.
    """

    n_codimensions: Any = "auto"
    _: KW_ONLY
    normalize: bool = True
    threshold: float | None = None
    contamination: Any = "auto"
    standardize: Any = "auto"

    def problem(self, X: Any, y: Any = None) -> Problem:
        """The optimisation problem behind `fit`."""
        model = self._aside()
        X = model._validated(X)
        G = model._unit(X)
        model.n_codimensions_ = model._codimensions(G)
        return model._problem(G)

    @threads_for_data
    @fitting
    def fit(self, X: Any, y: Any = None) -> DualPCP:
        """Find the subspace of the samples X; y is ignored."""
        if self.threshold is not None:
            self._nonnegative("threshold", self.threshold)
        X = self._validated(X)
        G = self._unit(X)
        self.n_codimensions_ = self._codimensions(G)
        problem = self._problem(G)
        A = problem.operators[0]
        gram = A.gram_matrix if isinstance(A, RowMatrix) else G.T @ G
        V = np.linalg.eigh(gram)[1][:, : self.n_codimensions_]
        V = np.asarray(self._solve(problem, [V, -A.apply(V)]).x[0])
        basis = np.linalg.svd(V, full_matrices=True)[0]
        self.normals_ = V.T / self.feature_scales_
        self.components_ = basis[:, V.shape[1] :].T / self.feature_scales_
        self.distances_ = np.linalg.norm(G @ V, axis=1)
        self.threshold_ = self._level(np.asarray(self.distances_))
        self.offset_ = -self.threshold_
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
        check_is_fitted(self)
        V = (self.normals_ * self.feature_scales_).T
        return np.linalg.norm(self._unit(self._looked_at(X)) @ V, axis=1)

    def is_inlier(self, X: Any) -> np.ndarray:
        """Whether each sample is at most `threshold_` from the subspace."""
        return self.distance(X) <= self.threshold_

    def score_samples(self, X: Any) -> np.ndarray:
        """The negative distance of each sample to the subspace: the higher, the more of an inlier."""
        return -self.distance(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """score_samples(X) - offset_: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 for inliers, -1 for outliers."""
        return np.where(self.is_inlier(X), 1, -1)

    def _level(self, distances: np.ndarray) -> float:
        """The distance up to which a sample is an inlier."""
        if self.contamination != "auto":
            if not isinstance(self.contamination, float | int) or not 0 < self.contamination <= 0.5:
                raise ValueError(
                    f"DualPCP: contamination must be in (0, 0.5] or 'auto', got {self.contamination!r}"
                )
            if self.threshold is not None:
                raise ValueError("DualPCP: give threshold or contamination, not both")
            return float(np.quantile(distances, 1 - self.contamination))
        if self.threshold is not None:
            return float(self.threshold)
        level, largest = gap(distances), float(distances.max(initial=0.0))
        if level >= largest > 1e-6:  # one group: the farthest of it
            level = float(np.quantile(distances, FARTHEST))
        return level * (1 + 1e-9)  # above the rounding of the distance itself

    def _codimensions(self, G: Any) -> int:
        """c as given, or as many normals as there are directions that half of the samples avoid."""
        if self.n_codimensions != "auto":
            return int(self.n_codimensions)
        if is_dask(G):
            raise ValueError("DualPCP: with Dask arrays n_codimensions must be a number")
        d, count, basis = G.shape[1], 0, np.eye(G.shape[1])
        size = float(np.sqrt(np.mean(G * G)))
        while count < d - 1:
            rest = G @ basis
            gram = np.linalg.eigh(rest.T @ rest)[1][:, :1]
            one = copy(self)
            one.n_codimensions_ = 1
            problem = one._problem(rest)
            v = np.asarray(self._solve(problem, [gram, rest @ gram], trial=TRIAL, tol=1e-4).x[0])
            if np.median(np.abs(rest @ v)) > AVOIDED * 0.6745 * size:
                break
            count += 1
            basis = basis @ np.linalg.svd(v, full_matrices=True)[0][:, 1:]
        self._note(f"{max(1, count)} of {d} directions are normals, found one after the other")
        return max(1, count)

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
        if self.n_codimensions != "auto":
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
        (m, d), c = G.shape, self.n_codimensions_
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
