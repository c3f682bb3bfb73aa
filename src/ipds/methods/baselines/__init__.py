"""Methods to compare with, one per file: those of the paper, `radmm`, `spgm` and `subgradient`, and their relatives.

These are `rialm`, `manpg` (its subproblem in `tangent_newton`) and `fixed_penalty`. `composite` holds what the primal
ones share: the problem with one block solved for.
"""
