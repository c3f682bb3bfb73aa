"""The nearest matrix of rank ≤ s where the rows are distributed: the columns' directions are found on the driver."""

from __future__ import annotations

import numpy as np

from ..distributed import Rows


def truncate_rows(v: Rows, s: int) -> Rows:
    """v Q Qᵀ with Q the s leading right singular vectors of v.

    They come from vᵀv; where that squares too many digits away, from the triangular factor of v, found chunk by chunk
    (Demmel, Grigori, Hoemmen & Langou, *Communication-optimal parallel and sequential QR*, SISC 2012). Of every group
    of chunks one columns×columns matrix travels.
    """
    if s >= min(v.shape):
        return v
    if s == 0:
        return 0.0 * v
    w, q = np.linalg.eigh(np.asarray(v.T @ v))
    if w[-s] < 1e-9 * w[-1]:
        q = np.linalg.svd(np.asarray(v.reduce(triangle, join)))[2][::-1].T
    return v.map(_project, q[:, -s:])


def _project(chunk: np.ndarray, q: np.ndarray) -> np.ndarray:
    return (chunk @ q) @ q.T


def triangle(chunk: np.ndarray) -> np.ndarray:
    """R of the QR factorisation, padded to a square."""
    r, n = np.asarray(np.linalg.qr(chunk, mode="r")), chunk.shape[1]
    return np.concatenate([r, np.zeros((n - r.shape[0], n), dtype=r.dtype)])


def join(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The triangular factor of two chunks from those of each."""
    return np.asarray(np.linalg.qr(np.concatenate([a, b]), mode="r"))
