"""Fused lasso: coefficients that are equal along most edges of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..functions import L1, TotalVariation1D
from ..operators import FiniteDifference
from ._linear import Penalty, StructuredLinear


class FusedLasso(StructuredLinear):
    """Linear regression or classification with coefficients fused along the edges of a graph.

        min_{w,t} loss(X w + t; y)/m + α Σ_{(i,j) ∈ E} a_ij |w_i - w_j| + α₁‖w‖₁

    The default graph is the chain 0-1-2-…, whose total variation has an exact prox: u = w then carries it whole;
    other graphs are solved over u = D w, D the weighted differences along the edges.

    Parameters
    ----------
    alpha : weight of the differences. alpha_l1 : weight α₁ of the coefficients themselves.
    edges : pairs (i, j) of features; adjacency : symmetric weights a_ij (array or SciPy sparse). At most one of them.
    loss : "squared" (a regressor: ½‖·‖², R²) or "logistic" (a classifier of two classes, with `classes_`,
        `decision_function` and `predict_proba`).
    fit_intercept : whether t is free; else 0.
    standardize : penalise the coefficients of features divided by their standard deviations; "auto" where units differ
        by more than a factor 10. `coef_` is in the units of X.
    method, tol, max_iter, time_limit, warm_start, random_state, verbose, progress, checkpoint : of the solve; the same
        for all models, see `ipds.models.Estimator`.

    Attributes
    ----------
    coef_, intercept_ : of the linear model; coefficients of one segment are exactly equal.
    segments_ : number of the segment of each feature. result_, n_iter_ : of the solve.

    A signal y itself is denoised with X = `scipy.sparse.eye_array(n)` and fit_intercept=False.

    >>> y = np.r_[np.zeros(5), np.ones(5)] + 0.01 * np.arange(10)
    >>> model = FusedLasso(alpha=0.02, fit_intercept=False).fit(sp.eye_array(10, format="csr"), y)
    >>> model.segments_
    array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], dtype=int32)

    Reference: Tibshirani et al., *Sparsity and smoothness via the fused lasso*, JRSS B 2005;
    Kim, Sohn & Xing, *A multivariate regression approach to association analysis* (graph-guided), 2009.
    """

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        alpha_l1: float = 0.0,
        edges: Any = None,
        adjacency: Any = None,
        loss: str = "squared",
        fit_intercept: bool = True,
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
        self.alpha = alpha
        self.alpha_l1 = alpha_l1
        self.edges = edges
        self.adjacency = adjacency
        self.loss = loss
        self.fit_intercept = fit_intercept
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

    def _penalty(self, d: int, m: int) -> Penalty:
        alpha = m * self._nonnegative("alpha", self.alpha)
        own = np.full(d, m * self._nonnegative("alpha_l1", self.alpha_l1))
        D = self._differences(d)
        if D is None:
            return Penalty(1.0, TotalVariation1D(alpha), own)
        return Penalty(D, L1(alpha), own)

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
            joined = np.abs(np.diff(u[:d])) <= 1e-9 * (np.abs(u).max(initial=0.0) + 1e-300)
            links = np.flatnonzero(joined)
            ends = np.stack([links, links + 1], axis=1)
        else:
            ends = D[np.flatnonzero(u == 0)].tocsr().indices.reshape(-1, 2)
        graph = sp.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(d, d))
        count, self.segments_ = connected_components(graph, directed=False)
        levels = np.bincount(self.segments_, weights=w, minlength=count) / np.bincount(
            self.segments_, minlength=count
        )
        if self.alpha_l1 > 0:  # a segment whose members the ℓ1 norm set to zero is zero
            zero = np.bincount(self.segments_, weights=w == 0, minlength=count)
            levels[2 * zero > np.bincount(self.segments_, minlength=count)] = 0.0
        return levels[self.segments_]
