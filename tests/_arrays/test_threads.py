"""BLAS has one thread while small problems are solved, and its own number before and after."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  # it has a BLAS of its own, which is loaded before threads are counted
from threadpoolctl import OpenBLASController, threadpool_info, threadpool_limits

from ipds import Block, Problem, solve
from ipds._arrays.threads import LARGE, threads_for
from ipds.functions import L1, LeastSquares
from ipds.models import SparsePCA


def counts():
    """Threads of the BLAS libraries of NumPy and SciPy; those of others that tests have loaded are theirs."""
    return {
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas"
        and ("numpy" in library["filepath"] or "scipy" in library["filepath"])
    }


@pytest.fixture(autouse=True)
def _two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield
        assert counts() == {2}


def lasso(n):
    """The least squares of one row of n entries."""
    f = LeastSquares(np.ones((1, n)), np.ones(1))
    return Problem([Block(f=f, A=-1.0, shape=n), Block(h=L1(0.1), shape=n)])


@pytest.mark.parametrize(("n", "threads"), [(10, 1), (LARGE + 1, 2)])
def test_small_problems_have_one_thread(n, threads):
    seen = []
    solve(
        lasso(n), max_iter=1, callback=lambda now: seen.append(counts()), method="accelerated", presolve=False
    )
    assert seen == [{threads}]


def test_a_fit_has_one_thread(monkeypatch):
    seen = []
    started = SparsePCA._started
    monkeypatch.setattr(SparsePCA, "_started", lambda *given: (seen.append(counts()), started(*given))[1])
    SparsePCA(n_components=2).fit(np.random.default_rng(0).standard_normal((10, 5)))
    assert seen == [{1}]


def test_an_error_gives_the_threads_back():
    def stop(now):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        solve(lasso(10), callback=stop)
    assert counts() == {2}


def test_other_threads_may_limit_theirs_afterwards():
    """Where OpenBLAS has one pool for all, the thread that has set its size keeps others from it until it lets go."""
    seen = []

    def within(context):
        with context:
            seen.append(counts())

    OpenBLASController.clear_controlling_thread(force=True)  # of the fixture
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        one.submit(lambda: within(threads_for(lambda: 10))).result()
        other.submit(lambda: within(threadpool_limits(1, user_api="blas"))).result()
    assert seen == [{1}, {1}]


def test_arrays_are_not_counted_where_there_is_one_thread():
    def entries():
        raise AssertionError("nobody needs to know")

    with threadpool_limits(1, user_api="blas"), threads_for(entries):
        assert counts() == {1}
