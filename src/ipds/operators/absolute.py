"""|A|, the map with the absolute values of A's entries: how large the terms of a product are before they cancel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy

from .._arrays import Array, Shape, asarray, with_data
from ..distributed import Rows
from .arranging import Permute, SumOver
from .base import Compose, Operator, Scaled, Sum, Transpose
from .differences import FiniteDifference, Gradient
from .maps import GATHER, Diagonal, Identity, Matrix
from .products import Kronecker, TwoSided
from .rows import RowMatrix
from .sampling import Grouping, Sampling
from .stacking import FlatStack, Reshape, Segment, Stack, ZeroMap
from .transforms import Convolution

ONES = Sampling | Grouping | Permute | SumOver | Reshape | Segment | ZeroMap
"""Maps whose entries are 0 and 1."""
SMALL = 1_000_000
"""Entries of a dense matrix of which a copy is kept: to make a larger one takes as long as ten products in pieces."""
PIECE = 65_536
"""Entries of such a piece."""


def absolute(op: Operator) -> Operator:
    """|A| for arrays with entries ≥ 0: exact where the entries of A are known, else an estimate by random signs.

    Exact for numbers, matrices, diagonals, samplings, sums over axes, differences, convolutions and Kronecker products,
    and for stacks of them. For a composition |A||B| ≥ |A B|, for a sum Σ|A_k|: still what is added up before anything
    cancels.

    >>> absolute(Matrix([[1.0, -1.0]])).apply(np.array([2.0, 2.0]))
    array([4.])
    """
    if isinstance(op, Identity):
        return Identity(abs(op.scale))
    if isinstance(op, Scaled):
        return Scaled(absolute(op.inner), abs(op.scale))
    if isinstance(op, Matrix):
        if scipy.sparse.issparse(op.matrix):
            return Matrix.known(with_data(op.matrix, np.abs(op.matrix.data)))
        small = op.matrix.shape[0] * op.matrix.shape[1] <= SMALL or not isinstance(op.matrix, np.ndarray)
        return Matrix.known(abs(op.matrix)) if small else AbsoluteMatrix(op)
    if isinstance(op, Diagonal):
        return Diagonal(abs(op.diagonal))
    if isinstance(op, RowMatrix):
        return AbsoluteRows(op)
    if isinstance(op, ONES):
        return op
    if isinstance(op, Convolution):
        return Convolution(abs(op.kernel), op.mode)
    if isinstance(op, TwoSided):
        left, across = absolute(op.left), absolute(op.right.T)
        if not isinstance(op, Kronecker):
            return TwoSided(left, across.T)
        if isinstance(left, Matrix) and isinstance(across, Matrix):  # their sizes say what a vector is
            return Kronecker(left, across)
    if isinstance(op, Compose):
        return Compose(absolute(op.left), absolute(op.right))
    if isinstance(op, Sum):
        return Sum([absolute(term) for term in op.terms])
    if isinstance(op, Stack):
        return Stack([absolute(part) for part in op.parts], op.shape)
    if isinstance(op, FlatStack):
        return FlatStack([absolute(part) for part in op.parts], op.shape)
    if isinstance(op, Transpose):
        return Transpose(absolute(op.inner))
    if isinstance(op, FiniteDifference):
        return BySigns(op, forward=True, backward=True)
    return BySigns(op, forward=isinstance(op, Gradient))


def is_exact(op: Operator) -> bool:
    """Whether a map that `absolute` has made is exact, and so are all that it is made of."""
    if isinstance(op, Identity | Matrix):
        return True
    if isinstance(op, BySigns):
        return op.exact
    if isinstance(op, Compose | TwoSided):
        return is_exact(op.left) and is_exact(op.right)
    if isinstance(op, Scaled | Transpose):
        return is_exact(op.inner)
    if isinstance(op, Sum):
        return all(map(is_exact, op.terms))
    return all(map(is_exact, op.parts)) if isinstance(op, Stack | FlatStack) else True


class _Sizes(Operator):
    """What |A| shares with A: the shapes. Its norm is not needed."""

    def __init__(self, inner: Operator):
        self.inner = inner

    def output_shape(self, shape: Shape) -> Shape:
        return self.inner.output_shape(shape)

    def input_shape(self, shape: Shape) -> Shape:
        return self.inner.input_shape(shape)

    def norm(self) -> float:
        raise NotImplementedError("only products with |A| are of use")


class AbsoluteMatrix(_Sizes):
    """|M| of a large dense matrix, of which no copy is made: a few rows at a time, while they are in the cache."""

    def __init__(self, inner: Matrix):
        super().__init__(inner)
        self.matrix: np.ndarray = inner.matrix
        self._rows = max(1, PIECE // self.matrix.shape[1])

    def _pieces(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows of |M|, each in the place of those before them."""
        count, columns = self.matrix.shape
        room = np.empty((min(self._rows, count), columns), self.matrix.dtype)
        for begin in range(0, count, self._rows):
            part = self.matrix[begin : begin + self._rows]
            yield slice(begin, begin + len(part)), np.abs(part, out=room[: len(part)])

    def apply(self, x: Array) -> Array:
        if x.ndim == 1 and GATHER * np.count_nonzero(x) < x.size:
            support = np.flatnonzero(x)
            return np.abs(self.matrix.take(support, axis=1)) @ x[support]
        flat = x.reshape(x.shape[0], -1)
        out = np.empty((self.matrix.shape[0], flat.shape[1]), np.result_type(self.matrix, x))
        for here, piece in self._pieces():
            np.matmul(piece, flat, out=out[here])
        return out.reshape(-1, *x.shape[1:])

    def adjoint(self, y: Array) -> Array:
        flat = y.reshape(y.shape[0], -1)
        out = np.zeros((self.matrix.shape[1], flat.shape[1]), np.result_type(self.matrix, y))
        for here, piece in self._pieces():
            out += piece.T @ flat[here]
        return out.reshape(-1, *y.shape[1:])


class AbsoluteRows(_Sizes):
    """|(M - 1·meanᵀ)/scale| of a distributed matrix: every chunk by itself."""

    inner: RowMatrix

    def apply(self, x: Array) -> Array:
        return self.inner.matrix.map(_product, self.inner.mean, (x.T / self.inner.scale).T)

    def adjoint(self, y: Array) -> Array:
        found = self.inner.matrix.reduce(_adjoint, np.add, self.inner.mean, y)
        return (found.T / self.inner.scale).T


def _product(chunk: np.ndarray, mean: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.abs(chunk - mean) @ x


def _adjoint(chunk: np.ndarray, mean: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.abs(chunk - mean).T @ y


class BySigns(_Sizes):
    """|A| x estimated by |A (σ x)| with signs σ: random ones (always the same), or a chessboard's, `forward` for A and
    `backward` for Aᵀ.

    The mean square of A (σ x) over all signs is Σ_j A_kj² x_j². Single entries may come out too small by chance: take
    the larger of this and of another product of A that is at hand. Neighbours on a chessboard differ in sign, so that
    it is exact for differences along axes.
    """

    def __init__(self, inner: Operator, *, forward: bool = False, backward: bool = False):
        super().__init__(inner)
        self.exact, self._forward, self._backward = forward and backward, forward, backward
        self._drawn: dict[tuple[Shape, bool], np.ndarray] = {}

    def apply(self, x: Array) -> Array:
        return abs(self.inner.apply(self._signed(x, self._forward)))

    def adjoint(self, y: Array) -> Array:
        return abs(self.inner.adjoint(self._signed(y, self._backward)))

    def _signed(self, x: Array, chessboard: bool) -> Array:
        if isinstance(x, Rows):
            return x
        shape = tuple(x.shape)
        if (shape, chessboard) not in self._drawn:
            if chessboard:
                odd = sum(np.indices(shape, sparse=True), np.zeros(shape, int)) % 2
            else:
                odd = np.random.default_rng(0).integers(0, 2, shape)
            self._drawn[shape, chessboard] = (1 - 2 * odd).astype(np.int8)
        return x * asarray(self._drawn[shape, chessboard], x)
