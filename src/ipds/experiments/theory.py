"""The theory, measured: potential and certificate along a sound run, and what the printed parameters do."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..methods import IPDS, State
from ..methods.schedules import penalty, smoothing
from ..parameters import Parameters
from ..problem import Problem
from ..solving.solve import iterate
from ..theory.diagnostics import certify, decrease, potential
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
        return Parameters.paper("BI", 1.0)


def measure(iterations: int = ITERATIONS, followed: int = FOLLOWED) -> dict[str, Any]:
    """Everything the theory figure shows and the finding states, as plain numbers."""
    case = instance("paper", DATASET, RHO, COMPONENTS, SEED, None)
    sound, paper = Parameters.sound("BI", 1.0, xi=printed().xi), printed()
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
                "sound margin": sound.verify("BI", 1.0).margin,
                "printed margin": paper.verify("BI", 1.0).margin,
                "printed claim": paper.theta2 - 0.5 - paper.chi("BI", 1.0, corrected=False),
                "sound radius": radius(sound),
                "printed radius": radius(paper),
            },
            "sound": _follow(case.problem(), case, sound, iterations, followed),
            "printed": _follow(case.problem(), case, paper, iterations, followed, corrected=False),
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
    corrected: bool = True,
) -> dict[str, Any]:
    """‖Y - V‖, smallest certificate so far, potential and slack of the decrease inequality along a run."""
    beta0 = MULTIPLE * RHO
    states = iterate(problem, [case.start, case.start], method=IPDS(parameters, beta0))
    seen: list[State] = []
    t: list[int] = []
    residual, critical, theta, slack = [], [], [], []
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
        seen = [*seen[-2:], state]
        if len(seen) == 3 and state.t <= followed:
            value, room = _decrease(problem, parameters, seen, beta0, corrected)
            theta.append(value)
            slack.append(room)
    failures = sum(room < -SMALL for room in slack)
    return {
        "t": t,
        "residual": residual,
        "critical": critical,
        "potential": theta,
        "failures": failures,
        "checked": len(slack),
        "blown_up": blown_up,
        "objective": case.score(state.x[0]) if blown_up is None else None,
    }


def _decrease(
    problem: Problem, parameters: Parameters, states: Sequence[State], beta0: float, corrected: bool
) -> tuple[float, float]:
    """(Θ after the iteration, slack of E⁺ ≤ Θ - Θ⁺ + U relative to its largest term)."""
    before, state, after = states
    following = penalty(after.t, beta0, parameters.xi, parameters.p)
    d = decrease(problem, parameters, "BI", (before, state, after), following, corrected)
    size = max(abs(d.potential), abs(d.following), d.tail, d.energy, 1.0)
    mu = smoothing(following, parameters.delta, 1.0)
    return potential(problem, parameters, "BI", state, after, following, mu), d.slack / size


def _shown(parameters: Parameters) -> str:
    p = parameters
    return f"(σ, ξ, δ, θ₂) = ({p.sigma:g}, {p.xi:g}, {p.delta:.3g}, {p.theta2:.3g})"


def theory_figure(measured: dict[str, Any]) -> Figure:
    """Potential, certificate against T^(-1/3), and ‖Y - V‖, for sound and printed parameters."""
    figure, grid = canvas(1, 4, 3.0)
    falling, rising, middle, right = grid[0]
    sound, paper = measured["sound"], measured["printed"]
    falling.semilogx(range(2, 2 + len(sound["potential"])), sound["potential"], color="tab:green")
    falling.set(title="potential Θ, sound parameters", xlabel="iteration")
    rising.loglog(range(2, 2 + len(paper["potential"])), np.abs(paper["potential"]), color="tab:red")
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
