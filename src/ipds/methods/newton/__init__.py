"""NewtonALM: second-order steps for convex problems."""

from .cost import Cost, is_slanted, predicted
from .method import NewtonALM

__all__ = ["Cost", "NewtonALM", "is_slanted", "predicted"]
