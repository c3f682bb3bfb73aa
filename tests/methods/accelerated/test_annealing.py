"""Stages: how each ends, what follows it, and what a whole schedule looks like."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import (
    L1,
    Box,
    Cardinality,
    NonNegative,
    PCAVariance,
    PhaseRetrieval,
    Smooth,
    Stiefel,
    smooth,
)
from ipds.functions.logarithmic import positive
from ipds.methods import AcceleratedIPDS
from ipds.methods.accelerated.annealing import (
    CYCLES,
    EFFORTS,
    HEAVY,
    HOT,
    INNER,
    LIGHTER,
    LOOSE,
    MILD,
    ROUNDS,
    TIGHT,
    Begin,
    Cycle,
    Effort,
    Schedule,
    Stage,
    Turn,
    begin_cycle,
    first_weights,
    has_meetings,
    kink_width,
    lighten,
    restore_zeros,
)
from ipds.methods.accelerated.method import SMOOTHER
from ipds.methods.accelerated.reduced import eliminate, evaluate

UNIT, SLOPE = 3.0, 40.0


def schedule(
    effort: Effort | str = "balanced", c: float = 2.0, may_anneal: bool = True, cold: float = 0.5
) -> Schedule:
    effort = EFFORTS[effort] if isinstance(effort, str) else effort
    return Schedule(effort, c, UNIT, SLOPE, may_anneal, Cycle(math.nan, 0.7, 20, cold))


def stage(**changes) -> Stage:
    return Stage(5.0, 0.0, (1.0,), LOOSE * SLOPE, cooling=False)._replace(**changes)


def test_smoothing_is_that_of_the_penalty_and_of_the_envelope():
    assert schedule().smoothing(stage(beta=5.0, mu=0.3)) == pytest.approx(1 / (5.0 * 4.0) + 0.3)


@pytest.mark.parametrize(
    ("effort", "at", "t", "turn"),
    [
        ("balanced", {}, 199, Turn.SHARPEN),
        ("balanced", {}, 200, Turn.ANNEAL),
        ("balanced", {"relative": 0.12}, 39, Turn.SHARPEN),
        ("balanced", {"relative": 0.12}, 40, Turn.ANNEAL),
        ("balanced", {"relative": 0.09}, 40, Turn.SHARPEN),
        ("thorough", {}, 100, Turn.ANNEAL),
        ("fast", {}, 10**9, Turn.SHARPEN),
        ("balanced", {"cycle": 0, "rounds": ROUNDS - 1}, 10**9, Turn.SHARPEN),
        ("balanced", {"cycle": 0, "rounds": ROUNDS}, 300, Turn.ANNEAL),
        ("balanced", {"cycle": len(CYCLES), "rounds": 10**9}, 10**9, Turn.SHARPEN),
        ("balanced", {"cooling": True, "mu": UNIT}, 10**9, Turn.COOL),
        ("balanced", {"cooling": True, "beta": 1e9, "mu": 0.5 * UNIT}, 10**9, Turn.SHARPEN),
        ("balanced", {"cooling": True, "cycle": 0, "beta": 1e9, "mu": 0.23 * UNIT}, 300, Turn.COOL),
        ("balanced", {"cooling": True, "cycle": 0, "beta": 1e9, "mu": 0.21 * UNIT}, 300, Turn.SHARPEN),
    ],
)
def test_how_a_stage_ends(effort, at, t, turn):
    assert schedule(effort).turn(stage(**at), t) is turn
    if not at.get("cooling"):
        assert schedule(effort, may_anneal=False).turn(stage(**at), t) is Turn.SHARPEN


def test_cooling_takes_a_factor_off_the_smoothing_and_never_lowers_the_penalty():
    plan, first = schedule(), stage(cooling=True, beta=0.1, mu=2.0)
    second = plan.cool(first)
    assert plan.smoothing(second) == pytest.approx(0.7 * plan.smoothing(first))
    assert second.beta == pytest.approx(10 / (0.5 * UNIT * 4.0))
    assert plan.cool(stage(cooling=True, beta=1e6, mu=2.0)).beta == 1e6
    annealed = plan.cool(stage(cooling=True, cycle=0, mu=2.0))
    assert plan.smoothing(annealed) == pytest.approx(MILD.factor * plan.smoothing(stage(mu=2.0)))


def test_sharpening_ends_a_cooling_with_the_same_smoothing_in_the_penalty_alone():
    plan, last = schedule(), stage(cooling=True, beta=70.0, mu=0.4, rounds=5, tolerance=TIGHT)
    sharp = plan.sharpen(last)
    assert not sharp.cooling
    assert (sharp.mu, sharp.rounds, sharp.tolerance) == (0.0, 0, LOOSE * SLOPE)
    assert plan.smoothing(sharp) == pytest.approx(plan.smoothing(last))
    assert plan.sharpen(sharp) is sharp


def test_a_run_through_all_stages():
    """From dual steps through every cycle to the end: hot first, then monotonically colder, then sharp."""
    effort = Effort(1.05, ((50, 0.0),), (MILD, Cycle(2.0, 0.5, 7)))
    plan = schedule(effort)
    now, t, path = stage(), 0, []
    while len(path) < 400 and not (now.cycle == 2 and now.rounds == 3):
        t += plan.most_steps(now)
        turn = plan.turn(now, t)
        path.append((turn, now))
        if turn is Turn.COOL:
            now = plan.cool(now)
        elif turn is Turn.ANNEAL:
            now = plan.anneal(now)
        else:
            now = plan.sharpen(now)
            now = now._replace(rounds=now.rounds + 1)
    turns = [turn for turn, _ in path]
    assert turns[:5] == [Turn.SHARPEN] * 4 + [Turn.ANNEAL]  # 50 iterations, ten a stage
    assert turns.count(Turn.ANNEAL) == 3  # two cycles, and back to the incumbent for good
    for number, cycle in enumerate(effort.cycles):
        cooling = [at for _, at in path if at.cooling and at.cycle == number]
        smoothings = [plan.smoothing(at) / UNIT for at in cooling]
        assert smoothings[0] == pytest.approx(cycle.hot)
        np.testing.assert_allclose([b / a for a, b in pairwise(smoothings)], cycle.factor)
        assert smoothings[-1] > cycle.cold >= cycle.factor * smoothings[-1]
        assert {at.tolerance for at in cooling} == {TIGHT * SLOPE}
        assert {plan.most_steps(at) for at in cooling} == {cycle.inner}
        assert all(plan.is_soft(at) and plan.is_transient(at) for at in cooling)
        sharp = [at for turn, at in path if at.cycle == number and not at.cooling]
        assert len(sharp) == ROUNDS
        assert {plan.most_steps(at) for at in sharp} == {INNER}
        assert not any(plan.is_soft(at) for at in sharp)
    assert now.cycle == len(effort.cycles)
    assert not plan.is_transient(now)
    assert plan.smoothing(now) == pytest.approx(0.1 * effort.cycles[-1].cold * UNIT)


def test_the_first_cooling_is_not_soft_and_not_transient():
    plan, first = schedule(), stage(cooling=True, mu=1.0)
    assert not plan.is_soft(first)
    assert not plan.is_transient(first)
    assert plan.most_steps(first) == 20


@pytest.mark.parametrize("effort", EFFORTS)
def test_settled_means_that_nothing_is_owed(effort):
    plan, cycles = schedule(effort), len(EFFORTS[effort].cycles)
    owes = effort == "thorough"
    assert plan.is_settled(stage()) != owes
    assert plan.is_settled(stage(cycle=cycles))
    assert schedule(effort, may_anneal=False).is_settled(stage())
    assert not plan.is_settled(stage(cycle=cycles, weights=(1.0, 1.1)))


def test_weights_fade_to_one():
    now, x = stage(weights=(3.0, 1.0)), (np.ones(2), np.zeros(2))
    seen = []
    while now.heavy:
        now, vanished = lighten(now, x)
        assert not vanished  # a block without weight may well be zero
        seen.append(now.weights[0])
    np.testing.assert_allclose(seen, [3 * LIGHTER, 3 * LIGHTER**2, 3 * LIGHTER**3, 1.0])
    assert lighten(now, x) == (now, False)
    gone, vanished = lighten(stage(weights=(3.0, 2.0)), (np.zeros(2), np.ones(2)))
    assert vanished
    assert gone.weights == (1.0, 1.0)


def test_first_weights_are_a_fraction_of_what_would_make_a_block_vanish():
    g = np.random.default_rng(0)
    G = g.standard_normal((20, 6))
    f = PhaseRetrieval(G, (G @ np.array([2.0, 0, 0, -1.0, 0, 0])) ** 2)
    tame = smooth(f, f.grad, lipschitz=1e4)

    def weight(f, h):
        problem = Problem([Block(f=f, h=h, A=-1.0, shape=6), Block(h=L1(1.0), shape=6)])
        R = eliminate(problem, 1)
        point = evaluate(R, (np.ones(6),), np.zeros(6), 1.0)
        return first_weights(R, point.place)[0], point.place.gradients[0]

    found, slope = weight(f, L1(0.2))
    assert found > 1
    enough = found / HEAVY  # ω at which prox_{ωh}(∇f) = 0, up to the factor by which it was looked for
    assert (
        np.max(np.abs(slope))
        <= enough * 0.2
        <= 1.2 * max(np.max(np.abs(slope)), np.linalg.norm(slope) / 6**0.5)
    )
    assert weight(tame, L1(0.2))[0] == 1.0  # its curvature is known
    assert weight(f, NonNegative())[0] == 1.0  # a set
    assert weight(f, Box(1.0, 2.0))[0] == 1.0
    assert weight(f, L1(1e9))[0] == 1.0  # heavy enough as it is


@pytest.mark.parametrize(("spread", "hot"), [(True, True), (False, False)])
def test_runs_start_hot_where_h_outweighs_f_unless_the_start_is_at_kinks(spread, hot):
    rng = np.random.default_rng(0)
    X, shape = rng.standard_normal((50, 30)), (30, 3)
    start = np.linalg.qr(rng.standard_normal(shape))[0] if spread else np.eye(*shape)
    blocks = [Block(f=PCAVariance(X), h=Stiefel(), A=-1.0, shape=shape), Block(h=L1(2.0), shape=shape)]
    setup, carry = AcceleratedIPDS().init(Problem(blocks), (start, start), np.zeros(shape))
    smoothing = setup.schedule.smoothing(carry.stage) / setup.schedule.unit
    assert setup.schedule.is_soft(carry.stage) == hot
    assert smoothing == pytest.approx(HOT.hot if hot else 1 / SMOOTHER)


def test_a_hot_start_finds_lower_objectives():
    """From starts of no meaning, above the best vertex: .26 on average, where a cold start ends at .56."""
    rng = np.random.default_rng(0)
    X, shape = rng.standard_normal((100, 60)) * np.linspace(2, 0.5, 60), (60, 4)
    f, above = PCAVariance(X), []
    problem = Problem([Block(f=f, h=Stiefel(), A=-1.0, shape=shape), Block(h=L1(2.0), shape=shape)])
    best = 2.0 * 4 - np.sort(np.mean(X**2, axis=0))[-4:].sum() / 2
    for _ in range(5):
        start = np.linalg.qr(rng.standard_normal(shape))[0]
        above.append(solve(problem, [start, start], method=AcceleratedIPDS("fast")).fun - best)
    assert np.mean(above) < 0.4


@pytest.mark.parametrize(("left", "begin"), [(0.0005, 200), (0.003, 100), (0.01, 60), (0.2, 40)])
def test_annealing_waits_for_dual_steps_as_long_as_they_promise(left, begin):
    plan, now = schedule(), stage(relative=left, rounds=5)
    assert plan.turn(now, begin - 1) is Turn.SHARPEN
    assert plan.turn(now, begin) is Turn.ANNEAL


def test_kinks_are_as_wide_as_the_block_in_units_of_its_slope():
    problem = Problem(
        [Block(A=-1.0, shape=4), Block(h=L1(3.0), shape=4), Block(h=Stiefel(), shape=(4,) * 1 + (1,))][:2]
    )
    x0 = np.zeros(4), np.full(4, 5.0)
    assert kink_width(problem, 1, x0) == pytest.approx(10.0 / (3.0 * 2.0))
    assert kink_width(problem, 0, x0) == np.inf  # no h


def test_a_restored_point_has_the_zeros_of_x_breve_nearly_and_values_of_its_own():
    rng = np.random.default_rng(5)
    A = np.diag(np.arange(1.0, 9.0))
    f = smooth(lambda V: -0.5 * float(np.vdot(V, A @ V)), lambda V: -A @ V, lipschitz=8.0)
    for own, other in ((f, None), (None, f)):
        blocks = [
            Block(f=own, h=Stiefel(), A=-2.0, shape=(8, 2)),
            Block(f=other, h=L1(0.5), A=1.0, shape=(8, 2)),
        ]
        R = eliminate(Problem(blocks, 0.0), 1)
        x = Stiefel().prox(rng.standard_normal((8, 2)), 1.0)
        point = evaluate(R, (x,), np.zeros((8, 2)), 0.5)
        found = restore_zeros(R, point)
        (y,) = found.x
        np.testing.assert_allclose(y.T @ y, np.eye(2), atol=1e-12)
        np.testing.assert_allclose(y, Stiefel().prox(point.x_breve, 1.0))
        assert np.linalg.norm(2 * y - point.x_breve) < np.linalg.norm(2 * x - point.x_breve)
        assert sum(found.place.f) + found.place.f_j == pytest.approx(f(y) if other is None else f(2 * y))
        np.testing.assert_allclose(
            found.z - point.z, 0.0 if other is None else found.place.force - point.place.force
        )


def test_points_of_other_sets_are_not_restored():
    R = eliminate(Problem([Block(h=Box(-1.0, 1.0), A=-1.0, shape=3), Block(h=L1(0.5), shape=3)]), 1)
    point = evaluate(R, (np.ones(3),), np.zeros(3), 0.5)
    assert restore_zeros(R, point) is point


class Barrier(Smooth):
    """-Σ log x_i."""

    domain = positive()

    def __call__(self, x):
        return -float(np.sum(np.log(x)))

    def grad(self, x):
        return -1 / x


def components(h, f=None) -> Problem:
    return Problem([Block(f=f, h=h, A=-1.0, shape=(8, 2)), Block(h=L1(0.5), shape=(8, 2))])


def test_cycles_meet_on_manifolds_where_f_is_finite():
    finite = smooth(lambda x: float(np.sum(x)), np.ones_like, lipschitz=0.0)
    assert has_meetings(eliminate(components(Stiefel(), finite), 1))
    assert not has_meetings(eliminate(components(Stiefel(), Barrier()), 1))
    assert not has_meetings(eliminate(components(Cardinality(3), finite), 1))


def test_cycles_begin_at_random_points_of_the_set_each_at_its_own():
    R, x = eliminate(components(Stiefel()), 1), np.eye(8)[:, :2]
    first, again, second = (begin_cycle(R, Begin.ANEW, number, (x,), (x,))[0] for number in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.linalg.norm(first - second) > 0.5
    np.testing.assert_allclose(second.T @ second, np.eye(2), atol=1e-12)


def test_midway_between_two_points_is_where_their_nearest_images_agree():
    rng = np.random.default_rng(4)
    R = eliminate(components(Stiefel()), 1)
    x = Stiefel().prox(rng.standard_normal((8, 2)), 1.0)
    (same,) = begin_cycle(R, Begin.MIDWAY, 1, (-x[:, ::-1],), (x,))
    np.testing.assert_allclose(same, x, atol=1e-12)
    y = Stiefel().prox(x + 0.2 * rng.standard_normal((8, 2)), 1.0)
    (between,) = begin_cycle(R, Begin.MIDWAY, 1, (y,), (x,))
    assert np.linalg.norm(between - x) == pytest.approx(np.linalg.norm(between - y))
    assert np.linalg.norm(between - x) < 0.6 * np.linalg.norm(y - x)
