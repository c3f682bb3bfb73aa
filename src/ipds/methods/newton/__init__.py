"""NewtonALM: second-order steps for convex problems, and on the faces of nonconvex ones."""

from .faces import OnFaces, has_flat_faces
from .method import NewtonALM

__all__ = ["NewtonALM", "OnFaces", "has_flat_faces"]
