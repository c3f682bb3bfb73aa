"""Convolution and cosine transform through SciPy; other libraries' arrays pass through NumPy."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, Shape, all_finite, to_numpy
from .base import KEPT, Operator, in_numpy, made_once

_MODES = ("full", "same", "valid")
SHORT = 64
"""Entries of a signal's kernel up to which Fourier transforms do not pay."""
THIN = 0.05
"""Share of entries up to which the matrix of a convolution is sparse: beyond, products of arrays take less time."""


class Convolution(Operator):
    """x ↦ kernel ∗ x with zeros beyond the border, over all axes; modes as in `scipy.signal.convolve`.

    "full" keeps every overlap, "same" the centre of the size of x, "valid" those without border.
    ‖A‖ is at most the supremum of the kernel's Fourier transform |k̂|, which `norm()` bounds within 0.1% per
    axis: |k̂|² is a trigonometric polynomial of degree K - 1, so its supremum is at most its maximum over N
    points divided by cos(π(K - 1)/N) (Ehlich & Zeller, Math. Zeitschrift 1964).

    >>> Convolution([1.0, -1.0]).apply(np.array([1.0, 2.0, 4.0]))
    array([ 1.,  1.,  2., -4.])
    """

    def __init__(self, kernel: Any, mode: str = "full"):
        kernel = np.asarray(to_numpy(kernel), dtype=None if isinstance(kernel, np.ndarray) else float)
        if kernel.ndim == 0 or kernel.size == 0 or not all_finite(kernel):
            raise ValueError(f"Convolution: kernel must be finite and non-empty, got shape {kernel.shape}")
        if mode not in _MODES:
            raise ValueError(f"Convolution: mode must be one of {', '.join(_MODES)}, got {mode!r}")
        self.kernel = kernel if np.issubdtype(kernel.dtype, np.floating) else kernel.astype(float)
        self.mode = mode

    def output_shape(self, shape: Shape) -> Shape:
        if len(shape) != self.kernel.ndim or any(
            n < (k if self.mode == "valid" else 1) for n, k in zip(shape, self.kernel.shape, strict=False)
        ):
            raise ValueError(
                f"Convolution in mode {self.mode!r} with a kernel of shape {self.kernel.shape} "
                f"cannot act on shape {tuple(shape)}"
            )
        change = {"full": 1, "same": 0, "valid": -1}[self.mode]
        return tuple(n + change * (k - 1) for n, k in zip(shape, self.kernel.shape, strict=True))

    def input_shape(self, shape: Shape) -> Shape:
        change = {"full": -1, "same": 0, "valid": 1}[self.mode]
        return tuple(n + change * (k - 1) for n, k in zip(shape, self.kernel.shape, strict=True))

    @in_numpy
    def apply(self, x: Array) -> Array:
        return self._crop(_convolved(x, self.kernel), x.shape)

    @in_numpy
    def adjoint(self, y: Array) -> Array:
        # put y where the full convolution had it, then correlate: the adjoint of "full" then crop
        shape = self.input_shape(y.shape)
        full = np.zeros([n + k - 1 for n, k in zip(shape, self.kernel.shape, strict=True)], dtype=y.dtype)
        self._crop(full, shape)[...] = y
        # with K - 1 zeros around it, the full correlation's middle is the valid one for short x as well
        correlated = _convolved(full, np.flip(self.kernel))
        window = tuple(slice(k - 1, k - 1 + n) for n, k in zip(shape, self.kernel.shape, strict=True))
        return correlated[window]

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        """One entry for every number of the kernel and every entry of x, up to `KEPT` of them; sparse if `THIN`."""
        count = math.prod(shape)
        if self.kernel.size * count > KEPT:
            return None
        sizes, taps = self.output_shape(shape), np.indices(self.kernel.shape).reshape(len(shape), -1, 1)
        full = taps + np.indices(shape).reshape(len(shape), 1, count)
        ends = zip(full, shape, self.kernel.shape, sizes, strict=True)
        place = np.stack([at - (n + k - 1 - size) // 2 for at, n, k, size in ends])
        inside = np.all([(at >= 0) & (at < size) for at, size in zip(place, sizes, strict=True)], axis=0)
        row = np.ravel_multi_index(tuple(place[:, inside]), sizes)
        tap, column = np.nonzero(inside)
        entries = self.kernel.ravel()[tap], (row, column)
        matrix = scipy.sparse.csr_array(entries, shape=(math.prod(sizes), count))
        return matrix if matrix.nnz <= THIN * math.prod(matrix.shape) else matrix.toarray()

    def _crop(self, full: np.ndarray, shape: Shape) -> np.ndarray:
        """The part of a full convolution that the mode keeps, as a view."""
        sizes = self.output_shape(shape)
        starts = [(f - s) // 2 for f, s in zip(full.shape, sizes, strict=True)]
        return full[tuple(slice(a, a + s) for a, s in zip(starts, sizes, strict=True))]

    @cached_property
    def _norm(self) -> float:
        points = [64 * k for k in self.kernel.shape]
        if math.prod(points) > 2**24:  # large kernels: Young's bound instead of a huge transform
            return float(np.sum(np.abs(self.kernel)))
        response = np.fft.fftn(self.kernel.astype(float), points, axes=range(self.kernel.ndim))
        peak = float(np.max(np.abs(response))) ** 2
        for k, n in zip(self.kernel.shape, points, strict=True):
            peak /= math.cos(math.pi * (k - 1) / n)
        return min(math.sqrt(peak), float(np.sum(np.abs(self.kernel))))

    def __repr__(self) -> str:
        return f"Convolution(kernel of shape {self.kernel.shape}, {self.mode})"


def _convolved(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """The full convolution: sums of products for short kernels of signals, else as SciPy chooses."""
    if x.ndim == 1 and min(x.size, kernel.size) <= SHORT:
        return np.convolve(x, kernel)
    from scipy.signal import convolve  # half a second to import: only where it is used

    return convolve(x, kernel)


class DCT(Operator):
    """x ↦ its orthonormal cosine transform (type II) over `axes`, all by default: an isometry, Aᵀ = A⁻¹.

    Reference: Ahmed, Natarajan & Rao, *Discrete cosine transform*, IEEE Trans. Computers 1974.
    """

    gram = 1.0

    def __init__(self, axes: int | tuple[int, ...] | None = None):
        self.axes = (axes,) if isinstance(axes, int) else axes

    def output_shape(self, shape: Shape) -> Shape:
        if not shape or (self.axes is not None and max(self.axes) >= len(shape)):
            raise ValueError(f"DCT over axes {self.axes} cannot act on shape {tuple(shape)}")
        return shape

    def input_shape(self, shape: Shape) -> Shape:
        return shape

    @in_numpy
    def apply(self, x: Array) -> Array:
        from scipy.fft import dctn

        return dctn(x, axes=self.axes, norm="ortho")

    @in_numpy
    def adjoint(self, y: Array) -> Array:
        from scipy.fft import idctn

        return idctn(y, axes=self.axes, norm="ortho")

    def __repr__(self) -> str:
        return "DCT()" if self.axes is None else f"DCT(axes={self.axes})"
