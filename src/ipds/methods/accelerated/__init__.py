"""The accelerated method: first-order steps on the problem with one block eliminated."""

from .method import AcceleratedIPDS

__all__ = ["AcceleratedIPDS"]
