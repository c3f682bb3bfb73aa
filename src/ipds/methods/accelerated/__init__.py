"""The accelerated method: first-order steps on the problem with one block eliminated.

`method` is the method; `reduced` is that problem, `search` has the lengths of its steps, and `annealing` says what it
is smoothed by.
"""

from .method import AcceleratedIPDS

__all__ = ["AcceleratedIPDS"]
