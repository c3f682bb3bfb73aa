"""Faces of nonconvex functions: once first-order steps have found one, what is left on it is solved to the end.

`method` runs a first-order method and watches its faces; `restricted` is the problem on them, `free` its f and A,
solved by `smooth`, `bounded` or NewtonALM; `pursuit` finds a support early, `swaps` and `exchanges` look for a better
face next to one. `given` starts from a face, `active` and `pivots` solve small ones exactly, `stretches` serves signals
with few jumps, and `low_rank` (`alternation`, `tangent`, `passes`, `interior`, `inexact`) matrices of bounded rank.
"""

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
