"""Orthonormal wavelet transforms, through PyWavelets."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Sequence
from typing import Any

from .._arrays import Array, Shape
from .base import as_shape, in_numpy
from .one_shape import OfOneShape


class Wavelet(OfOneShape):
    """x ↦ its orthonormal wavelet coefficients, periodic at the border, in an array of the same shape. Aᵀ = A⁻¹.

    Blocks have the `shape`. `name` is an orthogonal wavelet of PyWavelets ("haar", "db4", "sym8", "coif2", …). The
    `axes`, all by default, are halved `level` times, so that their lengths must be multiples of 2^level; by default as
    often as that holds and the wavelet fits. Along every axis the coarse part comes first, then details, the finest
    last. Needs PyWavelets: pip install "ipds-admm[wavelets]".
    Mallat, A Wavelet Tour of Signal Processing (2009), chapter 7.
    """

    gram = 1.0

    def __init__(
        self,
        shape: Shape | int,
        name: str = "db4",
        level: int | None = None,
        axes: int | tuple[int, ...] | None = None,
    ):
        library = _library()
        self.shape = self.output = as_shape(shape)
        self.name = name
        if name not in library.wavelist(kind="discrete") or not library.Wavelet(name).orthogonal:
            raise ValueError(
                f"Wavelet: {name!r} is no orthogonal wavelet; take 'haar', 'db4', 'sym8', 'coif2', …"
            )
        ndim = len(self.shape)
        given = range(ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
        self.axes = tuple(a % ndim if -ndim <= a < ndim else ndim for a in given)
        if not self.axes or ndim in self.axes or len(set(self.axes)) < len(self.axes):
            raise ValueError(f"Wavelet: axes must name different axes of the shape {self.shape}, got {axes}")
        lengths = [self.shape[a] for a in self.axes]
        taps = library.Wavelet(name).dec_len
        self.level = _most_levels(lengths, taps) if level is None else int(level)
        if self.level < 0 or any(n == 0 or n % 2**self.level for n in lengths):
            raise ValueError(
                f"Wavelet: lengths {lengths} cannot be halved {self.level} times; pass a smaller level, or pad them "
                f"to multiples of {2 ** max(self.level, 0)}"
            )

    def _corner(self, kinds: Sequence[str], level: int) -> tuple[slice, ...]:
        """Where the part of a level lies whose kind along every axis is "a" (coarse: the first half) or "d"."""
        place = [slice(None)] * len(self.shape)
        for axis, kind in zip(self.axes, kinds, strict=True):
            half = self.shape[axis] >> level
            place[axis] = slice(0, half) if kind == "a" else slice(half, 2 * half)
        return tuple(place)

    def _parts(self) -> list[str]:
        return ["".join(kinds) for kinds in itertools.product("ad", repeat=len(self.axes))]

    @in_numpy
    def apply(self, x: Array) -> Array:
        library, out, coarse = _library(), x.copy(), "a" * len(self.axes)
        for level in range(self.level):
            whole = out[self._corner(coarse, level)]
            for kinds, part in library.dwtn(whole, self.name, "periodization", self.axes).items():
                out[self._corner(kinds, level + 1)] = part
        return out

    @in_numpy
    def adjoint(self, y: Array) -> Array:
        library, out, coarse = _library(), y.copy(), "a" * len(self.axes)
        for level in reversed(range(self.level)):
            parts = {kinds: out[self._corner(kinds, level + 1)] for kinds in self._parts()}
            out[self._corner(coarse, level)] = library.idwtn(parts, self.name, "periodization", self.axes)
        return out

    def norm(self) -> float:
        return 1.0 if math.prod(self.shape) else 0.0

    def __repr__(self) -> str:
        return f"Wavelet({self.shape}, {self.name}, level={self.level}, axes={self.axes})"


def _library() -> Any:
    try:
        return importlib.import_module("pywt")
    except ImportError as error:
        raise ImportError('Wavelet needs PyWavelets: pip install "ipds-admm[wavelets]"') from error


def _most_levels(lengths: Sequence[int], taps: int) -> int:
    """How often all lengths can be halved while they are even and no shorter than the filter."""
    level = 0
    while all(n and n % 2 ** (level + 1) == 0 and n >> level >= taps for n in lengths):
        level += 1
    return level
