"""f in the units of the method: f(C v) over all blocks, its gradient, and its Hessian as Q + RᵀDR + rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy

from ..._arrays import (
    Array,
    Shape,
    as_csr,
    asarray,
    by_rows,
    column_squares,
    of_arrays,
    row_counts,
    scaled_matrix,
    stacked_rows,
    to_numpy,
    zeros,
)
from ...functions import Composed, LeastSquares, Linear, Quadratic, Smooth, SmoothSum, Weighted
from ...functions.hessians import of_entries, step_size
from ...operators import Identity
from .algebra import is_product
from .inside import Inside, by_gradients, differences

EXPLICIT = 400
"""Maps known by their products are written out as matrices up to this size: one product for each column."""
COLUMNS = 4000
"""Columns up to which they are written out as sparse matrices: conjugate gradients would take more products."""
THIN, LOOKS = 0.1, 8
"""Share of entries other than 0 up to which a map counts as sparse, and columns that are looked at first."""


class Bend(NamedTuple):
    """A part RᵀD(x)R of a Hessian, on the flattened block."""

    R: Any
    weights: Callable[[Array], np.ndarray] | None
    """D(x), None for the identity."""


@dataclass(frozen=True, eq=False)
class Part:
    """One block's f, and its Hessian Σ Q + Σ RᵀD(x)R + Σ ∇²g(x), in the block's own units."""

    f: Smooth | None
    place: slice
    shape: Shape
    like: Array
    constant: tuple[Any, ...] = ()
    """The Q: diagonals and matrices."""
    bends: tuple[Bend, ...] = ()
    unknown: tuple[Smooth, ...] = ()
    """The g, of which no more is known than `hessian` or products say."""

    def block(self, v: np.ndarray) -> Array:
        """The block as its function takes it."""
        x = v[self.place].reshape(self.shape)
        return x if type(self.like) is np.ndarray else asarray(x, self.like)


def written_out(operator: Any, shape: Shape, like: Array) -> Any:
    """A map known by its products as a matrix on the flattened block, None where that is too many products.

    An array up to `EXPLICIT` columns, a sparse matrix beyond, where columns have few entries.
    """
    size = math.prod(shape)

    def column(k: int) -> np.ndarray:
        unit = np.zeros(size)
        unit[k] = 1.0
        return to_numpy(operator.apply(asarray(unit.reshape(shape), like))).ravel()

    if size <= EXPLICIT:
        return np.stack([column(k) for k in range(size)], axis=1)
    if size > COLUMNS or any(np.mean(column(k) != 0) > THIN for k in range(0, size, -(-size // LOOKS))):
        return None
    found = [scipy.sparse.csr_array(column(k)[None]) for k in range(size)]
    return scipy.sparse.vstack(found, format="csr").T.tocsr()


def describe(f: Any, shape: Shape, like: Array | None = None) -> tuple[list[Any], list[Bend], list[Smooth]]:
    """(constant, bends, unknown) of the Hessian of f, as in `Part`.

    With a block's array `like`, Hessians and rows of small blocks that are known by their products are written out.
    """
    found = _described(f, shape, like)
    if like is None or not found[2] or not getattr(f, "is_quadratic", False) or math.prod(shape) > EXPLICIT:
        return found
    return [_hessian_at(f, shape, like, zeros(shape, like))], [], []


def _described(f: Any, shape: Shape, like: Array | None) -> tuple[list[Any], list[Bend], list[Smooth]]:
    if f is None or isinstance(f, Linear):
        return [], [], []
    if isinstance(f, SmoothSum):
        found = [describe(term, shape, like) for term in f.terms]
        return tuple([item for part in parts for item in part] for parts in zip(*found, strict=True))  # type: ignore[return-value]
    if isinstance(f, Quadratic):
        if isinstance(f.Q, Identity):
            return [np.full(math.prod(shape), f.Q.scale)], [], []
        Q = f.Q.as_matrix(shape)
        return ([], [], [f]) if Q is None else ([_diagonal_or(Q)], [], [])
    if isinstance(f, Composed):
        return _composed(f, shape)
    if isinstance(f, Weighted):
        constant, bends, unknown = describe(f.f, shape, like)
        root = math.sqrt(max(f.weight, 0.0))
        return (
            [f.weight * Q for Q in constant],
            [Bend(root * bend.R, bend.weights) for bend in bends],
            [Weighted(g, f.weight) for g in unknown],
        )
    if hasattr(f, "row_curvature"):
        R: Any = f.G.as_matrix(shape)
        if R is None and like is not None:
            R = written_out(f.G, shape, like)
        if R is None:
            return [], [], [f]
        is_sparse = scipy.sparse.issparse(R)
        R = as_csr(R).astype(float, copy=False) if is_sparse else np.asarray(R, float)
        if isinstance(f, LeastSquares):
            if is_sparse and _one_per_row(R):  # GᵀG is diagonal
                return [column_squares(R)], [], []
            if not is_sparse and R.shape[0] >= R.shape[1]:  # fewer numbers in GᵀG than in G
                return [R.T @ R], [], []
            return [], [Bend(R, None)], []
        return [], [Bend(R, lambda x: to_numpy(f.row_curvature(f.G.apply(x))).ravel())], []
    return [], [], [f]


def _composed(f: Composed, shape: Shape) -> tuple[list[Any], list[Bend], list[Smooth]]:
    """The Hessian of g(A x + shift): that of g between Aᵀ and A."""
    A = f.A.as_matrix(shape)
    constant, bends, unknown = describe(f.f, f.A.output_shape(shape))
    if A is None or unknown:
        return [], [], [f]
    A = A if scipy.sparse.issparse(A) else np.asarray(A, float)
    whole = [A.T @ (Q @ A) for Q in constant if Q.ndim == 2]
    rows = [
        Bend(scipy.sparse.diags_array(np.sqrt(np.maximum(Q, 0))) @ A, None) for Q in constant if Q.ndim == 1
    ]

    def inside(weights: Callable[[Array], np.ndarray]) -> Callable[[Array], np.ndarray]:
        return lambda x: weights(f.inner(x))

    rows += [Bend(b.R @ A, None if b.weights is None else inside(b.weights)) for b in bends]
    return whole, rows, []


def _diagonal_or(Q: Any) -> Any:
    if Q is None:
        return None
    if scipy.sparse.issparse(Q):
        coo = Q.tocoo()
        is_diagonal = not np.any(coo.data[coo.row != coo.col])
        return np.asarray(Q.diagonal(), float) if is_diagonal else scipy.sparse.csr_array(Q, dtype=float)
    return np.asarray(Q, float)


def _one_per_row(R: Any) -> bool:
    return bool((row_counts(R) <= 1).all())


class SmoothPart:
    """Σ f_j(C v_j) of a flat v."""

    def __init__(self, parts: Sequence[Part], scale: np.ndarray):
        self.parts, self.scale, self.n = parts, scale, len(scale)
        self._bends = [(p, bend) for p in parts for bend in p.bends]
        self._unknown = [(p, g) for p in parts for g in p.unknown]
        self.is_quadratic = not self._unknown and all(bend.weights is None for _, bend in self._bends)
        self.Q = assembled([(p.place, Q) for p in parts for Q in p.constant], scale)
        self.R = widened([(p.place, bend.R) for p, bend in self._bends], scale)
        self._ends = [0, *accumulate(bend.R.shape[0] for _, bend in self._bends)]
        self._at: np.ndarray | None = None
        self._there: tuple[np.ndarray, Any] = np.zeros(0), None
        self._is_linear = all(p.f is None or isinstance(p.f, Linear) for p in parts)
        self._is_rough = False
        self._tied: set[int] = set()
        """Unknown functions whose entries were found to depend on each other."""
        self._sloped_at: np.ndarray | None = None
        self._slope = np.zeros(0)
        self._last: tuple[np.ndarray, list[tuple[slice, Any]]] | None = (
            None  # x and Hessians in its own units
        )

    def rescaled(self, scale: np.ndarray) -> SmoothPart:
        """The same in other units; Hessians at the point asked for last need not be made again."""
        if np.array_equal(scale, self.scale):
            return self
        other, change = copy(self), scale / self.scale
        other.scale, other._at, other._sloped_at = scale, None, None
        if self.Q is not None:
            other.Q = self.Q * change**2 if self.Q.ndim == 1 else scaled_matrix(change, self.Q, change)
        other.R = None if self.R is None else scaled_matrix(None, self.R, change)
        return other

    def value(self, v: np.ndarray) -> float:
        """f."""
        x = self.scale * v
        return sum(float(p.f(p.block(x))) for p in self.parts if p.f is not None)

    def is_finite(self, v: np.ndarray) -> bool:
        """Whether the value is finite, and the gradient of what the caller has written."""
        if self.is_quadratic:
            return True
        with np.errstate(all="ignore"):
            known = not self._unknown or bool(np.all(np.isfinite(self.gradient(v))))
            return known and math.isfinite(self.value(v))

    def gradient(self, v: np.ndarray) -> np.ndarray:
        """Its gradient; that of the array v asked for last is kept, and that of a linear f."""
        if self._sloped_at is None or not (self._is_linear or self._sloped_at is v):
            self._sloped_at, self._slope = v, self._gradient(v)
        return self._slope

    def _gradient(self, v: np.ndarray) -> np.ndarray:
        x, g = self.scale * v, np.zeros(self.n)
        for p in self.parts:
            if p.f is not None:
                g[p.place] += self.scale[p.place] * to_numpy(p.f.grad(p.block(x))).ravel()
        return g

    def hessian(self, v: np.ndarray, rough: bool = False) -> tuple[np.ndarray, Any]:
        """(D, rest) with ∇²f = Q + RᵀDR + rest; the rest is None, a diagonal, a matrix or known by its products.

        A `rough` one may have half of the digits, where gradients are all that is known. That of the array v asked for
        last is kept: gradients of the caller's may be many calls away from it. So is that of a quadratic f.
        """
        is_kept = self._at is not None and (
            self.is_quadratic or (self._at is v and (rough or not self._is_rough))
        )
        if not is_kept:
            self._at, self._there = v, self._hessian(v, rough)
        return self._there

    def _hessian(self, v: np.ndarray, rough: bool) -> tuple[np.ndarray, Any]:
        D, x = np.ones(self._ends[-1]), self.scale * v
        for (p, bend), (begin, end) in zip(self._bends, pairwise(self._ends), strict=True):
            if bend.weights is not None:
                D[begin:end] = bend.weights(p.block(x))
        if not self._unknown:
            return D, None
        is_kept = self._last is not None and np.array_equal(self._last[0], x)
        if self._last is None or not is_kept or (self._is_rough and not rough):
            found = []
            for k, (p, g) in enumerate(self._unknown):
                last = None if self._last is None or is_kept else self._last[1][k][1]
                H = _hessian_at(g, p.shape, p.like, p.block(x), rough, k in self._tied, last)
                self._tied |= set() if isinstance(H, np.ndarray) and H.ndim == 1 else {k}
                found.append((p.place, H))
            self._last, self._is_rough = (x, found), rough
        found = self._last[1]
        if any(is_product(H) for _, H in found):
            return D, self._products(found)
        return D, assembled(found, self.scale)

    def _products(self, found: Sequence[tuple[slice, Any]]) -> Any:
        """Hessians of which some are known by products only, as one map."""

        def product(d: np.ndarray) -> np.ndarray:
            out = np.zeros(self.n)
            for place, H in found:
                x = self.scale[place] * d.ravel()[place]
                out[place] += self.scale[place] * (H * x if not is_product(H) and H.ndim == 1 else H @ x)
            return out

        return scipy.sparse.linalg.LinearOperator(
            (self.n, self.n), matvec=product, rmatvec=product, dtype=float
        )

    def curvature(self, v: np.ndarray) -> np.ndarray:
        """Diagonal of ∇²f: exact for matrices, an average where only products are known."""
        D, rest = self.hessian(v)
        total = np.zeros(self.n)
        for A in (self.Q, rest):
            if A is not None:
                total += _diagonal(A, self.n)
        if scipy.sparse.issparse(self.R):
            weights = np.square(self.R.data) * np.repeat(D, row_counts(self.R))
            total += np.bincount(self.R.indices, weights, self.n)
        elif self.R is not None:
            total += np.einsum("ij,ij,i->j", self.R, self.R, D)
        return total


def _diagonal(A: Any, n: int) -> np.ndarray:
    if is_product(A):  # the average of random probes: ⟨s, A s⟩/n
        signs = np.random.default_rng(0).choice([-1.0, 1.0], n)
        return np.full(n, max(float(signs @ (A @ signs)) / n, 0.0))
    return A if A.ndim == 1 else np.asarray(A.diagonal())


def _hessian_at(
    g: Smooth,
    shape: Shape,
    like: Array,
    x: Array,
    rough: bool = False,
    is_tied: bool = False,
    last: Any = None,
) -> Any:
    """∇²g at a block, flattened: a diagonal, a matrix, or a map where it is large and known by its products only.

    By differences to one side where it may be `rough`. Unless its entries are known to be tied, it is asked first
    whether they are. The `last` one is taken again where gradients say that it is still right.
    """
    size = math.prod(shape)
    if isinstance(g, Inside):
        H: Any = g.second(x, g.grad(x) if rough else None, is_tied, last)
    elif by_gradients(g, x):
        steps, here = np.full(size, step_size(x, 1 if rough else 2)), g.grad(x) if rough else None
        H = differences(g, x, steps, here, is_tied, last)
    else:
        H = g.hessian(x)
        asks = not is_tied and hasattr(H, "apply") and type(x) is np.ndarray
        if asks and of_entries(g.grad, x, np.full(size, step_size(x, 2))) is not None:
            return np.ravel(H.apply(np.ones(shape)))
    if not hasattr(H, "apply"):
        return H if scipy.sparse.issparse(H) else to_numpy(H)
    matrix = H.as_matrix(shape)
    if matrix is not None:
        return matrix
    matrix = written_out(H, shape, like) if size <= EXPLICIT else None
    if matrix is not None:
        return 0.5 * (matrix + matrix.T)

    def product(d: np.ndarray) -> np.ndarray:
        return to_numpy(H.apply(asarray(d.reshape(shape), like))).ravel()

    return scipy.sparse.linalg.LinearOperator((size, size), matvec=product, rmatvec=product, dtype=float)


def assembled(blocks: Sequence[tuple[slice, Any]], scale: np.ndarray) -> Any:
    """diag(scale) · Σ of symmetric matrices on blocks · diag(scale): None, a diagonal or a matrix."""
    n = len(scale)
    if not blocks:
        return None
    if all(A.ndim == 1 for _, A in blocks):
        total = np.zeros(n)
        for place, A in blocks:
            total[place] += A * scale[place] ** 2
        return total
    if any(not scipy.sparse.issparse(A) and A.ndim == 2 and 4 * A.size > n * n for _, A in blocks):
        total = np.zeros((n, n))
        for place, A in blocks:
            full = np.diag(A) if A.ndim == 1 else A.toarray() if scipy.sparse.issparse(A) else A
            total[place, place] += scale[place][:, None] * full * scale[place]
        return total
    triples = []
    for place, A in blocks:
        coo = scipy.sparse.coo_array(scipy.sparse.diags_array(A) if A.ndim == 1 else A)
        triples.append((coo.data, coo.row + place.start, coo.col + place.start))
    data, row, column = (np.concatenate(t) for t in zip(*triples, strict=True))
    return scipy.sparse.csr_array((data * scale[row] * scale[column], (row, column)), shape=(n, n))


def widened(blocks: Sequence[tuple[slice, Any]], scale: np.ndarray) -> Any:
    """Rows of single blocks, one below the other, as rows over all columns, times diag(scale); None for no rows."""
    n = len(scale)
    if not blocks:
        return None
    if len(blocks) == 1 and blocks[0][0] == slice(0, n):
        return scaled_matrix(None, blocks[0][1], scale)
    if any(scipy.sparse.issparse(A) for _, A in blocks):
        wide = []
        for place, A in blocks:
            rows = by_rows(A)
            columns = rows.indices + place.start
            triple = rows.data * scale[columns], columns, rows.indptr
            wide.append(of_arrays("csr_array", (A.shape[0], n), *triple))
        return stacked_rows(wide)
    total = np.zeros((sum(A.shape[0] for _, A in blocks), n))
    begin = 0
    for place, A in blocks:
        total[begin : begin + A.shape[0], place] = A * scale[place]
        begin += A.shape[0]
    return total
