"""What the theorem of accelerated IPDS rests on, watched along runs whose leniency ends early."""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from ipds import Block, Problem, Status, Variable, minimize, solve
from ipds.functions import L0, L1, MCP, Cardinality, LeastSquares, Quadratic, Sphere, smooth
from ipds.methods import AcceleratedIPDS
from ipds.methods.accelerated import annealing
from ipds.methods.accelerated import method as accelerated
from ipds.methods.accelerated.annealing import LENIENT, DualStepNorms, Stage
from ipds.methods.accelerated.method import CEILING, LAG, TIGHTEST, grow
from ipds.methods.accelerated.search import DECREASE, ROUNDING
from ipds.modelling import norm1
from ipds.solving.starting import starting_point
from ipds.theory.certificate import certify
from ipds.theory.state import residual_of
from problems import regression_data, trade_off

sys.path.append(str(Path(__file__).parents[1]))

from oracle_cases import CASES

FEW = 3
"""Exceptions allowed in these tests."""


def sphere() -> Problem:
    g = np.random.default_rng(1)
    return Problem(
        [
            Block(f=Quadratic(np.diag(np.arange(8.0))), h=Sphere(2.0), A=g.standard_normal((12, 8)), shape=8),
            Block(h=L1(0.3), A=-2.0, shape=12),
        ],
        b=g.standard_normal(12),
    )


def penalised() -> Problem:
    g = np.random.default_rng(2)
    f = LeastSquares(g.standard_normal((10, 6)), g.standard_normal(10))
    return Problem(
        [
            Block(f=f, h=MCP(0.5, 3.0), A=g.standard_normal((9, 6)), shape=6),
            Block(h=L0(0.1), A=g.standard_normal((9, 4)), shape=4),
            Block(h=L1(1.0), shape=9),
        ],
        b=1.0,
    )


def regression() -> Problem:
    G, y, _ = regression_data(60, 30, 4, 0)
    return Problem([Block(h=Cardinality(4), A=-G, shape=30), Block(h=L1(1.0), shape=60)], b=-y)


BUILD = CASES | {"sphere": sphere, "penalised": penalised, "trade_off": trade_off, "regression": regression}
PROVED = [
    "sparse_pca",
    "first_on_stiefel",
    "callables",
    "robust_regression",
    "three_blocks",
    "lasso",
    "low_rank",
    "jumps",
    "normals",
    "spectrum",
    "nonconvex_last",
    "sphere",
    "penalised",
    "trade_off",
    "regression",
]


class Step(NamedTuple):
    """One step of a run: before, what was found, after."""

    before: Any
    move: Any
    after: Any
    state: Any


def run(
    problem: Problem, count: int, monkeypatch: pytest.MonkeyPatch, effort: str = "fast"
) -> tuple[Any, list[Step]]:
    """The setup and `count` steps with `FEW` exceptions in the place of `LENIENT`."""
    for module in (annealing, accelerated):
        monkeypatch.setattr(module, "LENIENT", FEW)
    moves: list[Any] = []
    plain = accelerated.reduced_step

    def watched(setup: Any, carry: Any) -> Any:
        moves.append(plain(setup, carry))
        return moves[-1]

    monkeypatch.setattr(accelerated, "reduced_step", watched)
    method = AcceleratedIPDS(effort)
    setup, carry = method.init(problem, *starting_point(problem, None, None, 1))
    steps = []
    for _ in range(count):
        before = carry
        carry, state = method.step(setup, carry)
        steps.append(Step(before, moves[-1], carry, state))
    return setup, steps


def is_end(step: Step) -> bool:
    return step.after.search.inner == 0


def is_dual(step: Step) -> bool:
    """Whether the step ends with a dual step."""
    return step.after.stage.rounds == step.before.stage.rounds + 1 or (
        step.before.stage.cooling and not step.after.stage.cooling
    )


@pytest.mark.parametrize("name", PROVED)
def test_what_the_theorem_says_of_a_run(name, monkeypatch):
    problem = BUILD[name]()
    assert problem.check().methods.named("AcceleratedIPDS()").guarantee
    setup, steps = run(problem, 1200 if name == "callables" else 500, monkeypatch)
    duals = [step for step in steps if is_dual(step)]
    R = setup.reduced
    bound = R.h.lipschitz(problem.blocks[R.j].shape) / abs(R.c)
    floor = TIGHTEST * setup.eps * setup.schedule.slope

    # stages: all but FEW end at their tolerance, which falls to 0, but for rounding
    late = [step for step in duals if step.before.stage.cut >= FEW]
    assert sum(step.move.stationarity_norm > step.before.stage.tolerance for step in duals) <= FEW
    for step in late:
        assert step.move.stationarity_norm <= step.before.stage.tolerance
        assert step.after.stage.tolerance == max(0.7 * step.before.stage.tolerance, floor)
    for step in steps:
        if is_end(step) and not step.before.stage.cooling:
            assert is_dual(step)

    # searches: a step that is taken has decrease; where none was found the point stays, and the lengths go on falling
    for step in steps:
        search, reference = step.before.search, step.before.search.reference.value
        kept = step.after.x[0] is step.before.x[0]
        assert kept == (step.move.search.refused and not is_end(step))
        if not step.move.search.refused:
            rise = ROUNDING * setup.eps * abs(reference)
            moved = sum(
                np.sum((new - old) ** 2) / tau
                for new, old, tau in zip(step.move.point.x, step.before.x, setup.tau, strict=True)
            )
            longest = setup.tau and step.move.prox_points[0][1] / (
                setup.tau[0] * step.before.stage.weights[0]
            )
            assert step.move.point.value <= reference + rise - 0.99 * DECREASE * moved / longest
            assert step.move.point.value <= search.reference.value + rise

    # the penalty: no smaller residual for long makes it grow, up to its ceiling
    for step in duals:
        old, new = step.before.stage, step.after.stage
        assert new.held <= FEW or new.beta >= CEILING * setup.beta0
        assert new.held == 0 or new.held == old.held + 1
        assert new.lowest <= old.lowest or old.cooling

    # multipliers are slopes of h_j: bounded, and with them the residual
    for step in duals:
        z = step.before.stage.beta * (R.b - step.before.target)
        assert np.linalg.norm(z) <= bound * (1 + 1e-9)
        if not step.before.stage.cooling:
            point = step.move.point
            gap = np.linalg.norm(residual_of(problem, step.state))
            rounding = 1e-13 * step.before.stage.beta * np.linalg.norm(point.x_breve)
            assert step.before.stage.beta * gap == pytest.approx(
                np.linalg.norm(point.reduced_multiplier - z), rel=1e-6, abs=rounding
            )
            assert step.before.stage.beta * gap <= 2 * bound * (1 + 1e-9) + rounding

    # so criticality falls below any ε, sooner or later
    reached = min(certify(problem, step.state).relative for step in duals)
    assert reached <= (0.05 if name == "trade_off" else 1e-7)


def test_every_stage_ends_by_its_tolerance_once_enough_were_cut(monkeypatch):
    """On a problem whose stages are cut early: none is later, though they take longer than `INNER` steps."""
    _, steps = run(regression(), 600, monkeypatch)
    cut = [step.before.stage.cut for step in steps]
    assert max(cut) == FEW
    ends = [k for k, step in enumerate(steps) if is_end(step)]
    lengths = {after - before for before, after in pairwise(ends) if cut[after] == FEW}
    assert max(lengths) > annealing.INNER
    tolerances = [steps[k].before.stage.tolerance for k in ends if cut[k] == FEW]
    assert all(later < earlier for earlier, later in pairwise(tolerances[:20]))
    handed = next(step for step in steps if step.before.stage.cut == FEW - 1 and step.after.stage.cut == FEW)
    assert handed.after.stage.tolerance == pytest.approx(0.7 * handed.move.stationarity_norm)


def test_runs_of_usual_length_are_never_bound(monkeypatch):
    """The exceptions outlast the default limit of 10,000 iterations at ten steps a stage."""
    assert LENIENT * annealing.INNER >= 10_000
    _, steps = run(BUILD["three_blocks"](), 100, monkeypatch)
    monkeypatch.undo()
    method = AcceleratedIPDS("fast")
    setup, carry = method.init(
        BUILD["three_blocks"](), *starting_point(BUILD["three_blocks"](), None, None, 0)
    )
    for step in steps:
        carry, state = method.step(setup, carry)
        if step.after.stage.cut < FEW:
            np.testing.assert_array_equal(state.x[0], step.state.x[0])


def test_a_search_without_decrease_goes_on_from_where_it_began():
    def cliff(x):
        return 0.0 if np.all(x == 5.0) else 1e3

    f = smooth(cliff, lipschitz=1.0, value_and_grad=lambda x: (cliff(x), 1.0 * x))
    problem = Problem([Block(f=f, A=-1.0, shape=3), Block(h=L1(0.1), shape=3)])
    method = AcceleratedIPDS("fast")
    x0, z0 = starting_point(problem, [np.full(3, 5.0)] * 2, None, 0)
    setup, carry = method.init(problem, x0, z0)
    first, refused = carry, 0
    while carry.search.inner or carry is first:
        before = carry
        carry, _ = method.step(setup, carry)
        if carry.search.refused:
            refused += 1
            assert carry.x[0] is first.x[0]
            assert carry.gradient[0] is first.gradient[0]
            assert carry.search.alpha < 1e-11 * before.search.alpha
            assert carry.search.usual == first.search.usual
            assert carry.search.reference == first.search.reference
    assert refused >= 1
    shrunk = setup.schedule.smoothing(carry.stage) / setup.schedule.smoothing(first.stage)
    assert carry.search.alpha == carry.search.usual == first.search.usual * min(1.0, shrunk)


def test_growth_waits_for_stationarity_but_not_for_ever():
    setup, carry = AcceleratedIPDS("fast").init(
        BUILD["lasso"](), *starting_point(BUILD["lasso"](), None, None, 0)
    )
    stage = carry.stage._replace(cooling=False, feasibility=1.0, lowest=1.0)
    norms = DualStepNorms(0.9, 10.0, (10.0,))

    def after(stage: Stage, residual: float = 0.9) -> Stage:
        return grow(setup, stage, norms._replace(residual=residual), 1e6)  # stationarity is far behind

    for held in (0, 5, LENIENT - 1):
        new = after(stage._replace(held=held))
        assert (new.beta, new.held, new.lowest, new.exhausted) == (stage.beta, held + 1, 1.0, False)
    grown = after(stage._replace(held=LENIENT))
    assert (grown.beta, grown.held) == (pytest.approx(setup.growth * stage.beta), 0)
    smaller = after(stage._replace(held=LENIENT), residual=LAG)
    assert (smaller.beta, smaller.held, smaller.lowest) == (stage.beta, 0, LAG)
    # a residual that falls and rises again is no smaller one: only the smallest so far counts
    swinging = after(stage._replace(held=7, feasibility=2.0, lowest=0.5), residual=0.6)
    assert (swinging.held, swinging.lowest) == (8, 0.5)
    top = CEILING * setup.beta0
    ceiling = after(stage._replace(held=LENIENT, beta=top))
    assert (ceiling.beta, ceiling.exhausted) == (top, True)
    assert after(stage._replace(held=LENIENT, beta=top), residual=0.0).held == 0


def two_equations_for_one_entry() -> Problem:
    x = Variable(3)
    return minimize(Cardinality(1)(x) + norm1(x), [np.eye(2, 3) @ x == np.array([1.0, 2.0])])


def test_the_ceiling_is_a_status(monkeypatch):
    for module in (annealing, accelerated):
        monkeypatch.setattr(module, "LENIENT", FEW)
    monkeypatch.setattr("ipds.solving.run.out_of_reach", lambda history, rows: False)
    monkeypatch.setattr("ipds.solving.stopping.Stagnation.status", lambda self, check, z, tol: None)
    problem = two_equations_for_one_entry()
    result = solve(problem, method=AcceleratedIPDS("fast"), max_iter=5000)
    assert result.status is Status.PENALTY_CEILING
    assert not result.success
    assert result.nit < 5000
    assert "however large the penalty" in result.message
    assert result.history["beta"][-1] >= 0.999 * CEILING * result.history["beta"][0]
    assert math.isfinite(result.certificate.critical)
