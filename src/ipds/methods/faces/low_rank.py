"""LowRankIPDS: accelerated IPDS on the factors of a matrix of bounded rank, for λ‖B - κX‖₁ on the entries observed.

    reduced step  X ← the retraction of X - α P_X∇Φ(X), α of Barzilai-Borwein length, nonmonotone search
    dual step     z ← -d/c with d = clipped/s, once little is left of the gradient, or after a few reduced steps
    growth        β ← 5β at a dual step, where the equation lags behind stationarity;
                  stages stretch, where stationarity lags behind the equation

X = U diag(σ) Vᵀ is never formed but for a check: a reduced step is one pass over the data (`passes`) and thin products.
An iteration is `STRIDE` reduced steps or fewer, and the dual steps where stages end; the first one, where the rank is
small, is reweighted least squares (`alternation`), which lead to a much smaller 1/β in as many passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._arrays import Array
from ...deadline import raise_if_late
from ...errors import AssumptionError
from ...functions import L1, Rank
from ...functions.fixed_rank import FixedRank, Tangent
from ...operators import Identity
from ...operators.sampling import Sampling
from ...problem import Problem
from ...theory.certificate import certify
from ...theory.state import State
from ..accelerated.annealing import INNER, STRETCHED
from ..accelerated.method import (
    CEILING,
    HASTE,
    LAG,
    ROUNDING,
    SHARP_FAR,
    SHARP_START,
)
from ..accelerated.search import DECREASE, Reference, backtrack, barzilai_borwein, next_length
from ..base import Method
from . import inexact, interior
from .alternation import FEW, PERFECT, Sample, alternated, is_settled, start
from .passes import Deviations, Slope, gather, spread

STRIDE, RECENT = 20, 10
"""Reduced steps of an iteration at most, and those of which the best point is taken: going back further undoes more."""
NEWS, SOON = 0.7, 0.03
"""A check is due where no more than `NEWS` is left of what was left at the last one that was due; an iteration ends at
a dual step that leaves no more than `SOON` of that: a check costs as much as 7 steps."""
STRETCH = 1.3
"""Factor of the steps between dual steps."""
INSIDE = 0.5
"""Share of the s-th singular value that the witness of a normal vector may take up."""
GROWTH = 5.0
"""Factor of β at a dual step after which the equation still lags."""
AGAIN, NEVER = 2, 2**62
"""Factor of the reduced steps after which interior-point steps are tried again."""
EARLY, GOAL, CLOSER = 600, 4e-4, 0.08
"""Where these would need too large a factor: reduced steps before inexact ones, the certificate that they go for
(about), and its factor after a success, from which they go on at once."""
LOOSE, TIGHTER = 0.1, 0.5
"""What may be left of the gradient at a first dual step, in units of the first one, and its factor at every other."""
EPS = float(np.finfo(float).eps)


class Stage(NamedTuple):
    """What the reduced problem is smoothed by at present."""

    s: float
    """1/(βc²)."""
    tolerance: float
    """The stage ends where no more than this is left of the gradient."""
    most: float
    """Steps between dual steps at most."""
    rounds: int
    feasibility: float
    """‖Ax - b‖/c at the last dual step."""

    def begun(self, slope: float) -> Stage:
        """The same with a tolerance, where it has none yet, from ‖P_X∇Φ‖ at the start."""
        return self if math.isfinite(self.tolerance) else self._replace(tolerance=LOOSE * slope)


class Carry(NamedTuple):
    """Where the next step starts."""

    t: int
    U: np.ndarray
    sigma: np.ndarray
    V: np.ndarray
    gradient: Tangent
    target: np.ndarray
    """T, (b - z/β)/c."""
    alpha: float
    """The length that is tried first."""
    reference: Reference
    inner: int
    """Reduced steps since the stage began."""
    steps: int
    """All of them."""
    attempt: int
    """Of these, after which interior-point steps are tried."""
    goal: float
    """The certificate that they go for; 0 where they solve the problem to the end."""
    gap: float
    """The gap at which they begin."""
    least: float
    """The larger of both relative residuals at the last check that was due."""
    stage: Stage


@dataclass(frozen=True, eq=False)
class Setup:
    """What stays fixed during a run."""

    problem: Problem
    ranked: int
    """The block of bounded rank; the other one is eliminated."""
    c: float
    """Its A."""
    data: np.ndarray
    """B = b/c, 0 where not observed."""
    size: float
    """‖B‖."""
    loss: Deviations
    sample: Sample
    slope: float
    """The largest ‖∇Φ‖ that there can be: the scale of its rounding."""
    first: float
    """The first smoothing."""


class LowRankIPDS(Method):
    """IPDS on the factors of one block of bounded rank; see the module for the steps.

    Needs two blocks without f: h = Rank(r) with A = a·I or a `Sampling`, and h = L1(λ) with A = c·I. A start of a lower
    rank is replaced by what the range of the data shows. Refuses, with `AssumptionError`, other problems, and goes no
    further where the rank falls below r.
    """

    presolves = True
    name = "LowRankIPDS"

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Setup, Carry]:
        """Read the problem; the first factors, penalty and step."""
        i = factorable(problem)
        if i is None or not all(type(x) is np.ndarray and x.dtype == np.float64 for x in (*x0, z0)):
            raise AssumptionError(
                "LowRankIPDS needs two blocks, h = Rank(s) with A = a·I or a Sampling and h = L1(λ) with A = c·I, and "
                "NumPy arrays"
            )
        block, op, other = problem.blocks[i], problem.operators[i], problem.operators[1 - i]
        c = other.scale  # type: ignore[attr-defined]
        observed = op.adjoint(np.ones(problem.shape)) if isinstance(op, Sampling) else None
        kappa = (op.scale if isinstance(op, Identity) else 1.0) / c
        data = spread(op, np.broadcast_to(problem.b if c == 1.0 else problem.b / c, problem.shape))
        loss = Deviations(kappa, float(problem.blocks[1 - i].h.lam), observed)  # type: ignore[attr-defined]
        sample = Sample.of(data, op.indices if isinstance(op, Sampling) else None)
        X = start(block.h.s, x0[i], data, loss, sample)  # type: ignore[attr-defined]
        size = float(np.linalg.norm(data))
        rest = float(np.mean(sample.sizes(kappa, X.U * X.sigma, X.V) ** 2)) ** 0.5
        unit = size / math.sqrt(data.size) or 1.0
        s = (rest if rest > PERFECT * unit else unit) / loss.lam / SHARP_START
        target = data - (s * c) * spread(op, z0) if np.any(z0) else data
        slope = abs(kappa) * loss.lam * math.sqrt(data.size)
        setup = Setup(problem, i, c, data, size, loss, sample, slope, s)
        stage = Stage(s, math.inf, float(INNER), 0, math.inf)
        attempt, goal = interior.passes_before(data.shape, len(X.sigma)), 0.0
        if attempt is None:
            attempt, goal = EARLY if data.size <= inexact.LARGEST else NEVER, GOAL
        point = (X.U, X.sigma, X.V, X.zero(), target)
        search = (s / kappa**2, Reference(math.inf), 0, 0)
        return setup, Carry(0, *point, *search, attempt, goal, inexact.START, math.inf, stage)

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """`STRIDE` reduced steps, or fewer, and a dual step wherever a stage ends; or the solution nearby."""
        if carry.t == 0 and len(carry.sigma) <= FEW and carry.target is setup.data:
            return self._first(setup, carry)
        if carry.steps >= carry.attempt:
            solution = self._finished(setup, carry)
            if solution is not None:
                return solution
            carry = carry._replace(attempt=AGAIN * carry.steps, gap=inexact.START)
        loss, stage, target = setup.loss, carry.stage, carry.target
        X, gradient = FixedRank(carry.U, carry.sigma, carry.V), carry.gradient
        alpha, reference, inner, steps = carry.alpha, carry.reference, carry.inner, carry.steps
        carry = carry._replace(target=setup.data)  # a dual step lets go of the old one
        best: tuple[FixedRank, Slope] | None = None
        state: State | None = None
        while state is None:
            raise_if_late()
            if inner == 0:
                begun = loss.at(X, target, stage.s)
                gradient, reference, best = begun.gradient, Reference(begun.value), None
                stage = stage.begun(math.sqrt(gradient.square))
            X, found, alpha = reduced_step(loss, X, gradient, target, stage.s, alpha, reference, steps)
            gradient, reference = found.gradient, reference.after(found.value)
            inner, steps = inner + 1, steps + 1
            # spectral steps climb and fall: what is shown, and where a stage ends, is the point with the least left
            if best is None or steps % RECENT == 1 or gradient.square < best[1].gradient.square:
                best = (X, found)
            over = math.sqrt(gradient.square) <= stage.tolerance or inner >= int(stage.most)
            last = steps - carry.steps >= STRIDE
            if not over and not last:
                continue
            clipped, residual = loss.clipped(best[0], target, stage.s, setup.data)
            left = max(_stationarity(setup, best[1], stage.s), residual / setup.size)
            if last or left <= SOON * carry.least < math.inf:
                due = left <= NEWS * carry.least
                least = left if due else carry.least
                shown = (best[0], best[1].gradient, clipped, target)
                state = self._snapshot(setup, carry.t + 1, *shown, stage.s, due)
            if over:  # z ← -d/c, β ← growth·β
                X, s, inner = best[0], stage.s, 0
                stage = _after(setup, stage, best[1], residual)
                target = np.multiply(clipped, stage.s / s, out=clipped)
                target += setup.data
                alpha *= stage.s / s
        _require_rank(X)
        point = carry._replace(U=X.U, sigma=X.sigma, V=X.V, gradient=gradient, target=target)
        search = point._replace(alpha=alpha, reference=reference, inner=inner, steps=steps)
        return search._replace(t=carry.t + 1, least=least, stage=stage), state

    def _first(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """Reweighted least squares, and a dual step with the s = ε/λ that they end at, or that of the start if less."""
        loss, data, X = setup.loss, setup.data, FixedRank(carry.U, carry.sigma, carry.V)
        X, epsilon = alternated(X, data, loss, setup.sample, setup.size / math.sqrt(data.size))
        _require_rank(X)
        s = min(epsilon / loss.lam, setup.first)
        clipped, residual = loss.clipped(X, data, s, data)
        found = Slope(math.nan, X.parts(clipped, -loss.kappa / s), residual**2)
        left = max(_stationarity(setup, found, s), residual / setup.size)
        state = self._snapshot(setup, 1, X, found.gradient, clipped, data, s, due=True)
        tolerance = math.sqrt(found.gradient.square) if math.isfinite(epsilon) else LOOSE * setup.slope
        begun = carry.stage._replace(s=s, tolerance=tolerance)
        stage = _after(setup, begun, found, residual)
        target = np.multiply(clipped, stage.s / s, out=clipped)
        target += data
        point = carry._replace(t=1, U=X.U, sigma=X.sigma, V=X.V, gradient=found.gradient, target=target)
        return point._replace(alpha=stage.s / loss.kappa**2, least=left, stage=stage), state

    def _finished(self, setup: Setup, carry: Carry) -> tuple[Carry, State] | None:
        """The solution near the carry, or a point near that; None if it is higher or its certificate does not fall."""
        loss, s, data = setup.loss, carry.stage.s, setup.data
        X, most = FixedRank(carry.U, carry.sigma, carry.V), s * loss.lam
        seen, scale = None if loss.observed is None else loss.observed > 0, math.copysign(most, loss.kappa)
        if carry.goal:
            solution = inexact.solved(X, data / loss.kappa, seen, carry.goal, carry.gap)
        else:
            d = loss.clipped(X, carry.target, s, data)[0] / scale
            solution = interior.solved(X, data / loss.kappa, seen, d, most / abs(loss.kappa))
        if solution is None:
            return None
        Y, d = solution
        before, after = (loss.sizes(Z, data)[0] for Z in (X, Y))
        if not after <= before * (1 + ROUNDING * EPS):
            return None
        t, target = carry.t + 1, data + scale * d
        shown = scale * d if carry.goal else loss.clipped(Y, target, s, data)[0]
        clipped, _ = loss.clipped(X, carry.target, s, data)
        left = self._certified(setup, t, X, clipped, carry.target, s)[0]
        del clipped
        relative, new = self._certified(setup, t, Y, shown, target, s)
        if not relative < left:
            return None
        attempt = carry.attempt if carry.goal else AGAIN * carry.steps
        fresh = carry._replace(t=t, U=Y.U, sigma=Y.sigma, V=Y.V, target=target, inner=0)
        return fresh._replace(attempt=attempt, goal=CLOSER * carry.goal, gap=carry.goal), new

    def _certified(
        self, setup: Setup, t: int, X: FixedRank, clipped: np.ndarray, target: np.ndarray, s: float
    ) -> tuple[float, State]:
        """The State at X, and its relative certificate."""
        gradient = X.parts(clipped, -setup.loss.kappa / s)
        state = self._snapshot(setup, t, X, gradient, clipped, target, s, due=True)
        return certify(setup.problem, state).relative, state

    def _snapshot(
        self,
        setup: Setup,
        t: int,
        X: FixedRank,
        gradient: Tangent,
        clipped: np.ndarray,
        target: np.ndarray,
        s: float,
        due: bool,
    ) -> State:
        """The State with z = -clipped/(sc), and a normal vector as the witness of the bounded rank."""
        problem, i, c, kappa = setup.problem, setup.ranked, setup.c, setup.loss.kappa
        op, scale = problem.operators[i], -kappa / s
        # v - x is the normal part of -Aᵀz, short enough for x to stay the nearest matrix of the rank
        length = math.sqrt(max(scale**2 * float(np.vdot(clipped, clipped)) - gradient.square, 0.0))
        step = INSIDE * float(X.sigma[-1]) / length if length > 0 else 1.0
        x, x_breve, v = setup.loss.shown(X, target, clipped, s, gradient, step)
        x_breve, z = gather(op, x_breve), gather(op, clipped * (-1 / (s * c)))
        known = (None, None) if isinstance(op, Identity) else (op.apply(x), scale * clipped)
        own = (x, known[0], (v, step), known[1])
        rest = (x_breve, None, (None, s), None)
        blocks, products, points, adjoints = zip(*((own, rest) if i == 0 else (rest, own)), strict=True)
        beta = 1 / (s * c * c)
        return State(
            t, blocks, x_breve, z, beta, 0.0, products, points, last=1 - i, adjoints=adjoints, due=due
        )


def reduced_step(
    loss: Deviations,
    X: FixedRank,
    gradient: Tangent,
    target: np.ndarray,
    s: float,
    first: float,
    reference: Reference,
    steps: int,
) -> tuple[FixedRank, Slope, float]:
    """(the next point, Φ there, the length that the next step tries first)."""
    square = gradient.square
    level = reference.value + ROUNDING * EPS * abs(reference.value)

    def attempt(alpha: float) -> tuple[bool, tuple[FixedRank, Slope]]:
        Y = X.moved(gradient, -alpha)
        found = loss.at(Y, target, s)
        return found.value <= level - DECREASE * alpha * square, (Y, found)

    alpha, (Y, found) = backtrack(attempt, first)
    across = X.inner(gradient, Y, found.gradient)
    dx_dg, dg_dg = alpha * (square - across), square - 2 * across + found.gradient.square
    spectral = barzilai_borwein(alpha**2 * square, dx_dg, dg_dg, long=steps % 2 == 1)
    return Y, found, next_length(alpha, spectral)


def _after(setup: Setup, stage: Stage, found: Slope, residual: float) -> Stage:
    """The stage after a dual step: β grows where the equation lags, stages stretch where stationarity does."""
    relative, feasible = _stationarity(setup, found, stage.s), residual / setup.size
    balance = 1.0 if stage.rounds > HASTE else 0.1
    lags = (
        residual > max(LAG * stage.feasibility, ROUNDING * EPS * setup.size) and feasible > balance * relative
    )
    growth = GROWTH if lags or feasible > SHARP_FAR else 1.0
    lagging = relative > 2 * feasible
    s = max(stage.s / growth, min(stage.s, setup.first / CEILING))
    return Stage(
        s=s,
        tolerance=max(TIGHTER * stage.tolerance, ROUNDING * EPS * setup.slope),
        most=min(float(STRETCHED), STRETCH * stage.most) if lagging else stage.most,
        rounds=stage.rounds + 1,
        feasibility=residual,
    )


def _require_rank(X: FixedRank) -> None:
    """Refuse a point whose rank is about to fall."""
    if not is_settled(X):
        raise AssumptionError("LowRankIPDS: the solution seems to have a lower rank than the block may have")


def _stationarity(setup: Setup, found: Slope, s: float) -> float:
    """‖P_X∇Φ‖/‖∇Φ‖."""
    force = abs(setup.loss.kappa) * math.sqrt(found.square) / s
    return math.sqrt(found.gradient.square) / force if force > 0 else 0.0


def factorable(problem: Problem) -> int | None:
    """The block of bounded rank, where the problem is one that `LowRankIPDS` treats."""
    if len(problem.blocks) != 2 or any(block.f is not None for block in problem.blocks):
        return None
    for i, (block, op) in enumerate(zip(problem.blocks, problem.operators, strict=True)):
        other, last = problem.blocks[1 - i], problem.operators[1 - i]
        robust = type(other.h) is L1 and type(other.h.lam) is float and other.h.lam > 0
        ranked = type(block.h) is Rank and 0 < 2 * block.h.s < min(block.shape)
        plain = isinstance(op, Sampling) or (isinstance(op, Identity) and op.scale != 0)
        if ranked and robust and plain and isinstance(last, Identity) and last.scale != 0:
            return i
    return None
