"""NewtonALM: second-order steps for convex problems, and on the faces of nonconvex ones."""

from .cost import Cost, predicted
from .faces import OnFaces, has_flat_faces
from .method import NewtonALM

__all__ = ["Cost", "NewtonALM", "OnFaces", "has_flat_faces", "predicted"]
