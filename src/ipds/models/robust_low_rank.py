"""Robust low-rank approximation: a matrix of rank s under gross errors and missing entries."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse.linalg as spla
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import adopted, threads_for_data
from ..functions import L1, Rank
from ..functions.fixed_rank import near
from ..functions.truncation import join, triangle
from ..operators import Operator, Sampling, from_linear_operator
from ..problem import Block, Problem
from ._base import Decomposition, fitting
from ._dask import features_of, is_dask, require_finite
from ._lad import least_absolute_deviations
from ._rank import chosen_rank

SHARP = 1e-7
"""Certificate that is aimed at where there is no noise."""


@dataclass(eq=False, repr=False)
class RobustLowRank(Decomposition):
    """The matrix of rank at most s nearest to the observed entries in the ℓ1 norm.

        min_V ‖P(V) - P(M)‖₁   subject to   rank V ≤ s,   P: the observed entries

    Solved as min ι(rank V ≤ s) + ‖u‖₁ over -P V + u = -P M. Unlike robust PCA with the nuclear norm, the rank is
    exact and singular values are not shrunk.

    Parameters
    ----------
    rank : s; "auto": a tenth of the entries is hidden, and s grows from 1 as long as that brings the median error on
        them down by a tenth, up to 8 (on 500 columns at random where there are more).
    standardize : divide columns by their root mean squares first, so that none counts more for its unit; "auto" where
        one unit is 10 times larger than the median. `low_rank_` and all else is in the units of X.
    method, tol, max_iter, time_limit, warm_start, random_state, verbose, progress, checkpoint : of the solve; the same
        for all models, see `ipds.models.Estimator`.

    Attributes
    ----------
    rank_ : s in force. low_rank_ : V. residual_ : M - V on the observed entries, 0 elsewhere: mostly zeros and the
        gross errors.
    components_ : (s, d), orthonormal rows that span the row space of V. singular_values_ : of V.
    result_, n_iter_ : of the solve.

    Where most entries are fitted exactly (gross errors, no noise) the solve goes on to a certificate of 1e-7 if
    four times the iterations suffice for it; with noise that would be labour in vain.
    X may be a Dask array cut by rows, without missing entries; `low_rank_` and `residual_` are Dask arrays then.
    X may be a video or a stack of images (frames, height, width): `low_rank_`, `residual_` and what `inverse_transform`
    gives have that shape then. `score(X)` is the share of the absolute size of rows that their projection holds.
    Missing entries are NaN in X, or False in `fit(X, mask=...)`. Every row and column needs an observed entry.
    `transform(X)` projects new rows robustly on the row space: the coefficients a of the exact least absolute
    deviations min_a ‖x - a·components_‖₁ over the observed entries of the row; `inverse_transform` gives a·components_.

    >>> rng = np.random.default_rng(0)
    >>> L = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> M = L + 10 * (rng.random((30, 20)) < 0.1)
    >>> M[3, 4] = np.nan
    >>> model = RobustLowRank(rank=1).fit(M)
    >>> bool(np.allclose(model.low_rank_, L, atol=1e-4))
    True
    >>> bool(np.allclose(model.inverse_transform(model.transform(M)), L, atol=1e-4))
    True

    Reference: Candès, Li, Ma & Wright, *Robust principal component analysis?*, J. ACM 2011 (the convex relative).
    """

    rank: Any = "auto"
    _: KW_ONLY
    standardize: Any = "auto"
    tol: float = 1e-4

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def problem(self, X: Any, y: Any = None, mask: Any = None) -> Problem:
        """The optimisation problem behind `fit`."""
        model = self._aside()
        X, observed = model._validated(*model._flat(X, mask))
        X = X / model._units(X)
        model.rank_ = chosen_rank(model, X, observed)
        return model._problem(X, observed)

    @threads_for_data
    @fitting
    def fit(self, X: Any, y: Any = None, mask: Any = None) -> RobustLowRank:
        """Fit to a matrix X whose entries may be NaN (not observed); y is ignored.

        mask : booleans of the shape of X, True where observed; combined with NaN in X.
        """
        X, observed = self._validated(*self._flat(X, mask))
        self.feature_scales_ = scales = self._units(X)
        self.rank_ = chosen_rank(self, X / scales, observed)
        problem = self._problem(X / scales, observed)
        self._solve_sharply(problem)
        V = self.result_.x[0] * scales
        self._store(V)
        self.residual_ = X - V if observed is None else np.where(observed, X - V, 0.0)
        self._rate(X, self.residual_)
        if self.frame_shape_:
            self.low_rank_, self.residual_ = self._frames(V), self._frames(self.residual_)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """1 - ‖X - projection of its rows‖₁/‖X‖₁ over the observed entries; y is ignored."""
        rows = self.transform(X) @ self.components_
        X = np.asarray(X, dtype=float).reshape(rows.shape)
        total = float(np.nansum(np.abs(X)))
        return 1.0 - float(np.nansum(np.abs(X - rows))) / total if total > 0 else 1.0

    def _flat(self, X: Any, mask: Any) -> tuple[Any, Any]:
        """X and mask with a row per frame, where they have frames; `frame_shape_` is () where not."""
        video = getattr(X, "ndim", 2) == 3 and not is_dask(X)
        self.frame_shape_ = tuple(X.shape[1:]) if video else ()
        if not video:
            return X, mask
        return X.reshape(len(X), -1), None if mask is None else np.asarray(mask).reshape(len(X), -1)

    def _frames(self, rows: Any) -> Any:
        return rows.reshape(len(rows), *self.frame_shape_)

    @fitting
    def fit_measurements(self, G: Any, z: Any, shape: tuple[int, int]) -> RobustLowRank:
        """Fit from linear measurements z = G(V) with gross errors: min ‖G(V) - z‖₁ over rank V ≤ s.

        G : an `ipds.operators` map on matrices of `shape`, or a matrix or LinearOperator on their flattened entries.

        `residual_` is then z - G(V).

        >>> rng = np.random.default_rng(0)
        >>> L = np.outer(rng.standard_normal(6), rng.standard_normal(5))
        >>> G = rng.standard_normal((90, 30))
        >>> z = G @ L.ravel()
        >>> z[:5] += 20
        >>> bool(np.allclose(RobustLowRank(rank=1).fit_measurements(G, z, (6, 5)).low_rank_, L, atol=1e-4))
        True
        """
        if len(shape) != 2:
            raise ValueError(f"RobustLowRank: shape must be (rows, columns), got {shape}")
        if self.rank == "auto":
            raise ValueError("RobustLowRank: rank must be a number to fit measurements")
        s = self.rank_ = self._count("rank", self.rank, min(shape), "the shorter side of the matrix")
        self.frame_shape_ = ()
        z = np.asarray(z, dtype=float)
        operator = _on_matrices(G, shape)
        problem = Problem(
            [Block(h=Rank(s), A=-operator, shape=shape, name="V"), Block(h=L1(1.0), shape=z.shape, name="u")],
            b=-z,
        )
        start = Rank(s).prox(operator.adjoint(z) / operator.norm() ** 2, 1.0)
        self._solve_sharply(problem, [start, z - operator.apply(start)])
        V = np.asarray(self.result_.x[0])
        self.n_features_in_ = shape[1]
        self.feature_scales_ = np.ones(shape[1])
        self._store(V)
        self.residual_ = z - operator.apply(V)
        self._rate(z, self.residual_)
        return self

    def _solve_sharply(self, problem: Problem, x0: Any = None) -> None:
        """Solve; where most entries are fitted exactly, go on to `SHARP`, which is kept if it is certified.

        Without noise there is such an answer. It is worth four times the iterations so far.
        """
        before = self._solve(problem, x0)
        exact = np.mean(before.x[1] == 0) > 0.5
        if not exact or self._interrupted or before.certificate.relative <= SHARP:
            return
        before.state = None  # of many arrays, of which x and z are all that is needed
        finer = copy(self)
        finer.tol = min(SHARP, self.tol)
        result = finer._solve(problem, before.x, before.z, trial=4 * before.nit)
        if result.success:
            self.result_, self.n_iter_ = result, before.nit + result.nit

    def transform(self, X: Any) -> np.ndarray:
        """Coefficients of each row in `components_`, by least absolute deviations on its observed entries."""
        check_is_fitted(self)
        if self.frame_shape_ and not is_dask(X) and np.ndim(X) == 3:
            X = np.reshape(X, (len(X), -1))
        if is_dask(X):
            X = features_of(self, X, reset=False)
            return X.map_blocks(
                _coefficients,
                self.components_.T,
                self.feature_scales_,
                chunks=(X.chunks[0], (self._n_features_out,)),
                dtype=float,
                meta=np.empty((0, 0)),
            )
        X = validate_data(self, X, reset=False, dtype=float, ensure_all_finite="allow-nan")
        return _coefficients(X, self.components_.T, self.feature_scales_)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows with the given coefficients."""
        check_is_fitted(self)
        rows = (X if is_dask(X) else np.asarray(X, dtype=float)) @ self.components_
        return self._frames(rows) if self.frame_shape_ else rows

    def _validated(self, X: Any, mask: Any) -> tuple[Any, np.ndarray | None]:
        """(X with 0 where not observed, the mask); no mask for Dask arrays, which must be observed in full."""
        if is_dask(X):
            if mask is not None:
                raise ValueError(
                    "RobustLowRank: a mask is not supported with Dask arrays; pass X without missing entries"
                )
            features_of(self, X, reset=True)
            require_finite("RobustLowRank", X, "missing entries are not supported with Dask arrays")
            return X, None
        X = validate_data(self, X, dtype=float, ensure_all_finite="allow-nan", ensure_min_samples=2)
        self._in_range("X", X)
        observed = ~np.isnan(X)
        if mask is not None:
            mask = np.asarray(mask)
            if mask.dtype != bool or mask.shape != X.shape:
                raise ValueError(
                    f"RobustLowRank: mask must hold booleans of shape {X.shape}, True where observed, "
                    f"got {mask.dtype} of shape {mask.shape}"
                )
            observed &= mask
        for axis, what in ((0, "columns"), (1, "rows")):
            empty = np.flatnonzero(~observed.any(axis=axis))
            if empty.size:
                raise ValueError(
                    f"RobustLowRank: {what} {empty[:10].tolist()} have no observed entry (NaN or mask); "
                    f"nothing can be said about them: remove these {what}"
                )
        return X if observed.all() else np.where(observed, X, 0.0), observed

    def _problem(self, X: Any, observed: np.ndarray | None) -> Problem:
        V = Rank(self.rank_)
        if observed is None or observed.all():
            return Problem(
                [Block(h=V, A=-1.0, shape=X.shape, name="V"), Block(h=L1(1.0), shape=X.shape, name="u")], b=-X
            )
        A = Sampling(observed)
        return Problem(
            [Block(h=V, A=-A, shape=X.shape, name="V"), Block(h=L1(1.0), shape=A.indices.size, name="u")],
            b=-X[observed],
        )

    def _units(self, X: Any) -> np.ndarray:
        """What columns are divided by."""
        return self._scales(X, centred=False, quiet=True)

    def _rate(self, data: Any, residual: Any) -> None:
        """Figures of the fit: the share of |data| that it holds, and how many entries it leaves aside."""
        size, total = np.abs(residual), float(np.abs(data).sum())
        gross = float((size > 1e-3 * float(np.abs(data).max())).mean())
        self.quality_ = {
            "share of absolute size": 1.0 - float(size.sum()) / total if total > 0 else 1.0,
            "share of entries left aside": gross,
        }

    def _terms(self) -> dict[str, dict[str, float]]:
        return {f"component {k + 1}": self._named(row) for k, row in enumerate(self.components_)}

    def _store(self, V: Any) -> None:
        self.low_rank_ = V
        # of a Dask array, the triangular factor on the driver has the same singular values and row space
        square = np.asarray(adopted(V, "V").reduce(triangle, join)) if is_dask(V) else V
        sigma, rows = _leading(square, self.rank_)
        # the sign of a singular vector is arbitrary: the largest entry of each is positive
        rows = rows[: self.rank_]
        signs = np.sign(rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)])
        self.components_, self.singular_values_ = rows * signs[:, None], sigma[: self.rank_]


def _leading(V: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Singular values and right singular vectors of a matrix of at most the rank: of what its range shows, if thin."""
    if 4 * rank < min(V.shape):
        found = near(V, rank)
        return found.sigma, found.V.T
    return np.linalg.svd(V, full_matrices=False)[1:]


def _coefficients(X: np.ndarray, W: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """The least absolute deviations min_a ‖(x - W a)/scales‖₁ over the observed entries of each row x of X."""
    X, W, observed = X / scales, W / scales[:, None], ~np.isnan(X)
    found = [least_absolute_deviations(W[o], x[o]) for x, o in zip(X, observed, strict=True)]
    return np.array(found).reshape(len(X), W.shape[1])


def _on_matrices(G: Any, shape: tuple[int, int]) -> Operator:
    """G as an operator on matrices of `shape`; matrices and LinearOperators act on their flattened entries."""
    if isinstance(G, Operator):
        return G
    return from_linear_operator(spla.aslinearoperator(np.asarray(G) if isinstance(G, list) else G), shape)
