"""What Newton steps on a problem would cost, from its shapes and patterns: how `auto` chooses."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy

from ...functions import LeastSquares, Smooth
from ...problem import Problem
from .factors import Gram
from .form import FULL
from .smooth import EXPLICIT, describe
from .strategies import BANDWIDTH, PAIRS, reordered

STEPS = 20
"""Newton steps of a solve: 5 to 25 on all problems measured."""
ITERATIONS = 1500
"""First-order iterations to a certificate of 1e-7 on problems that are well conditioned."""
DENSE_RATE, PASS_RATE = 1.5e10, 1e9
"""Operations per second of a factorisation, and of products with a matrix that does not fit into the cache."""
STEP_SECONDS, ITERATION_SECONDS = 6e-4, 1e-4
"""What a step costs beside its arithmetic: some two hundred calls of NumPy, and some ten."""
SMALL = 10_000_000
"""Operations of a dense factorisation below which no pattern is worth a look."""
MEMORY = 2.5e8
"""Entries of the largest matrix that may be made: 2 GB."""


class Cost(NamedTuple):
    """Predicted seconds."""

    newton: float
    """To the end by Newton steps; infinite where the memory is not there."""
    iteration: float
    """Of one first-order iteration."""

    @property
    def first_order(self) -> float:
        """To the end by first-order iterations, where all goes well."""
        return ITERATIONS * self.iteration


def predicted(problem: Problem) -> Cost:
    """The cost of a canonical convex problem."""
    ends = np.cumsum([0, *(math.prod(block.shape) for block in problem.blocks[:-1])])
    n, unknown, constant = int(ends[-1]), False, False
    maps: list[tuple[Any, int]] = []
    for block, op, begin in zip(problem.blocks, problem.operators, ends[:-1], strict=False):
        rows, full, further = _rows_of(block.f, block.shape)
        matrix = op.as_matrix(block.shape)
        large = math.prod(block.shape) > EXPLICIT
        unknown, constant = unknown or further or (matrix is None and large), constant or full
        maps += [(A, int(begin)) for A in (matrix, *rows) if A is not None]
    entries = sum(A.nnz if scipy.sparse.issparse(A) else A.size for A, _ in maps) + constant * n * n
    iteration = 4 * max(entries, n) / PASS_RATE + ITERATION_SECONDS
    if unknown:  # conjugate gradients: some hundred products for each of a few systems in a step
        return Cost(STEPS * (1000 * iteration + STEP_SECONDS), iteration)
    rows = sum(A.shape[0] for A, _ in maps)
    if (rows + n) * n * n <= SMALL:
        return Cost(STEPS * ((rows + n) * n * n / DENSE_RATE + STEP_SECONDS), iteration)
    sparse, dense = [], 0
    for A, begin in maps:
        if scipy.sparse.issparse(A):
            counts = np.diff(scipy.sparse.csr_array(A).indptr)
            dense += int(np.count_nonzero(counts > FULL * A.shape[1]))
            sparse.append((A[counts <= FULL * A.shape[1]], begin))
        else:
            dense += A.shape[0]
    if dense or constant:
        few, many = math.inf if constant else dense**2 * n + dense**3 / 3, dense * n**2 + n**3 / 3
        work, held = min((few, float(max(dense**2, dense * n))), (many, float(max(n**2, dense * n))))
    else:
        work, held = _sparse_work(n, sparse)
    seconds = STEPS * (work / DENSE_RATE + 10 * entries / PASS_RATE + STEP_SECONDS)
    return Cost(math.inf if held > MEMORY else seconds, iteration)


def _sparse_work(n: int, maps: list[tuple[Any, int]]) -> tuple[float, float]:
    """Operations of a sparse factorisation, and its entries.

    Those of a band where it is narrow, else n^1.5 and n log n, as for a plane cut by nested dissection.
    """
    pairs = sum(min(Gram.work(A), Gram.work(A.T)) for A, _ in maps)
    plane, fill = 50 * n**1.5, 10 * n * math.log2(n + 2)
    small = 100.0 * (pairs + n)
    if plane < 1e9 or pairs > PAIRS:
        return plane + small, fill + pairs
    wide = []
    for A, begin in maps:
        coo = scipy.sparse.coo_array(A)
        wide.append(
            scipy.sparse.csr_array((np.abs(coo.data), (coo.row, coo.col + begin)), shape=(A.shape[0], n))
        )
    width = reordered(scipy.sparse.vstack(wide, format="csr"), [])[1] if wide else 0
    return min(plane, float(n) * width**2) + small, fill if width > BANDWIDTH else float(n) * (width + 1)


def _rows_of(f: Smooth | None, shape: tuple[int, ...]) -> tuple[list[Any], bool, bool]:
    """The rows that the Hessian of f is made of; whether a part of it is dense and constant, or known by products."""
    large = math.prod(shape) > EXPLICIT
    if getattr(f, "row_curvature", None) is not None:  # without making GᵀG
        R = f.G.as_matrix(shape)  # type: ignore[union-attr]
        if R is None:
            return [], False, large
        tall = isinstance(f, LeastSquares) and isinstance(R, np.ndarray) and R.shape[0] >= R.shape[1]
        return ([], True, False) if tall else ([R], False, False)
    found, bends, unknown = describe(f, shape)
    full = any(isinstance(Q, np.ndarray) and Q.ndim == 2 for Q in found)
    sparse = [Q for Q in found if scipy.sparse.issparse(Q)]
    return sparse + [bend.R for bend in bends], full, bool(unknown) and large
