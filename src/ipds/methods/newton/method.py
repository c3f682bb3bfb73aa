"""NewtonALM: certified answers to convex problems in tens of steps, whatever their conditioning.

    min f(v) + H(u)   subject to   u = M v + c        (`form.read` brings a canonical problem to this, in its own units)

    returning   where a multiplier is given, or all rows are equations and f is quadratic: Newton steps on the face
                that is predicted (`returning`)
    warm        two rounds of ADMM, or more while they are fast, each with one factorisation (`rounds`);
                after each, β moves to where the equation and stationarity are equally far; steps on the face that they
                predict are tried after the second, and from every tenth sweep on where residuals are small
    interior    where all of H has kinks, bounds, norms or barriers: interior-point steps (`interior`, `barriers`), at
                once where all rows are equations, or f may be asked inside its bounds only; as
                the gap falls, steps on the face that they predict are tried again, and end at the solution where that
                is the right one
    semismooth  else: Newton steps on the augmented Lagrangian (`semismooth`), or, where no Jacobian is known,
                further rounds

All use one matrix K with one piece of linear algebra (`algebra.System`). A step is a round or one Newton step; those on
predicted faces count as one, and so do the rounds before Newton steps. Every state carries a pair (u, y) with
y ∈ ∂H(u) exactly, made by a prox; with it come exact zeros and bounds.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from ..._arrays import Array, norm
from ...deadline import late, raise_if_late
from ...functions import Linear
from ...problem import Problem
from ...theory.state import State
from ...theory.structure import is_described
from ..base import Method
from . import returning, rounds, semismooth
from .algebra import System
from .barriers import known_barriers
from .carry import INTERIOR, RETURNING, SEMISMOOTH, WARM, Carry, Setup, first_carry
from .cost import Cost
from .form import Form, read
from .graphs import Loss
from .interior import Interior
from .passage import Pair, point_of, state_of
from .resting import at_rest
from .returning import residuals
from .saddle import entries_of

ROUNDS = 2
"""Rounds of ADMM before Newton steps, at least."""
ARRIVED, FURTHER = 1e-7, 1e-3
"""Relative residuals at which steps on predicted faces end; what they end at if that was not enough, in its units."""
PACE = 0.03
"""Further rounds follow as long as each leaves no more than this part of the residuals."""
CLOSE = 5e-5
"""Residuals that a check may pass after the first round."""
SWEPT = 5e-4
"""The same after all rounds, where norms are beside."""
CENTRE = 0.01
"""First ε of the augmented Lagrangian, in units of the curvature of f."""
PATIENCE = 12
"""Interior-point steps without progress (residuals no less, the gap no tenth less) before the semismooth ones."""

STIFF = 1e-5
"""ε of steps on a face, in its units, where f is quadratic and the face is known, or such steps were not enough:
energies of second and third differences bend by less than a part of 1e-10 in some directions."""
FIRM = 1e4
"""β in its own units for equations alone that such an ε leaves unmet."""
ROUNDING = 4e-15
"""Relative residuals below which a further step on predicted faces would only move by rounding."""
NONE_LEFT = 1e-24
"""A relative gap that is none at all: interior-point steps end there. The residual of stationarity is rounding long
before, but products of zeros with what holds them may be small while one of the factors is not."""
FALLING = 0.9
"""Part of the gap that a step may leave, and of the forces under equations alone, so that others follow: where there is
no solution it leaves nearly all of them, and they would lead ever farther."""
WAITS = 50
"""Steps for which such a point waits before the semismooth ones take over: proofs that there is no solution are tried
there first, and semismooth steps find the directions of others."""
WORTH = 1e-5
"""Interior points are worth a check from this relative residual and gap on: certificates are near the root of it."""
CURVED = 1e-8
"""The same of points with barriers, whose faces lead to the solution before."""
NEWER = 0.03
"""What the larger of both falls by before another one is, where anything falls at all: checks cost as much as steps."""
STRICT = 40
"""Steps in which a run does not end before its constraints are met much nearer than a certificate asks for."""
NEAR = 1e-2
"""Semismooth steps are worth one from these residuals on."""
LIKELY, NEARER = 0.05, 0.1
"""Residuals at which sweeps are first taken to predict the face; what they fall by before they are again."""
ROUGH = 0.1
"""Residuals above which the last sweeps on curves do not predict it: right in 1 of 28 tries, and in 9 of 17 below."""
SETTLED, AGAIN = 1e-3, 0.03
"""Gap at which interior points are first taken to predict the face; what the gap falls by before they are again."""
BENT = 200
"""Rows of norms up to which faces are predicted."""
CLEAR, SOONER = 16.0, 10.0
"""Width of the gap between rows that are held and others from which on they are taken to be divided; how much sooner a
face is then tried, where f bends. Where it does not, corners are told from others by the number of rows."""
MIXED = 0.1
"""Gap above which rows that will be held are not told from others."""
VANISHING = 1e-6
"""Gap at which it may be any face."""
SHORT = 0.1
"""A first predictor shorter than this, under equations, starts anew after a sweep in which they hold: rooms were small
beside what equations ask for."""
SHORTEST = 1e-8
"""Interior-point steps shorter than this lead nowhere."""


class NewtonALM(Method):
    """Second-order method for convex problems in canonical form; see the module for its steps."""

    name = "NewtonALM"
    presolves = announces = True
    cost: Cost | None = None
    """What the steps on the problem at hand were predicted to cost, where "auto" has asked."""

    def chooses_units(self, problem: Problem) -> bool:
        """Where nothing bends, and all rows are those of matrices with kinks, bounds or norms of groups.

        With a curved f more problems are certified from units that were chosen before, and then once more here.
        """
        if not all(block.f is None or isinstance(block.f, Linear) for block in problem.blocks):
            return False
        pairs = zip(problem.blocks[:-1], problem.operators, strict=False)
        known = all(is_described(block.h, block.shape) for block in problem.blocks)
        return known and all(op.as_matrix(block.shape) is not None for block, op in pairs)

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Setup, Carry]:
        """Read the problem, choose units and linear algebra; raises AssumptionError where it is not convex."""
        form = read(problem, x0)
        v, y = point_of(problem, form, z0)
        diagonal = form.smooth.curvature(v)
        curvature = float(diagonal.sum()) / form.n if form.n else 0.0
        beta = rounds.first_weight(form, v, curvature)
        W = rounds.uniform(form, beta)
        has_jacobian = form.terms.is_described
        if not has_jacobian:
            weights = form.terms.weights(form.apply(v) + form.c, beta)
            has_jacobian = weights is not None
            W = W if weights is None else weights._replace(direction=W.direction)
        rest = form.smooth.hessian(v)[1]
        further = W.grouped + entries_of(rest)
        barriers = known_barriers(form.terms.pieces, form.n + form.general, form.entries, further)
        interior = None if barriers is None else Interior(form, barriers)
        has_matrices = not all(isinstance(barrier, Loss) for barrier in barriers or ())
        system = System(form.smooth.Q, form.smooth.R, form.M, W, rest, has_matrices)
        slope = form.smooth.gradient(v)
        is_flat = not (diagonal > 0).all()
        setup = Setup(problem, form, system, interior, curvature, is_flat, slope, has_jacobian, (*x0, z0))
        return setup, first_carry(setup, v, y, beta, SETTLED)

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """One round of ADMM, or one Newton step."""
        return self.steps(setup, [carry], carry.t + 1)

    def steps(self, setup: Setup, held: list[Carry], until: int) -> tuple[Carry, State]:
        """Newton steps up to one that is worth a check."""
        with np.errstate(all="ignore"):  # what has overflowed is seen by its outcome
            carry = self._advance(setup, held.pop())
            while not (_is_due(setup, carry) or carry.t >= until or late()):
                carry = self._advance(setup, carry)
        return self._shown(setup, carry)

    def _shown(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        due = _is_due(setup, carry)
        shown = min(carry.shown, max(carry.left, carry.gap)) if due else carry.shown
        return carry._replace(shown=shown), self._state(setup, carry, due)

    def _state(self, setup: Setup, carry: Carry, due: bool) -> State:
        size = max(norm(setup.slope), setup.curvature * norm(carry.v))
        resting = at_rest(setup.form, carry.v, carry.beta, size) if setup.has_jacobian else None
        pair = resting or Pair(carry.v, carry.u, carry.y, carry.beta)
        strict = setup.has_jacobian and carry.t <= STRICT
        return state_of(setup.problem, setup.form, setup.like, pair, carry.t, due, strict)

    def _advance(self, setup: Setup, carry: Carry) -> Carry:
        take = (self._warm, self._interior, self._semismooth, self._returning)[carry.phase]
        moved = take(setup, carry)
        if not (_is_finite(moved.v) and _is_finite(moved.y)):
            moved = carry  # an unbounded problem, at the end of the numbers
        return moved._replace(t=carry.t + 1)

    def _returning(self, setup: Setup, carry: Carry) -> Carry:
        form, beta = setup.form, carry.beta
        goal = max(min(ARRIVED, FURTHER * carry.left), ROUNDING)
        found = None
        if carry.left > ROUNDING:
            alone, curvature = setup.is_linear, setup.curvature or beta
            stiff = alone or (math.isfinite(carry.left) and form.smooth.is_quadratic)
            trust = returning.ALONE if alone else returning.GIVEN
            tried = [(1.0, STIFF if stiff else 1.0), *([(FIRM, 1.0)] if alone else [])]
            for weight, part in reversed(tried) if setup.is_flat else tried:
                found = found or returning.settle(
                    form, setup.system, carry.v, carry.y, weight * beta, part * curvature, goal, trust
                )
        if found is None and (carry.taken or math.isfinite(carry.gap)):
            return self._interior(setup, carry._replace(phase=INTERIOR, v=carry.centre))
        if found is None:
            return self._warm(setup, carry._replace(phase=WARM, left=math.inf))
        pair, left = found
        return carry._replace(**pair._asdict(), left=left)

    def _warm(self, setup: Setup, carry: Carry) -> Carry:
        left, before, tried, factor, beta = math.inf, math.inf, math.inf, None, math.nan
        has_faces = setup.interior is not None and _has_faces(setup.form)
        brief = setup.has_curves or (setup.interior is not None and not setup.curvature)
        while carry.taken < ROUNDS or WORTH < left <= PACE * before:
            raise_if_late()
            if factor is None or carry.beta != beta or not setup.form.smooth.is_quadratic:
                beta, D = carry.beta, setup.form.smooth.hessian(carry.v)
                factor = setup.system.factor(*D, rounds.uniform(setup.form, beta), rounds.PROXIMAL * beta)
            before, pair, moved = left, Pair(carry.v, carry.u, carry.y, beta), carry
            parts = rounds.parts(carry.taken, brief)
            for k, count in enumerate(parts, 1):
                pair = rounds.swept(setup.form, factor, pair, count)
                moved, left = self._balanced(setup, carry, pair)
                is_last = k == len(parts) and (setup.has_curves or moved.taken >= ROUNDS)
                likely = left <= min(LIKELY, NEARER * tried)
                if has_faces and (likely or (is_last and (left <= ROUGH or not setup.has_curves))):
                    on_face, tried = self._on_predicted_face(setup, moved, moved.beta), left
                    if on_face.phase == RETURNING:
                        return on_face
            carry = moved
            if not setup.has_jacobian:
                return carry
            if left <= CLOSE and carry.taken < ROUNDS:
                return carry
            if setup.has_curves:  # a rough start will do
                break
        if setup.interior is None:
            return self._to_semismooth(setup, carry._replace(left=left))
        return carry._replace(phase=INTERIOR, shown=left)

    def _balanced(self, setup: Setup, carry: Carry, pair: Pair) -> tuple[Carry, float]:
        """After a round that ends at a pair, with the next β; and the larger of the relative residuals."""
        v, u, y, beta = pair
        equation, stationarity, size = residuals(setup.form, v, u, y)
        if setup.has_jacobian:
            beta = rounds.balanced(beta, equation, stationarity)
        else:  # rounds are all there is: β comes to rest, and y counts where u can move
            moving = float(np.linalg.norm(y[u != 0])) or size
            beta = rounds.settling(beta, equation, stationarity * (size / moving), carry.taken)
        return carry._replace(v=v, u=u, y=y, beta=beta, taken=carry.taken + 1), max(equation, stationarity)

    def _interior(self, setup: Setup, carry: Carry) -> Carry:
        interior = setup.interior
        assert interior is not None
        if math.isinf(carry.gap):  # the first of these steps
            carry = carry._replace(point=interior.start(carry.v, carry.y, carry.beta))
        if carry.gap <= NONE_LEFT:
            at = interior.residuals(carry.v, carry.point)  # not those of a face that was tried
            carry = carry._replace(u=at.u, y=at.y, stalled=carry.stalled + 1)
            return self._to_semismooth(setup, carry) if carry.stalled > WAITS else carry
        try:
            units, rough = (carry.beta, setup.curvature), carry.gap > SETTLED
            v, point, length, reach = interior.step(setup.system, carry.v, carry.point, *units, rough)
        except np.linalg.LinAlgError:  # at the end of the digits
            return self._to_semismooth(setup, carry)
        is_first = math.isinf(carry.gap) and not carry.stalled
        if is_first and reach < SHORT and interior.equations and setup.form.smooth.is_quadratic:
            v, y = interior.met(setup.system, carry.v, carry.u, carry.y, *units)
            return self._interior(setup, carry._replace(v=v, y=y, stalled=1))
        u, y, gradient, rd, room = interior.residuals(v, point)
        left = norm(rd) / (max(norm(gradient), norm(y)) or 1.0)
        gap = interior.products(point, room) / _energy(setup.slope, gradient, v, u, y)
        if setup.has_barriers:  # they need not leave any product
            gap = max(gap, interior.equation(v, point))
        elif not interior.pairs and left <= FALLING * carry.left:  # nor do equations alone
            gap = left
        if not (math.isfinite(left + gap) and length >= SHORTEST):
            return self._to_semismooth(setup, carry)
        stalled = 0 if left < carry.left or gap < FALLING * carry.gap else carry.stalled + 1
        left, gap = min(left, carry.left), min(gap, carry.gap)
        carry = carry._replace(v=v, u=u, y=y, point=point, left=left, gap=gap, stalled=stalled)
        if stalled > PATIENCE:
            return self._to_semismooth(setup, carry)
        for beta in _trials(setup, carry):
            carry = self._on_predicted_face(setup, carry, beta)
            if carry.phase == RETURNING:
                break
        return carry

    def _on_predicted_face(self, setup: Setup, carry: Carry, beta: float) -> Carry:
        form, v, y, interior = setup.form, carry.v, carry.y, setup.interior
        assert interior is not None
        bends = setup.curvature > 0
        if (
            not setup.has_barriers
            and carry.gap > VANISHING
            and not returning.may_be(form, carry.u, y, beta, interior.equations, bends)
        ):
            return carry
        carry = carry._replace(trusted=min(SETTLED, AGAIN * carry.gap))
        found = returning.settle(form, setup.system, v, y, beta, setup.curvature, ARRIVED, returning.FOUND)
        if found is None:
            return carry
        pair, left = found
        return carry._replace(phase=RETURNING, centre=carry.v, **pair._asdict(), left=left)

    def _to_semismooth(self, setup: Setup, carry: Carry) -> Carry:
        eps = min(carry.beta, CENTRE * setup.curvature) if setup.curvature > 0 else carry.beta
        return carry._replace(phase=SEMISMOOTH, centre=carry.v, multiplier=carry.y, taken=0, eps=eps)

    def _semismooth(self, setup: Setup, carry: Carry) -> Carry:
        form = setup.form
        s = semismooth.Subproblem(carry.v, carry.centre, carry.multiplier, carry.beta, carry.eps, carry.taken)
        at = semismooth.evaluate(form, s)
        equation, stationarity, size = residuals(form, s.v, at.u, at.y)
        if semismooth.is_solved(s, at, size) or s.taken >= semismooth.MOST:
            s = semismooth.following(s, at, equation, stationarity)
            at = semismooth.evaluate(form, s)
        s = semismooth.newton(form, setup.system, s, at)
        at = semismooth.evaluate(form, s)
        left = max(residuals(form, s.v, at.u, at.y)[:2])
        return carry._replace(u=at.u, y=at.y, left=left, **s._asdict())


def _has_faces(form: Form) -> bool:
    """Whether steps on predicted faces are tried: those of norms bend, and many of them are not found so."""
    return form.terms.label.size <= BENT


def _trials(setup: Setup, carry: Carry) -> list[float]:
    """The β with which an interior point is taken to predict the face: that which divides its rows clearly, and as the
    gap falls that of the rounds. None where there are more than `BENT` rows of norms, whose faces bend."""
    form, interior = setup.form, setup.interior
    assert interior is not None
    if carry.gap > MIXED or not _has_faces(form) or setup.is_alone:
        return []
    trials = [carry.beta] if carry.gap <= carry.trusted else []
    bends = setup.curvature > 0  # sparse rows, and curves, divide by degrees then
    by_degrees = bends and (scipy.sparse.issparse(form.M.G) or not form.smooth.is_quadratic)
    if by_degrees or ((bends or carry.gap <= VANISHING) and carry.gap > SOONER * carry.trusted):
        return trials
    beta, width = interior.divided(carry.point, interior.residuals(carry.v, carry.point).room)
    return [beta, *trials] if width >= CLEAR else trials


def _is_due(setup: Setup, carry: Carry) -> bool:
    """Whether a check is due: after rounds and steps on predicted faces, and where a Newton step is worth one."""
    if carry.phase in (WARM, RETURNING):
        return True
    if carry.phase == SEMISMOOTH:
        return carry.left <= NEAR
    if math.isinf(carry.gap):  # after rounds; all of what is nothing at a solution is left of it
        return setup.form.terms.label.size > 0 and not SWEPT < carry.shown < 1.0
    left = max(carry.left, carry.gap)
    if left > (CURVED if setup.has_barriers else WORTH):
        return False
    return carry.stalled > 0 or left <= NEWER * carry.shown


def _is_finite(x: np.ndarray) -> bool:
    """Whether all entries are: where the least and the largest are takes a fraction of the time of a look at each."""
    return not x.size or (math.isfinite(x.item(x.argmin())) and math.isfinite(x.item(x.argmax())))


def _energy(first: np.ndarray, gradient: np.ndarray, v: np.ndarray, u: np.ndarray, y: np.ndarray) -> float:
    """The size of the objective's terms: ⟨y, u⟩, and ⟨∇f, v⟩ with ∇f as at the start and as what has changed since."""
    force = np.abs(first) if gradient is first else np.abs(first) + np.abs(gradient - first)
    return float(np.abs(y) @ np.abs(u) + force @ np.abs(v)) or 1.0
