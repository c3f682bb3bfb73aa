"""Methods to compare with: those of the paper (`radmm`, `spgm`, `subgradient`) and their relatives, one per file.

`composite` holds what the primal ones share: the problem with one block solved for.
"""
