"""The accelerated method: first-order steps on the problem with one block eliminated."""

from .method import AcceleratedIPDS
from .tangent import TangentSteps, ranked

__all__ = ["AcceleratedIPDS", "TangentSteps", "ranked"]
