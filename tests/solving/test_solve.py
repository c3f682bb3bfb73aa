"""The loop: why it stops, what it records, whom it calls, and that nobody can disturb it."""

import math
import time

import numpy as np
import pytest

import problems
from ipds import Block, DivergenceError, Parameters, Problem, Result, Status, solve
from ipds.functions import (
    L1,
    LeastSquares,
    smooth,
)
from ipds.methods import IPDS, AcceleratedIPDS, Method, State
from ipds.solving.history import CHECK, History, joined
from ipds.solving.stopping import Check, Stagnation
from ipds.theory.certificate import Certificate

SOUND = IPDS("sound", beta0=50.0)
UNSTABLE = IPDS(Parameters(xi=0.5, delta=0.25, sigma=1.618, theta2=0.6))


def easy() -> Problem:
    f = LeastSquares(np.eye(4), np.array([3.0, -0.5, 1.0, 0.2]))
    return Problem([Block(f=f, A=-1.0, shape=4, name="x"), Block(h=L1(1.0), shape=4, name="v")])


def test_success_means_a_certificate_below_the_tolerance():
    result = solve(easy(), method=SOUND, tol=0.1)
    assert isinstance(result, Result)
    assert result.success
    assert result.status is Status.CONVERGED
    assert result.message == Status.CONVERGED.value
    assert result.certificate.relative <= 0.1
    assert result.history["relative"][-1] == result.certificate.relative
    assert np.all(result.history["relative"][:-1] > 0.1)  # it stopped as soon as it could
    np.testing.assert_allclose(result.x[1], [2, 0, 0, 0], atol=0.2)


def test_the_iteration_limit():
    result = solve(easy(), method=SOUND, tol=0.0, max_iter=37)
    assert (result.nit, result.status, result.success) == (37, Status.MAX_ITER, False)
    np.testing.assert_array_equal(result.history["iteration"], [1, 10, 20, 30, 37])


@pytest.mark.parametrize("every", [1, 7])
def test_history_is_arrays_of_one_length(every):
    result = solve(easy(), method=SOUND, tol=0.0, max_iter=50, check_every=every)
    history = result.history
    names = {
        "iteration",
        "seconds",
        "objective",
        "feasibility",
        "stationarity",
        "critical",
        "relative",
        "beta",
        "mu",
    }
    assert set(history) >= names
    assert {len(history[name]) for name in history} == {len(history["iteration"])}
    assert all(isinstance(history[name], np.ndarray) for name in history)
    np.testing.assert_allclose(history["critical"], history["feasibility"] + history["stationarity"])
    assert np.all(np.diff(history["seconds"]) >= 0)
    assert np.all(np.diff(history["beta"]) > 0)
    assert np.all(np.diff(history["mu"]) < 0)
    assert history["objective"][-1] == result.fun
    assert "checks of iteration" in repr(history)
    assert dict(history).keys() >= names | {"critical_best", "critical_mean"}
    assert len(history) == len(list(history))


@pytest.mark.parametrize("every", [1, 7])
def test_smallest_and_average_certificate_so_far(every):
    """With a check at every iteration these are the two numbers that the theorem bounds."""
    history = solve(easy(), method=SOUND, tol=0.0, max_iter=50, check_every=every).history
    t, critical = history["iteration"], history["critical"]
    np.testing.assert_array_equal(history["critical_best"], [critical[: k + 1].min() for k in range(len(t))])
    spread = np.repeat(
        critical, np.diff(t, prepend=0)
    )  # a check stands for the iterations since the one before
    np.testing.assert_allclose(history["critical_mean"], [spread[:k].mean() for k in t])
    if every == 1:
        np.testing.assert_allclose(history["critical_mean"][-1], critical.mean())


def test_histories_of_methods_that_follow_one_another_have_one_minimum_and_one_average():
    parts = []
    for critical in ([4.0, 2.0], [3.0, 1.0]):
        parts.append(History())
        for t, value in enumerate(critical, 1):
            parts[-1].record(**{**dict.fromkeys(CHECK, 0.0), "iteration": t, "critical": value})
    history = joined(parts)
    np.testing.assert_array_equal(history["critical_best"], [4, 2, 2, 1])
    np.testing.assert_array_equal(history["critical_mean"], [4, 3, 3, 2.5])


def test_a_time_limit_ends_the_run():
    slow = smooth(lambda x: 0.0, lambda x: (time.sleep(0.002), 0 * x)[1], 1.0)
    problem = Problem([Block(f=slow, A=-1.0, shape=3), Block(h=L1(1.0), shape=3)], b=1.0)
    result = solve(problem, method=SOUND, tol=0.0, time_limit=0.05)
    assert result.status is Status.TIME_LIMIT
    assert result.seconds >= 0.05
    assert result.nit < 40  # each takes 2 ms at least


def test_the_clock_stops_while_the_callback_runs():
    result = solve(
        easy(),
        method=IPDS(),
        tol=0.0,
        max_iter=5,
        check_every=1,
        time_limit=0.9,
        callback=lambda _: time.sleep(0.2),
    )
    assert result.status is Status.MAX_ITER  # 1 s in the callback does not count
    assert result.history["seconds"][-1] <= result.seconds <= 0.9


def test_the_callback_sees_every_check():
    seen = []
    result = solve(easy(), method=SOUND, tol=0.0, max_iter=30, callback=seen.append)
    assert [now.nit for now in seen] == list(result.history["iteration"])
    assert [now.fun for now in seen] == list(result.history["objective"])
    assert set(seen[0]) == {"x", "z", "fun", "nit", "certificate"}
    np.testing.assert_array_equal(seen[-1].x[1], result.x[1])
    np.testing.assert_array_equal(seen[-1].z, result.z)
    assert seen[-1].certificate == result.certificate


def test_an_error_of_the_callback_leaves_with_the_point_that_it_was_shown():
    seen = []

    def fail(now):
        seen.append(now)
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine") as caught:
        solve(easy(), method=SOUND, callback=fail)
    result = caught.value.result
    assert result.fun == seen[0].fun
    assert result.certificate == seen[0].certificate


@pytest.mark.parametrize("method", ["auto", SOUND])
def test_the_callback_may_stop_the_solve(method):
    def stop(now):
        if now.nit >= 3:
            raise StopIteration

    result = solve(easy(), method=method, tol=0.0, check_every=1, callback=stop)
    assert (result.status, result.nit, result.success) == (Status.CALLBACK, 3, False)
    assert result.history["iteration"][-1] == 3


def test_a_stop_iteration_of_the_users_own_functions_is_not_taken_for_the_callbacks():
    class Exhausted(L1):
        def prox(self, v, step):
            return super().prox(v, step) if step == 1.0 else next(iter(()))

    problem = Problem([Block(h=Exhausted(1.0), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)])
    with pytest.raises(StopIteration):
        solve(problem, method=SOUND)


def test_other_errors_of_the_callback_pass_through():
    def fail(now):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        solve(easy(), callback=fail)


@pytest.mark.parametrize("method", ["auto", SOUND])
def test_a_callback_cannot_disturb_the_solve(method):
    def vandal(now):
        for array in (*now.x, now.z):
            array[:] = np.nan
        now.clear()

    options = {"method": method, "max_iter": 40, "tol": 0.0, "check_every": 1}
    calm, disturbed = solve(easy(), **options), solve(easy(), callback=vandal, **options)
    np.testing.assert_array_equal(calm.x[1], disturbed.x[1])
    np.testing.assert_array_equal(calm.z, disturbed.z)
    assert calm.nit == disturbed.nit


@pytest.mark.parametrize("method", ["auto", SOUND, IPDS("practical")])
def test_inputs_are_never_changed(method):
    problem = problems.robust_regression()
    x0, z0 = problems.start_of(problem)
    given = [*x0, z0, problem.b, problem.blocks[0].A]
    copies = [array.copy() for array in given]
    for array in given:
        array.flags.writeable = False
    solve(problem, x0, z0, method, max_iter=100)
    for array, copy in zip(given, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_an_interrupt_returns_the_best_point():
    options = {"method": UNSTABLE, "tol": 0.0, "check_every": 1, "max_iter": 60}
    relative = solve(problems.robust_regression(), **options).history["relative"]
    # an iteration at which the newest point is not the best one
    worse = next(t for t in range(5, 60) if relative[t - 1] > relative[: t - 1].min())
    best = 1 + int(np.argmin(relative[:worse]))

    def interrupt(now):
        if now.nit == worse:
            raise KeyboardInterrupt

    result = solve(problems.robust_regression(), callback=interrupt, **options)
    assert result.status is Status.INTERRUPTED
    assert not result.success
    assert result.nit == best < worse
    assert result.certificate.relative == relative[best - 1]
    assert result.history["iteration"][-1] == worse


def test_an_interrupt_returns_the_lowest_objective_where_a_method_may_smooth():
    """Certificates say little there: that of a smoothed point speaks of another problem."""
    options = {"method": AcceleratedIPDS(), "seed": 0, "tol": 0.0, "check_every": 1, "max_iter": 60}
    seen = solve(problems.sparse_pca(), **options).history
    lowest, nearest = (
        [1 + int(np.argmin(seen[name][:t])) for t in range(1, 60)] for name in ("objective", "relative")
    )
    # an iteration up to which the lowest objective, the best certificate and the newest point are three
    apart = next(t for t in range(1, 60) if len({lowest[t - 1], nearest[t - 1], t}) == 3)

    def interrupt(now):
        if now.nit == apart:
            raise KeyboardInterrupt

    result = solve(problems.sparse_pca(), callback=interrupt, **options)
    assert result.status is Status.INTERRUPTED
    assert result.nit == lowest[apart - 1]
    assert result.fun == seen["objective"][:apart].min()


def test_a_multiplier_is_held_only_while_nothing_moves():
    def check(t, relative):
        certificate = Certificate(0.0, (relative,), relative, 0.0, (relative,), 0.0)
        return Check(t, certificate, 1.0), np.full(2, float(t))

    watcher = Stagnation()
    assert watcher.status(*check(1, 1.0), 1e-4) is None
    assert watcher.status(*check(2, 0.5), 1e-4) is None
    assert watcher.z is None
    for t in (3, 4):
        assert watcher.status(*check(t, 0.5), 1e-4) is None
        np.testing.assert_array_equal(watcher.z, [3.0, 3.0])
    assert watcher.status(*check(5, 0.1), 1e-4) is None
    assert watcher.z is None


def test_an_interrupt_in_the_middle_of_a_step_is_caught_too():
    calls = []

    def grad(x):
        calls.append(1)
        if len(calls) > 30:
            raise KeyboardInterrupt
        return x

    problem = Problem(
        [
            Block(f=smooth(lambda x: 0.5 * float(x @ x), grad, 1.0), A=-1.0, shape=3),
            Block(h=L1(1.0), shape=3),
        ],
        b=1.0,
    )
    result = solve(problem, method=SOUND, tol=0.0, check_every=1)
    assert result.status is Status.INTERRUPTED
    assert result.nit >= 1


def test_divergence_is_a_status_with_the_last_finite_point():
    result = solve(problems.robust_regression(), method=UNSTABLE)
    assert result.status is Status.DIVERGED
    assert not result.success
    assert all(np.isfinite(array).all() for array in (*result.x, result.z))
    assert math.isfinite(result.fun)
    assert np.isfinite(result.history["critical"]).all()


def test_only_auto_raises_when_everything_diverged(monkeypatch):
    # the package's name `ipds.solve` is the function, so the module is reached through it
    monkeypatch.setattr("ipds.solving.call.candidates", lambda *problems: [UNSTABLE, UNSTABLE])
    with pytest.raises(DivergenceError, match=r"every method diverged.*\.result") as caught:
        solve(problems.robust_regression())
    assert caught.value.result.status is Status.DIVERGED
    assert np.isfinite(caught.value.result.x[0]).all()


def test_auto_tries_the_next_method_after_divergence_and_says_which(monkeypatch):
    monkeypatch.setattr("ipds.solving.call.candidates", lambda *problems: [UNSTABLE, SOUND])
    result = solve(problems.robust_regression(), tol=0.5)
    assert result.success
    assert result.method == "auto: IPDS(sound)"


def test_auto_keeps_an_answer_when_the_next_method_refuses_the_problem(monkeypatch):
    class Refusing(Method):
        name = "refusing"

        def init(self, problem, x0, z0):
            return IPDS("sound").init(Problem([Block(h=L1(1.0), shape=4), Block(A=0.0, shape=4)]), x0, z0)

        def step(self, setup, carry):
            raise AssertionError

    class Idle(Method):
        name = "idle"

        def init(self, problem, x0, z0):
            return SOUND.init(problem, x0, z0)

        def step(self, setup, carry):
            points = tuple((x, 1.0) for x in carry.x)
            state = State(carry.t + 1, carry.x, carry.x[-1], carry.z, 1.0, 1.0, carry.products, points)
            return carry._replace(t=carry.t + 1), state

    monkeypatch.setattr("ipds.solving.call.candidates", lambda *problems: [Idle(), Refusing()])
    result = solve(easy(), max_iter=1000, tol=0.0)
    assert result.status in (Status.STALLED, Status.STALLED_FEASIBLE)
    assert result.nit < 1000


def test_the_same_seed_gives_the_same_answer():
    problem = problems.sparse_pca()
    a, b, c = (solve(problem, method=SOUND, max_iter=20, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(a.x[0], b.x[0])
    assert not np.array_equal(a.x[0], c.x[0])


def test_a_start_at_a_saddle_is_left():
    """f = -‖x‖²/2 has zero gradient at zero; a default start there would never move."""
    f = smooth(lambda x: -0.5 * float(x @ x), lambda x: -x, 1.0)
    problem = Problem([Block(f=f, A=-1.0, shape=3, name="x"), Block(h=L1(0.1), shape=3)])
    result = solve(problem, method=SOUND, max_iter=1, seed=0)
    assert np.linalg.norm(result.x[0]) > 0.1


def test_every_status_is_a_message():
    messages = [status.value for status in Status]
    assert len(set(messages)) == len(messages)
    assert all(isinstance(message, str) and len(message) > 15 for message in messages)
    assert Status("stopped by the callback") is Status.CALLBACK


def test_the_result_prints_what_matters():
    result = solve(easy(), method=SOUND)
    text = str(result)
    for part in (result.message, "IPDS(sound)", f"{result.fun:.10g}", str(result.nit), "(4,)", "feasibility"):
        assert part in text
    assert result["nit"] == result.nit  # an OptimizeResult is a dict


def test_progress_is_quiet_where_nobody_looks(capsys):
    solve(easy(), progress=True, max_iter=5)
    assert capsys.readouterr() == ("", "")


def test_waiting_for_the_multiplier_is_not_stalling():
    """While x̆ = 0 certificate and objective stand still; the multiplier grows until x̆ leaves zero."""
    problem = Problem(
        [Block(f=LeastSquares(np.eye(4), np.ones(4)), A=-1.0, shape=4), Block(h=L1(0.9), shape=4)]
    )
    waiting = solve(problem, method=IPDS("sound", beta0=1.0), tol=1e-6, max_iter=3000)
    assert waiting.status is Status.MAX_ITER


def test_a_solution_at_zero_is_certified():
    """Every scale of the constraint goes to zero with the solution; the largest seen keeps the measure meaningful."""
    f = LeastSquares(np.eye(4), np.full(4, 0.5))
    problem = Problem([Block(f=f, A=-1.0, shape=4), Block(h=L1(5.0), shape=4)])
    result = solve(problem, [np.ones(4), np.ones(4)], tol=1e-2)
    assert result.success
    np.testing.assert_allclose(result.x[1], 0.0, atol=1e-3)
    np.testing.assert_allclose(result.x[0], 0.0, atol=1e-2)


def test_a_callback_may_insist_on_its_keyword():
    seen = []

    def watch(*, intermediate_result):
        seen.append(intermediate_result.nit)

    problem = Problem([Block(h=L1(1.0), A=-1.0, shape=3), Block(h=L1(2.0), shape=3)], b=1.0)
    assert solve(problem, callback=watch).success
    assert seen
