"""Sparse components from the features that matter: a working set, grown until no other feature wants a loading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..functions import Stiefel
from ._moments import Data

if TYPE_CHECKING:
    from .sparse_pca import SparsePCA

WIDE, FEW, ROUNDS = 500, 0.5, 5
"""Features beyond which a working set is tried, the largest share of them that is worth it, and times it may grow."""


class Guess(NamedTuple):
    """Where a solve of min f(Y) + ι(YᵀY = I) + α‖V‖₁ over -Y + V = 0 begins."""

    Y: np.ndarray
    V: np.ndarray
    z: Any = None


def on_few_features(model: SparsePCA, X: Data, guess: Guess, **options: Any) -> Guess | None:
    """A solution of the problem of few features, as a guess for all; None where many matter.

    A feature with loading 0 has a slope |∂f/∂Y_ij| = |C Y|_ij/m of at most α in every critical point. So those that are
    steeper at the guess are taken, their problem is solved, and those that are steeper at its solution are added,
    until there are none. z of the others is their slope: nothing is left of their stationarity.
    """
    d, r = guess.Y.shape
    few = np.zeros(d, dtype=bool)
    found = None
    for _ in range(ROUNDS if d > WIDE else 0):
        slopes = np.asarray(X.apply(guess.Y)) / -X.samples
        if found is not None:
            slopes[few] = found.z
            guess = guess._replace(z=slopes)
        new = ~few & (np.abs(slopes).max(axis=1) >= model.alpha_)
        if found is not None and not new.any():
            break
        few |= new
        part = X.features(np.flatnonzero(few)) if r <= few.sum() <= FEW * d else None
        if part is None:
            break
        near = Stiefel().project(guess.Y[few])
        x0 = [near, near if found is None and guess.z is None else guess.V[few]]
        z0 = None if guess.z is None else guess.z[few]
        found = model._solve(model._problem(part, r, near), x0, z0, **options)
        Y, V = np.zeros((2, d, r))
        Y[few], V[few] = (np.asarray(block) for block in found.x)
        guess = Guess(Y, V, guess.z)
    return guess if found is not None else None
