"""NewtonALM: second-order steps for convex problems.

`method` is the method, `carry` what it carries; it sees a problem as the `form` min f(v) + H(u), u = M v + c, in
`units` of its own, with `gauges` of parts that no row ties together (`smooth` is f, asked `inside` its bounds only,
`terms` is H, `matrices` M, `passage` the way there and back). Its three kinds of steps are `interior` (variables in a
`layout`), `semismooth` and `rounds`, and `returning` near a solution; `resting` are points where nothing pulls. All of
them solve with one matrix K: `algebra`, `weights`, `strategies`, `slack_columns`, `sparse`, `factors`, `saddle`, with
products MᵀWM by `gram` and the places of entries by `patterns`.
`barriers` are the rows of `interior` that are neither entries nor norms: losses on their `graphs`, `spectra` of
matrices, second-order cones and balls (`lorentz`); `cone` is what they share. `cost` predicts what all that takes.
"""

from .cost import Cost, is_slanted, predicted
from .method import NewtonALM

__all__ = ["Cost", "NewtonALM", "is_slanted", "predicted"]
