"""What callers' code may do to a solve, and a solve to callers' data: errors, callbacks, threads, nesting, time."""

import math
import subprocess
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from hypothesis import given, settings
from hypothesis import strategies as st
from test_checkpoint import CASES

import killed_solve
import problems
from checkpoints import assert_same
from ipds import Block, Problem, Status, iterate, multistart, solve
from ipds.functions import L1, Box, LeastSquares, Stiefel, smooth
from ipds.methods import IPDS, AcceleratedIPDS, ManPG


class Broken(Exception):
    """An error of the caller's own kind, with a constructor of its own."""

    def __init__(self, code, why):
        super().__init__(code, why)
        self.code = code


class Fuse:
    """Passes calls on, and breaks after a number of them."""

    def __init__(self, calls):
        self.left = calls

    def __call__(self, value):
        self.left -= 1
        if self.left < 0:
            raise Broken(7, "the machine behind this function is gone")
        return value


class OwnL1:
    is_convex, lipschitz = True, 3.0

    def __init__(self, fuse):
        self.fuse = fuse

    def __call__(self, x):
        return float(np.abs(x).sum())

    def prox(self, v, step):
        return self.fuse(np.sign(v) * np.maximum(np.abs(v) - step, 0.0))


def breaking(where, calls):
    """A problem one of whose parts breaks after a number of calls."""
    fuse, G = Fuse(calls), problems.rng().standard_normal((9, 5))
    f, h, A = LeastSquares(G, np.ones(9)), L1(1.0), 1.0
    if where == "f.grad":
        f = smooth(
            lambda x: 0.5 * float(np.sum((G @ x - 1) ** 2)), lambda x: fuse(G.T @ (G @ x - 1)), lipschitz=30.0
        )
    elif where == "f":
        f = smooth(lambda x: fuse(0.5 * float(np.sum((G @ x - 1) ** 2))), lambda x: G.T @ (G @ x - 1))
    elif where == "h.prox":
        h = OwnL1(fuse)
    elif where == "A.apply":
        A = spla.LinearOperator(
            (5, 5), matvec=lambda x: fuse(x * 1.0), rmatvec=lambda y: y * 1.0, dtype=float
        )
    return Problem([Block(f=f, A=-1.0, shape=5, name="left"), Block(h=h, A=A, shape=5, name="right")])


@pytest.mark.parametrize("method", [IPDS("sound"), IPDS("practical"), "auto"])
@pytest.mark.parametrize("where", ["f", "f.grad", "h.prox", "A.apply"])
def test_an_error_in_a_function_names_the_block_and_carries_the_best_result(where, method):
    with pytest.raises(Broken) as caught:
        solve(breaking(where, 200), method=method, check_every=1, tol=0.0)
    error = caught.value
    assert error.code == 7
    assert error.args == (7, "the machine behind this function is gone")
    name = "left" if where.startswith("f") else "right"
    assert error.__notes__ == [f"ipds: raised by {where} of block {name!r}"]
    assert any(entry.name == "__call__" and entry.path == Path(__file__) for entry in caught.traceback)
    result = error.result
    assert (result.status, result.success) == (Status.FAILED, False)
    assert len(result.history["iteration"]) > 5
    assert result.certificate.relative == result.history["relative"].min() < math.inf


@pytest.mark.parametrize("where", ["f.grad", "h.prox", "A.apply"])
def test_an_error_before_the_first_iteration_names_the_block_too(where):
    with pytest.raises(Broken) as caught:
        solve(breaking(where, 0))
    assert "of block 'left'" in caught.value.__notes__[0] or "of block 'right'" in caught.value.__notes__[0]


def test_iterate_names_the_block():
    with pytest.raises(Broken) as caught:
        for _ in iterate(breaking("h.prox", 20), method="sound"):
            pass
    assert caught.value.__notes__ == ["ipds: raised by h.prox of block 'right'"]


def test_a_function_shared_by_blocks_names_them_all():
    h = OwnL1(Fuse(20))
    from ipds.functions.adapters import as_nonsmooth

    shared = as_nonsmooth(h, "")
    problem = Problem([Block(h=shared, A=-1.0, shape=3, name="a"), Block(h=shared, shape=3, name="b")], b=1.0)
    with pytest.raises(Broken) as caught:
        solve(problem, method=IPDS("sound"))
    assert caught.value.__notes__ == ["ipds: raised by h.prox of block 'a' or 'b'"]


def test_an_error_in_the_callback_carries_the_result_of_that_check():
    def callback(now):
        if now.nit == 30:
            raise Broken(3, "no more room for plots")

    with pytest.raises(Broken) as caught:
        solve(problems.sparse_pca(), callback=callback, tol=0.0)
    assert caught.value.__notes__ == ["ipds: raised by the callback at iteration 30"]
    assert caught.value.result.nit == 30


def test_an_error_that_has_no_room_for_a_result_still_comes_through():
    class Narrow(Exception):
        result = property(lambda self: None)

    def callback(now):
        raise Narrow

    with pytest.raises(Narrow):
        solve(problems.sparse_pca(), callback=callback)


def test_errors_in_other_processes_come_through():
    with pytest.raises(Broken) as caught:
        multistart(breaking("h.prox", 100), 2, n_jobs=1, tol=0.0)
    assert caught.value.result.nit > 0


def vandal(now):
    """Writes into everything a callback is shown."""
    for block in now.x:
        block[...] = np.nan
    now.z[...] = np.nan
    now.fun = np.nan
    with pytest.raises(AttributeError):  # frozen
        now.certificate.relative = 0.0
    now.clear()


@pytest.mark.parametrize("case", CASES)
def test_a_callback_cannot_corrupt_the_solve(case):
    make, method = CASES[case]
    options = {"method": method, "seed": 1, "tol": 1e-13, "max_iter": 40, "check_every": 5}
    assert_same(solve(make(), callback=vandal, **options), solve(make(), **options))


def frozen(value, seen):
    """Make every array that can be reached from a problem read-only, and remember its content."""
    if isinstance(value, np.ndarray):
        if id(value) not in seen:
            value.flags.writeable = False
            seen[id(value)] = (value, value.copy())
    elif sp.issparse(value):
        for name in ("data", "indices", "indptr", "row", "col"):
            frozen(getattr(value, name, None), seen)
    elif isinstance(value, tuple | list):
        for part in value:
            frozen(part, seen)
    elif isinstance(value, types.FunctionType):
        frozen([cell.cell_contents for cell in value.__closure__ or ()], seen)
    elif type(value).__module__.startswith("ipds") and hasattr(value, "__dict__"):
        frozen(list(vars(value).values()), seen)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**31), given_start=st.booleans(), layout=st.sampled_from("CF"))
def test_inputs_are_never_changed(case, seed, given_start, layout):
    """Arrays of the problem and of the start are read-only, and their content is compared in the end as well."""
    make, method = CASES[case]
    problem, seen = make(), {}
    x0 = z0 = None
    if given_start:
        x0, z0 = problems.start_of(problem, seed)
        x0, z0 = [np.array(x, order=layout) for x in x0], np.array(z0, order=layout)
    frozen([problem, *problem.blocks, *problem.operators, x0, z0], seen)
    assert len(seen) > 0
    first = solve(problem, x0, z0, method, seed=seed, max_iter=25, tol=1e-13)
    for array, before in seen.values():
        np.testing.assert_array_equal(array, before)
    for x in (*first.x, first.z):
        assert not any(np.shares_memory(x, array) for array, _ in seen.values())
    assert_same(solve(problem, x0, z0, method, seed=seed, max_iter=25, tol=1e-13), first)


@pytest.mark.parametrize("case", CASES)
def test_threads_give_what_a_sequence_gives(case):
    """Four solves at once of one problem object that nobody has used before."""
    make, method = CASES[case]
    options = {"method": method, "seed": 1, "tol": 1e-13, "max_iter": 60}
    alone, shared = solve(make(), **options), make()
    with ThreadPoolExecutor(4) as pool:
        for together in pool.map(lambda _: solve(shared, **options), range(4)):
            assert_same(together, alone)


def test_a_solve_inside_a_callback_and_inside_a_function():
    inner = problems.robust_regression()
    expected = solve(inner, seed=1, max_iter=30)
    D = problems.rng().standard_normal((20, 10))

    def value(Y):
        return -0.5 * float(np.sum((D @ Y) ** 2)) / 20

    def plain(Y):
        return -D.T @ (D @ Y) / 20

    def nested(Y):
        assert_same(solve(inner, seed=1, max_iter=30), expected)
        return plain(Y)

    def make(gradient):
        f = smooth(value, gradient, lipschitz=4.0)
        return Problem([Block(f=f, h=Stiefel(), A=-1.0, shape=(10, 2)), Block(h=L1(0.2), shape=(10, 2))])

    options = {"seed": 2, "max_iter": 20, "tol": 1e-13, "time_limit": 1e6}
    alone = solve(make(plain), **options)
    assert_same(solve(make(nested), **options), alone)
    assert_same(solve(make(plain), callback=lambda now: nested(now.x[0]), **options), alone)


def test_two_processes_give_the_same_bits():
    code = "import killed_solve as k; print(k.answer(k.begin('auto', None)))"
    folder = Path(__file__).parent
    other = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == killed_solve.answer(killed_solve.begin("auto", None))


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

    class Costly(OwnL1):
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
    alone = solve(problem, method=AcceleratedIPDS(), tol=0.0)
    assert alone.status in (Status.STALLED, Status.STALLED_FEASIBLE)
    result = solve(problem, tol=0.0, time_limit=alone.seconds, callback=lambda now: seen.append(now.nit))
    assert result.status is alone.status
    assert seen.count(1) == 1


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
