"""The accelerated method: first-order steps on the problem with one block eliminated.

Read `method` first: reduced step, dual step, growth of β. `reduced` is that problem and its way back to the one as
stated, `annealing` says what it is smoothed by and for how long, `search` how long its steps are, and `single` which of
them are taken in single precision.
"""

from .method import AcceleratedIPDS

__all__ = ["AcceleratedIPDS"]
