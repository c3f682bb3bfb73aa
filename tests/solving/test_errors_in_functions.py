"""Errors of the caller's functions, operators and callbacks come through, say whose they are, and carry the result."""

import math
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse.linalg as spla

import problems
from ipds import Block, Problem, Status, iterate, multistart, solve
from ipds.functions import L1, LeastSquares, smooth
from ipds.methods import IPDS


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
        h = problems.OwnL1(fuse)
    elif where == "A.apply":
        A = spla.LinearOperator(
            (5, 5), matvec=lambda x: fuse(x * 1.0), rmatvec=lambda y: y * 1.0, dtype=float
        )
    return Problem([Block(f=f, A=-1.0, shape=5, name="left"), Block(h=h, A=A, shape=5, name="right")])


@pytest.mark.parametrize("method", [IPDS("sound"), IPDS("practical"), "auto"])
@pytest.mark.parametrize("where", ["f", "f.grad", "h.prox", "A.apply"])
def test_an_error_in_a_function_names_the_block_and_carries_the_best_result(where, method):
    calls = 1000 if (where, method) == ("f.grad", "auto") else 60  # Hessians by differences take some
    with pytest.raises(Broken) as caught:
        solve(breaking(where, calls), method=method, check_every=1, tol=0.0)
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
    h = problems.OwnL1(Fuse(20))
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
        solve(problems.sparse_pca(), callback=callback, tol=0.0, seed=0)
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


def test_a_start_is_measured_where_it_is_the_answer_and_not_before():
    events = []

    class Failing(L1):
        def __call__(self, x):
            events.append("measured")
            return super().__call__(x)

        def prox(self, v, step):
            if step == 1.0:  # of the start
                return super().prox(v, step)
            events.append("failed")
            raise RuntimeError("mine")

    problem = Problem([Block(h=L1(1.0), A=-1.0, shape=3), Block(h=Failing(1.0), shape=3)], b=1.0)
    with pytest.raises(RuntimeError, match="mine") as caught:
        solve(problem, method=IPDS("sound", beta0=50.0))
    assert events[:2] == ["failed", "measured"]
    assert (caught.value.result.nit, caught.value.result.fun) == (0, 3.0)
    assert caught.value.result.certificate.feasibility == 0.0


def test_the_first_error_is_told_where_the_start_cannot_be_measured_after_it():
    class Failing(L1):
        def __call__(self, x):
            raise RuntimeError("second")

        def prox(self, v, step):
            if step == 1.0:  # of the start
                return super().prox(v, step)
            raise RuntimeError("first")

    problem = Problem([Block(h=L1(1.0), A=-1.0, shape=3), Block(h=Failing(1.0), shape=3)], b=1.0)
    with pytest.raises(RuntimeError, match="first") as caught:
        solve(problem, method=IPDS("sound", beta0=50.0))
    assert caught.value.result.fun == math.inf
