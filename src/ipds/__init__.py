"""Certified nonconvex, nonsmooth, linearly constrained optimisation by IPDS-ADMM."""

from typing import TYPE_CHECKING, Any

from . import plot
from ._version import __version__
from .errors import AssumptionError, CheckpointError, CheckpointWarning, DivergenceError
from .modelling import Variable, minimize
from .parameters import Parameters
from .problem import Block, Problem
from .solving.batch import solve_batch
from .solving.checkpoint import Checkpoint
from .solving.multistart import Multistart, multistart
from .solving.solve import iterate, solve
from .status import Status

if TYPE_CHECKING:
    from .result import Result

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
    "Variable",
    "__version__",
    "iterate",
    "minimize",
    "multistart",
    "plot",
    "solve",
    "solve_batch",
]


def __getattr__(name: str) -> Any:
    if name == "Result":  # the class stands on scipy.optimize, which is loaded with the first result
        from .result import Result

        return Result
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
