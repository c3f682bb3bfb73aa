"""NewtonALM: second-order steps for convex problems."""

from .cost import Cost, predicted
from .method import NewtonALM

__all__ = ["Cost", "NewtonALM", "predicted"]
