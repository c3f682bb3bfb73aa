"""Where the entries of a block lie when its data are far from 0: the mean of what they are compared with.

Σ(x_j - y_j)² with temperatures y in kelvin, prices or coordinates of a map: the sizes |x| and ⟨x, ∇²f x⟩ say where 0
is, and nothing of the problem. They are those of x - c there, with the means c of the columns of y: the same as if the
modeller had centred the data. Data that are not far from 0, or all the same, leave 0 where it is.
"""

from __future__ import annotations

import numpy as np
import scipy

from ..functions import (
    Composed,
    LeastSquares,
    Nonsmooth,
    Precomposed,
    Smooth,
    SmoothSum,
    SumSquares,
    Weighted,
)
from ..operators import Diagonal, Identity, Matrix, Operator
from ..problem import Block

FAR, SAME = 0.1, 1e-7
"""Spread of data around their mean, in parts of their size, below which they are far from 0, or all the same."""


def centre(block: Block, q: object) -> np.ndarray | None:
    """c of a block with arrays like q; None where it is 0."""
    if type(q) is not np.ndarray:
        return None
    data = _data_of_h(block.h)
    data = _data_of_f(block.f) if data is None and block.f is not None else data
    if not isinstance(data, np.ndarray) or data.shape != block.shape or not data.ndim:
        return None
    known = np.isfinite(data)
    if not known.any(axis=0).all():
        return None
    mean = np.mean(data, axis=0, where=known)
    size = float(np.linalg.norm(data[known]))
    spread = float(np.linalg.norm((data - mean)[known]))
    return np.broadcast_to(mean, data.shape) if SAME * size < spread < FAR * size else None


def _data_of_h(h: Nonsmooth) -> np.ndarray | float | None:
    """y of h(x - y), or of squares of it."""
    if isinstance(h, SumSquares):
        return h.target
    if isinstance(h, Precomposed) and isinstance(h.a, float) and not h.is_set:
        return -h.shift / h.a
    return None


def _data_of_f(f: Smooth) -> np.ndarray | float | None:
    """y of the squares of d·(x - y), the first of a sum; no number where d is 0."""
    if isinstance(f, Weighted):
        return _data_of_f(f.f)
    if isinstance(f, SmoothSum):
        return next((y for y in map(_data_of_f, f.terms) if y is not None), None)
    if isinstance(f, LeastSquares):
        d = _diagonal(f.G)
        if isinstance(f.G, Matrix) and d is not None:  # along the first axis
            d = np.reshape(d, (-1, *[1] * (np.ndim(f.y) - 1)))
        with np.errstate(all="ignore"):
            return None if d is None else f.y / d
    if isinstance(f, Composed) and isinstance(f.A, Identity) and f.A.scale:
        inner = _data_of_f(f.f)
        return None if inner is None else (inner - f.shift) / f.A.scale
    return None


def _diagonal(A: Operator) -> np.ndarray | float | None:
    """d of a map x ↦ d·x."""
    if isinstance(A, Identity):
        return A.scale
    if isinstance(A, Diagonal):
        return A.diagonal
    M = A.matrix if isinstance(A, Matrix) else None
    is_sparse = scipy.sparse.issparse(M)
    if M is None or M.shape[0] != M.shape[1] or not (is_sparse or type(M) is np.ndarray):
        return None
    d = M.diagonal()
    count = M.count_nonzero() if is_sparse else np.count_nonzero(M)
    return d if np.count_nonzero(d) == count else None
