"""The escalator: a surveillance video for robust low-rank approximation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...io import DataError, read_npz
from .cache import Source, locate


def escalator(data_dir: str | Path | None = None) -> np.ndarray:
    """The grey frames of the escalator video, 199 x 130 x 160 unsigned bytes: array `frames` of escalator.npz.

    `DataMissing` where the file is not at hand; it is never downloaded. `ipds.models.separate_video` splits it.
    """
    path = locate(Source(("escalator.npz",)), data_dir)
    frames = read_npz(path, "frames")
    if frames.ndim != 3:
        raise DataError(f"{path}: frames have shape {frames.shape}, three axes expected")
    return frames
