"""Which assumptions of the theory a problem meets, and what to do about those it does not."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import AssumptionError
from ..parameters import Condition, condition_of
from .floors import falling_block
from .structure import idle

if TYPE_CHECKING:
    from ..problem import Problem
    from .methods import MethodTable


ALWAYS = ("IPDS", "AcceleratedIPDS", "NewtonALM")
"""Methods whose row is printed whether their theorem applies or not; of others it is where it does."""
LEAVE = "leave it: answers of solve() are certified without this theorem"
"""The remedy where no other is simple."""


@dataclass(frozen=True)
class Failure:
    """An assumption that does not hold, and the remedy."""

    assumption: str
    remedy: str


@dataclass(frozen=True, repr=False)
class Assumptions:
    """The report of `Problem.check`: data by attribute, a table when printed."""

    condition: Condition | None
    kappa: float
    lambda_max: float
    lambda_min: float
    lipschitz: dict[str, float | None]
    """L_i by block; None where only a local constant exists."""
    C_h: float
    h_convex: bool
    h_lipschitz: bool
    last: str
    failures: tuple[Failure, ...] = field(default=())
    problem: Problem | None = field(default=None, repr=False, compare=False)
    plan: Callable[[Problem], list[tuple[str, str]]] | None = field(default=None, repr=False, compare=False)
    """(what, how) of a default `solve`: presolve, methods in their order. An answer is certified without a theorem."""
    promise: Callable[[Problem, float], float] | None = field(default=None, repr=False, compare=False)
    """Iterations that the theorem promises to bring the criticality below ε."""
    epsilon: float = 1e-3
    """The ε of which the report speaks."""

    UNCHECKED: ClassVar[tuple[str, ...]] = (
        "the objective is bounded below (a few directions were probed)",
        "every h_i is prox-bounded and closed",
        "the paper also asks for coercivity and a bound on ∇f_n, which its theorem does not need (docs/theory.md)",
    )
    """What is asked and no program can see."""

    def iterations(self, epsilon: float) -> float:
        """Iterations after which the theorem promises a criticality of at most ε for `IPDS("sound")`.

        From the start at the prox of zero; a guarantee, not a forecast. `AssumptionError` or ValueError where a
        constant is not known.
        """
        if not self.holds or self.problem is None or self.promise is None:
            raise AssumptionError(
                "the theorem does not apply here: " + "; ".join(f.assumption for f in self.failures)
            )
        return self.promise(self.problem, epsilon)

    @property
    def holds(self) -> bool:
        """Whether the paper's theorem applies as it stands."""
        return not self.failures

    @cached_property
    def methods(self) -> MethodTable:
        """Every method: what its theorem needs, what of it holds here, its complexity, whether it is guaranteed."""
        from .methods import MethodTable, method_table

        return MethodTable() if self.problem is None else method_table(self.problem)

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Methods that are not in this package and whose theorems apply here, with their sources."""
        from .facts import Facts
        from .theorems import RELATIVES

        if self.problem is None:
            return ()
        facts = Facts(self.problem)
        return tuple(f"{t.name} ({t.reference})" for t in RELATIVES if not t.missing(facts))

    @property
    def proved(self) -> tuple[str, ...]:
        """Variants of IPDS whose convergence is proved here."""
        if not self.holds:
            return ()
        return ("IPDS('sound')", "IPDS('paper')") if self.condition == "SU" else ("IPDS('sound')",)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        data = asdict(replace(self, problem=None, plan=None, promise=None))
        del data["problem"], data["plan"], data["promise"]
        table = tuple(row._asdict() for row in self.methods)
        return {**data, "holds": self.holds, "methods": self.proved, "table": table}

    def __str__(self) -> str:
        kinds = {row: row.name.partition("(")[0] for row in self.methods}
        shown = [row for row, kind in kinds.items() if row.guarantee or kind in ALWAYS]
        others = dict.fromkeys(kind for kind in kinds.values() if kind not in {kinds[row] for row in shown})
        table = [
            ("method", "ok  steps   assumptions of its theorem"),
            *((row.name, str(row)) for row in shown),
            ("others", f"no theorem for this problem: {', '.join(others)}; `.methods` says what they lack"),
        ]
        remedies = [f"fails: {f.assumption}\n   do: {f.remedy}" for f in self.failures]
        return "\n".join([_columns([*self.rows(), *table]), *remedies])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .._html import assumptions_html

        return assumptions_html(self)

    def summary(self) -> str:
        """The report without the table of methods."""
        return _columns(self.rows())

    def rows(self) -> list[tuple[str, str]]:
        """(what, how it is here), in the order printed."""
        shown = ", ".join(
            f"{name} {'local only' if value is None else f'{value:.4g}'}"
            for name, value in self.lipschitz.items()
        )
        meaning = {"BI": "BI (bijective, kappa < 2)", "SU": "SU (surjective)", None: "neither BI nor SU"}
        return [
            ("last block", self.last),
            ("condition on its A", meaning[self.condition]),
            ("lambda_max, lambda_min of A Aᵀ", f"{self.lambda_max:.6g}, {self.lambda_min:.6g}"),
            ("kappa", f"{self.kappa:.6g}"),
            ("its h convex", "yes" if self.h_convex else "no"),
            ("its h Lipschitz", f"yes, C_h = {self.C_h:.6g}" if self.h_lipschitz else "no"),
            ("L_i of the gradients", shown),
            *(("sets", text) for text in ([] if self.problem is None else idle(self.problem))),
            ("theorem applies", f"yes, to {', '.join(self.proved)}" if self.holds else "no"),
            *(
                [("not checked", "; ".join(self.UNCHECKED)), *self._promised()]
                if self.holds
                else self._elsewhere()
            ),
            *([] if self.plan is None or self.problem is None else self.plan(self.problem)),
        ]

    def _elsewhere(self) -> list[tuple[str, str]]:
        """Theorems of methods that are not here."""
        return [("theorems elsewhere", "; ".join(self.elsewhere))] if self.elsewhere else []

    def _promised(self) -> list[tuple[str, str]]:
        """The promised number of iterations to ε, where every constant is known."""
        try:
            count = self.iterations(self.epsilon)
        except (AssumptionError, ValueError, TypeError, NotImplementedError):
            return []
        return [
            (
                "iterations it promises",
                f"{count:.1e} to a criticality of {self.epsilon:g}; runs need far fewer",
            )
        ]


def _columns(rows: list[tuple[str, str]]) -> str:
    """Two aligned columns."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def examine(problem: Problem, plan: Any = None, promise: Any = None, epsilon: float = 1e-3) -> Assumptions:
    """Assumptions on the smooth parts (L_i), on the last block (h_n, A_n), with remedies."""
    if not isinstance(epsilon, numbers.Real) or not epsilon > 0:
        raise ValueError(f"check: epsilon must be a positive number, got {epsilon!r}")
    name, block, op = problem.names[-1], problem.blocks[-1], problem.operators[-1]
    lower, upper = op.extremes(block.shape)
    condition, kappa = condition_of(problem)
    slope = block.h.lipschitz(block.shape)
    lipschitz = {
        n: 0.0 if b.f is None else b.f.lipschitz for n, b in zip(problem.names, problem.blocks, strict=True)
    }
    failures = _of_last_block(problem, condition, slope)
    for n, constant in lipschitz.items():
        if constant is None:
            failures.append(
                Failure(
                    f"f of block {n!r} states no global Lipschitz constant of its gradient",
                    "solvers find a local one by backtracking, and the guarantee is then local; if one exists, state "
                    "it as f.lipschitz",
                )
            )
    falling = falling_block(problem)
    if falling is not None:
        failures.append(
            Failure(
                f"f + h of block {falling!r} falls without end along a direction that was tried",
                "bound the block (e.g. h = Box or a ball), or add a term that grows faster",
            )
        )
    return Assumptions(
        condition,
        kappa,
        upper,
        lower,
        lipschitz,
        slope,
        block.h.is_convex,
        math.isfinite(slope),
        name,
        tuple(failures),
        problem,
        plan,
        promise,
        epsilon,
    )


def _of_last_block(problem: Problem, condition: Condition | None, slope: float) -> list[Failure]:
    """What the last block lacks, and what to put there in its place."""
    if problem.unconstrained:
        return [Failure("there is no equation, and Algorithm 1 is about blocks that share one", LEAVE)]
    name, block, better = problem.names[-1], problem.blocks[-1], _other_last_blocks(problem)

    def lacks(assumption: str, wanted: str) -> Failure:
        other = (
            f"move block {better[0]!r} last"
            if better
            else f"state the problem with {wanted} last, or {LEAVE}"
        )
        return Failure(assumption.format(repr(name)), other)

    failures = []
    if condition is None:
        failures.append(
            lacks("A of the last block {} is not surjective (lambda_min = 0)", "a block with A = c·I")
        )
    if not block.h.is_convex:
        failures.append(lacks("h of the last block {} is not convex", "a block with a convex h"))
    if not math.isfinite(slope):
        failures.append(lacks("h of the last block {} is not Lipschitz (C_h = inf)", "a norm, not a set,"))
    return failures


def _other_last_blocks(problem: Problem) -> list[str]:
    """Blocks that could stand last: convex Lipschitz h, surjective A."""
    names = []
    for name, block, op in list(zip(problem.names, problem.blocks, problem.operators, strict=True))[:-1]:
        if (
            block.h.is_convex
            and math.isfinite(block.h.lipschitz(block.shape))
            and op.extremes(block.shape)[0] > 0
        ):
            names.append(name)
    return names
