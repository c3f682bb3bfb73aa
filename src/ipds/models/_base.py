"""What the estimators share: solving with their settings, warm starts, checks of their arguments."""

from __future__ import annotations

import math
import numbers
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..methods import Method
from ..operators.maps import LARGEST, Matrix
from ..problem import Problem
from ..result import Result, Status
from ..solving.solve import solve


class Estimator(BaseEstimator):
    """A model fitted by solving one `Problem`.

    Every model has the parameters `method` ("auto", a name or an `ipds.methods` object), `tol` (of the relative
    certificate), `max_iter`, `warm_start` (begin at the last solution where its shapes fit) and `random_state`, and
    after fitting `result_` (the `ipds.Result`, certificate included) and `n_iter_`.
    """

    method: str | Method
    tol: float
    max_iter: int
    warm_start: bool
    random_state: Any
    result_: Result
    n_iter_: int
    _watch: Mapping[str, Any] = {}
    """Options of the solve in force within `watching`."""

    @contextmanager
    def watching(
        self, *, progress: bool = False, time_limit: float | None = None, checkpoint: Any = None
    ) -> Iterator[Self]:
        """Within this context `fit` shows progress, keeps to a time limit over all its solves, saves checkpoints.

        These are options of `ipds.solve` that are no part of the model, so no parameters of the estimator. Ctrl-C ends
        the solve, and the best point so far is the fit.

        >>> from ipds.models import RobustLowRank
        >>> with RobustLowRank(rank=1).watching(progress=True, time_limit=60) as model:
        ...     fitted = model.fit(np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 2.0]))
        >>> fitted.result_.success
        True
        """
        end = None if time_limit is None else time.perf_counter() + time_limit
        self._watch = {"progress": progress, "end": end, "checkpoint": checkpoint}
        try:
            yield self
        finally:
            del self._watch

    def _watched(self, main: bool) -> dict[str, Any]:
        """What `watching` asks of a solve; only the main one of a fit is worth a checkpoint."""
        if not self._watch:
            return {}
        end = self._watch["end"]
        return {
            "progress": self._watch["progress"],
            "time_limit": None if end is None else max(0.0, end - time.perf_counter()),
            "checkpoint": self._watch["checkpoint"] if main else None,
        }

    @property
    def _interrupted(self) -> bool:
        """Whether the user has ended the solve: then no further one begins."""
        return self.result_.status is Status.INTERRUPTED

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_")

    def _aside(self: Self) -> Self:
        """A copy that may look at data without the estimator taking note of its features."""
        return copy(self)

    def _solve(
        self,
        problem: Problem,
        x0: Sequence[Any] | None = None,
        *,
        trial: int | None = None,
        warm: bool = True,
    ) -> Result:
        """Solve with the settings of the estimator, keep the result, warn where it is not certified.

        `trial` caps the iterations of a solve that only serves a comparison, and of which nothing is kept; `warm=False`
        insists on x0.
        """
        z0 = None
        last = getattr(self, "result_", None)
        if self.warm_start and warm and trial is None and last is not None and _fits(problem, last):
            x0, z0 = last.x, last.z
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        most = self.max_iter if trial is None else min(trial, self.max_iter)
        watched = self._watched(main=trial is None and warm)
        result = solve(problem, x0, z0, self.method, tol=self.tol, max_iter=most, seed=seed, **watched)
        if trial is not None:
            if result.status is Status.INTERRUPTED:  # a trial has no answer to give to someone who wants out
                raise KeyboardInterrupt
            return result
        if not result.success:
            warnings.warn(
                f"{type(self).__name__}: {result.message} (relative certificate "
                f"{result.certificate.relative:.1e}, tol={self.tol:g}); see result_, raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.result_, self.n_iter_ = result, result.nit
        return result

    def _sharpen(
        self, problem: Problem, most: int, x0: Sequence[Any] | None = None, tol: float = 1e-7
    ) -> None:
        """Solve again to a finer tolerance in `most` iterations; keep what that gives if it is certified."""
        if self._interrupted:
            return
        finer = copy(self)
        finer.tol = min(tol, self.tol)
        result = finer._solve(problem, x0, trial=most)
        if result.success:
            self.result_, self.n_iter_ = result, result.nit

    def _count(self, name: str, value: Any, top: int, what: str) -> int:
        """`value` as an integer in 1..top, or an error that names the argument and the limit."""
        owner = type(self).__name__
        if not isinstance(value, numbers.Integral) or isinstance(value, bool):
            raise TypeError(f"{owner}: {name} must be an integer, got {value!r}")
        if not 1 <= int(value) <= top:
            raise ValueError(f"{owner}: {name} must be between 1 and {top} ({what}), got {value}")
        return int(value)

    def _nonnegative(self, name: str, value: Any) -> float:
        owner = type(self).__name__
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            raise TypeError(f"{owner}: {name} must be a number, got {value!r}")
        if not (math.isfinite(value) and float(value) >= 0):
            raise ValueError(f"{owner}: {name} must be finite and at least 0, got {value}")
        return float(value)

    def _in_range(self, name: str, data: Any, power: int = 2) -> None:
        """Refuse data whose squares, or higher powers, leave the range of floating point."""
        values = data.data if sp.issparse(data) else data
        # fmax and fmin pass over what is missing
        parts = (values.real, values.imag) if np.iscomplexobj(values) else (values,)
        size = max(
            (max(float(np.fmax.reduce(p, None)), -float(np.fmin.reduce(p, None))) for p in parts if p.size),
            default=0.0,
        )
        largest = LARGEST ** (2 / power)
        if size > largest or 0 < size < 1 / largest:
            powers = {2: "squares", 4: "fourth powers"}[power]
            raise ValueError(
                f"{type(self).__name__}: the largest entry of {name} is of size {size:.0e}, and {powers} of it "
                f"{'overflow' if size > 1 else 'vanish'}; multiply {name} by a factor first"
            )

    def _choice(self, name: str, value: Any, choices: Sequence[Any]) -> Any:
        if value not in choices:
            raise ValueError(f"{type(self).__name__}: {name} must be one of {list(choices)}, got {value!r}")
        return value


def _fits(problem: Problem, last: Result) -> bool:
    shapes = [tuple(x.shape) for x in last.x]
    return shapes == [block.shape for block in problem.blocks] and tuple(last.z.shape) == problem.shape


def less_means(X: Any, means: np.ndarray) -> Any:
    """X - 1·meansᵀ; sparse X stays sparse, and a map of rank one is taken away from it."""
    if not means.any():
        return X
    if not sp.issparse(X):
        return X - means
    return Matrix(sp.csr_array(X)) - Matrix(np.ones((X.shape[0], 1))) @ Matrix(means[None])


def column_scales(X: Any, centre: np.ndarray | None = None) -> np.ndarray:
    """Root mean square of each column of X less `centre`; 1 for columns that are constant there."""
    if sp.issparse(X):
        m, d = X.shape
        entries, centre = sp.coo_array(X), np.zeros(d) if centre is None else centre
        column = entries.coords[1]
        stored = np.bincount(column, minlength=d)
        squares = np.bincount(column, (entries.data - centre[column]) ** 2, d)
        squares = (squares + (m - stored) * centre**2) / m
    else:
        squares = np.mean((X if centre is None else X - centre) ** 2, axis=0)
    return unit_scales(squares)


def unit_scales(squares: np.ndarray) -> np.ndarray:
    """Root of each mean square; 1 where that is zero or rounding."""
    scales = np.sqrt(squares)
    return np.where(scales > 1e-12 * max(1e-300, scales.max()), scales, 1.0)
