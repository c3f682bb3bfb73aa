"""Sums and products of matrices in which entries that cancel are 0, and not what rounding leaves of them.

A row of such leftovers says nothing, as that of `(x - x.mean()).sum() == 0`. In units of its own it would be an
equation like any other, and bind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy

FEWEST = 4
"""Units of rounding up to which a sum of few terms is a leftover; one for each where there are more."""


def number_sum(a: float, b: float) -> float:
    """a + b.

    >>> number_sum(0.1 + 0.2, -0.3), number_sum(1.0, 1e-20)
    (0.0, 1.0)
    """
    total = a + b
    return 0.0 if abs(total) <= FEWEST * np.finfo(float).eps * max(abs(a), abs(b)) else total


def matrix_sum(matrices: Sequence[Any]) -> Any:
    """Σ M_k, dense or sparse."""
    total = sum(matrices[1:], start=matrices[0])
    if len(matrices) < 2:
        return total
    bound = sum(map(_largest, matrices))
    return _without_leftovers(total, len(matrices), bound, lambda: sum(abs(M) for M in matrices))


def matrix_product(left: Any, right: Any) -> Any:
    """L R, dense or sparse.

    >>> centring = np.eye(3) - 1 / 3
    >>> np.ones((1, 3)) @ centring @ np.ones(3) == 0, matrix_product(np.ones((1, 3)), centring)
    (array([False]), array([[0., 0., 0.]]))
    """
    product, terms = left @ right, left.shape[1]
    bound = terms * _largest(left) * _largest(right)
    return _without_leftovers(product, terms, bound, lambda: abs(left) @ abs(right))


def _without_leftovers(total: Any, terms: int, bound: float, sizes: Callable[[], Any]) -> Any:
    """`total` without the entries that are rounding beside what was added up: `sizes()`, nowhere above `bound`."""
    is_sparse = scipy.sparse.issparse(total)
    entries = total.data if is_sparse else total
    if entries.dtype.kind != "f":
        return total
    level = max(FEWEST, terms) * float(np.finfo(entries.dtype).eps)
    size = np.abs(entries)
    if not np.any((size <= level * bound) & (size > 0)):
        return total
    if not is_sparse:
        return np.where(size <= level * sizes(), 0.0, total)
    kept = total.multiply(abs(total) > level * sizes()).tocsr()
    kept.eliminate_zeros()
    return kept


def _largest(matrix: Any) -> float:
    entries = matrix.data if scipy.sparse.issparse(matrix) else matrix
    return float(max(entries.max(initial=0), -entries.min(initial=0)))
