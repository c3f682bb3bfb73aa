"""Whole solves on other array libraries and precisions give what NumPy in double precision gives."""

import array_api_strict
import numpy as np
import pytest

import problems
from ipds import Block, Problem, solve
from ipds._arrays import (
    PIECE,
    WHOLE,
    absolute_sum,
    add_scaled,
    all_finite,
    at_least,
    between,
    far_above,
    products_of_differences,
)
from ipds.functions import L1, Cardinality, LeastSquares, Stiefel
from ipds.methods import IPDS

METHODS = {"accelerated": "accelerated", "sound": IPDS("sound"), "practical": IPDS("practical")}


def library(name):
    if name == "torch":
        return pytest.importorskip("torch", reason="PyTorch is an optional extra")
    return {"numpy": np, "strict": array_api_strict}[name]


def regression(xp, dtype="float64"):
    """Data as arrays of the library: a smooth block, a sparse block, a robust block."""
    g = problems.rng(2)
    G, H, y = g.standard_normal((12, 4)), g.standard_normal((12, 5)), g.standard_normal(12)
    G, H, y = (xp.asarray(a, dtype=getattr(xp, dtype)) for a in (G, H, y))
    return Problem(
        [
            Block(f=LeastSquares(G, y), A=G, shape=4, name="a"),
            Block(h=Cardinality(2), A=H, shape=5, name="b"),
            Block(h=L1(0.5), A=-1.0, shape=12, name="c"),
        ],
        b=y,
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["strict", "torch"])
def test_a_solve_on_another_library_gives_the_same(name, method):
    xp = library(name)
    ours = solve(regression(np), method=METHODS[method], max_iter=60, tol=1e-8)
    theirs = solve(regression(xp), method=METHODS[method], max_iter=60, tol=1e-8)
    assert all(type(x) is type(xp.asarray([1.0])) for x in (*theirs.x, theirs.z))
    assert isinstance(theirs.fun, float)
    assert theirs.fun == pytest.approx(ours.fun, rel=1e-6)
    # adaptive steps magnify the libraries' different rounding; the fixed ones of Algorithm 1 do not
    tolerance = 1e-9 if method == "sound" else 1e-3
    for a, b in zip([*ours.x, ours.z], [*theirs.x, theirs.z], strict=True):
        np.testing.assert_allclose(a, np.asarray(b), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["strict", "torch"])
def test_the_start_decides_the_library_where_the_problem_holds_no_arrays(name):
    xp = library(name)
    problem = Problem([Block(h=Stiefel(), A=-1.0, shape=(5, 2)), Block(h=L1(0.1), shape=(5, 2))])
    start = problems.rng().standard_normal((5, 2))
    result = solve(problem, [xp.asarray(start), xp.asarray(start)], max_iter=30)
    assert all(type(x) is type(xp.asarray([1.0])) for x in (*result.x, result.z))


@pytest.mark.parametrize("method", METHODS)
def test_single_precision_stays_single(method):
    single, double = (
        solve(regression(np, dtype), method=METHODS[method], max_iter=40, tol=1e-3)
        for dtype in ("float32", "float64")
    )
    assert {x.dtype for x in (*single.x, single.z)} == {np.dtype("float32")}
    assert single.fun == pytest.approx(double.fun, rel=0.01)


def test_integers_and_lists_become_doubles():
    blocks = [Block(h=L1(1.0), A=np.eye(2, dtype=int), shape=2), Block(h=L1(1.0), shape=2)]
    problem = Problem(blocks, b=np.array([1, 2]))
    result = solve(problem, [[0, 0], [1, 2]], max_iter=5)
    assert all(x.dtype == np.float64 for x in (*result.x, result.z))


@pytest.mark.parametrize("size", [0, 1, 50, 20_001, WHOLE + 101])
def test_a_sum_does_not_depend_on_where_in_memory_the_entries_lie(size):
    """BLAS's own sum of absolute values does, in the last digit: two equal solves would differ."""
    x, found = problems.rng().standard_normal(size), set()
    for offset in range(8):
        room = np.empty(size + 8)
        room[offset : offset + size] = x
        found.add(absolute_sum(room[offset : offset + size]))
    assert len(found) == 1
    assert found.pop() == pytest.approx(np.abs(x).sum(), rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [5, WHOLE, WHOLE + 1, WHOLE + 3 * PIECE - 7])
def test_products_of_differences_piece_by_piece(size, dtype):
    a, b, c, d = np.random.default_rng(0).standard_normal((4, size)).astype(dtype)
    kept = [x.copy() for x in (a, b, c, d)]
    move, change = a - b, c - d
    expected = [np.vdot(move, move), np.vdot(move, change), np.vdot(change, change)]
    scale = [expected[0], np.sqrt(expected[0] * expected[2]), expected[2]]
    error = np.abs(np.subtract(products_of_differences(a, b, c, d), expected)) / scale
    assert error.max() <= 10 * np.finfo(dtype).eps
    assert all(np.array_equal(x, y) for x, y in zip((a, b, c, d), kept, strict=True))


def test_products_of_differences_of_a_transposed_array():
    a = np.random.default_rng(0).standard_normal((200, 300))
    assert products_of_differences(a.T, 0 * a.T, a.T, 0 * a.T) == pytest.approx([np.vdot(a, a)] * 3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_entries_whose_squares_overflow_are_finite_and_others_are_not(dtype):
    large = np.full(3, np.finfo(dtype).max)
    assert all_finite(large)
    assert not any(all_finite(np.append(large, x).astype(dtype)) for x in (np.nan, np.inf, -np.inf))
    assert all_finite(np.arange(3))


@pytest.mark.parametrize("factor", [1.0, -1.0, 0.5, np.array([1.0, 2.0])])
def test_sums_with_a_multiple_are_new_arrays(factor):
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    for first in (x, 0.0, 4.0):
        found = add_scaled(first, factor, y)
        assert np.array_equal(found, first + factor * y)
        assert not np.shares_memory(found, y)
        assert not np.shares_memory(found, x)


@pytest.mark.parametrize("size", [7, 5000])  # both spellings
def test_bounds_of_short_and_long_arrays(size):
    x = problems.rng(1).standard_normal(size)
    x[2] = np.nan
    assert np.array_equal(at_least(np, x, 0.1), np.maximum(x, 0.1), equal_nan=True)
    assert np.array_equal(between(np, x, -0.2, 0.1), np.clip(x, -0.2, 0.1), equal_nan=True)
    assert np.array_equal(between(np, x, x - 1, x - 0.5), x - 0.5, equal_nan=True)
    here = x > 0
    for number, huge in [(np.float64, 1e300), (np.float32, 1e30)]:
        y, top = number(huge) * x.astype(number), number(huge)
        above, below = far_above(y, here), far_above(y, here, -1.0)
        assert above.dtype == below.dtype == number
        assert np.array_equal(np.minimum(above, top), np.where(here, top, np.minimum(y, top)), equal_nan=True)
        assert np.array_equal(np.maximum(below, 0), np.where(here, 0, np.maximum(y, 0)), equal_nan=True)
        assert np.all(np.isfinite(above) | np.isnan(y))
