"""Fused lasso: coefficients that are equal along most edges of a graph."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.sparse.csgraph import connected_components

from ..functions import L1, TotalVariation1D
from ..operators import FiniteDifference
from ._linear import Penalty, StructuredLinear, extended_bic
from ._path import Point


@dataclass(eq=False, repr=False)
class FusedLasso(StructuredLinear):
    """Linear regression or classification with coefficients fused along the edges of a graph.

        min_{w,t} loss(X w + t; y)/m + α Σ_{(i,j) ∈ E} a_ij |w_i - w_j| + α₁‖w‖₁

    The default graph is the chain 0-1-2-…, whose total variation has an exact prox: u = w then carries it whole;
    other graphs are solved over u = D w, D the weighted differences along the edges.

    Parameters
    ----------
    alpha : weight of the differences: a number; "bic", by the extended Bayesian criterion of the segments found, with
        levels as free as least squares has them; or "cv", the largest one within a standard error of the smallest
        cross-validated loss. `alpha_max(X, y)` is where one segment is left, `path(X, y)` fits 20 below it.
    alpha_l1 : weight α₁ of the coefficients themselves.
    edges : pairs (i, j) of features; adjacency : symmetric weights a_ij (array or SciPy sparse). At most one of them.
    loss : "squared" (a regressor: ½‖·‖², R²) or "logistic" (a classifier, with `classes_`, `decision_function` and
        `predict_proba`; of more than two classes, each against the rest).
    fit_intercept : whether t is free; else 0.
    class_weight : "balanced" or a dict class -> weight, for loss="logistic". cv : folds or a splitter, for alpha="cv".
    standardize : penalise the coefficients of features divided by their standard deviations; "auto" where units differ
        by more than a factor 10. `coef_` is in the units of X.
    method, tol, max_iter, time_limit, warm_start, random_state, verbose, progress, checkpoint : of the solve; the same
        for all models, see `ipds.models.Estimator`.

    Attributes
    ----------
    coef_, intercept_ : of the linear model; coefficients of one segment are exactly equal.
    segments_ : number of the segment of each feature. alpha_ : in force. selection_ : dict alpha -> criterion, where it
        was chosen. result_, n_iter_ : of the solve.

    A signal y itself is denoised with X = `scipy.sparse.eye_array(n)` and fit_intercept=False.

    >>> y = np.r_[np.zeros(5), np.ones(5)] + 0.01 * np.arange(10)
    >>> model = FusedLasso(alpha=0.02, fit_intercept=False).fit(sp.eye_array(10, format="csr"), y)
    >>> model.segments_
    array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], dtype=int32)

    Reference: Tibshirani et al., *Sparsity and smoothness via the fused lasso*, JRSS B 2005;
    Kim, Sohn & Xing, *A multivariate regression approach to association analysis* (graph-guided), 2009.
    """

    alpha: Any = "bic"
    _: KW_ONLY
    alpha_l1: float = 0.0
    edges: Any = None
    adjacency: Any = None

    def _penalty(self, d: int, columns: int, alpha: float) -> Penalty:
        own = self._nonnegative("alpha_l1", self.alpha_l1)
        D = self._differences(d)
        return Penalty(1.0, TotalVariation1D(alpha), own) if D is None else Penalty(D, L1(alpha), own)

    def _differences(self, d: int) -> Any:
        """D as a sparse matrix, None for the chain."""
        if self.edges is not None and self.adjacency is not None:
            raise ValueError("FusedLasso: give edges or adjacency, not both")
        try:
            if self.edges is not None:
                return FiniteDifference.graph(self.edges, d).matrix
            if self.adjacency is not None:
                W = sp.coo_array(self.adjacency)
                if W.shape != (d, d):
                    raise ValueError(f"adjacency has shape {W.shape}, but X has {d} features")
                return FiniteDifference.from_adjacency(W).matrix
        except ValueError as error:
            raise ValueError(f"FusedLasso: {error}") from None
        return None

    def _cleaned(self, w: np.ndarray, u: np.ndarray) -> np.ndarray:
        d = len(w)
        D = self._differences(d)
        if D is None:  # u is w itself, piecewise constant up to rounding
            steps = np.abs(np.diff(u[:d], axis=0)).reshape(d - 1, w.size // d).max(axis=1, initial=0.0)
            links = np.flatnonzero(steps <= 1e-9 * (np.abs(u).max(initial=0.0) + 1e-300))
            ends = np.stack([links, links + 1], axis=1)
        else:
            ends = D[np.flatnonzero(~u.reshape(len(u), -1).any(axis=1))].tocsr().indices.reshape(-1, 2)
        graph = sp.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(d, d))
        _, self.segments_ = connected_components(graph, directed=False)
        members = self._members()
        sizes = members.sum(axis=0).reshape(-1, *[1] * (w.ndim - 1))
        levels = members.T @ w / sizes
        if self.alpha_l1 > 0:  # a segment whose members the ℓ1 norm set to zero is zero
            levels = np.where(2 * (members.T @ (w == 0)) > sizes, 0.0, levels)
        return np.asarray(levels[self.segments_])

    def _members(self) -> Any:
        """Which feature is in which segment, as a sparse matrix of zeros and ones."""
        d, places = len(self.segments_), (np.arange(len(self.segments_)), self.segments_)
        return sp.csr_array((np.ones(d), places), shape=(d, int(self.segments_.max(initial=0)) + 1))

    def _free(self, d: int) -> Any:
        """Constants on each connected part of the graph."""
        D = self._differences(d)
        if D is None:
            return sp.csr_array(np.ones((d, 1)))
        count, part = connected_components(abs(D).T @ abs(D), directed=False)
        return sp.csr_array((np.ones(d), (np.arange(d), part)), shape=(d, count))

    def _dual(self, slope: np.ndarray) -> float:
        """The largest |v| with Dᵀv = slope: running sums along the chain, the least squares solution on a graph."""
        D = self._differences(len(slope))
        if D is None:
            return float(np.abs(np.cumsum(slope, axis=0)[:-1]).max(initial=0.0))
        columns = slope.reshape(len(slope), -1).T
        return max(
            float(np.abs(spla.lsqr(D.T, g, atol=1e-8, btol=1e-8)[0]).max(initial=0.0)) for g in columns
        )

    def _degrees(self, w: np.ndarray) -> int:
        """The levels that are not zero."""
        first = np.unique(self.segments_, return_index=True)[1]
        return int(np.count_nonzero(w[first]))

    def _criterion(self, X: Any, target: np.ndarray, point: Point) -> float:
        """For least squares that of the segments with free levels: it is they that are sought, not their shrinkage."""
        if self.loss != "squared":
            return super()._criterion(X, target, point)
        m, d = X.shape
        means, level = self._centre(X, target)
        members = self._members().toarray()
        sums = np.asarray(X @ members) - means @ members
        residual = target - level - sums @ np.linalg.lstsq(sums, target - level, rcond=None)[0]
        total = float(np.sum((target - level) ** 2))
        return extended_bic(float(residual @ residual), total, sums.shape[1], m, d)

    def _at(self, X: Any, target: np.ndarray, alpha: float, start: Any) -> Point:
        if (
            self.loss == "squared"
            and self.alpha_l1 == 0
            and self._differences(X.shape[1]) is None
            and _is_eye(X)
        ):
            w = TotalVariation1D(alpha * len(target)).prox(target, 1.0)  # a signal: the solution is a prox
            return Point(self._cleaned(w, w), 0.0, None)
        return super()._at(X, target, alpha, start)


def _is_eye(X: Any) -> bool:
    """Whether X is the identity."""
    square = sp.issparse(X) and X.shape[0] == X.shape[1] == X.nnz
    return bool(square and np.all(X.diagonal() == 1.0))
