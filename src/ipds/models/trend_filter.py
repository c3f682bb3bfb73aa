"""Trend filtering: a signal as a piecewise polynomial with few knots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from .._arrays import threads_for_data
from ..functions import L1, Box, LeastSquares, Stacked
from ..problem import Block, Problem
from ..result import Result
from ._base import fitting
from ._divided import chain, dual, interpolate, nearest
from ._linear import extended_bic, r_squared
from ._path import Point, Tuned, grid

HIGHEST = 3
"""The highest order: no eye sees the difference to the next, and running sums of more levels lose their digits."""

UNITS = 10.0
"""Positions run from 0 to this in the problem that is solved: derivatives are then of the size of the values for trends
that bend about as often, and differ by few powers of ten for others."""


class Trend(NamedTuple):
    """A piecewise polynomial by its values and derivatives [x, v_1, …, v_k] at t (`_divided`)."""

    t: np.ndarray
    values: list[np.ndarray]

    @property
    def changes(self) -> dict[float, float]:
        """Knot -> change of the k-th derivative there."""
        change = np.diff(self.values[-1])
        places = np.flatnonzero(change)
        return dict(zip(self.t[places + len(self.values) - 1].tolist(), change[places].tolist(), strict=True))


@dataclass(eq=False, repr=False)
class TrendFilter(RegressorMixin, Tuned):
    """A signal as a piecewise polynomial: constant, linear, quadratic or cubic between few knots.

        min_x ½ Σ_i c_i (y_i - x_i)² + α‖D^{k+1} x‖₁

    D^{k+1} are divided differences at the positions of the samples, so that the penalty is the total variation of the
    k-th derivative; at positions 0, 1, 2, … they are plain differences. Solved as a chain of equations for x and its
    derivatives, which keeps order 3 at 20,000 samples well conditioned. Fits adapt to the signal: smooth where it is,
    with a bend where it bends, unlike splines with one smoothness everywhere.

    Parameters
    ----------
    order : k, the degree of the pieces, 0 to 3: steps (the fused lasso of a signal), lines, parabolas, cubics.
    alpha : weight of the penalty: a number (of the units y·position^k); "bic", by the Bayesian criterion with as many
        degrees of freedom as knots and k + 1; or "cv", the largest one within a standard error of the smallest
        cross-validated loss, every fifth sample being left out in turn. `alpha_max(X, y)` is where no knot is left,
        `path(X, y)` fits 20 + 4k below it.
    cv : number of folds for alpha="cv".
    method, tol, max_iter, time_limit, warm_start, random_state, verbose, progress, checkpoint : of the solve; the same
        for all models, see `ipds.models.Estimator`.

    Attributes
    ----------
    positions_ : the different positions, increasing. trend_ : the fit there.
    derivatives_ : its first k derivatives, a row each, as divided differences: entry [j - 1, i] is j! times that of the
        positions i - j to i (of the first ones where i < j).
    knots_ : positions where the k-th derivative changes. alpha_, order_ : in force (k is less where positions are few).
    selection_ : dict alpha -> criterion, where it was chosen. result_, n_iter_ : of the solve.

    Samples at one position count as their mean. `predict` interpolates; beyond the ends the last piece goes on.

    >>> t = np.arange(40.0)
    >>> y = np.abs(t - 15) + 0.1 * np.cos(9 * t)
    >>> model = TrendFilter(order=1).fit(t, y)
    >>> model.knots_, model.predict(np.array([4.5, 50.0])).round(1)
    (array([15.]), array([10.5, 35. ]))

    Reference: Kim, Koh, Boyd & Gorinevsky, *ℓ1 trend filtering*, SIAM Review 2009; Tibshirani, *Adaptive piecewise
    polynomial estimation via trend filtering*, Ann. Statist. 2014.
    """

    order: int = 1
    alpha: Any = "bic"
    _: KW_ONLY
    cv: int = 5

    _coarse = 1e-5  # knots are counted, and a rough solution has some too many
    _patience = 100  # a signal with a period has its best criterion far beyond a hill

    def _grid(self, top: float) -> np.ndarray:
        """Deeper for higher orders: finer features are wanted of a derivative that is larger by a power of n."""
        return grid(top, 20 + 4 * self.order_, 10.0 ** -(3 + self.order_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        return tags

    def problem(self, X: Any, y: Any, sample_weight: Any = None) -> Problem:
        """The problem behind `fit`: positions from 0 to 10, v = (x, derivatives), u = (0, D^{k+1}x)."""
        model = self._aside()
        data, target = model._prepared(X, y, sample_weight)
        return model._problem(data, target, model._chosen_alpha(data, target))

    @threads_for_data
    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TrendFilter:
        """Fit to targets y at positions X, a vector or one column in any order; None for 0, 1, 2, …

        sample_weight : c_i; a sample of weight 2 counts as two samples.
        """
        data, target = self._prepared(X, y, sample_weight)
        self.alpha_ = self._chosen_alpha(data, target)
        found, _ = self._unpacked(data, target, self._solve(self._problem(data, target, self.alpha_)))
        self.positions_, (self.trend_, *higher) = found
        self.derivatives_ = np.array([np.append(np.repeat(v[0], j + 1), v) for j, v in enumerate(higher)])
        self.knots_ = np.array(list(found.changes))
        residual = target - self.trend_
        self.quality_ = {
            "R²": r_squared(target, self.trend_, data[:, 1]),
            "median absolute error": float(np.median(np.abs(residual))),
            "knots": len(self.knots_),
        }
        if not len(self.knots_):
            advice = "lower alpha" if not isinstance(self.alpha, str) else "the criterion asks for no more"
            self._note(f"one polynomial of degree {self.order_}, without a knot; {advice}")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The trend at positions X."""
        check_is_fitted(self)
        return interpolate(*self._trend, self._column(X, reset=False))

    @property
    def _trend(self) -> Trend:
        return Trend(self.positions_, [self.trend_, *(v[j + 1 :] for j, v in enumerate(self.derivatives_))])

    def _terms(self) -> dict[str, dict[str, float]]:
        """How the k-th derivative changes at the knots."""
        return {"knots": {f"at {knot:.6g}:": change for knot, change in self._trend.changes.items()}}

    def _column(self, X: Any, reset: bool, samples: int = 1) -> np.ndarray:
        """Positions as a vector."""
        X = np.reshape(X, (-1, 1)) if np.ndim(X) == 1 else X
        X = validate_data(self, X, reset=reset, dtype=float, ensure_min_samples=samples)
        if X.shape[1] != 1:
            raise ValueError(
                f"TrendFilter: X must be a vector of positions or one column, got shape {X.shape}"
            )
        return np.asarray(X)[:, 0]

    def _prepared(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """(columns t and c: different positions and the weights there, the mean y there)."""
        if isinstance(self.order, bool) or self.order not in range(HIGHEST + 1):
            raise ValueError(f"TrendFilter: order must be one of 0, 1, 2, 3, got {self.order!r}")
        if y is None:
            raise ValueError("TrendFilter requires y to be passed, but the target y is None")
        y = column_or_1d(
            check_array(y, ensure_2d=False, dtype=float, input_name="y", estimator=self), warn=True
        )
        t = self._column(np.arange(float(len(y))) if X is None else X, True, 2)
        check_consistent_length(t, y)
        self._in_range("X", t)
        self._in_range("y", y)
        c = _check_sample_weight(sample_weight, t, dtype=float, ensure_non_negative=True)
        places, index = np.unique(t[c > 0], return_inverse=True)
        if len(places) < 2:
            raise ValueError(f"TrendFilter: at least 2 different positions are wanted, got {len(places)}")
        self.order_ = min(int(self.order), len(places) - 2)
        if self.order_ < self.order:
            self._note(f"order {self.order_}: {len(places)} different positions allow no more")
        totals = np.bincount(index, c[c > 0])
        return np.stack([places, totals], axis=1), np.bincount(index, (c * y)[c > 0]) / totals

    def _problem(self, data: np.ndarray, target: np.ndarray, alpha: float) -> Problem:
        t, c = _unit(data[:, 0]), data[:, 1]
        M, n = chain(t, self.order_), len(t)
        rows = n - self.order_ - 1
        variation = L1(alpha * self._unit_of_penalty(data))
        zeros = M.shape[0] - rows
        root = sp.diags_array(np.sqrt(c))
        G = sp.csr_array(sp.hstack([root, sp.csr_array((n, M.shape[1] - n))]))
        return Problem(
            [
                Block(f=LeastSquares(G, np.sqrt(c) * target), A=-M, shape=M.shape[1], name="v"),
                Block(
                    h=Stacked([(Box(0.0, 0.0), zeros), (variation, rows)]) if zeros else variation,
                    A=1.0,
                    shape=M.shape[0],
                    name="u",
                ),
            ]
        )

    def _unit_of_penalty(self, data: np.ndarray) -> float:
        """‖D^{k+1}x‖₁ at the positions solved for times this is that at the positions given."""
        return _width(data[:, 0]) ** -self.order_

    def _unpacked(self, data: np.ndarray, target: np.ndarray, result: Result) -> tuple[Trend, float]:
        """The trend with the knots of a solution, in the units of the positions, and 0.

        Rebuilt from D^{k+1}x by running sums: pieces between knots are then polynomials to the last digit.
        """
        rows = len(target) - self.order_ - 1
        jumps = np.asarray(result.x[1])[-rows:]
        values = nearest(_unit(data[:, 0]), target, data[:, 1], jumps, self.order_)
        width = _width(data[:, 0])
        return Trend(data[:, 0], [v / width**j for j, v in enumerate(values)]), 0.0

    def _in_units_of_X(self, w: Trend) -> np.ndarray:
        return w.values[0]

    def _nonzeros(self, w: Trend) -> int:
        return len(w.changes)

    def _scores(self, data: np.ndarray, point: Point) -> np.ndarray:
        return interpolate(point.w.t, point.w.values, data[:, 0])

    def _folds(self, data: np.ndarray, target: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Every cv-th sample but the ends, which would have to be extrapolated."""
        n = len(target)
        if n < self.order_ + 4:
            raise ValueError(f"TrendFilter: alpha='cv' wants {self.order_ + 4} different positions, got {n}")
        count = min(max(2, self._count("cv", self.cv, n, "samples")), n - 2)
        for k in range(count):
            test = np.arange(1 + k, n - 1, count)
            yield np.delete(np.arange(n), test), test

    def _losses(self, target: np.ndarray, score: np.ndarray) -> np.ndarray:
        return 0.5 * (target - score) ** 2

    def _criterion(self, data: np.ndarray, target: np.ndarray, point: Point) -> float:
        c, n = data[:, 1], len(target)
        squares = float(c @ (target - point.w.values[0]) ** 2)
        total = float(c @ (target - np.average(target, weights=c)) ** 2)
        return extended_bic(squares, total, len(point.w.changes) + self.order_ + 1, n, 1)

    def _largest_alpha(self, data: np.ndarray, target: np.ndarray) -> float:
        t, c = _unit(data[:, 0]), data[:, 1]
        level = nearest(t, target, c, np.zeros(len(t) - self.order_ - 1), self.order_)[0]
        if np.abs(target - level).max() <= 1e-12 * np.abs(target).max():  # a polynomial, but for rounding
            return 0.0
        nu = dual(t, c * (target - level), self.order_)
        return float(np.abs(nu).max()) / self._unit_of_penalty(data)


def _unit(t: np.ndarray) -> np.ndarray:
    """Increasing positions brought to [0, UNITS]."""
    return np.asarray((t - t[0]) / _width(t))


def _width(t: np.ndarray) -> float:
    """The unit of positions in the problem that is solved."""
    return float(t[-1] - t[0]) / UNITS
