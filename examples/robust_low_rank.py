r"""
Background and people of a video
================================

Frames as columns of a matrix: the background has rank one, people are gross errors.
:math:`\min_V \|V - M\|_1` subject to :math:`\operatorname{rank} V \le 1`. The scene
here is synthetic; ``python robust_low_rank.py video.npz`` takes an array ``frames`` of images instead.
"""

from __future__ import annotations

import sys
import time

import matplotlib

matplotlib.use("Agg")
import numpy as np

from ipds import plot
from ipds.models import separate_video


def synthetic() -> np.ndarray:
    """A lit scene with a box that walks through it."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:60, :80]
    scene = 120 + 60 * np.sin(rows / 9) * np.cos(columns / 13)
    frames = scene * rng.uniform(0.95, 1.05, (60, 1, 1))
    for t in range(60):
        frames[t, 20:45, t : t + 12] = 230
    return frames


frames = np.load(sys.argv[1])["frames"] if len(sys.argv) > 1 else synthetic()
# %%
# ``separate_video`` is ``RobustLowRank`` on the flattened frames.
start = time.perf_counter()
background, foreground, model = separate_video(frames, rank=1)
seconds = time.perf_counter() - start
still = np.median(frames, axis=0)
print(f"{frames.shape} in {seconds:.1f} s, {model.n_iter_} iterations: {model.result_.message}")
print(
    f"mean distance of the background from the median over time: {np.abs(background - still).mean():.2f} of 255"
)
# %%
# Three moments.
figure = plot.separation(frames, background, foreground)
figure.savefig("robust_low_rank.png", dpi=90, bbox_inches="tight")
print("figure: robust_low_rank.png")
