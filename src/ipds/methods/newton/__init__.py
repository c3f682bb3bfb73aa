"""NewtonALM: second-order steps for convex problems.

`method` is the method; it sees a problem as the `form` min f(v) + H(u), u = M v + c, in `units` of its own (`smooth`
is f, `terms` is H, `matrices` M, `passage` the way there and back). Its three kinds of steps are `interior`,
`semismooth` and `rounds`, and `returning` near a solution. All of them solve with one matrix K: `algebra`, `weights`,
`strategies`, `factors`. `cost` predicts what that takes.
"""

from .cost import Cost, is_slanted, predicted
from .method import NewtonALM

__all__ = ["Cost", "NewtonALM", "is_slanted", "predicted"]
