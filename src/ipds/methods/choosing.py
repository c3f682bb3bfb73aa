"""Which method solves a problem: by name, or by what the problem is like."""

from __future__ import annotations

from collections.abc import Callable

from ..presolve import presolve
from ..problem import Problem, examines
from ..theory.assumptions import Assumptions, examine
from ..theory.structure import eliminable
from .accelerated import AcceleratedIPDS
from .base import Method
from .baselines.manpg import ManPG
from .baselines.radmm import RADMM
from .baselines.rialm import RiemannianALM
from .baselines.spgm import SPGM
from .baselines.subgradient import Subgradient
from .ipds import IPDS
from .newton import NewtonALM
from .reordered import Reordered

_NAMES: dict[str, Callable[[], Method]] = {
    "accelerated": AcceleratedIPDS,
    "ipds": IPDS,
    "manpg": ManPG,
    "newton": NewtonALM,
    "radmm": lambda: RADMM("tuned"),
    "rialm": RiemannianALM,
    "sound": lambda: IPDS("sound"),
    "spgm": lambda: SPGM("tuned"),
    "subgradient": lambda: Subgradient("tuned"),
}


def named(name: str) -> Method:
    """The method called `name`, with default settings."""
    if not isinstance(name, str) or name not in _NAMES:
        raise ValueError(f"method must be 'auto', a Method or one of {sorted(_NAMES)}, got {name!r}")
    return _NAMES[name]()


def candidates(problem: Problem, presolved: Problem | None = None) -> list[Method]:
    """What `method="auto"` tries, in this order: the fastest method that can treat the problem, then safer ones.

    `presolved` is what methods that allow it are given, by default the problem itself.
    """
    tried: list[Method] = [] if eliminable(presolved or problem) is None else [AcceleratedIPDS()]
    if tried and problem.operators[-1].is_zero:
        return tried
    practical = IPDS("practical")
    if problem.blocks[-1].h.is_convex:
        return [*tried, practical]
    # Algorithm 1 smooths its last block, so another one with a convex h takes that place
    convex = [
        i for i, block in enumerate(problem.blocks) if block.h.is_convex and not problem.operators[i].is_zero
    ]
    return [*tried, Reordered(practical, convex[-1]) if convex else practical]


@examines
def check(problem: Problem) -> Assumptions:
    """Which assumptions of the theory hold, and what `solve` would do: behind `Problem.check`."""
    return examine(problem, _plan)


def _plan(problem: Problem) -> list[tuple[str, str]]:
    done = presolve(problem)
    tried = ", then ".join(method.name for method in candidates(problem, done.problem))
    return [("presolve", done.report), ("solve() tries", tried)]
