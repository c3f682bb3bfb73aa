"""Gene expression data used in the literature on sparse PCA."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...io import DataError, read_mat
from .cache import Source, locate

GENES = ("Leukemia", "Arabidopsis", "Lymph")


def gene(name: str, data_dir: str | Path | None = None) -> np.ndarray:
    """The samples of "Leukemia" (72x1255), "Arabidopsis" (118x834) or "Lymph" (148x587): variable X of gene/NAME.mat.

    No public address of these files is known, so they are never downloaded: `DataMissing` where they are not at hand.
    """
    if name not in GENES:
        raise DataError(f"gene data are {list(GENES)}, got {name!r}")
    path = locate(Source((f"gene/{name}.mat", f"{name}.mat")), data_dir)
    X = read_mat(path, "X")
    if not isinstance(X, np.ndarray) or X.ndim != 2 or not np.isfinite(X).all():
        raise DataError(f"{path}: X is not a finite dense matrix")
    return X
