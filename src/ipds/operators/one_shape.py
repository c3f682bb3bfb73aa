"""Maps of blocks of one shape."""

from __future__ import annotations

from .._arrays import Shape
from .base import Operator


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
