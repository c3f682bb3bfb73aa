"""Accelerated IPDS: a block eliminated, the others moved jointly by spectral prox-gradient steps.

With Φ, s and z⁺ as in `reduction.py`, every iteration is one step of the reduced problem min Φ(x) + Σ h_i(x_i),

    x_i ← prox_{h_i}(x_i - α_i∇_iΦ(x), α_i),

with Barzilai-Borwein lengths and a nonmonotone line search; on a manifold along the tangent part of the gradient. Every
few steps the multiplier moves, z ← z⁺, and the penalty β grows if the constraint lags behind.

Where a smooth f competes with h_n over a nonconvex set, and that has not settled it in `patience` iterations, the run
*anneals*: from its best point it starts again with a strongly smoothed h_n (μ large, z = 0), lets the smoothing shrink
slowly, which finds better basins, and sharpens the result by dual steps as before.
"""

from __future__ import annotations

import math

from ..._arrays import Array, is_jax, norm, precision
from ..._arrays.compiling import pure
from ...errors import AssumptionError
from ...problem import Block, Problem
from ..base import Method, State, checked, lipschitz_at
from ..baselines.composite import assemble, kink_width, length
from .descent import Terms, descend, descend_far, is_due
from .reduction import (
    Arrays,
    Point,
    Reduction,
    curvatures,
    eliminable,
    eliminate,
    evaluate,
    resmooth,
    verified,
    without,
)
from .spectral import SHORTEST, Reference
from .stages import EFFORTS, INNER, Cycle, Effort, Memory, begin, next_stage, ready

SHARP_START, SHARP_GROWTH, SHARP_FAR = 5.0, 2.0, 0.05
"""First penalty (in units of C_h/‖x_n‖), growth, and the residual above which it grows at every dual step, where no
smooth f competes with h_n: its kinks decide at once."""
SMOOTHER = 0.4
TRANSITION = 0.7, 20
"""First penalty in units of the natural one where h_n outweighs f; factor and steps of the way between the two."""
HEAVY, TRIALS = 0.1, 60
"""First weight of an h_i in units of the one at which it outweighs the gradient of f_i; proxes to find that at most."""
VERIFY = 16
"""Iterations between trials whether what looks like a quadratic is one."""


class AcceleratedIPDS(Method):
    """IPDS with one block eliminated in closed form.

    Needs a block j with convex h and A = c·I (or a bijective A with AᵀA = c²·I); its f, if any, moves to the others.

        u = (b - Σ_{i≠j} A_i x_i - z/β)/c,  s = 1/(βc²) + μ,  x̆_j = prox_{h_j}(u, s),  d = (u - x̆_j)/s
        Φ(x) = Σ_{i≠j} f_i(x_i) + h_j(x̆_j) + s‖d‖²/2,  ∇_iΦ = ∇f_i(x_i) - A_iᵀd/c
        x_i ← prox_{h_i}(x_i - ατ_i∇_iΦ, ατ_i), α of Barzilai-Borwein length, nonmonotone search
        every few steps:  z ← -d/c;  β grows where the equation lags behind stationarity

    On manifolds the tangent part of ∇_iΦ is used. Where a smooth f competes over a nonconvex set the smoothing may be
    raised again and lowered slowly (annealing, by `h.soften`); where f_i has no global Lipschitz constant, h_i counts
    more at first.

    Parameters
    ----------
    effort : "fast", "balanced" (fast at first, patient where that has not settled it) or "thorough".
    beta0 : first penalty; default: scale-free, from C_h, ‖x_n⁰‖ and the curvature of f.

    References: Barzilai & Borwein, IMA J. Numer. Anal. 8 (1988) and Zhang & Hager, SIOPT 14 (2004) for the steps.
    """

    def __init__(self, effort: str = "balanced", beta0: float | None = None):
        if effort not in EFFORTS:
            raise ValueError(f"AcceleratedIPDS: effort must be one of {list(EFFORTS)}, got {effort!r}")
        checked("AcceleratedIPDS", beta0=beta0)
        self.effort = effort
        self.beta0 = beta0
        self.name = f"AcceleratedIPDS(effort={effort!r})"

    def init(self, problem: Problem, x0: Arrays, z0: Array) -> State:
        """Eliminate a block; choose the first penalty and step."""
        j = eliminable(problem)
        if j is None:
            raise AssumptionError(
                "AcceleratedIPDS needs a block with convex h and A = c·I (or an isometry) to eliminate; "
                "state the problem so that one exists, or use IPDS"
            )
        R, effort = eliminate(problem, j, x0), EFFORTS[self.effort]
        x = tuple([into_domain(block, xi) for block, xi in zip(R.blocks, without(x0, j), strict=True)])
        gentle = any(block.f is not None for block in problem.blocks)
        unit = kink_width(problem, R, x0)
        own_bend = lipschitz_at(problem.blocks[j].f, x0[j])[0]
        bends = [own_bend, *(lipschitz_at(block.f, xi)[0] for block, xi in zip(R.blocks, x, strict=True))]
        natural = (max(1 / unit, *bends) if gentle else SHARP_START / unit) / R.c**2
        beta = natural = natural if natural > 0 else self.beta0 or 1 / R.c**2
        first = self.beta0
        if first is None and gentle and 1 / unit >= max(bends):  # h_n outweighs f: begin a little smoother
            first = SMOOTHER * natural
        cooling = None
        if first is not None and math.isfinite(unit):  # between `first` and the natural penalty by degrees
            beta, last = min(first, natural), max(first, natural)
            cooling = Cycle(math.nan, *TRANSITION, 1 / (last * unit * R.c**2))
        s = 1 / (beta * R.c**2)
        target = R.b - z0 / beta
        point = evaluate(R, x, target, s)
        if point.push is not None and norm(z0) > 0:
            # a given z0 is that of the problem as stated, in which f_j has not moved
            z0 = z0 - point.push
            target = R.b - z0 / beta
            point = resmooth(R, point, target, s)
        weights = first_weights(R, point)
        if max(weights) > 1:
            point = resmooth(R, point, target, s, weights)
        curved = [max(curvature, 1e-12 / s) for curvature in curvatures(R, point, s, own_bend)]
        largest = max(curved)
        slope, eps = length(point.g), precision(point.z)
        memory = Memory(
            reduction=R,
            effort=effort,
            growth=effort.growth if gentle and math.isfinite(unit) else SHARP_GROWTH,
            unit=unit,
            slope=slope,
            eps=eps,
            far=math.inf if gentle else SHARP_FAR,
            may_anneal=gentle and math.isfinite(unit) and any(not block.h.is_convex for block in R.blocks),
            first=beta,
            tau=tuple(largest / curvature for curvature in curved),
            weights=weights,
            incumbent=(math.inf, x if max(weights) > 1 else ()),
            point=point.bare(),
            warm=(None,) * len(R.blocks),
            z=z0 if norm(z0) > 0 else None,
            target=target,
            beta=beta,
            mu=0.0,
            alpha=max(1 / (largest * len(curved)), SHORTEST),
            reference=Reference(float(point.value)),
            tolerance=0.1 * slope,
            cooling=cooling,
        )
        points = [(None if block.h.is_manifold else xi, 1.0) for block, xi in zip(R.blocks, x, strict=True)]
        return assemble(0, R, point, points, s, beta, 0.0, memory, memory.settled)

    def step(self, problem: Problem, state: State) -> State:
        """One prox-gradient step on the reduced problem; every few steps a dual step."""
        return self.stride(problem, state, state.t + 1)

    def stride(self, problem: Problem, state: State, until: int) -> State:
        """The same; for JAX all steps up to the next dual step, or up to iteration `until`, as one program."""
        m = ready(state.memory, state.t)
        if state.t % VERIFY == VERIFY - 1:
            m = _verified(m)
        R, p, terms = m.phi, m.point, Terms(m.target, m.s, m.tau, m.weights, m.eps)
        limit = m.cooling.inner if m.cooling else INNER
        start = p.x, p.g, m.warm, m.alpha, m.reference, m.inner, state.t
        if is_jax(p.x[0]):
            until = min(until, state.t + VERIFY - (state.t + 1) % VERIFY)
            last = pure(descend_far, R, terms, m.tolerance, limit, until, *start, like=p.x[0])
        else:
            last = descend(R, terms, *start)
        q = last.trial.point
        due = is_due(last, m.tolerance, limit)
        m = m._replace(
            point=q._replace(g=()) if due else q.bare(),
            warm=last.trial.warm,
            alpha=last.alpha,
            reference=last.reference,
            inner=last.inner,
            due=last.rest if due else None,
            signs=last.signs if due else (),
        )
        steps = [step * weight for step, weight in zip(last.steps, m.weights, strict=True)]
        points = list(zip(last.trial.v, steps, strict=True))
        return assemble(last.t, R, q, points, m.s, m.beta, m.mu, m, m.settled, m.transient)

    def lighter(self, state: State) -> State:
        """The memory alone, which says where the next step starts; then the parts of a stage that is due."""
        if state.prox_points:
            return _bare(state, state.memory)
        m: Memory = state.memory
        if m.due is not None:
            return _bare(state, next_stage(m, state.t))
        return state if m.point.g else _bare(state, begin(m))

    def may_smooth(self, state: State) -> bool:
        """Whether it may anneal."""
        return state.memory.may_anneal and bool(state.memory.effort.cycles)

    def parameters_of(self, state: State) -> Effort:
        """The numbers behind the effort."""
        return state.memory.effort


def first_weights(R: Reduction, p: Point) -> tuple[float, ...]:
    """ω_i: `HEAVY` of the weight at which h_i would outweigh ∇f_i entirely, where f_i has no global curvature bound.

    Such an f (a quartic, say) is far from convex at a start that is far away: there a heavier h_i, which keeps x_i
    simple, leads to better minima.
    """
    weights = []
    for block, slope in zip(R.blocks, p.df, strict=True):
        steepest, weight = block.h.lipschitz(block.shape), 0.0
        if block.f is not None and block.f.lipschitz is None and 0 < steepest < math.inf:
            weight = norm(slope) / steepest
            for _ in range(TRIALS):
                if norm(block.h.prox(slope, weight)) == 0:
                    break
                weight *= 1.2
            else:
                weight = 0.0  # h_i has its minimum elsewhere than at 0
        weights.append(max(1.0, HEAVY * weight))
    return tuple(weights)


def into_domain(block: Block, x: Array) -> Array:
    """x, or its projection where h is a set that it lies outside of: no search could compare values there."""
    return x if not block.h.is_set or block.h(x) == 0 else block.h.prox(x, 1.0)


def _bare(state: State, memory: Memory) -> State:
    """A State of which only the memory is left."""
    return State(state.t, (), None, None, state.beta, state.mu, (), (), state.last, memory=memory)


def _verified(m: Memory) -> Memory:
    """The same place, with every f that turns out not to be quadratic evaluated in full from here on."""
    R = verified(m.reduction, m.point)
    if R is m.reduction:
        return m
    m = m._replace(reduction=R)
    point = evaluate(m.phi, m.point.x, m.target, m.s, m.weights)
    return m._replace(point=point, reference=Reference(float(point.value)))
