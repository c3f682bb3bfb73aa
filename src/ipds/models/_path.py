"""The weight alpha chosen by the data: paths of solutions, the Bayesian criterion, cross-validation."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from ..problem import Problem
from ..result import Result
from ._base import Estimator

COUNT, DEPTH = 20, 1e-3
"""Alphas of a path, and the last as a share of the first."""
PATIENCE = 4
"""Alphas without a better criterion after which a path has been walked far enough."""
HOPELESS = 20
"""Degrees of freedom, log m each, by which two criteria in a row exceed the best where no smaller alpha is better."""
COARSE, TRIAL = 1e-3, 500
"""Tolerance at least, and iterations at most, of a solve that only serves a comparison."""


class Path(NamedTuple):
    """Fits along falling `alphas`, in the units of X; `scores` is the Bayesian criterion of each, smaller is better.

    `coefs` has the coefficients, of a trend filter the fitted values; `nonzeros` counts those that are not zero, or
    the knots.
    """

    alphas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    nonzeros: np.ndarray
    scores: np.ndarray


class Point(NamedTuple):
    """Coefficients w and intercept t for one alpha, for standardised features; w may be any description of a fit."""

    w: Any
    t: Any
    start: Any
    """Where the next solve begins."""


class Tuned(Estimator):
    """A model whose penalty has a weight alpha: a number, "bic" or "cv"; linear where no hook says otherwise."""

    alpha: Any
    cv: Any
    alpha_: float
    feature_scales_: np.ndarray
    _coarse: float = COARSE
    _patience: int = PATIENCE

    @abstractmethod
    def _prepared(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """(X with columns divided by `feature_scales_`, the target as numbers), both validated."""

    @abstractmethod
    def _problem(self, X: Any, target: np.ndarray, alpha: float) -> Problem:
        """What is solved for one alpha."""

    @abstractmethod
    def _unpacked(self, X: Any, target: np.ndarray, result: Result) -> tuple[Any, Any]:
        """(w, t) of a solution."""

    @abstractmethod
    def _largest_alpha(self, X: Any, target: np.ndarray) -> float:
        """From this alpha on the penalty is zero at the solution."""

    @abstractmethod
    def _losses(self, target: np.ndarray, score: np.ndarray) -> np.ndarray:
        """The loss of each sample."""

    @abstractmethod
    def _criterion(self, X: Any, target: np.ndarray, point: Point) -> float:
        """The Bayesian information criterion."""

    def _at(self, X: Any, target: np.ndarray, alpha: float, start: Any) -> Point:
        """The solution for one alpha, to the tolerance of a comparison."""
        x0, z0 = (None, None) if start is None else start
        result = self._solve(self._problem(X, target, alpha), x0, z0, trial=TRIAL, tol=self._coarse)
        return Point(*self._unpacked(X, target, result), (result.x, result.z))

    def _scores(self, X: Any, point: Point) -> np.ndarray:
        """X w + t."""
        return np.asarray(X @ point.w) + point.t

    def _in_units_of_X(self, w: Any) -> np.ndarray:
        """Coefficients in the units of X; those of several classes as rows."""
        return np.asarray(w.T / self.feature_scales_)

    def _grid(self, top: float) -> np.ndarray:
        """The alphas of a path, from the largest."""
        return grid(top)

    def _nonzeros(self, w: Any) -> int:
        return int(np.count_nonzero(w))

    def _folds(self, X: Any, target: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(train, test) of each fold."""
        from sklearn.model_selection import check_cv  # slow to load

        folds = min(self.cv, len(target)) if isinstance(self.cv, int) else self.cv
        return check_cv(folds, target, classifier=is_classifier(self)).split(X, target)

    def alpha_max(self, X: Any, y: Any) -> float:
        """The alpha from which on nothing is left of the model but what alpha does not penalise (an upper bound)."""
        return self._aside()._top(X, y)

    def _top(self, X: Any, y: Any) -> float:
        return self._largest_alpha(*self._prepared(X, y))

    def path(self, X: Any, y: Any, alphas: Sequence[float] | None = None) -> Path:
        """Fits for many alphas, each started at the solution for the next larger one.

        alphas : None for 20 (or more, of trends) from just above `alpha_max` down to a thousandth of it or less.
        """
        model = self._aside()
        data, target = model._prepared(X, y)
        given = (
            model._grid(model._largest_alpha(data, target))
            if alphas is None
            else np.asarray(alphas, dtype=float)
        )
        order = np.argsort(-given, kind="stable")
        walk = model._walk(data, target, given[order])
        fits = [
            (model._in_units_of_X(p.w), p.t, model._nonzeros(p.w), model._criterion(data, target, p))
            for p in walk
        ]
        coefs, intercepts, nonzeros, scores = map(np.array, zip(*fits, strict=True))
        return Path(given[order], coefs, intercepts, nonzeros, scores)

    def _walk(self, X: Any, target: np.ndarray, alphas: np.ndarray) -> Iterator[Point]:
        """The solutions for falling alphas, as far as the time allows."""
        start = None
        for alpha in alphas:
            if self._out_of_time:
                return
            point = self._at(X, target, float(alpha), start)
            start = point.start
            yield point

    def _chosen_alpha(self, X: Any, target: np.ndarray) -> float:
        """alpha as given, or the one that the criterion asked for prefers."""
        if not isinstance(self.alpha, str):
            return self._nonnegative("alpha", self.alpha)
        if self.alpha not in ("bic", "cv"):
            raise ValueError(
                f"{type(self).__name__}: alpha must be a number, 'bic' or 'cv', got {self.alpha!r}"
            )
        top = self._largest_alpha(X, target)
        if not top > 0:  # nothing in X has to do with the target
            return 1.0
        alphas = self._grid(top)
        scores, margins = (self._by_bic if self.alpha == "bic" else self._by_cv)(X, target, alphas)
        if not len(scores):
            return float(top / 10)
        best = int(np.argmin(scores))
        # cross-validation cannot tell those within its standard error apart: the largest alpha of these
        place = int(np.flatnonzero(scores <= scores[best] + margins[best])[0])
        while place + 1 < len(scores) and margins[best] == 0 and scores[place + 1] == scores[place]:
            place += 1  # the same structure: the least shrinkage
        self.selection_ = dict(zip(alphas.tolist(), scores.tolist(), strict=False))
        how = "the Bayesian criterion" if self.alpha == "bic" else "cross-validation and one standard error"
        self._note(f"alpha = {alphas[place]:.3g} was chosen by {how}; alpha_max is {top:.3g}")
        return float(alphas[place])

    def _by_bic(self, X: Any, target: np.ndarray, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scores: list[float] = []
        patience = self._patience
        for point in self._walk(X, target, alphas):
            scores.append(self._criterion(X, target, point))
            if scores[-1] == math.inf:  # too many degrees of freedom, and smaller alphas have more
                break
            if len(scores) - int(np.argmin(scores)) > patience + (len(scores) <= 2 * patience) * patience:
                break
            if min(scores[-2:]) > min(scores) + HOPELESS * math.log(len(target)):
                break
        return np.array(scores), np.zeros(len(scores))

    def _by_cv(self, X: Any, target: np.ndarray, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean held-out loss of each alpha over the folds, and its standard error."""
        losses = []
        for train, test in self._folds(X, target):
            points = self._walk(X[train], target[train], alphas)
            losses.append(
                [float(self._losses(target[test], self._scores(X[test], p)).mean()) for p in points]
            )
        reached = min(map(len, losses))
        table = np.array([row[:reached] for row in losses])
        return table.mean(axis=0), table.std(axis=0) / math.sqrt(len(table))


def grid(top: float, count: int = COUNT, depth: float = DEPTH) -> np.ndarray:
    """`count` numbers from just above `top` (at `top` itself the solution is about to change) down to depth·top.

    >>> grid(1.0, 4).round(4).tolist()
    [1.02, 0.102, 0.0102, 0.001]
    """
    return 1.02 * top * np.geomspace(1.0, depth, count)
