"""Certified nonconvex, nonsmooth, linearly constrained optimisation by IPDS-ADMM."""

from . import plot
from ._version import __version__
from .batch import solve_batch
from .checkpoint import Checkpoint
from .errors import AssumptionError, CheckpointError, CheckpointWarning, DivergenceError
from .multistart import Multistart, multistart
from .parameters import Parameters
from .problem import Block, Problem
from .result import Result, Status
from .solve import iterate, solve

__all__ = [
    "AssumptionError",
    "Block",
    "Checkpoint",
    "CheckpointError",
    "CheckpointWarning",
    "DivergenceError",
    "Multistart",
    "Parameters",
    "Problem",
    "Result",
    "Status",
    "__version__",
    "iterate",
    "multistart",
    "plot",
    "solve",
    "solve_batch",
]
