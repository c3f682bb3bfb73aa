"""Faces of nonconvex functions: once first-order steps have found one, what is left on it is solved to the end."""

from .given import GivenFace
from .low_rank import LowRankIPDS, factorable
from .method import OnFaces, has_flat_faces
from .stretches import OnStretches, has_stretches
from .tangent import TangentSteps, ranked

__all__ = [
    "GivenFace",
    "LowRankIPDS",
    "OnFaces",
    "OnStretches",
    "TangentSteps",
    "factorable",
    "has_flat_faces",
    "has_stretches",
    "ranked",
]
