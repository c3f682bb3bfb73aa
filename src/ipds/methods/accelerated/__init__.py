"""The accelerated method: first-order steps on the problem with one block eliminated.

Read `method` first: reduced step, dual step, growth of β. `reduced` is that problem and its way back to the one as
stated, `annealing` says what it is smoothed by and for how long, and `search` how long its steps are.
"""

from .method import AcceleratedIPDS

__all__ = ["AcceleratedIPDS"]
