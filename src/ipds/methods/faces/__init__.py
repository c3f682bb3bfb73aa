"""Faces of nonconvex functions: once first-order steps have found one, what is left on it is solved to the end."""

from .method import OnFaces, has_flat_faces
from .tangent import TangentSteps, ranked

__all__ = ["OnFaces", "TangentSteps", "has_flat_faces", "ranked"]
