"""Data of a file as a model takes them, refused with advice where it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .models import Model

if TYPE_CHECKING:
    from ..io import Data


CLASSES = 20
"""Different numbers up to which a target may be one of classes."""


def prepare(model: Model, estimator: Any, file: Path, data: Data) -> tuple[Any, Any, tuple[int, ...] | None]:
    """(X, y, shape of the frames where X is a video), checked for what the model cannot use."""
    import numpy as np
    import scipy.sparse as sp

    from ..io.limits import check_size

    X, y, frames = data.X, data.y, None
    if X.ndim == 3 and model.missing:
        frames = X.shape
        X = X.reshape(len(X), -1)
    single = X.ndim == 1 or X.shape[1] == 1
    if model.estimator in ("FusedLasso", "TrendFilter") and y is None and single:
        y = (X.toarray() if sp.issparse(X) else np.asarray(X)).ravel()  # a signal: denoised as it is
        if model.estimator == "FusedLasso":
            X = sp.eye_array(len(y), format="csr")
            estimator.set_params(fit_intercept=False)
        else:
            X = np.arange(float(len(y)))[:, None]
    if X.ndim != 2:
        raise ValueError(
            f"{file}: a matrix of samples and features is wanted, got shape {tuple(X.shape)}; rows are samples"
        )
    if np.iscomplexobj(X) and not model.complex:
        raise ValueError(
            f"{file}: complex numbers; put real and imaginary parts side by side, as real columns"
        )
    if model.target is not None and y is None:
        names = ", ".join(data.names[:12]) + (", ..." if len(data.names) > 12 else "")
        there = f"columns: {names}" if data.names else f"columns are 0 to {X.shape[1] - 1}"
        raise ValueError(
            f"{file}: a target is wanted, {model.target}; pass --target COLUMN or FILE ({there})"
        )
    if y is not None:
        _check_target(file, y, X.shape[0], of_classes=getattr(estimator, "loss", None) == "logistic")
    if model.estimator == "TrendFilter" and X.shape[1] != 1:
        raise ValueError(
            f"{file}: one column of positions is wanted beside the signal, and there are {X.shape[1]}; --drop leaves "
            "columns out"
        )
    if sp.issparse(X) and (not model.sparse or 3 * X.nnz > X.shape[0] * X.shape[1]):  # not worth being sparse
        check_size(X.shape[0] * X.shape[1], 8, f"{file}, made dense")
        X = X.toarray()
    _check_finite(model, file, data.names, X, y)
    return X, y, frames


def _check_target(file: Path, y: Any, samples: int, of_classes: bool) -> None:
    import numpy as np

    from ..io.text import as_written, number

    if len(y) != samples:
        raise ValueError(f"{file}: {samples} samples, but the target has {len(y)} entries")
    numeric = y.dtype.kind in "buif"
    if not (numeric or of_classes):
        text = next((str(cell) for cell in y if number(str(cell)) is None), str(y[0]))
        raise ValueError(
            f"{file}: the target holds text ({text[:30]!r}), and numbers are wanted{as_written(text)}"
        )
    if of_classes and ((kinds := len(np.unique(y))) < 2 or (kinds > CLASSES and numeric)):
        raise ValueError(
            f"{file}: --loss logistic wants a target of classes, and this one has {kinds} values; for numbers "
            "leave --loss out"
        )


def _check_finite(model: Model, file: Path, names: tuple[str, ...], X: Any, y: Any) -> None:
    import numpy as np
    import scipy.sparse as sp

    values = X.data if sp.issparse(X) else X
    with np.errstate(all="ignore"):
        clean = model.missing or bool(np.isfinite(values.sum()))  # a sum needs no memory, unlike a mask
    if not clean and not np.isfinite(values).all():
        where = ""
        if not sp.issparse(X):
            row, column = (int(k) for k in np.argwhere(~np.isfinite(X))[0])
            label = (names and names[column]) or column
            where = f" (first: column {label} of sample {row}, from 0)"
        count = int((~np.isfinite(values)).sum())
        raise ValueError(
            f"{file}: {count} missing or infinite values{where}; --drop-missing leaves these samples out, --impute "
            "puts medians there, --drop leaves the column out (robust-low-rank takes missing values as they are)"
        )
    if y is not None and y.dtype.kind in "fc" and not np.isfinite(y).all():
        k = int(np.flatnonzero(~np.isfinite(y))[0])
        raise ValueError(
            f"{file}: the target is missing or infinite at sample {k}; --drop-missing leaves such samples out"
        )
