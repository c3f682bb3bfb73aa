"""Time limits: felt inside steps, and a step that ran out of time did not happen."""

import math
import time

import numpy as np
import pytest

import problems
from ipds import Block, Problem, Status, iterate, solve
from ipds.functions import (
    L1,
    Box,
    LeastSquares,
    PCAVariance,
    Stiefel,
    smooth,
)
from ipds.methods import IPDS, AcceleratedIPDS, ManPG, candidates


class Slow:
    """½‖x - 1‖² that moves the clock by a second with every gradient, so that no test has to wait."""

    lipschitz = None

    def __init__(self, clock):
        self.clock = clock

    def __call__(self, x):
        self.clock.now += 1.0
        return 0.5 * float(np.sum((x - 1) ** 2)) + float(np.sum(np.exp(3 * x)))

    def grad(self, x):
        self.clock.now += 1.0
        return x - 1 + 3 * np.exp(3 * x)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize("method", [IPDS("practical"), AcceleratedIPDS()])
def test_the_time_limit_is_felt_inside_a_search(method, monkeypatch):
    """A search that cannot succeed: every trial is refused, and costs a second."""
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)

    class Rising(Slow):
        level = 0.0

        def __call__(self, x):
            self.clock.now += 1.0
            if self.clock.now > 60:  # from here on every value is higher than all before
                self.level = 2 * self.level + 1.0
            return super().__call__(x) + self.level

    problem = Problem([Block(f=Rising(clock), A=-1.0, shape=4), Block(h=L1(0.1), shape=4)])
    begun = clock.now
    result = solve(problem, method=method, time_limit=70.0, tol=0.0, check_every=1)
    assert result.status is Status.TIME_LIMIT
    assert clock.now - begun < 70 + 12
    assert result.nit >= 1
    assert np.isfinite(result.certificate.relative)


def test_the_time_limit_is_felt_inside_newtons_method(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)

    class Costly(problems.OwnL1):
        """Every prox costs a second; its derivative is found along one direction after the other."""

        lipschitz = 6.0

        def prox(self, v, step):
            clock.now += 1.0
            return np.sign(v) * np.maximum(np.abs(v) - 20 * step, 0.0)

    D = problems.rng().standard_normal((30, 12))
    f = smooth(lambda Y: -0.5 * float(np.sum((D @ Y) ** 2)), lambda Y: -D.T @ (D @ Y), lipschitz=100.0)
    blocks = [Block(f=f, h=Stiefel(), A=-1.0, shape=(12, 3)), Block(h=Costly(None), shape=(12, 3))]
    free = solve(Problem(blocks), method=ManPG(), seed=0, max_iter=4, tol=0.0, check_every=1)
    seconds = free.history["seconds"]
    limit = seconds[1] + 0.2 * (seconds[2] - seconds[1])
    clock.now = 0.0
    result = solve(Problem(blocks), method=ManPG(), seed=0, time_limit=limit, tol=0.0, check_every=1)
    assert result.status is Status.TIME_LIMIT
    assert clock.now < limit + 0.5 * (seconds[2] - seconds[1])
    assert result.nit >= 2
    assert np.isfinite(result.certificate.critical)


@pytest.mark.parametrize("limit", [5.0, 80.0, 160.0])
def test_looks_for_convexity_end_with_the_time(limit, monkeypatch):
    """An f that does not say whether it is convex is looked at by hundreds of gradients, where there is time."""
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    problem = Problem([Block(f=Slow(clock), shape=12)])
    result = solve(problem, time_limit=limit, tol=0.0)
    assert result.status is Status.TIME_LIMIT
    assert clock.now < limit + 2 * 12 + 10  # a second derivative by differences, and a check


@pytest.mark.parametrize("limit", [5.0, 40.0, 90.0])
def test_looks_at_an_own_h_end_with_the_time(limit, monkeypatch):
    """An own h is looked at by dozens of its proxes and a hundred of its values, where there is time."""
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)

    class Costly(problems.OwnL1):
        def __call__(self, x):
            clock.now += 1.0
            return super().__call__(x)

        def prox(self, v, step):
            clock.now += 1.0
            return super().prox(v, step)

    problem = Problem([Block(f=Slow(clock), A=-1.0, shape=5), Block(h=Costly(lambda u: u), shape=5)])
    result = solve(problem, time_limit=limit, tol=0.0)
    assert result.status is Status.TIME_LIMIT
    assert clock.now < limit + 2 * 5 + 15  # a second derivative by differences, one step and a check


def test_auto_tries_no_further_method_once_the_time_is_over(monkeypatch):
    monkeypatch.setattr("ipds.solving.stopping.Stagnation.CHECKS", 3)
    monkeypatch.setattr("ipds.solving.stopping.Stagnation.ITERATIONS", 30)
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    problem, seen = problems.robust_regression(), []
    original = problem.operators[0].apply
    monkeypatch.setattr(
        problem.operators[0], "apply", lambda x: (setattr(clock, "now", clock.now + 1), original(x))[1]
    )
    x0, _ = problems.start_of(problem)
    alone = solve(problem, x0, method=candidates(problem)[0], tol=0.0)
    assert alone.status in (Status.STALLED, Status.STALLED_FEASIBLE)
    result = solve(problem, x0, tol=0.0, time_limit=alone.seconds, callback=lambda now: seen.append(now.nit))
    assert result.status is alone.status
    assert seen == sorted(seen)  # a further one would begin at 1 again


def test_a_step_that_ran_out_of_time_did_not_happen(monkeypatch):
    """The state before it is checked and returned, even between two checks."""
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    problem = Problem([Block(f=Slow(clock), A=-1.0, shape=4), Block(h=Box(-1.0, 1.0), shape=4)])
    states = []
    for state in iterate(problem, method=IPDS("practical")):
        states.append(state)
        if len(states) == 40:
            break
    clock.now = 0.0
    result = solve(problem, method=IPDS("practical"), time_limit=100.0, tol=0.0, check_every=1000)
    assert result.status is Status.TIME_LIMIT
    assert result.nit < 40
    np.testing.assert_array_equal(result.x[0], states[result.nit - 1].q[0])
    np.testing.assert_array_equal(result.history["iteration"], [1, result.nit])


def lasso(x: float = 1.0, cost: float = 1.0) -> Problem:
    """In units x of the variables and cost of the objective; the same for the others."""
    g = problems.rng(1)
    G, root = g.standard_normal((12, 6)), math.sqrt(cost)
    f = LeastSquares(G * (root / x), G @ np.array([3, 0, 0, -2, 0, 0.0]) * root)
    return Problem([Block(f=f, A=-1.0, shape=6), Block(h=L1(0.7 * cost / x), shape=6)])


def components(x: float = 1.0, cost: float = 1.0) -> Problem:
    """The Stiefel manifold has units of its own, so `x` scales the data too."""
    f = PCAVariance(problems.rng(3).standard_normal((15, 6)) * math.sqrt(cost * x))
    return Problem([Block(f=f, h=Stiefel(), A=-1.0, shape=(6, 2)), Block(h=L1(0.1 * cost * x), shape=(6, 2))])


@pytest.mark.parametrize("method", problems.METHODS)
def test_time_limits_hold_and_are_reported(method):
    problem = components() if method in ("rialm", "manpg") else lasso()
    result = solve(problem, method=problems.METHODS[method], time_limit=0.0, max_iter=10**9, tol=0.0)
    assert result.status.name == "TIME_LIMIT"
    assert result.nit <= 1
    assert all(np.all(np.isfinite(part)) for part in (*result.x, result.z, result.fun))
