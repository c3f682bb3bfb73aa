"""Who takes part: each entrant is a way to run a method on an instance, with the clock of a `Recorder`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..methods import IPDS, RADMM, SPGM, AcceleratedIPDS, ManPG, Method, RiemannianALM, Subgradient
from ..solving.solve import iterate, solve
from .homotopy import smoothing_homotopy
from .instance import Instance
from .record import Outcome, Recorder

Run = Callable[[Instance, float | None, Recorder], Outcome]


@dataclass(frozen=True)
class Entrant:
    """A row of the tables. `kind`: "ours", "baseline" (of the paper) or "peer"; `paper`: its name in the paper."""

    label: str
    kind: str
    run: Run
    takes_beta0: bool = False
    families: tuple[str, ...] = ("paper", "trade-off")
    paper: str | None = None
    note: str = ""


def by_solve(make: Callable[[float | None], str | Method], printed: bool = False) -> Run:
    """ipds.solve with default options but the time limit: it may stop at its certificate, which is on its clock."""

    def run(instance: Instance, beta0: float | None, record: Recorder) -> Outcome:
        problem, method = instance.printed_problem() if printed else instance.problem(), make(beta0)

        def see(shown: Any) -> None:
            record(shown.x[0])

        record.start()
        result = solve(
            problem,
            [instance.start, instance.start],
            method=method,
            max_iter=10**9,
            time_limit=record.budget,
            callback=see,
        )
        certificate = result.certificate
        return Outcome(
            result.x[0], result.status.name, result.nit, certificate.feasibility, certificate.relative
        )

    return run


def by_steps(make: Callable[[], Method]) -> Run:
    """A baseline stepped by hand for the whole budget: nothing on the clock but its own iterations."""

    def run(instance: Instance, beta0: float | None, record: Recorder) -> Outcome:
        problem, method = instance.problem(), make()
        record.start()
        for state in iterate(problem, [instance.start, instance.start], method=method):
            record(state.x[0])
            if record.over:
                break
        return Outcome(state.x[0], "BUDGET", state.t, problem.infeasibility(state.q))

    return run


def by_homotopy(inner: int, shrink: float, first: float) -> Run:
    """The smoothing homotopy; it ends when its smoothing is negligible."""

    def run(instance: Instance, beta0: float | None, record: Recorder) -> Outcome:
        def seen(X: np.ndarray, width: float) -> bool:
            record(X)
            return record.over

        record.start()
        X, steps = smoothing_homotopy(
            instance.f, instance.weight, instance.start, seen, inner=inner, shrink=shrink, first=first
        )
        return Outcome(X, "BUDGET" if record.over else "FINISHED", steps, 0.0)

    return run


PAPER_ONLY, TRADE_OFF_ONLY = ("paper",), ("trade-off",)
ENTRANTS = (
    Entrant("auto", "ours", by_solve(lambda beta0: "auto"), note="solve(problem), default options"),
    Entrant(
        "IPDS accelerated",
        "ours",
        by_solve(lambda beta0: AcceleratedIPDS(beta0=beta0)),
        True,
        PAPER_ONLY,
        note="AcceleratedIPDS(beta0=β⁰)",
    ),
    Entrant(
        "IPDS thorough",
        "ours",
        by_solve(lambda beta0: AcceleratedIPDS("thorough")),
        families=TRADE_OFF_ONLY,
        note="AcceleratedIPDS(effort='thorough')",
    ),
    Entrant("IPDS practical", "ours", by_solve(lambda beta0: IPDS("practical", beta0)), True),
    Entrant(
        "IPDS sound",
        "ours",
        by_solve(lambda beta0: IPDS("sound", beta0)),
        True,
        note="corrected parameters, theorem",
    ),
    Entrant(
        "IPDS printed",
        "ours",
        by_solve(lambda beta0: IPDS("paper", beta0), printed=True),
        True,
        paper="IPDS-ADMM",
        note="the paper's statement and parameters, to the letter",
    ),
    Entrant(
        "SubGrad published",
        "baseline",
        by_steps(lambda: Subgradient("published")),
        False,
        PAPER_ONLY,
        "SubGrad",
    ),
    Entrant("SubGrad tuned", "baseline", by_steps(lambda: Subgradient("tuned"))),
    Entrant("SPGM published", "baseline", by_steps(lambda: SPGM("published")), False, PAPER_ONLY, "SPGM"),
    Entrant("SPGM tuned", "baseline", by_steps(lambda: SPGM("tuned"))),
    Entrant("RADMM published", "baseline", by_steps(lambda: RADMM("published")), False, PAPER_ONLY, "RADMM"),
    Entrant("RADMM tuned", "baseline", by_steps(lambda: RADMM("tuned"))),
    Entrant("ManPG", "peer", by_steps(ManPG), note="manifold proximal gradient, adaptive"),
    Entrant("MIALM", "peer", by_steps(RiemannianALM), note="Riemannian augmented Lagrangian"),
    Entrant("homotopy", "peer", by_homotopy(100, 0.3, 0.1), note="smoothing homotopy, eager"),
    Entrant(
        "homotopy slow",
        "peer",
        by_homotopy(30, 0.9, 1.0),
        families=TRADE_OFF_ONLY,
        note="smoothing homotopy, patient",
    ),
)
BY_LABEL = {entrant.label: entrant for entrant in ENTRANTS}
