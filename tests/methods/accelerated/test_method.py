"""The accelerated method: its certificate, its carry, its penalty and its weights."""

from __future__ import annotations

import math
from itertools import islice, pairwise

import numpy as np
import pytest
from benchmarks.problems import phase

from ipds import AssumptionError, Block, Problem, iterate, solve
from ipds.functions import (
    L1,
    Cardinality,
    LeastSquares,
    Linear,
    NonNegative,
    Nonsmooth,
    PhaseRetrieval,
    Rank,
    Stiefel,
    smooth,
)
from ipds.methods import IPDS, AcceleratedIPDS
from ipds.methods.accelerated import method as method_file
from ipds.methods.accelerated.annealing import INNER, Begin, DualStepNorms
from ipds.methods.accelerated.method import CEILING, LAG, grow
from ipds.methods.accelerated.reduced import evaluate
from ipds.methods.base import bend_of
from ipds.operators import Matrix
from ipds.solving.options import RARER
from ipds.solving.starting import starting_point
from ipds.theory.certificate import certificate, certify, subgradients
from problems import lowrank_data, regression_data, trade_off

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("effort", ["fast", "balanced", "thorough"])
def test_carried_certificate_equals_one_computed_from_scratch(effort):
    problem = trade_off()
    for state in islice(iterate(problem, method=AcceleratedIPDS(effort), seed=0), 0, 450, 15):
        carried = certify(problem, state)
        s = list(subgradients(problem, state))
        g = problem.blocks[0].f.grad(state.q[0]) + problem.operators[0].adjoint(state.z)
        s[0] = Stiefel().tangent(state.q[0], g) - g
        fresh = certificate(problem, state.q, state.z, s)
        assert carried.feasibility == pytest.approx(fresh.feasibility, rel=1e-9, abs=1e-12)
        assert carried.stationarity == pytest.approx(fresh.stationarity, rel=1e-6, abs=1e-9)


def walk(problem, x0=None, method=None, seed=0):
    """Setup, carry and state after every step."""
    method = method or AcceleratedIPDS()
    setup, carry = method.init(problem, *starting_point(problem, x0, None, seed))
    while True:
        carry, state = method.step(setup, carry)
        yield setup, carry, state


@pytest.mark.parametrize("quadratic", [True, False])
def test_a_step_costs_one_gradient_and_values_only_where_bounds_do_not_tell(quadratic):
    calls: dict[str, int] = {}
    problem = trade_off(calls=calls, quadratic=quadratic)
    states = iterate(problem, method=AcceleratedIPDS(), seed=0)
    next(states)
    calls.clear()
    list(islice(states, 40))
    assert 40 <= calls["grad"] <= 60  # line searches may add a few
    assert calls.get("value", 0) <= (0 if quadratic else 0.4 * calls["grad"])


def leaves(tree, name=""):
    """The names, kinds and shapes of all arrays and numbers of a carry."""
    if isinstance(tree, tuple):
        names = getattr(tree, "_fields", range(len(tree)))
        for key, part in zip(names, tree, strict=True):
            yield from leaves(part, f"{name}/{key}")
    else:
        yield name, type(tree), getattr(tree, "shape", None), getattr(tree, "dtype", None)


@pytest.mark.parametrize("effort", ["fast", "thorough"])
@pytest.mark.parametrize("case", ["trade-off", "phase", "low rank", "regression"])
def test_a_carry_has_one_structure_from_init_to_the_end(case, effort):
    if case == "phase":
        problem, x0 = phase(40, 120, 5, 10, 0).pose()
    else:
        G, y, _ = regression_data(30, 12, 3, 0)
        M = lowrank_data(400, 2, 0.1, 1.0, 0)[1]
        problem, x0 = (
            {
                "trade-off": trade_off(),
                "low rank": Problem(
                    [Block(h=Rank(2), A=-1.0, shape=(400, 400)), Block(h=L1(1.0), shape=(400, 400))], b=-M
                ),
                "regression": Problem(
                    [Block(h=Cardinality(3), A=-G, shape=12), Block(h=L1(1.0), shape=30)], b=-y
                ),
            }[case],
            None,
        )
    method = AcceleratedIPDS(effort)
    _, carry = method.init(problem, *starting_point(problem, x0, None, 0))
    first = list(leaves(carry))
    names = [name for name, *_ in first]
    assert {"/t", "/known/x/0", "/gradient/0", "/target", "/search/reference/value", "/stage/beta"} <= set(
        names
    )
    absent = [name for name, kind, *_ in first if kind is type(None)]
    assert all(name.startswith(("/warm", "/known/slopes")) for name in absent)
    for number, (_, later, _) in enumerate(
        islice(walk(problem, x0, method), 12 if case == "low rank" else 300)
    ):
        assert list(leaves(later)) == first, f"after step {number + 1}"
        assert later.t == number + 1


def test_a_step_is_pure_and_a_carry_continues_a_run_to_the_same_bits():
    problem = trade_off()
    method = AcceleratedIPDS("thorough")
    setup, carry = method.init(problem, *starting_point(problem, None, None, 0))
    carries, states = [], []
    for _ in range(150):
        carries.append(carry)
        carry, state = method.step(setup, carry)
        states.append(state)
    fresh, _ = method.init(problem, *starting_point(problem, None, None, 0))
    for k in (0, 9, 10, 60, 101, 120):  # within stages, at their ends, in an annealing
        again, state = method.step(fresh, carries[k])
        assert np.array_equal(state.x[0], states[k].x[0])
        assert np.array_equal(state.z, states[k].z)
        assert np.array_equal(again.gradient[0], carries[k + 1].gradient[0])
        assert again.search == carries[k + 1].search
        assert again.stage == carries[k + 1].stage


@pytest.mark.parametrize("effort", ["fast", "thorough"])
def test_the_gradient_carried_is_that_of_the_stage(effort):
    """After every step, with or without a dual step, the carry holds ∇Φ for its own (z, β, μ) at its own x."""
    turns = 0
    for setup, carry, state in islice(walk(trade_off(), method=AcceleratedIPDS(effort)), 200):
        point = evaluate(setup.phi(carry.stage), carry.x, carry.target, setup.schedule.smoothing(carry.stage))
        np.testing.assert_allclose(carry.gradient[0], point.gradient[0], rtol=1e-9, atol=1e-9)
        if carry.search.inner == 0:
            turns += 1
            assert carry.search.reference.value == pytest.approx(point.value, rel=1e-12)
            if (
                not carry.stage.cooling and not state.transient and carry.stage.cycle < 0
            ):  # a dual step: z ← z⁺
                z = carry.stage.beta * (setup.reduced.b - carry.target)
                np.testing.assert_allclose(z, state.z, rtol=1e-9, atol=1e-12)
    assert turns >= 15


def test_cooling_keeps_the_multiplier():
    problem, method = trade_off(), AcceleratedIPDS("fast", beta0=0.01)
    x0, z0 = starting_point(problem, None, np.random.default_rng(1).standard_normal((40, 4)), 0)
    setup, carry = method.init(problem, x0, z0)
    cooled = 0
    while carry.stage.cooling:
        before = carry.stage
        carry, _ = method.step(setup, carry)
        cooled += carry.stage.cooling and carry.stage != before
        if carry.stage.cooling:
            z = carry.stage.beta * (setup.reduced.b - carry.target)
            np.testing.assert_allclose(z, z0, rtol=1e-9, atol=1e-9)
    assert cooled > 3


def test_an_annealing_starts_where_its_cycle_says_without_a_multiplier(monkeypatch):
    problem = trade_off(d=80, r=8)
    before, seen, plain = -1, [], method_file.feasible_value
    monkeypatch.setattr(
        method_file,
        "feasible_value",
        lambda R, place: seen.append((plain(R, place), place.x[0])) or seen[-1][0],
    )
    begun = set()
    for setup, carry, state in islice(walk(problem, method=AcceleratedIPDS("thorough"), seed=3), 2500):
        if carry.stage.cycle > before:
            assert len(seen) == carry.stage.cycle + 1
            (best, at), before = min(seen, key=lambda pair: pair[0]), carry.stage.cycle
            assert state.due
            assert carry.incumbent.value == pytest.approx(best, rel=1e-9)
            assert carry.incumbent.x[0] is at
            origin = setup.schedule.origin(carry.stage)
            begun.add(origin)
            if origin is Begin.BEST:
                assert carry.x is carry.incumbent.x
                assert problem.objective(problem.restore((*carry.x, None))) == pytest.approx(best, rel=1e-9)
            elif origin is Begin.MIDWAY:
                found, other = seen[-1][1], min(seen[:-1], key=lambda pair: pair[0])[1]
                image = Stiefel().mirror(found, other)
                np.testing.assert_allclose(carry.x[0], Stiefel().prox(image + other, 1.0), atol=1e-12)
            else:
                assert np.linalg.norm(carry.x[0] - at) > 1.0
            np.testing.assert_array_equal(carry.target, 0.0)
            hot = setup.schedule.cycle_of(carry.stage).hot
            assert setup.schedule.smoothing(carry.stage) == pytest.approx(hot * setup.schedule.unit)
    assert begun == set(Begin)
    values = [value for value, _ in seen]
    assert any(later > earlier for earlier, later in pairwise(values))  # some annealing was in vain


def test_growth_of_the_penalty():
    setup, carry = AcceleratedIPDS("fast").init(trade_off(), *starting_point(trade_off(), None, None, 0))
    stage = carry.stage._replace(cooling=False, feasibility=1.0)

    def beta(residual, stationarity, **changes):
        norms = DualStepNorms(residual, 10.0, (10.0,))
        return (
            grow(setup, stage._replace(**changes), norms, stationarity).beta / stage._replace(**changes).beta
        )

    assert beta(0.9, 0.1) == pytest.approx(setup.growth)  # less than a fifth was gained
    assert beta(LAG - 0.01, 0.1) == 1.0
    assert beta(0.9, 8.0) == pytest.approx(setup.growth)  # at first the constraint may hurry ahead,
    assert beta(0.9, 8.0, rounds=101) == 1.0  # in the long run not
    assert beta(0.9, 10.0) == 1.0  # and never by more than a factor of ten
    assert beta(1e-14, 0.0, feasibility=0.0) == 1.0  # rounding
    assert beta(0.9, 0.1, beta=2 * CEILING * setup.beta0) == 1.0
    after = grow(setup, stage, DualStepNorms(0.5, 10.0, (10.0,)), 0.1)
    assert (after.feasibility, after.relative, after.rounds) == (0.5, 0.05, stage.rounds + 1)
    assert after.tolerance == pytest.approx(0.7 * stage.tolerance)


def test_a_stage_ends_after_a_few_steps_or_once_little_is_left():
    G, y, _ = regression_data(60, 30, 4, 0)
    problem = Problem([Block(h=Cardinality(4), A=-G, shape=30), Block(h=L1(1.0), shape=60)], b=-y)
    inner = [carry.search.inner for _, carry, _ in islice(walk(problem), 300)]
    assert max(inner) == INNER - 1
    lengths = [before + 1 for before, after in pairwise(inner) if after == 0]
    assert INNER in lengths
    assert min(lengths) < INNER


def test_a_quartic_given_as_two_callables_is_not_mistaken_for_a_quadratic():
    f = smooth(lambda x: float(np.sum(x**4)), lambda x: 4 * x**3)
    problem = Problem([Block(f=f, A=-1.0, shape=5), Block(h=L1(4.0), shape=5)], b=0.0)
    result = solve(problem, [np.full(5, 3.0)] * 2, tol=1e-8)
    assert result.success
    np.testing.assert_allclose(result.x[1], 0, atol=1e-6)


def test_penalty_stops_growing_once_feasible():
    G, y, _ = regression_data(60, 30, 4, 0)
    problem = Problem([Block(h=Cardinality(4), A=-G, shape=30), Block(h=L1(1.0), shape=60)], b=-y)
    for method in (IPDS("practical"), AcceleratedIPDS()):
        states = list(islice(iterate(problem, method=method), 3000))
        betas = np.array([state.beta for state in states])
        assert betas[-1] <= 1.2 * betas[-500]
        assert betas[-1] < 1e5 * np.sqrt(60) / np.linalg.norm(y)  # in units of C_h/‖x_n‖
    practical = [state.beta for state in islice(iterate(problem, method=IPDS("practical")), 300)]
    ratio = np.divide(practical[1:], practical[:-1])
    assert np.all(ratio <= 1.05 + 1e-12)  # the paper's bound β⁺ ≤ (1+ξ)β with the practical ξ


def test_no_block_to_eliminate_is_an_error_with_advice():
    G = RNG.standard_normal((5, 5))
    problem = Problem([Block(h=L1(1.0), A=G, shape=5), Block(h=L1(1.0), A=G.T, shape=5)])
    with pytest.raises(AssumptionError, match=r"convex h and A = c·I \(or an isometry\)"):
        solve(problem, method=AcceleratedIPDS(), presolve=False)
    assert solve(problem, method="auto").success  # presolve makes a block of the equation


@pytest.mark.parametrize("kwargs", [{"effort": "lazy"}, {"beta0": 0.0}, {"beta0": np.nan}])
def test_bad_settings_are_refused(kwargs):
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        AcceleratedIPDS(**kwargs)


def test_weights_fade_and_are_honest_until_they_have():
    problem, x0 = phase(300, 300, 10, 30, 0).pose()
    method = AcceleratedIPDS()
    weights, states = [method.init(problem, *starting_point(problem, x0, None, 0))[1].stage.weights], []
    for _, carry, state in islice(walk(problem, x0), 120):
        weights.append(carry.stage.weights)
        states.append(state)
    assert weights[0][0] > 2
    assert weights[-1] == (1.0,)
    assert all(later <= earlier for earlier, later in pairwise(weights))
    assert [state.settled for state in states] == [weight == (1.0,) for weight in weights[:-1]]
    for state in states[:60:7]:
        s = subgradients(problem, state)[1]
        assert np.max(np.abs(s)) <= problem.blocks[1].h.lam * (1 + 1e-9)  # of h itself, not of a multiple


def test_the_multiplier_waits_for_the_weights():
    """Until they have faded, stages end with lighter ones alone; each begins with the value and gradient of its Φ."""
    problem, x0 = phase(40, 120, 5, 10, 0).pose()
    method, stages = AcceleratedIPDS(), 0
    first = method.init(problem, *starting_point(problem, x0, None, 0))[1]
    for setup, carry, _ in islice(walk(problem, x0), 100):
        if not carry.stage.heavy:
            break
        assert carry.stage.beta == first.stage.beta
        assert np.array_equal(carry.target, first.target)
        if carry.search.inner == 0:
            stages += 1
            s = setup.schedule.smoothing(carry.stage)
            fresh = evaluate(setup.reduced, carry.x, carry.target, s, carry.stage.weights)
            assert carry.search.reference.value == pytest.approx(fresh.value, rel=1e-12)
            assert np.allclose(carry.gradient[0], fresh.gradient[0], rtol=1e-12)
    assert stages > 5
    assert carry.stage.weights == (1.0,)


def test_weights_only_where_the_curvature_of_f_is_unknown_and_h_bends():
    problem, x0 = phase(40, 120, 5, 10, 0).pose()
    v = problem.blocks[1]
    tame = smooth(v.f, v.f.grad, lipschitz=1e4)
    free = Block(f=v.f, h=NonNegative(), A=v.A, shape=v.shape)
    for block, heavy in ((v, True), (Block(f=tame, h=v.h, A=v.A, shape=v.shape), False), (free, False)):
        _, carry, _ = next(walk(Problem([problem.blocks[0], block]), x0))
        assert carry.stage.heavy == heavy


def test_annealing_softens_h(monkeypatch):
    """The multiplier of a softened state is still the one that x̆ certifies."""
    problem = trade_off()
    method, softened = AcceleratedIPDS("thorough"), []
    setup, carry = method.init(problem, *starting_point(problem, None, None, 0))
    for _ in range(400):
        soft = setup.phi(carry.stage).soft
        carry, state = method.step(setup, carry)
        softened += [state] if soft else []
    assert len(softened) > 50
    for state in softened[::25]:
        assert state.transient
        s = -state.z  # A = 1
        inside = np.abs(state.x_breve) < 1e-12
        np.testing.assert_allclose(
            s[~inside], problem.blocks[1].h.lam * np.sign(state.x_breve[~inside]), rtol=1e-9
        )
        assert np.max(np.abs(s)) <= problem.blocks[1].h.lam * (1 + 1e-9)
    monkeypatch.setattr(L1, "soften", Nonsmooth.soften)
    plain = list(islice(iterate(problem, method=AcceleratedIPDS("thorough"), seed=0), 400))
    assert not np.allclose(plain[-1].x[0], softened[-1].x[0])


def test_what_an_annealing_leaves_behind_is_checked_and_its_points_are_looked_at_less_often():
    checks, every = [], 5
    solve(
        trade_off(d=80, r=8),
        method=AcceleratedIPDS("thorough"),
        seed=3,
        max_iter=600,
        tol=1e-12,
        check_every=every,
        callback=lambda shown: checks.append((shown.nit, shown.fun, shown.x[0])),
    )
    times = np.array([t for t, *_ in checks])
    regular = times % every == 0
    assert 1 <= np.sum(~regular) <= 8  # the first step, and the ends of cycles
    assert np.median(np.diff(times[times < 80])) == every
    assert np.median(np.diff(times[times > 120])) == RARER * every
    for _, fun, Y in checks:  # whatever is shown is feasible, with the objective that is told
        np.testing.assert_allclose(Y.T @ Y, np.eye(8), atol=1e-9)
        assert math.isfinite(fun)


def test_states_tell_values_and_no_bounds():
    problem = trade_off(d=40, r=4)
    f = problem.blocks[0].f or problem.blocks[1].f
    for state in islice(iterate(problem, method=AcceleratedIPDS("thorough"), seed=0), 150):
        for block, x, value in zip(problem.blocks, state.q, state.values or (), strict=False):
            if block.f is f and value is not None:
                assert value == pytest.approx(f(x), rel=1e-12)


def test_a_set_up_asks_for_each_product_and_gradient_once(monkeypatch):
    """A x0 and ∇f(x0) serve the unit of the kinks, the weights, the curvatures and Φ alike."""
    rng = np.random.default_rng(0)
    G, D, x0 = rng.standard_normal((40, 8)), rng.standard_normal((5, 8)), rng.standard_normal(8)
    f = PhaseRetrieval(G, np.ones(40))
    problem = Problem([Block(f=f, h=L1(0.1), A=-D, shape=8), Block(h=L1(1.0), shape=5)])
    seen = {"apply": [], "adjoint": [], "grad": [], "value_and_grad": []}
    for name, owners in seen.items():
        owner = Matrix if hasattr(Matrix, name) else PhaseRetrieval
        monkeypatch.setattr(owner, name, recorded(getattr(owner, name), owners))
    _, carry = AcceleratedIPDS().init(problem, (x0, D @ x0), np.zeros(5))
    assert carry.stage.heavy
    assert sum(op is problem.operators[0] for op in seen["apply"]) == 2  # A x0, and along the gradient of Φ
    assert sum(op is problem.operators[0] for op in seen["adjoint"]) == 1
    assert len(seen["value_and_grad"]) == 1
    assert len(seen["grad"]) == 2  # nearby, along ∇f and along ∇Φ


def fit(rows=40, columns=12):
    rng = np.random.default_rng(1)
    G = rng.standard_normal((rows, columns))
    return LeastSquares(G, G @ rng.standard_normal(columns) + 0.1 * rng.standard_normal(rows))


@pytest.mark.parametrize("unit", [1e-120, 1.0, 1e120])
def test_the_bend_of_a_quadratic_is_found_without_a_decomposition(unit, monkeypatch):
    f, x = LeastSquares(unit * fit().G.matrix, fit().y), np.zeros(12)
    exact = np.linalg.norm(unit * fit().G.matrix, 2) ** 2
    monkeypatch.setattr(LeastSquares, "lipschitz", property(lambda _: pytest.fail("a norm was asked for")))
    assert 0.8 * exact <= bend_of(f, x) <= 1.0000001 * exact
    assert bend_of(f, x, f.grad(x)) == bend_of(f, x)
    assert bend_of(Linear(np.ones(3)), np.zeros(3)) == 0.0
    split = Problem([Block(f=f, A=-1.0, shape=12), Block(h=L1(2.0 * unit), shape=12)])
    assert solve(split, method="accelerated", presolve=False, max_iter=20).nit == 20


def recorded(function, owners):
    """The method, which notes on whom it is called."""

    def call(self, *given):
        owners.append(self)
        return function(self, *given)

    return call
