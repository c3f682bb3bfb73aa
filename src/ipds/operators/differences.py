"""Differences: along axes of an array, along the edges of a graph, and laid out by pixels for total variation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import array_api_compat
import numpy as np
import scipy

from .._arrays import Array, Shape, namespace
from .base import Operator, as_shape, made_once
from .maps import Matrix
from .one_shape import OfOneShape


class FiniteDifference(Operator):
    """Forward differences x[i+1] - x[i] along one axis or several.

    One axis of length n gives n - 1 differences (A Aᵀ is then invertible). A tuple of axes gives an array of
    shape (number of axes, *shape): entry k holds the differences along axes[k], zero at the far end.
    On graphs: `FiniteDifference.graph(edges, n_nodes)` and `FiniteDifference.from_adjacency(W)`.

    With n_a the length of axis a, the eigenvalues of the one-axis A Aᵀ are 4 sin²(πj/2n), j = 1..n-1, and
    ‖A‖² = Σ_a 4 cos²(π/2n_a) in general; `norm()` knows no shape and gives the supremum 2·√(number of axes).

    >>> FiniteDifference().apply(np.array([1.0, 4.0, 9.0]))
    array([3., 5.])
    >>> FiniteDifference(axis=(0, 1)).output_shape((4, 5))
    (2, 4, 5)
    """

    def __init__(self, axis: int | tuple[int, ...] = 0):
        self.several = not isinstance(axis, int)
        self.axes: tuple[int, ...] = (axis,) if isinstance(axis, int) else tuple(axis)
        if not self.axes or any(not isinstance(a, int) or a < 0 for a in self.axes):
            raise ValueError(f"FiniteDifference: axis must be an int ≥ 0 or a tuple of such, got {axis!r}")
        if len(set(self.axes)) < len(self.axes):
            raise ValueError(f"FiniteDifference: axes must differ, got {axis!r}")

    @staticmethod
    def graph(edges: Any, n_nodes: int, weights: Any = None) -> Matrix:
        """x ↦ (w_e·(x[j] - x[i])) over the edges e = (i, j), as a sparse `Matrix` on the first axis.

        >>> FiniteDifference.graph([(0, 1), (0, 2)], n_nodes=3).apply(np.array([1.0, 2.0, 5.0]))
        array([1., 4.])
        """
        ends = np.asarray(edges)
        if ends.ndim != 2 or ends.shape[1] != 2 or not np.issubdtype(ends.dtype, np.integer):
            raise ValueError(
                f"FiniteDifference.graph: edges must be integer pairs, an array of shape (edges, 2), "
                f"got shape {ends.shape}, dtype {ends.dtype}"
            )
        count = ends.shape[0]
        if count and (ends.min() < 0 or ends.max() >= n_nodes):
            raise ValueError(f"FiniteDifference.graph: nodes must lie in 0..{n_nodes - 1}, got {ends.max()}")
        if np.any(ends[:, 0] == ends[:, 1]):
            raise ValueError("FiniteDifference.graph: an edge joins a node to itself; remove it")
        w = np.ones(count) if weights is None else np.asarray(weights, dtype=float)
        if w.shape != (count,):
            raise ValueError(f"FiniteDifference.graph: weights of shape {w.shape} do not fit {count} edges")
        rows = np.repeat(np.arange(count), 2)
        values = np.stack([-w, w], axis=1).reshape(-1)
        return Matrix(scipy.sparse.csr_array((values, (rows, ends.reshape(-1))), shape=(count, n_nodes)))

    @staticmethod
    def from_adjacency(adjacency: Any) -> Matrix:
        """The weighted differences over the edges of a symmetric (SciPy sparse) adjacency matrix.

        Each pair i < j with W_ij ≠ 0 gives one row W_ij·(x[j] - x[i]); the diagonal is ignored.
        """
        W = scipy.sparse.coo_array(adjacency)
        if W.ndim != 2 or W.shape[0] != W.shape[1]:
            raise ValueError(f"FiniteDifference.from_adjacency: expected a square matrix, got {W.shape}")
        if abs(W - W.T).max() > 1e-12 * abs(W).max():
            raise ValueError("FiniteDifference.from_adjacency: must be symmetric; pass (W + W.T) / 2")
        upper = scipy.sparse.coo_array(scipy.sparse.triu(W, k=1))
        upper.eliminate_zeros()
        edges = np.stack([upper.row, upper.col], axis=1)
        return FiniteDifference.graph(edges, W.shape[0], upper.data)

    def output_shape(self, shape: Shape) -> Shape:
        if max(self.axes) >= len(shape) or any(shape[a] == 0 for a in self.axes):
            raise ValueError(f"FiniteDifference along axis {self.axes} cannot act on shape {tuple(shape)}")
        if self.several:
            return (len(self.axes), *shape)
        axis = self.axes[0]
        return (*shape[:axis], shape[axis] - 1, *shape[axis + 1 :])

    def input_shape(self, shape: Shape) -> Shape:
        if self.several:
            return tuple(shape[1:])
        axis = self.axes[0]
        return (*shape[:axis], shape[axis] + 1, *shape[axis + 1 :])

    def apply(self, x: Array) -> Array:
        if not self.several:
            return _difference(x, self.axes[0])
        if type(x) is np.ndarray:  # written in place: half the time of concatenating
            out = np.zeros((len(self.axes), *x.shape), dtype=x.dtype)
            for k, axis in enumerate(self.axes):
                low, high = _ends(axis, x.shape[axis])
                np.subtract(x[high], x[low], out=out[k][low])
            return out
        xp = namespace(x)
        parts = [xp.concat([_difference(x, a), _zeros(x, a)], axis=a) for a in self.axes]
        return xp.stack(parts, axis=0)

    def adjoint(self, y: Array) -> Array:
        if not self.several:
            return _difference_adjoint(y, self.axes[0])
        if type(y) is np.ndarray:
            out = np.zeros(y.shape[1:], dtype=y.dtype)
            for part, axis in zip(y, self.axes, strict=True):
                low, high = _ends(axis, part.shape[axis])
                out[low] -= part[low]
                out[high] += part[low]
            return out
        terms = []
        for k, axis in enumerate(self.axes):
            low, _ = _ends(axis, y.shape[axis + 1])
            terms.append(_difference_adjoint(y[k, ...][low], axis))
        return sum(terms[1:], start=terms[0])

    def norm(self) -> float:
        return 2.0 * math.sqrt(len(self.axes))

    def extremes(self, shape: Shape) -> tuple[float, float]:
        if math.prod(self.output_shape(shape)) == 0:
            return 0.0, 0.0
        upper = sum(4 * math.cos(math.pi / (2 * shape[a])) ** 2 for a in self.axes if shape[a] > 1)
        lower = 0.0 if self.several else 4 * math.sin(math.pi / (2 * shape[self.axes[0]])) ** 2
        return lower, upper

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        self.output_shape(shape)
        place = np.arange(math.prod(shape)).reshape(shape)
        columns, counts = [], []
        for axis in self.axes:
            low, high = _ends(axis, shape[axis])
            pairs = np.stack([place[low], place[high]], axis=-1)
            rows, made = (shape, low) if self.several else (pairs.shape[:-1], ...)
            count = np.zeros(rows, int)  # of several axes the last rows are empty
            count[made] = 2
            columns.append(pairs.ravel())
            counts.append(count.ravel())
        ends = np.concatenate([[0], *counts]).cumsum()
        data = np.tile([-1.0, 1.0], int(ends[-1]) // 2)
        return scipy.sparse.csr_array(
            (data, np.concatenate(columns), ends), shape=(len(ends) - 1, place.size)
        )

    def __repr__(self) -> str:
        return f"FiniteDifference(axis={self.axes if self.several else self.axes[0]})"


def _ends(axis: int, n: int) -> tuple[Any, Any]:
    """Indices of all but the last and of all but the first entry along an axis of length n."""
    before = [slice(None)] * axis
    return (*before, slice(0, n - 1), ...), (*before, slice(1, n), ...)


def _difference(x: Array, axis: int) -> Array:
    low, high = _ends(axis, x.shape[axis])
    return x[high] - x[low]


def _zeros(like: Array, axis: int) -> Array:
    shape: Sequence[int] = (*like.shape[:axis], 1, *like.shape[axis + 1 :])
    return namespace(like).zeros(shape, dtype=like.dtype, device=array_api_compat.device(like))


def _difference_adjoint(y: Array, axis: int) -> Array:
    xp, zero = namespace(y), _zeros(y, axis)
    return xp.concat([zero, y], axis=axis) - xp.concat([y, zero], axis=axis)


class Gradient(OfOneShape):
    """x ↦ one row for every pixel: its forward differences along all `axes`, 0 at the far end.

    Blocks have the `shape`; `axes` are those of the pixels, all by default, and what the others hold (colours) joins
    the row. `L21` of A x, the sum of the norms of the rows, is the isotropic total variation; `L1` of A x is the
    anisotropic one.
    Rudin, Osher & Fatemi, Nonlinear total variation based noise removal algorithms, Physica D 60 (1992).

    >>> import numpy as np
    >>> Gradient((2, 2)).apply(np.array([[1.0, 2.0], [4.0, 8.0]]))
    array([[3., 1.],
           [6., 0.],
           [0., 4.],
           [0., 0.]])
    >>> Gradient((64, 48, 3), axes=(0, 1)).output_shape((64, 48, 3))
    (3072, 6)
    """

    def __init__(self, shape: Shape | int, axes: tuple[int, ...] | None = None):
        self.shape = as_shape(shape)
        self.axes = tuple(range(len(self.shape))) if axes is None else tuple(axes)
        self._differences = FiniteDifference(self.axes)
        whole = self._differences.output_shape(self.shape)  # (axes, *shape)
        pixels = [a + 1 for a in self.axes]
        # pixels first, then the axis of the differences, then what else there is
        self._order = (*pixels, 0, *(a for a in range(1, len(whole)) if a not in pixels))
        self._laid_out = tuple(whole[a] for a in self._order)
        self._back = tuple(self._order.index(a) for a in range(len(whole)))
        rows = math.prod(self.shape[a] for a in self.axes)
        self.output = (rows, math.prod(self._laid_out) // rows)

    def apply(self, x: Array) -> Array:
        xp = namespace(x)
        return xp.reshape(xp.permute_dims(self._differences.apply(x), self._order), self.output)

    def adjoint(self, y: Array) -> Array:
        xp = namespace(y)
        return self._differences.adjoint(xp.permute_dims(xp.reshape(y, self._laid_out), self._back))

    def norm(self) -> float:
        return math.sqrt(self.extremes(self.shape)[1])

    def extremes(self, shape: Shape) -> tuple[float, float]:
        return self._differences.extremes(self.shape)

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        whole = self._differences.output_shape(self.shape)
        place = np.arange(math.prod(whole)).reshape(whole)
        return self._differences.as_matrix(self.shape)[place.transpose(self._order).ravel()]

    def __repr__(self) -> str:
        return f"Gradient({self.shape}, axes={self.axes})"
