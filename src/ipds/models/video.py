"""Videos as background and foreground."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .robust_low_rank import RobustLowRank


class Separation(NamedTuple):
    """Background and foreground of a video, each of shape (frames, height, width), and the fitted model."""

    background: np.ndarray
    foreground: np.ndarray
    model: RobustLowRank


def separate_video(frames: Any, rank: int = 1, **options: Any) -> Separation:
    """Split a video (frames, height, width) into a background of low rank and what moves in front of it.

    `options` are those of `RobustLowRank`; its default here is tol=1e-3, which is below what the eye sees.

    >>> frames = np.ones((6, 4, 4)); frames[2, 1, 1] = 9
    >>> background, foreground, _ = separate_video(frames)
    >>> float(foreground[2, 1, 1].round(3)), float(background.std().round(3))
    (8.0, 0.0)
    """
    frames = np.asarray(frames)
    if frames.ndim != 3:
        raise ValueError(
            f"separate_video: frames must have shape (frames, height, width), got {frames.shape}"
        )
    model = RobustLowRank(rank, **{"tol": 1e-3, **options}).fit(frames.reshape(len(frames), -1).astype(float))
    return Separation(model.low_rank_.reshape(frames.shape), model.residual_.reshape(frames.shape), model)
