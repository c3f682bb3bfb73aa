"""Which method solves a problem: by name, or by what the problem is like."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..functions import PSD, Nuclear, Zero
from ..presolve import Presolved, as_stated, foreign_libraries, presolve
from ..problem import Problem, examines
from ..theory.assumptions import Assumptions, examine
from ..theory.bending import SMALL, seems_convex
from ..theory.bound import bound
from ..theory.structure import eliminable, is_convex_canonical, is_described, may_be_convex_canonical
from .accelerated import AcceleratedIPDS
from .base import Method
from .baselines.manpg import ManPG
from .baselines.radmm import RADMM
from .baselines.rialm import RiemannianALM
from .baselines.spgm import SPGM
from .baselines.subgradient import Subgradient
from .either_sign import EitherSign, is_one_sided
from .faces import (
    LowRankIPDS,
    OnFaces,
    OnStretches,
    TangentSteps,
    factorable,
    has_flat_faces,
    has_stretches,
    ranked,
)
from .ipds import IPDS
from .newton import NewtonALM, is_slanted, predicted
from .reordered import Reordered
from .reweighted import STEPS, ReweightedEigenvectors, is_sum_of_norms
from .selections import SignedSelections, outweighed

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


_CLASSES = {
    "acceleratedipds": "accelerated",
    "newtonalm": "newton",
    "riemannianalm": "rialm",
}
"""Names that results print, which are those of the classes, where they differ from the names here."""


def named(name: str) -> Method:
    """The method called `name`, or of the class of that name, in any case, with default settings."""
    asked = name.lower() if isinstance(name, str) else ""
    asked = _CLASSES.get(asked, asked)
    if asked not in _NAMES:
        raise ValueError(f"method must be 'auto', a Method or one of {sorted(_NAMES)}, got {name!r}")
    return _NAMES[asked]()


def candidates(problem: Problem, presolved: Problem | None = None, shares: bool = True) -> list[Method]:
    """What `method="auto"` tries, in this order: the fastest method that can treat the problem, then safer ones.

    `presolved` is what methods that allow it are given, by default the problem itself. `shares`: a run may use what
    earlier ones have found; not where it is saved, as one that is resumed has none before it.
    """
    given = problem if presolved is None else presolved
    last = eliminable(given)
    tried: list[Method] = [] if last is None else [AcceleratedIPDS()]
    if is_convex_canonical(given) and _is_at_hand(given):
        tried = _with_newton(given, tried)
    elif may_be_convex_canonical(given) and _is_at_hand(given) and _is_small(given):
        # where f turns out not to be convex, first-order steps go on
        tried = [NewtonALM(), *tried] if seems_convex(given) else [*tried, NewtonALM(), *tried]
    elif last is not None and has_flat_faces(given, last):
        first: Method = AcceleratedIPDS()
        tried = [OnFaces(EitherSign(first) if is_one_sided(given) else first, {} if shares else None)]
        tried = tried if last == len(given.blocks) - 1 else [Reordered(tried[0], last)]
    elif last is not None and has_stretches(given, last):
        tried = [OnStretches(AcceleratedIPDS())]
        tried = tried if last == len(given.blocks) - 1 else [Reordered(tried[0], last)]
    elif tried and is_sum_of_norms(given):
        tried = [ReweightedEigenvectors(), *tried]
    elif tried and outweighed(given) is not None:
        tried = [SignedSelections(), *tried]
    elif tried and ranked(given):
        tried = [*tried, TangentSteps(), *tried]
        tried = [LowRankIPDS(), *tried] if factorable(given) is not None and _is_at_hand(given) else tried
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


PATIENCE = 5.0
"""Seconds for which Newton steps are taken even where first-order ones should be faster: those may lag."""
FEWEST = 30
"""Iterations that first-order steps are given at least, where they come first."""
UNSURE = 60
"""The same where a function does not say whether it is convex: Newton steps may then lead nowhere."""


def _with_newton(problem: Problem, first: list[Method]) -> list[Method]:
    """Newton steps before the others where they are cheap; where not, first-order steps, then Newton's, then back.

    Newton steps settle equations and balls at once; an entrywise prox of each variable alone is hard to beat where f is
    well conditioned, and so is one of singular values, whose Jacobian is a full matrix.
    """
    newton, cost = NewtonALM(), predicted(problem)
    newton.cost = cost
    newton.why = f"convex, and Newton steps are predicted to take {cost.newton:.2g} s"
    cheap = cost.newton <= max(2 * cost.first_order, PATIENCE) and not cost.is_full
    easy = _is_composite(problem) and _is_described(problem)
    if not first or (cheap and not (easy and not is_slanted(problem))):
        return [newton, *first]
    return first if math.isinf(cost.newton) else [*first, newton, *first]


SEMISMOOTH = 40
"""Newton steps, twice as many as are predicted, after which others go on where a prox has a full Jacobian."""
BRIEF = 0.25
"""Seconds of Newton steps on few eigenvalues: they take a fifth of what is predicted where first-order steps lag."""
RANKED = 300
"""Iterations in which problems of bounded rank without noise are long solved; tangent steps certify the others."""


MOST, AFFORDABLE = 5000, 60.0
"""Iterations after which Newton steps have their turn at the latest, half of those that `solve` allows, where they are
predicted to take no more than so many seconds."""


def handover(method: Method, following: Method | None, problem: Problem) -> int | None:
    """Iterations after which `method` hands its point on to the method that follows, None where it goes on.

    First-order steps before Newton's: as many as take half the time that these are predicted to take, or `MOST`. Where
    the Jacobian of a prox is a full matrix, all of that time, or a quarter of it where that is `BRIEF`, and Newton's in
    turn are given `SEMISMOOTH` steps. Before tangent steps: `RANKED`. Of eigenvectors and selections: `STEPS`.
    """
    if isinstance(following, TangentSteps):
        return RANKED
    if isinstance(method, ReweightedEigenvectors | SignedSelections):
        return STEPS
    if isinstance(method, NewtonALM):
        is_full = following is not None and method.cost is not None and method.cost.is_full
        return SEMISMOOTH if is_full else None
    if not isinstance(following, NewtonALM):
        return None
    cost = following.cost or predicted(problem)
    fewest = FEWEST if is_convex_canonical(problem) else UNSURE
    share = 0.5 if not cost.is_full else 0.25 if cost.newton <= BRIEF else 1.0
    wait = max(fewest, int(share * cost.newton / cost.iteration))
    return min(wait, MOST) if cost.newton <= AFFORDABLE else wait


def _is_small(problem: Problem) -> bool:
    """Whether Newton steps are tried on functions that do not say whether they are convex."""
    return sum(math.prod(block.shape) for block in problem.blocks[:-1]) <= SMALL


def _is_at_hand(problem: Problem) -> bool:
    """Whether all arrays are NumPy's, on this machine."""
    return not any(op.rows is not None for op in problem.operators) and not any(foreign_libraries(problem))


def _is_composite(problem: Problem) -> bool:
    """Whether a canonical problem is Σ f_j + h_j without an equation, the last block being free, and some h_j not 0."""
    *variables, last = (isinstance(block.h, Zero) for block in problem.blocks)
    return last and not all(variables)


def _is_described(problem: Problem) -> bool:
    """Whether every h is known by its kinks, bounds or norms of groups, or is of a few eigenvalues."""
    return all(
        is_described(block.h, block.shape) or isinstance(block.h, PSD | Nuclear) for block in problem.blocks
    )


@examines
def check(problem: Problem, epsilon: float = 1e-3) -> Assumptions:
    """Which assumptions of the theory hold, and what `solve` would do: behind `Problem.check`."""
    return examine(problem, _plan, _promise, epsilon)


def _promise(problem: Problem, epsilon: float) -> float:
    """Iterations of `IPDS("sound")` that the theorem promises, from the start at the prox of zero."""
    x0 = tuple([block.h.prox(np.zeros(block.shape), 1.0) for block in problem.blocks])
    method = IPDS("sound")
    setup, carry = method.init(problem, x0, np.zeros(problem.shape))
    states = []
    for _ in range(4):
        carry, state = method.step(setup, carry)
        states.append(state)
    return bound(problem, method.parameters_of(setup), states).iterations(epsilon)


def _plan(problem: Problem) -> list[tuple[str, str]]:
    done = presolve(problem, units=False)
    tried = candidates(problem, done.problem)
    report = given_to(tried[0], done).report
    return [("presolve", report), ("solve() tries", ", then ".join(method.name for method in tried))]


def given_to(method: Method, done: Presolved) -> Presolved:
    """What a method is given of a problem: as it was stated, in canonical form, or that in better units."""
    if not method.presolves:
        return as_stated(done.stated, f"{method.name} takes it so")
    return done if method.chooses_units(done.problem) else done.in_units
