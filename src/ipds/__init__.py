"""Certified nonconvex, nonsmooth, linearly constrained optimisation by IPDS-ADMM.

Names are loaded when they are first used, so that `import ipds` and the help of the command line are quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import plot
    from .errors import AssumptionError, CheckpointError, CheckpointWarning, DivergenceError
    from .modelling import Variable, minimize
    from .parameters import Parameters
    from .problem import Block, Problem
    from .result import Result
    from .solving.batch import solve_batch
    from .solving.checkpoint import Checkpoint
    from .solving.multistart import Multistart, multistart
    from .solving.solve import iterate, solve
    from .status import Status

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

_HOMES = {
    "errors": ("AssumptionError", "CheckpointError", "CheckpointWarning", "DivergenceError"),
    "modelling": ("Variable", "minimize"),
    "parameters": ("Parameters",),
    "problem": ("Block", "Problem"),
    "result": ("Result",),
    "solving.batch": ("solve_batch",),
    "solving.checkpoint": ("Checkpoint",),
    "solving.multistart": ("Multistart", "multistart"),
    "solving.solve": ("iterate", "solve"),
    "status": ("Status",),
}
"""Where names live."""
_ROOMS = ("distributed", "functions", "io", "methods", "models", "operators", "plot", "presolve", "theory")
"""Modules that need no import of their own."""
_MOVED = ("datasets", "diagnostics")
"""Modules whose names are forwarded, with a warning."""


def __getattr__(name: str) -> Any:
    if name in _ROOMS or name in _HOMES or name in _MOVED:
        return import_module(f".{name}", __name__)
    for home, names in _HOMES.items():
        if name in names:
            found = getattr(import_module(f".{home}", __name__), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_remedy(name)}")


def _remedy(name: str) -> str:
    """Where a name that is not here is to be found, or what to write for it."""
    if name.startswith("_"):
        return ""
    for room in ("modelling", "functions", "models", "operators", "methods"):
        if name in import_module(f".{room}", __name__).__all__:
            return f"; it is in {__name__}.{room}"
    words = import_module(".modelling.names", __name__).instead(name)
    return f"; write {words}" if words else ""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
