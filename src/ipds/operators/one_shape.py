"""Maps of blocks of one shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Shape
from .base import Operator, made_once

FEW = 100
"""Entries of a block up to which the matrix of a map known by its products is made of them: a solve takes as many."""
LONG = 10_000
"""Entries of A x up to which that is so."""


class OfOneShape(Operator):
    """A map from blocks of `shape` to blocks of shape `output`, and of no other."""

    shape: Shape
    output: Shape
    is_natural = True
    """Whether `natural_shape` is the shape: not for maps that any shape would do for, where norms are known anyway."""

    @property
    def called(self) -> str:
        """How errors call the map."""
        return type(self).__name__

    def output_shape(self, shape: Shape) -> Shape:
        if tuple(shape) != self.shape:
            raise ValueError(f"{self.called} acts on shape {self.shape}, not {tuple(shape)}")
        return self.output

    def input_shape(self, shape: Shape) -> Shape:
        return self.shape

    def natural_shape(self) -> Shape | None:
        return self.shape if self.is_natural else None


class ByProducts(OfOneShape):
    """A map known by its products: small ones have a matrix nevertheless, column by column."""

    @made_once
    def as_matrix(self, shape: Shape) -> Any:
        size = math.prod(shape)
        if size > FEW or math.prod(self.output) > LONG:
            return None
        units = np.eye(size).reshape(size, *shape)
        return np.stack([np.asarray(self.apply(unit), float).reshape(-1) for unit in units], axis=1)
