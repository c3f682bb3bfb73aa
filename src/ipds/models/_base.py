"""What the estimators share: solving with their settings, warm starts, checks of their arguments."""

from __future__ import annotations

import math
import numbers
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import require_unmasked
from ..operators.maps import LARGEST
from ..problem import Problem
from ..result import Result, Status
from ..solving.solve import solve
from ._dask import is_dask
from ._scaling import APART, column_means, column_scales, unit_ratio
from ._summary import Summary

ADVICE = {
    Status.MAX_ITER: "raise max_iter (now {max_iter}) or tol",
    Status.TIME_LIMIT: "raise time_limit (now {time_limit} s)",
    Status.STALLED: "raise tol, or standardize the features",
    Status.STALLED_FEASIBLE: "raise tol, or standardize the features",
    Status.PENALTY_CEILING: "standardize the features",
    Status.INTERRUPTED: "fit again to go on, with warm_start=True from where it stopped",
    Status.DIVERGED: "standardize the features, or try another method",
}
"""What to do about a solve that ended so."""


S = TypeVar("S", bound="Estimator")
P = ParamSpec("P")


def fitting(fit: Callable[Concatenate[S, P], S]) -> Callable[Concatenate[S, P], S]:
    """A fit: the clock of `time_limit` starts, notes are empty, and the summary is printed where `verbose`.

    Refuses what scikit-learn would let pass: masked arrays, and limits below 0.
    """

    @wraps(fit)
    def run(self: S, *args: P.args, **kwargs: P.kwargs) -> S:
        given: list[Any] = [*args, *kwargs.values(), None]
        for data in given:
            require_unmasked(f"{type(self).__name__}: the data", data)
        self._nonnegative("tol", self.tol)
        seconds = None if self.time_limit is None else self._nonnegative("time_limit", self.time_limit)
        self.notes_ = ()
        self._end = None if seconds is None else time.perf_counter() + seconds
        try:
            fit(self, *args, **kwargs)
        finally:
            del self._end
        self._seen = given[0], given[1]
        if self.verbose:
            print(self.summary)
        return self

    return run


@dataclass(eq=False, repr=False)
class Estimator(BaseEstimator):
    """A model fitted by solving one `Problem`.

    Every model has these parameters of its solve

    - method : "auto", a name or an `ipds.methods` object; tol : of the relative certificate; max_iter : iterations;
    - time_limit : seconds at most of a fit, all its solves together (None: no limit);
    - warm_start : begin at the last solution where its shapes fit; random_state : of starts and folds;
    - verbose : print `summary` after a fit; progress : live figures in a terminal or notebook;
    - checkpoint : a file where the main solve of a fit saves itself as it goes and is resumed from;

    and after fitting `result_` (the `ipds.Result`, certificate included), `n_iter_`, `notes_` (what was done to the
    data and what to look at, in sentences), `quality_` (figures by name) and `summary`, which puts these together.
    Models of features have `standardize`: whether columns are brought to one size first, coefficients and components
    being given back in the units of X; "auto" does where the units of the features differ by more than a factor 10 (in
    decompositions: where one is 10 times larger than the median), but not for Dask arrays.
    """

    _: KW_ONLY
    method: Any = "auto"
    tol: float = 1e-6
    max_iter: int = 10_000
    time_limit: float | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: bool | int = False
    progress: bool = False
    checkpoint: Any = None

    accepts_sparse: ClassVar[bool] = False
    """Whether X may be a SciPy sparse matrix."""
    standardize: Any = field(init=False)
    result_: Result = field(init=False)
    n_iter_: int = field(init=False)
    notes_: tuple[str, ...] = field(init=False)
    quality_: Mapping[str, float] = field(init=False)
    _end: float | None = field(init=False, default=None)
    """The moment when `time_limit` is over, during a fit."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.accepts_sparse
        return tags

    @contextmanager
    def watching(
        self, *, progress: bool = False, time_limit: float | None = None, checkpoint: Any = None
    ) -> Iterator[Self]:
        """Within this context the parameters `progress`, `time_limit` and `checkpoint` are these.

        Ctrl-C ends the solve, and the best point so far is the fit.

        >>> from ipds.models import RobustLowRank
        >>> with RobustLowRank(rank=1).watching(progress=True, time_limit=60) as model:
        ...     fitted = model.fit(np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 2.0]))
        >>> fitted.result_.success
        True
        """
        before = self.progress, self.time_limit, self.checkpoint
        self.progress, self.time_limit, self.checkpoint = progress, time_limit, checkpoint
        try:
            yield self
        finally:
            self.progress, self.time_limit, self.checkpoint = before

    @property
    def summary(self) -> Summary:
        """The fit in brief: what was chosen, how good it is, the largest coefficients by name, notes, the verdict."""
        check_is_fitted(self)
        certificate = self.result_.certificate.relative
        solved = "certified" if self.result_.success else f"NOT certified ({self.result_.message})"
        chosen = {name: getattr(self, f"{name}_", None) for name in self.get_params(deep=False)}
        return Summary(
            type(self).__name__,
            {name: _plain(value) for name, value in chosen.items() if value is not None},
            dict(self.quality_),
            self._terms(),
            self.notes_,
            f"{solved}: relative certificate {certificate:.1e}, tol {self.tol:g}",
        )

    def plot(self, X: Any = None, y: Any = None, *, labels: Any = None, features: Any = None) -> Any:
        """A picture of the fit, a Matplotlib figure: the data, what was found in it, and the certificate.

        X, y : the data; by default those of the last fit, as long as the model has not been pickled or saved.
        labels : a class for each sample, which colours the samples of decompositions.
        features : names of the features, by default those of the data frame that was fitted.
        """
        check_is_fitted(self)
        if X is None and y is None:
            X, y = getattr(self, "_seen", (None, None))
        if X is None and y is None:
            raise ValueError(f"{type(self).__name__}.plot: the data is not kept in files; pass X and y")
        from ._pictures import picture

        names = getattr(self, "feature_names_in_", None) if features is None else features
        with warnings.catch_warnings():  # a picture asks at points of its own, which have no names
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return picture(self, X, y, labels, None if names is None else [str(name) for name in names])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_seen"}

    def _terms(self) -> dict[str, dict[str, float]]:
        """Nonzero coefficients or loadings by row and name of the feature."""
        return {}

    def _named(self, values: np.ndarray) -> dict[str, float]:
        """The nonzero entries of one value per feature, by name."""
        names = getattr(self, "feature_names_in_", None)
        return {f"x{j}" if names is None else str(names[j]): float(values[j]) for j in np.flatnonzero(values)}

    def _note(self, text: str) -> None:
        """Add a sentence to the summary."""
        self.notes_ = (*getattr(self, "notes_", ()), text)

    def _warn(self, text: str, category: type[Warning] = ConvergenceWarning) -> None:
        """A warning that is also in the summary."""
        self._note(text)
        warnings.warn(f"{type(self).__name__}: {text}", category, stacklevel=4)

    def _scales(self, X: Any, centred: bool = True, quiet: bool = False) -> np.ndarray:
        """What the columns of X are divided by: their root mean squares (about the means if `centred`), or ones.

        quiet : see `unit_ratio`.
        """
        self._choice("standardize", self.standardize, ("auto", True, False))
        on = self.standardize
        if on == "auto":
            ratio = 1.0 if is_dask(X) else unit_ratio(X, quiet)
            on = ratio > APART
            if on:
                self._note(
                    f"standardised, because the units of the features differ by a factor of {ratio:.0f}; "
                    "standardize=False takes them as they are"
                )
        self.standardize_ = bool(on)
        if not on:
            return np.ones(X.shape[1])
        if is_dask(X):
            raise ValueError(
                f"{type(self).__name__}: standardize=True is not supported with Dask arrays; pass X / X.std(axis=0)"
            )
        return column_scales(X, column_means(X) if centred else None)

    def _watched(self, main: bool) -> dict[str, Any]:
        """Progress, the time that is left, and the checkpoint, which only the main solve of a fit is worth."""
        return {
            "progress": self.progress,
            "time_limit": None if self._end is None else max(0.0, self._end - time.perf_counter()),
            "checkpoint": self.checkpoint if main else None,
        }

    @property
    def _out_of_time(self) -> bool:
        """Whether `time_limit` is over."""
        return self._end is not None and time.perf_counter() >= self._end

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
        z0: Any = None,
        *,
        trial: int | None = None,
        warm: bool = True,
        tol: float = 0.0,
    ) -> Result:
        """Solve with the settings of the estimator, keep the result, warn where it is not certified.

        `trial` caps the iterations of a solve that only serves a comparison, and of which nothing is kept; `warm=False`
        insists on x0; `tol` is the tolerance at least.
        """
        if warm and trial is None and self._warm(problem):
            x0, z0 = self.result_.x, self.result_.z
        # a file is resumed with its own seed
        fixed = self.random_state is None and self.checkpoint is not None
        seed = int(check_random_state(0 if fixed else self.random_state).randint(np.iinfo(np.int32).max))
        most = self.max_iter if trial is None else min(trial, self.max_iter)
        if trial is not None and self.checkpoint is not None:
            most = trial  # a solve that is resumed with a larger max_iter must choose alike
        watched = self._watched(main=trial is None and warm)
        result = solve(
            problem, x0, z0, self.method, tol=max(tol, self.tol), max_iter=most, seed=seed, **watched
        )
        if trial is not None:
            if result.status is Status.INTERRUPTED:  # a trial has no answer to give to someone who wants out
                raise KeyboardInterrupt
            return result
        if not result.success:
            advice = ADVICE.get(result.status, "raise max_iter or tol").format(**vars(self))
            warnings.warn(
                f"{type(self).__name__}: {result.message} (relative certificate "
                f"{result.certificate.relative:.1e}, tol={self.tol:g}); see result_, {advice}",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.result_, self.n_iter_ = result, result.nit
        return result

    def _warm(self, problem: Problem) -> bool:
        """Whether the solve begins at the last solution."""
        last = getattr(self, "result_", None)
        return self.warm_start and last is not None and _fits(problem, last)

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


class Decomposition(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A model of the features by few components, the rows of `components_`."""

    components_: np.ndarray

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])


class Linear(Estimator):
    """A linear model X w + t of the features."""

    coef_: np.ndarray
    """w; of several classes a row each."""
    intercept_: Any
    classes_: np.ndarray

    def _validated_pair(self, X: Any, y: Any, numeric: bool = True) -> tuple[Any, np.ndarray]:
        """Samples (dense or sparse) and targets: numbers, unless not `numeric`."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=float, y_numeric=numeric, ensure_min_samples=2
        )
        self._in_range("X", X)
        if numeric:
            self._in_range("y", y)
        return X, y

    def _linear(self, X: Any) -> np.ndarray:
        """X w + t."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=float)
        return np.asarray(X @ self.coef_.T) + self.intercept_

    def _terms(self) -> dict[str, dict[str, float]]:
        if self.coef_.ndim == 1:
            return {"coefficients": {**self._named(self.coef_), "(intercept)": self.intercept_}}
        return {f"class {c}": self._named(row) for c, row in zip(self.classes_, self.coef_, strict=True)}


def _fits(problem: Problem, last: Result) -> bool:
    shapes = [tuple(x.shape) for x in last.x]
    return shapes == [block.shape for block in problem.blocks] and tuple(last.z.shape) == problem.shape


def _plain(value: Any) -> Any:
    """A NumPy number as Python's."""
    return value.item() if isinstance(value, np.generic) else value
