"""Sparse components along rising alphas: paths, and the choice of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..functions.covariance import Covariance
from ..functions.row_covariance import RowCovariance
from . import _moments as moments
from ._few_features import Guess, on_few_features

if TYPE_CHECKING:
    from .sparse_pca import SparsePCA

SHARE, ALPHAS, TRIAL, LAST = 0.9, 10, 300, 3000
"""Of what is chosen: the share of variance to explain, alphas tried, and iterations at most of trial solves, and of the
one that shows where the last solve will end."""


class SparsePCAPath(NamedTuple):
    """Fits along `alphas`: components (alphas, components, features); ratios, nonzeros (alphas, components)."""

    alphas: np.ndarray
    components: np.ndarray
    explained_variance_ratio: np.ndarray
    nonzeros: np.ndarray


def path_of(model: SparsePCA, X: Any, alphas: Sequence[float]) -> SparsePCAPath:
    """The path of a model; see `SparsePCA.path`."""
    order = np.argsort(alphas)
    walker = clone(model).set_params(warm_start=True)
    found: dict[int, SparsePCA] = {}
    for i in order:
        walker.set_params(alpha=float(alphas[i])).fit(X)
        found[int(i)] = walker
        walker = _start_from(walker)
    models = [found[i] for i in range(len(alphas))]
    return SparsePCAPath(
        np.asarray(alphas, dtype=float),
        np.array([m.components_ for m in models]),
        np.array([m.explained_variance_ratio_ for m in models]),
        np.array([np.count_nonzero(m.components_, axis=1) for m in models]),
    )


def chosen_alpha(model: SparsePCA, X: moments.Data, start: np.ndarray) -> tuple[float, Guess]:
    """alpha as given, or the one that the rule asked for prefers; and where the solve for it begins."""
    first = Guess(start, start)
    if model.sparsity is not None and isinstance(model.alpha, str):
        return 0.0, first  # the ℓ1 norm is not used
    if not isinstance(model.alpha, str):
        return model._nonnegative("alpha", model.alpha), first
    if model.alpha not in ("auto", "bic", "cv"):
        raise TypeError(f"SparsePCA: alpha must be a number, 'auto', 'bic' or 'cv', got {model.alpha!r}")
    top = moments.largest_covariance(X)
    if not top > 0:  # no two features vary together: single features are the answer
        return 0.0, first
    alphas = top * np.geomspace(0.01, 1.0, ALPHAS)
    if model.alpha == "cv":
        place, guess = _by_cv(model, X, start, alphas), first
    else:
        place, guess = _by_variance(model, X, start, alphas)
    model._note(f"alpha = {alphas[place]:.3g} was chosen by the rule {model.alpha!r}")
    return float(alphas[place]), guess


def _by_variance(
    model: SparsePCA, X: moments.Data, start: np.ndarray, alphas: np.ndarray
) -> tuple[int, Guess]:
    """The place of the alpha that the rules "auto" and "bic" prefer, and its solution."""
    best, held, found = moments.share_of_variance(X, start), [], []
    for guess in _upwards(model, X, start, alphas):
        found.append(guess)
        held.append(moments.share_of_variance(X, guess.V))
        if model.alpha == "auto" and held[-1] < SHARE * best:  # larger ones are no candidates any more
            break
    if model.alpha == "auto":
        place = max(0, len(held) - 1 - (held[-1] < SHARE * best))
        while place > 0:  # a trial may end where the last solve does not: that keeps to the rule, too
            end = _solved(model._aside(), X, start, found[place], alphas[place], trial=LAST, tol=1e-4)
            if moments.share_of_variance(X, end.V) >= SHARE * best or model._out_of_time:
                break
            place -= 1
    else:
        counts = np.array([np.count_nonzero(guess.V) for guess in found])
        costs = counts * np.log(X.samples) / X.samples
        place = int(np.argmin((1 - np.array(held)) / max(1 - best, 1e-12) + costs))
    return place, found[place]


def _upwards(model: SparsePCA, X: moments.Data, start: np.ndarray, alphas: np.ndarray) -> Iterator[Guess]:
    """Solutions for rising alphas, each from the one before."""
    aside, guess = model._aside(), Guess(start, start)
    for alpha in alphas:
        yield (guess := _solved(aside, X, start, guess, alpha, trial=TRIAL, tol=1e-3))
        if model._out_of_time:
            return


def _solved(
    aside: SparsePCA, X: moments.Data, start: np.ndarray, guess: Guess, alpha: float, **options: Any
) -> Guess:
    """The solution for an alpha from a guess."""
    aside.alpha_ = float(alpha)
    found = on_few_features(aside, X, guess, **options)
    if found is not None:
        return found
    result = aside._solve(aside._problem(X, start.shape[1], start), [guess.Y, guess.V], guess.z, **options)
    Y, V = map(np.asarray, result.x)
    return Guess(Y, V, result.z)


def _by_cv(model: SparsePCA, X: moments.Data, start: np.ndarray, alphas: np.ndarray) -> int:
    if isinstance(X, RowCovariance):
        raise ValueError("SparsePCA: alpha='cv' is not supported with Dask arrays; take 'auto' or a number")
    from sklearn.model_selection import check_cv  # slow to load

    table = []
    for train, test in check_cv(model.cv).split(np.empty((X.samples, 1))):
        own = Covariance("SparsePCA", X.D[train], center=True)
        walk = _upwards(model, own, start, alphas)
        table.append([moments.share_of_squares(X.D[test], guess.V, own.mean) for guess in walk])
    reached = min(map(len, table))
    held = np.array([row[:reached] for row in table])
    mean, error = held.mean(axis=0), held.std(axis=0) / np.sqrt(len(held))
    best = int(np.argmax(mean))
    return int(np.flatnonzero(mean >= mean[best] - error[best])[-1])


def _start_from(model: SparsePCA) -> SparsePCA:
    """A copy that starts where `model` ended."""
    following: SparsePCA = clone(model)
    following.result_ = model.result_
    return following
