"""Recorded data that are files of their own, and never downloaded: gene expressions, and a surveillance video."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...io import DataError, read_mat, read_npz
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


def escalator(data_dir: str | Path | None = None) -> np.ndarray:
    """The grey frames of the escalator video, 199 x 130 x 160 unsigned bytes: array `frames` of escalator.npz.

    `DataMissing` where the file is not at hand; it is never downloaded. `ipds.models.separate_video` splits it.
    """
    path = locate(Source(("escalator.npz",)), data_dir)
    frames = read_npz(path, "frames")
    if frames.ndim != 3:
        raise DataError(f"{path}: frames have shape {frames.shape}, three axes expected")
    return frames
