"""What the models share where the data is a Dask array."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np
from sklearn.utils.validation import check_is_fitted


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array; does not import Dask."""
    return array_api_compat.is_dask_array(X)


def features_of(model: Any, X: Any, reset: bool, least: int = 1) -> Any:
    """X with its number of features noted (`reset`) or compared with that of the fit, as scikit-learn does."""
    owner = type(model).__name__
    if X.ndim != 2 or X.shape[0] < 2 or X.shape[1] < least:
        raise ValueError(
            f"{owner}: X must be 2-D with at least 2 rows and {least} columns, got shape {tuple(X.shape)}"
        )
    if reset:
        model.n_features_in_ = int(X.shape[1])
        return X
    check_is_fitted(model)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {owner} is expecting {model.n_features_in_} features as input"
        )
    return X


def require_finite(owner: str, X: Any, advice: str) -> None:
    """One pass over X, which must hold no NaN and no infinity."""
    import dask.array as da

    if not bool(da.isfinite(X).all()):
        raise ValueError(f"{owner}: X contains NaN or infinity; {advice}")


def aligned(owner: str, name: str, y: Any, X: Any) -> Any:
    """y as a Dask array cut like the rows of X."""
    import dask.array as da

    if not is_dask(y):
        y = np.asarray(y, dtype=float)
        if y.shape[:1] != X.shape[:1]:
            raise ValueError(f"{owner}: {name} has shape {y.shape}, but X has {X.shape[0]} rows")
        return da.from_array(y, chunks=(X.chunks[0], *y.shape[1:]))
    if y.chunks[0] != X.chunks[0]:
        raise ValueError(
            f"{owner}: {name} is cut into chunks of {y.chunks[0][:3]}… rows, X into chunks of {X.chunks[0][:3]}…; "
            f"pass {name}.rechunk({{0: X.chunks[0]}})"
        )
    return y
