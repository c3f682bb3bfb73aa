"""The theory, measured: potential and certificate along a sound run, and what the printed parameters do."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..methods import IPDS, State
from ..parameters import Parameters
from ..problem import Problem
from ..solving.solve import iterate
from ..theory.certificate import certify
from ..theory.descent import decreases
from ..theory.potential import Decrease, decrease
from .figures import canvas
from .instance import Instance, instance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASET, RHO, MULTIPLE, COMPONENTS, SEED = "randn-150-50", 1.0, 50.0, 5, 0
ITERATIONS = 20_000
FOLLOWED = 1_500
"""Iterations over which the potential is evaluated."""
SMALL = 1e-10
"""Rounding allowed in the decrease inequality, relative to its largest term."""
HUGE = 1e100
"""‖Y - V‖ beyond which a run has blown up; squares are still finite there."""


def printed() -> Parameters:
    """The paper's parameters of its experiments, without the warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Parameters.paper_experiments()


def measure(iterations: int = ITERATIONS, followed: int = FOLLOWED) -> dict[str, Any]:
    """Everything the theory figure shows and the finding states, as plain numbers."""
    case = instance("paper", DATASET, RHO, COMPONENTS, SEED, None)
    sound, paper = Parameters.sound("BI", 1.0, xi=printed().xi, smooth_last=False), printed()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return {
            "settings": {
                "dataset": DATASET,
                "rho": RHO,
                "multiple": MULTIPLE,
                "components": COMPONENTS,
                "sound": _shown(sound),
                "printed": _shown(paper),
                "sound margin": sound.verify("BI", 1.0, smooth_last=False).margin,
                "printed margin": paper.verify("BI", 1.0, smooth_last=False).margin,
                "printed claim": paper.theta2 - 0.5 - paper.chi("BI", 1.0, corrected=False),
                "sound radius": radius(sound),
                "printed radius": radius(paper),
            },
            "sound": _follow(case.problem(), case, sound, iterations, followed),
            "printed": _follow(case.problem(), case, paper, iterations, followed),
            "printed, paper's statement": _follow(case.printed_problem(), case, paper, 4000, 0),
        }


def radius(parameters: Parameters) -> float:
    """Spectral radius of the last block's iteration where h_n is linear, A_n = I, L_n = 0 (docs/theory.md)."""
    theta, sigma = parameters.theta2, parameters.sigma
    M = [[1 - 1 / theta, -1 / theta], [sigma * (1 - 1 / theta), 1 - sigma / theta]]
    return float(np.abs(np.linalg.eigvals(M)).max())


def _follow(
    problem: Problem,
    case: Instance,
    parameters: Parameters,
    iterations: int,
    followed: int,
) -> dict[str, Any]:
    """‖Y - V‖, smallest certificate so far, potential and slack of the decrease inequality along a run."""
    beta0 = MULTIPLE * RHO
    states = iterate(problem, [case.start, case.start], method=IPDS(parameters, beta0))
    seen: list[State] = []
    t: list[int] = []
    residual, critical = [], []
    best, blown_up = math.inf, None
    for state in itertools.islice(states, iterations):
        gap = problem.infeasibility(state.x)
        if not math.isfinite(gap) or gap > HUGE:
            blown_up = state.t
            break
        if len(t) < 20 or state.t >= 1.05 * t[-1]:
            found = certify(problem, state).critical
            best = min(best, found)
            t.append(state.t)
            residual.append(gap)
            critical.append(best)
        if state.t <= followed + 3:
            seen.append(state)
    steps = list(_steps(problem, parameters, seen))
    failures = sum(step.slack < -SMALL * _size(step) for step in steps)
    return {
        "t": t,
        "residual": residual,
        "critical": critical,
        "potential": [step.following for step in steps],
        "failures": failures,
        "checked": len(steps),
        "blown_up": blown_up,
        "objective": case.score(state.x[0]) if blown_up is None else None,
    }


def _steps(problem: Problem, parameters: Parameters, states: Sequence[State]) -> Iterator[Decrease]:
    """The decrease inequality along a run: the paper's own for its parameters, with the ε₂ > 0 that it claims."""
    if parameters.schedule == "shifted":
        yield from decreases(problem, parameters, states)
        return
    for before, state, after, following in zip(states, states[1:], states[2:], states[3:], strict=False):
        yield decrease(problem, parameters, "BI", (before, state, after), following.beta, corrected=False)


def _size(step: Decrease) -> float:
    return max(abs(step.potential), abs(step.following), step.tail, step.energy, 1.0)


def _shown(parameters: Parameters) -> str:
    p = parameters
    return f"(σ, ξ, δ, θ₂) = ({p.sigma:g}, {p.xi:g}, {p.delta:.3g}, {p.theta2:.3g})"


def theory_figure(measured: dict[str, Any]) -> Figure:
    """Potential, certificate against T^(-1/3), and ‖Y - V‖, for sound and printed parameters."""
    figure, grid = canvas(1, 4, 3.0)
    falling, rising, middle, right = grid[0]
    sound, paper = measured["sound"], measured["printed"]
    falling.semilogx(range(3, 3 + len(sound["potential"])), sound["potential"], color="tab:green")
    falling.set(title="potential Θ, sound parameters", xlabel="iteration")
    rising.loglog(range(3, 3 + len(paper["potential"])), np.abs(paper["potential"]), color="tab:red")
    rising.set(title="|Θ|, printed parameters", xlabel="iteration")
    for name, colour in (("sound", "tab:green"), ("printed", "tab:red")):
        run = measured[name]
        middle.loglog(run["t"], run["critical"], color=colour, label=name)
    T = np.array(sound["t"], dtype=float)
    middle.loglog(T, sound["critical"][-1] * (T / T[-1]) ** (-1 / 3), "k--", lw=1, label="$T^{-1/3}$")
    middle.set(title="smallest certificate up to iteration T", xlabel="T")
    runs = (("sound", "tab:green"), ("printed", "tab:red"), ("printed, paper's statement", "tab:orange"))
    for name, colour in runs:
        right.loglog(measured[name]["t"], measured[name]["residual"], color=colour, label=name)
    right.set(title="$\\Vert Y-V\\Vert$", xlabel="iteration", ylim=(1e-9, 1e30))
    for axes in (falling, rising, middle, right):
        axes.grid(alpha=0.3)
        axes.title.set_fontsize(10)
    for axes in (middle, right):
        axes.legend(fontsize=8)
    return figure
