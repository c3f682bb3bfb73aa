"""Group lasso with groups that may overlap."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..functions import GroupL2
from ..operators import Grouping
from ._linear import Penalty, StructuredLinear


@dataclass(eq=False, repr=False)
class OverlappingGroupLasso(StructuredLinear):
    """Linear regression or classification whose coefficients vanish by groups, which may overlap.

        min_{w,t} loss(X w + t; y)/m + α Σ_g ω_g ‖w_g‖₂ + α₁‖w‖₁

    Solved over u = (w_{g₁}, w_{g₂}, …), the groups laid side by side, where they no longer overlap. The features that
    are left are those outside every group that was set to zero.

    Parameters
    ----------
    groups : list of lists of feature indices, or of names where X is a DataFrame; a dict name -> group; None puts every
        feature in a group of its own (the lasso). Features in no group are not penalised.
    alpha : weight of the groups: a number; "bic", by the (extended) Bayesian criterion; or "cv", the largest one within
        a standard error of the smallest cross-validated loss. `alpha_max(X, y)` is where no group is left, `path(X, y)`
        fits 20 below it.
    weights : ω_g, one per group; None for √(size of g).
    alpha_l1 : weight α₁ of the coefficients themselves (sparse group lasso).
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
    coef_, intercept_ : of the linear model; of K > 2 classes a row and a number each. active_groups_ : numbers of the
        groups that are not zero. alpha_ : in force. selection_ : dict alpha -> criterion, where it was chosen.
    result_, n_iter_ : of the solve.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 6))
    >>> model = OverlappingGroupLasso([[0, 1, 2], [2, 3, 4], [4, 5]], alpha=0.3).fit(X, X[:, 0] - X[:, 1])
    >>> model.active_groups_, np.flatnonzero(model.coef_)
    (array([0]), array([0, 1]))

    Reference: Jacob, Obozinski & Vert, *Group lasso with overlap and graph lasso*, ICML 2009;
    Jenatton, Audibert & Bach, *Structured variable selection with sparsity-inducing norms*, JMLR 2011.
    """

    groups: Any = None
    alpha: Any = "bic"
    _: KW_ONLY
    weights: Any = None
    alpha_l1: float = 0.0

    def _grouping(self, d: int) -> Grouping:
        groups = [[j] for j in range(d)] if self.groups is None else self._numbered(self.groups)
        try:
            return Grouping(groups, d)
        except (TypeError, ValueError) as error:
            raise type(error)(f"OverlappingGroupLasso: groups: {error}") from None

    def _numbered(self, groups: Any) -> list[Any]:
        """Groups of indices; of a dict name -> group the groups, and names of features replaced by their numbers."""
        groups = list(groups.values()) if isinstance(groups, dict) else list(groups)
        if not any(
            isinstance(j, str) for g in groups for j in (g if isinstance(g, list | tuple | set) else ())
        ):
            return groups
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            raise ValueError(
                "OverlappingGroupLasso: groups are given by names, but X has none; pass a DataFrame or indices"
            )
        places = {str(name): j for j, name in enumerate(names)}
        unknown = sorted({j for g in groups for j in g if isinstance(j, str)} - set(places))
        if unknown:
            raise ValueError(f"OverlappingGroupLasso: groups name {unknown[:5]}, which are no columns of X")
        return [[places[j] if isinstance(j, str) else j for j in g] for g in groups]

    def _weighted(self, A: Grouping) -> np.ndarray:
        """ω, one weight per group."""
        if self.weights is None:
            return np.sqrt([part.stop - part.start for part in A.slices])
        if np.shape(self.weights) != (len(A.slices),):
            raise ValueError(
                f"OverlappingGroupLasso: weights must be {len(A.slices)} numbers, one per group, "
                f"got shape {np.shape(self.weights)}"
            )
        return np.asarray(self.weights, dtype=float)

    def _penalty(self, d: int, columns: int, alpha: float) -> Penalty:
        own = self._nonnegative("alpha_l1", self.alpha_l1)
        A = self._grouping(d)
        places = [range(columns * part.start, columns * part.stop) for part in A.slices]
        entries = len(A.indices)
        rows = sp.csr_array((np.ones(entries), (np.arange(entries), A.indices)), shape=(entries, d))
        return Penalty(rows, GroupL2(alpha, places, self._weighted(A)), own)

    def _cleaned(self, w: np.ndarray, u: np.ndarray) -> np.ndarray:
        A = self._grouping(len(w))
        alive = [bool(np.any(u[part])) for part in A.slices]
        self.active_groups_ = np.flatnonzero(alive)
        w = w.copy()
        for part, keep in zip(A.slices, alive, strict=True):
            if not keep:
                w[A.indices[part]] = 0.0
        return w

    def _free(self, d: int) -> Any:
        """The features in no group."""
        loose = np.setdiff1d(np.arange(d), self._grouping(d).indices)
        return sp.csr_array((np.ones(len(loose)), (loose, np.arange(len(loose)))), shape=(d, len(loose)))

    def _dual(self, slope: np.ndarray) -> float:
        """max_g ‖v_g‖/ω_g, the slope of a feature shared evenly among its groups: exact where none overlap."""
        A = self._grouping(len(slope))
        counts = np.bincount(A.indices, minlength=len(slope))[A.indices]
        shares = (slope[A.indices].T / counts).T
        norms = np.array([np.linalg.norm(shares[part]) for part in A.slices])
        weights = self._weighted(A)
        used = weights > 0
        return float((norms[used] / weights[used]).max(initial=0.0))
