"""Group lasso with groups that may overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..functions import GroupL2
from ..operators import Grouping
from ._linear import Penalty, StructuredLinear


class OverlappingGroupLasso(StructuredLinear):
    """Linear regression or classification whose coefficients vanish by groups, which may overlap.

        min_{w,t} loss(X w + t; y)/m + α Σ_g ω_g ‖w_g‖₂ + α₁‖w‖₁

    Solved over u = (w_{g₁}, w_{g₂}, …), the groups laid side by side, where they no longer overlap. The features that
    are left are those outside every group that was set to zero.

    Parameters
    ----------
    groups : list of lists of feature indices; None puts every feature in a group of its own (the lasso). Features in
        no group are not penalised.
    alpha : weight of the groups. weights : ω_g, one per group; None for √(size of g).
    alpha_l1 : weight α₁ of the coefficients themselves (sparse group lasso).
    loss : "squared" (a regressor: ½‖·‖², R²) or "logistic" (a classifier of two classes, with `classes_`,
        `decision_function` and `predict_proba`).
    fit_intercept : whether t is free; else 0.
    standardize : penalise the coefficients of features divided by their standard deviations; "auto" where units differ
        by more than a factor 10. `coef_` is in the units of X.
    method, tol, max_iter, time_limit, warm_start, random_state, verbose, progress, checkpoint : of the solve; the same
        for all models, see `ipds.models.Estimator`.

    Attributes
    ----------
    coef_, intercept_ : of the linear model. active_groups_ : numbers of the groups that are not zero.
    result_, n_iter_ : of the solve.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 6))
    >>> model = OverlappingGroupLasso([[0, 1, 2], [2, 3, 4], [4, 5]], alpha=0.3).fit(X, X[:, 0] - X[:, 1])
    >>> model.active_groups_, np.flatnonzero(model.coef_)
    (array([0]), array([0, 1]))

    Reference: Jacob, Obozinski & Vert, *Group lasso with overlap and graph lasso*, ICML 2009;
    Jenatton, Audibert & Bach, *Structured variable selection with sparsity-inducing norms*, JMLR 2011.
    """

    def __init__(
        self,
        groups: Any = None,
        alpha: float = 0.1,
        *,
        weights: Any = None,
        alpha_l1: float = 0.0,
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
        self.groups = groups
        self.alpha = alpha
        self.weights = weights
        self.alpha_l1 = alpha_l1
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

    def _grouping(self, d: int) -> Grouping:
        groups = [[j] for j in range(d)] if self.groups is None else self.groups
        try:
            return Grouping(groups, d)
        except (TypeError, ValueError) as error:
            raise type(error)(f"OverlappingGroupLasso: groups: {error}") from None

    def _penalty(self, d: int, m: int) -> Penalty:
        alpha = m * self._nonnegative("alpha", self.alpha)
        own = np.full(d, m * self._nonnegative("alpha_l1", self.alpha_l1))
        A = self._grouping(d)
        places = [range(part.start, part.stop) for part in A.slices]
        weights = self.weights
        if weights is None:
            weights = np.sqrt([len(place) for place in places])
        elif np.shape(weights) != (len(places),):
            raise ValueError(
                f"OverlappingGroupLasso: weights must be {len(places)} numbers, one per group, "
                f"got shape {np.shape(weights)}"
            )
        entries = len(A.indices)
        rows = sp.csr_array((np.ones(entries), (np.arange(entries), A.indices)), shape=(entries, d))
        return Penalty(rows, GroupL2(alpha, places, weights), own)

    def _cleaned(self, w: np.ndarray, u: np.ndarray) -> np.ndarray:
        A = self._grouping(len(w))
        alive = [bool(np.any(u[part])) for part in A.slices]
        self.active_groups_ = np.flatnonzero(alive)
        w = w.copy()
        for part, keep in zip(A.slices, alive, strict=True):
            if not keep:
                w[A.indices[part]] = 0.0
        return w
