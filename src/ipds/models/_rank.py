"""The rank of a matrix under gross errors, by the error on entries that are hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .robust_low_rank import RobustLowRank

COLUMNS, HIDDEN, MOST, EXACT, TRIAL = 500, 0.1, 8, 1e-2, 300
"""Of the choice of the rank: columns at most, share of entries hidden, largest rank, the share of the median size that
counts as no error, iterations of a solve at most."""


def chosen_rank(model: RobustLowRank, X: Any, observed: np.ndarray | None) -> int:
    """rank as given, or by the error on entries that are hidden."""
    top = min(X.shape)
    if model.rank != "auto":
        return model._count("rank", model.rank, top, "the shorter side of the matrix")
    if observed is None:
        raise ValueError(
            "RobustLowRank: with Dask arrays rank must be a number; choose it on a sample of the rows"
        )
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(X.shape[1], min(X.shape[1], COLUMNS), replace=False))
    X, observed = X[:, columns], observed[:, columns]
    hidden = observed & (rng.random(X.shape) < HIDDEN)
    seen = observed & ~hidden
    if not (hidden.any() and seen.any(axis=0).all() and seen.any(axis=1).all()):
        return 1  # too few entries to hide any
    trial, errors = model._aside(), [float(np.median(np.abs(X[hidden])))]
    for rank in range(1, min(MOST, top - 1) + 1):
        trial.rank_ = rank
        V = np.asarray(model._solve(trial._problem(X, seen), trial=TRIAL, tol=1e-3).x[0])
        errors.append(float(np.median(np.abs(X - V)[hidden])))
        if errors[-1] > 0.9 * errors[-2] or errors[-1] <= EXACT * errors[0] or model._out_of_time:
            break
    best = max(1, len(errors) - 1 - (errors[-1] > 0.9 * errors[-2]))
    model._note(f"rank {best} was chosen by the error on hidden entries")
    return best
