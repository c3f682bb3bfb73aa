"""Sparse components along rising alphas: paths, and the choice of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..functions.row_covariance import RowCovariance
from . import _moments as moments

if TYPE_CHECKING:
    from .sparse_pca import SparsePCA

SHARE, ALPHAS, TRIAL = 0.9, 10, 1500
"""Of what is chosen: the share of variance to explain, alphas tried, and iterations of trial solves at most."""


class SparsePCAPath(NamedTuple):
    """Fits along `alphas`: components (alphas, components, features); ratios, nonzeros (alphas, components)."""

    alphas: np.ndarray
    components: np.ndarray
    explained_variance_ratio: np.ndarray
    nonzeros: np.ndarray


def walked(model: SparsePCA, X: Any, alphas: Sequence[float]) -> SparsePCAPath:
    """The path of a model; see `SparsePCA.path`."""
    order = np.argsort(alphas)
    walker = clone(model).set_params(warm_start=True)
    found: dict[int, SparsePCA] = {}
    for i in order:
        walker.set_params(alpha=float(alphas[i])).fit(X)
        found[int(i)] = walker
        walker = _continued(walker)
    models = [found[i] for i in range(len(alphas))]
    return SparsePCAPath(
        np.asarray(alphas, dtype=float),
        np.array([m.components_ for m in models]),
        np.array([m.explained_variance_ratio_ for m in models]),
        np.array([np.count_nonzero(m.components_, axis=1) for m in models]),
    )


def chosen_alpha(model: SparsePCA, X: Any, start: np.ndarray) -> float:
    """alpha as given, or the one that the rule asked for prefers."""
    if model.sparsity is not None and isinstance(model.alpha, str):
        return 0.0  # the ℓ1 norm is not used
    if not isinstance(model.alpha, str):
        return model._nonnegative("alpha", model.alpha)
    if model.alpha not in ("auto", "bic", "cv"):
        raise TypeError(f"SparsePCA: alpha must be a number, 'auto', 'bic' or 'cv', got {model.alpha!r}")
    top = moments.largest_covariance(X)
    if not top > 0:  # no two features vary together: single features are the answer
        return 0.0
    alphas = top * np.geomspace(0.01, 1.0, ALPHAS)
    if model.alpha == "cv":
        place = _by_cv(model, X, start, alphas)
    else:
        found = list(_upwards(model, X, start, alphas))
        held, best = np.array([moments.held(X, V) for V in found]), moments.held(X, start)
        if model.alpha == "auto":
            place = max(0, int(np.count_nonzero(np.minimum.accumulate(held) >= SHARE * best)) - 1)
        else:
            m, counts = X.shape[0], np.array([np.count_nonzero(V) for V in found])
            place = int(np.argmin((1 - held) / max(1 - best, 1e-12) + counts * np.log(m) / m))
    model._note(f"alpha = {alphas[place]:.3g} was chosen by the rule {model.alpha!r}")
    return float(alphas[place])


def _upwards(model: SparsePCA, X: Any, start: np.ndarray, alphas: np.ndarray) -> Iterator[np.ndarray]:
    """Loadings for rising alphas, each from those before."""
    trial, x0, z0 = model._aside(), [start, start], None
    for alpha in alphas:
        trial.alpha_ = float(alpha)
        result = model._solve(trial._problem(X, start.shape[1], start), x0, z0, trial=TRIAL, tol=1e-3)
        x0, z0 = list(result.x), result.z
        yield np.asarray(result.x[1])
        if model._out_of_time:
            return


def _by_cv(model: SparsePCA, X: Any, start: np.ndarray, alphas: np.ndarray) -> int:
    if isinstance(X, RowCovariance):
        raise ValueError("SparsePCA: alpha='cv' is not supported with Dask arrays; take 'auto' or a number")
    from sklearn.model_selection import check_cv  # slow to load

    table = [
        [moments.held(X[test], V, moments.mean(X[train])) for V in _upwards(model, X[train], start, alphas)]
        for train, test in check_cv(model.cv).split(np.empty((X.shape[0], 1)))
    ]
    reached = min(map(len, table))
    held = np.array([row[:reached] for row in table])
    mean, error = held.mean(axis=0), held.std(axis=0) / np.sqrt(len(held))
    best = int(np.argmax(mean))
    return int(np.flatnonzero(mean >= mean[best] - error[best])[-1])


def _continued(model: SparsePCA) -> SparsePCA:
    """A copy that starts where `model` ended."""
    following: SparsePCA = clone(model)
    following.result_ = model.result_
    return following
