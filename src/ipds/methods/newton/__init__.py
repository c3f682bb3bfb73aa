"""NewtonALM: second-order steps for convex problems."""

from .method import NewtonALM

__all__ = ["NewtonALM"]
