"""What Newton steps on a problem would cost, from its shapes and patterns: how `auto` chooses."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import scipy

from ..._arrays import Shape, as_csr, of_arrays, row_counts, rows_of, stacked_rows
from ...functions import LeastSquares, Nonsmooth, Smooth, Stacked
from ...functions.jacobians import Jacobian
from ...problem import Problem
from ...theory.structure import is_interior
from . import terms
from .algebra import is_product
from .barriers import LARGEST
from .gram import PAIRS, Gram
from .matrices import is_sparse, side_by_side
from .slack_columns import MANY, SHARE, counts_of
from .smooth import EXPLICIT, describe
from .sparse import reordered
from .strategies import DENSE, FEW, FLAT, FULL, to_dense

STEPS = 20
"""Newton steps of a solve: 5 to 25 on all problems measured."""
ITERATIONS = 1500
"""First-order iterations to a certificate of 1e-7 on problems that are well conditioned."""
DENSE_RATE, PASS_RATE = 1.5e10, 1e9
"""Operations per second of a factorisation, and of products with a matrix that does not fit into the cache."""
STEP_SECONDS, ITERATION_SECONDS = 4e-4, 1e-4
"""What a step costs beside its arithmetic: some two hundred calls of NumPy, and some ten."""
SMALL = 10_000_000
"""Operations of a dense factorisation below which no pattern is worth a look."""
LOOK = 1e9
"""Operations of a dense factorisation below which no pattern is reordered: it would take longer."""
MEMORY = 2.5e8
"""Entries of the largest matrix that may be made: 2 GB."""
SLANTED = 0.1
"""Pivot of a Hessian in units of its diagonal below which columns nearly depend on each other."""
THIN = 10
"""Entries in a row of sparse matrices whose condition is looked at: those of differences."""
CONDITION = 1e-4
"""Inverse of the condition of such a Hessian below which they do all together, though no pivot tells: differences."""
PRODUCTS = 500
"""Products with K of a Newton step by conjugate gradients."""
PROXES = 120
"""Proxes of a solve by Newton steps: two rounds of sweeps, and the searches."""
SPECTRUM, SPECTRUM_SECONDS = 4e-9, 2e-4
"""Seconds of the spectrum of an m×n matrix per m·n·min(m, n), and of the calls around it."""
PRODUCT_SECONDS = 5e-5
"""Of a product with the Jacobian of a spectral prox, beside its arithmetic: some twenty calls of NumPy."""


class Cost(NamedTuple):
    """Predicted seconds."""

    newton: float
    """To the end by Newton steps; infinite where the memory is not there."""
    iteration: float
    """Of one first-order iteration."""
    is_full: bool = False
    """Whether the Jacobian of some prox is a full matrix: those of functions of singular values or eigenvalues."""

    @property
    def first_order(self) -> float:
        """To the end by first-order iterations, where all goes well."""
        return ITERATIONS * self.iteration


_known: WeakKeyDictionary[Problem, Cost] = WeakKeyDictionary()
"""Of the problems that are being solved: asked for when methods are chosen, and again when one hands over."""


def predicted(problem: Problem) -> Cost:
    """The cost of a canonical convex problem."""
    if problem not in _known:
        _known[problem] = _predicted(problem)
    return _known[problem]


def _predicted(problem: Problem) -> Cost:
    n, unknown, constant = 0, False, False
    maps: list[tuple[Any, int]] = []
    operators: list[tuple[Any, int]] = []
    for block, op in zip(problem.blocks[:-1], problem.operators, strict=False):
        rows, full, further = _rows_of(block.f, block.shape)
        matrix = op.as_matrix(block.shape)
        large = math.prod(block.shape) > EXPLICIT
        unknown, constant = unknown or further or (matrix is None and large), constant or full
        operators += [(matrix, n)] if matrix is not None else []
        maps += [(A, n) for A in rows]
        n += math.prod(block.shape)
    maps += _together([A for A, _ in operators], n) if len(operators) > 1 else operators
    entries = sum(A.nnz if scipy.sparse.issparse(A) else A.size for A, _ in maps) + constant * n * n
    spectral = [shape for block in problem.blocks for shape in _full_jacobians(block.h, block.shape)]
    if spectral and is_conic(problem) and not is_round(problem):
        spectral = []
    spectra = sum(SPECTRUM * math.prod(shape) * min(shape) + SPECTRUM_SECONDS for shape in spectral)
    iteration = 4 * max(entries, n) / PASS_RATE + ITERATION_SECONDS + spectra
    if spectral:
        step = _spectral_step(n, spectral, entries)
        return Cost(STEPS * (step + STEP_SECONDS) + PROXES * iteration, iteration, True)
    by_products = Cost(STEPS * (2 * PRODUCTS * iteration + STEP_SECONDS), iteration)
    if unknown:
        return by_products
    rows = sum(A.shape[0] for A, _ in maps)
    if (rows + n) * n * n <= SMALL:
        return Cost(STEPS * ((rows + n) * n * n / DENSE_RATE + STEP_SECONDS), iteration)
    if not constant:
        n, maps = _without_slacks(n, maps)
    sparse, dense = [], 0
    for A, begin in maps:
        if scipy.sparse.issparse(A):
            is_thin = row_counts(A) <= FULL * A.shape[1]
            dense += int(np.count_nonzero(~is_thin))
            sparse.append((A if is_thin.all() else A[is_thin], begin))
        else:
            dense += A.shape[0]
    if dense or constant:
        few, many = math.inf if constant else dense**2 * n + dense**3 / 3, dense * n**2 + n**3 / 3
        work, held = min((few, float(max(dense**2, dense * n))), (many, float(max(n**2, dense * n))))
    else:
        work, held = _sparse_work(n, sparse)
        if math.isinf(work):
            return by_products
    seconds = STEPS * (work / DENSE_RATE + 10 * entries / PASS_RATE + STEP_SECONDS)
    return Cost(math.inf if held > MEMORY else seconds, iteration)


def _together(matrices: list[Any], n: int) -> list[tuple[Any, int]]:
    """Matrices of the same rows as one, of n columns: of an array the shape is all that counts."""
    shape = matrices[0].shape[0], n
    return [(side_by_side(matrices) if is_sparse(matrices) else np.broadcast_to(1.0, shape), 0)]


def _without_slacks(n: int, maps: list[tuple[Any, int]]) -> tuple[int, list[tuple[Any, int]]]:
    """Without the columns that have one entry in all rows, where these are many: they only soften their rows."""
    counts = np.zeros(n, int)
    for A, begin in maps:
        counts[begin : begin + A.shape[1]] += counts_of(A)
    kept = counts > 1
    if n < MANY or not 0 < np.count_nonzero(kept) <= (1 - SHARE) * n:
        return n, maps
    before = np.concatenate([[0], np.cumsum(kept)])
    left = [(A[:, kept[begin : begin + A.shape[1]]], int(before[begin])) for A, begin in maps]
    return int(before[-1]), left


def is_conic(problem: Problem) -> bool:
    """Whether interior-point steps take every h of a small problem, those with cones and barriers among them."""
    size = sum(math.prod(block.shape) for block in problem.blocks)
    return size <= LARGEST and all(is_interior(block.h, block.shape) for block in problem.blocks)


def is_round(problem: Problem) -> bool:
    """Whether a quadratic f bends about as much in all directions: first-order steps are fast then."""
    return all(
        block.f is not None
        and block.f.is_quadratic
        and any(describe(block.f, block.shape))
        and _smallest_pivot(block.f, block.shape) >= SLANTED
        for block in problem.blocks[:-1]
    )


def is_slanted(problem: Problem) -> bool:
    """Whether columns of a small f nearly depend on each other: first-order steps are slow then.

    By the pivots of ∇²f with a diagonal of ones, rows of f as if they were all curved alike.
    """
    return any(_smallest_pivot(block.f, block.shape) < SLANTED for block in problem.blocks[:-1])


def _smallest_pivot(f: Smooth | None, shape: Shape) -> float:
    n = math.prod(shape)
    tall = getattr(getattr(f, "G", None), "matrix", np.empty((0, n)))
    if f is None or n * n * (n / 3 + tall.shape[0]) > SMALL:
        return 1.0
    constant, bends, unknown = describe(f, shape)
    parts = [*constant, *(bend.R for bend in bends)]
    if unknown or not parts or any(is_product(A) or A.shape[0] < n or _is_many(A) for A in parts):
        return 1.0
    whole = [np.diag(Q) if Q.ndim == 1 else to_dense(Q) for Q in constant]
    K = reduce(np.add, [*whole, *(to_dense(bend.R.T @ bend.R) for bend in bends)])
    unit = 1 / np.sqrt(np.maximum(K.diagonal(), 1e-300))
    K = unit[:, None] * K * unit
    factor, info = scipy.linalg.lapack.dpotrf(K)
    least = 0.0 if info else float(factor.diagonal().min())
    if least < SLANTED:
        return least
    return least if scipy.linalg.lapack.dpocon(factor, np.abs(K).sum(axis=0).max())[0] >= CONDITION else 0.0


def _is_many(A: Any) -> bool:
    """Whether a sparse matrix has more than `THIN` entries in a row: products with itself take long."""
    return scipy.sparse.issparse(A) and A.nnz > THIN * A.shape[0]


def _full_jacobians(h: Nonsmooth, shape: Shape) -> list[Shape]:
    """The shapes of the parts of h whose prox has a Jacobian that is neither sparse nor of low rank."""
    if isinstance(h, Stacked):
        return [found for part, own in h.parts for found in _full_jacobians(part, own)]
    if len(shape) != 2 or h.kinks(shape) is not None or h.groups(shape) is not None:
        return []
    J = h.prox_jacobian(np.zeros(shape), 1.0)
    if not hasattr(J, "apply") or (isinstance(J, Jacobian) and J.low_rank() is not None):
        return []
    return [shape] if J.as_matrix(shape) is None else []


def _spectral_step(n: int, full: list[Shape], entries: int) -> float:
    """Seconds of a Newton step with full Jacobians: written out where they are small, as `terms.Piece.rest` does."""
    product = sum(8 * math.prod(s) * min(s) / DENSE_RATE + PRODUCT_SECONDS for s in full)
    sizes = [math.prod(shape) for shape in full]
    if n > DENSE or max(sizes) > terms.EXPLICIT:
        return PRODUCTS * (product + 4 * max(entries, n) / PASS_RATE)
    return max(sizes) * product + sum(2 * size * n * (size + n) for size in sizes) / DENSE_RATE


def _sparse_work(n: int, maps: list[tuple[Any, int]]) -> tuple[float, float]:
    """Operations of a sparse factorisation of MᵀM, or of MMᵀ where M is flat, and its entries; infinite where it is
    full and too large.

    A band of width w takes n·w². Its levels separate what is left of them from what is right: the work of SuperLU is
    200·w·n + 0.3·w³ within a factor of three in planes (w = √n), in space (w = n^⅔) and without any order (w ~ n).
    """
    if not maps:
        return float(n), float(n)
    rows = [(as_csr(A), begin) for A, begin in maps]
    lengths = [row_counts(A) for A, _ in rows]
    counts = np.concatenate([own[own > 1] for own in lengths])  # rows with one entry only touch the diagonal
    pairs, columns, is_flat = Gram.pairs(counts), n, False
    if len(counts) < FLAT * n:
        meetings = np.zeros(n, int)
        for (A, begin), own in zip(rows, lengths, strict=True):
            meetings += np.bincount(A.indices[np.repeat(own > 1, own)] + begin, minlength=n)
        across = Gram.pairs(meetings)
        is_flat = across < pairs
        n, pairs = (len(counts), across) if is_flat else (n, pairs)
    full = (n**3 / 3, float(n * n)) if n <= DENSE else (math.inf, math.inf)
    if n**3 / 3 < LOOK or pairs > PAIRS:
        return full if pairs > FEW * n * n else _without_pattern(n, pairs)
    wide = [
        of_arrays("csr_array", (A.shape[0], columns), A.data, A.indices + begin, A.indptr)
        for A, begin in rows
    ]
    M = stacked_rows(wide)
    M = rows_of(M, np.flatnonzero(row_counts(M) > 1))
    M = M.T.tocsr() if is_flat else M
    if Gram.fills(M, FEW):
        return full
    width = reordered(M)[1]
    work = min(float(n) * width**2, 200.0 * width * n + 0.3 * width**3)
    return work + 100 * (pairs + n), min(float(n) * (width + 1), max(10 * n * math.log2(n + 2), width**2))


def _without_pattern(n: int, pairs: int) -> tuple[float, float]:
    """The same from numbers alone, for an MᵀM of so many products."""
    return min(n**3 / 3, 50 * n**1.5) + 100 * (pairs + n), 10 * n * math.log2(n + 2) + pairs


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
