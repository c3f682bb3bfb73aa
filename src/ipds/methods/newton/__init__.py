"""NewtonALM: second-order steps for convex problems."""

from .cost import ITERATIONS, Cost, is_slanted, predicted
from .method import NewtonALM

__all__ = ["ITERATIONS", "Cost", "NewtonALM", "is_slanted", "predicted"]
