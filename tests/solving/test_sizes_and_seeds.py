"""Shapes that no memory holds and seeds that are none: refused in our words, before anything is allocated."""

import tracemalloc

import numpy as np
import pytest

from ipds import Block, Problem, Variable, iterate, minimize, solve
from ipds.functions import L1, Stiefel
from ipds.solving.multistart import multistart


def small():
    return Problem([Block(h=L1(1.0), A=-1.0, shape=3, name="x"), Block(h=L1(1.0), shape=3, name="v")])


def large(shape, h=None):
    return Problem([Block(h=h or L1(1.0), A=-1.0, shape=shape, name="x"), Block(h=L1(1.0), shape=shape)])


@pytest.mark.parametrize(
    "run", [solve, lambda p, **o: next(iterate(p, **o)), lambda p, **o: multistart(p, 2, **o)]
)
@pytest.mark.parametrize(("seed", "error"), [(-1, ValueError), (1.5, TypeError), ("a", TypeError)])
def test_seeds_that_are_none(run, seed, error):
    with pytest.raises(error, match=r"seed must be a nonnegative integer or None, got"):
        run(small(), seed=seed)


@pytest.mark.parametrize(
    "make",
    [
        lambda: large(10**13),
        lambda: large((10**7, 10**7), Stiefel()),
        lambda: minimize(L1(1.0)(Variable(10**13, name="x"))),
    ],
)
@pytest.mark.parametrize("run", [solve, lambda p: next(iterate(p))])
def test_blocks_beyond_the_memory_are_refused_before_any_is_taken(make, run):
    problem = make()
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=r"the blocks take .* GiB, .* has .* GiB of memory; .*'x2?' of shape"
        ):
            run(problem)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_shapes_beyond_every_memory():
    with pytest.raises(
        ValueError, match=r"block 'x': shape .* has 1e\+30 entries, more than any array can have"
    ):
        Block(shape=10**30, name="x")


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize(
    ("b", "says"),
    [
        ("abc", "b must be a number or an array, got str"),
        (np.array(["a", "b", "c"]), "b holds text"),
        (np.array([1, None, 2], dtype=object), "b holds objects"),
        ([1, "a", 2], "b must be a number or an array, got list"),
        (np.zeros((1, 3)).view(np.matrix), "b is a numpy.matrix"),
    ],
)
def test_right_hand_sides_that_are_none(b, says):
    with pytest.raises(TypeError, match=says):
        Problem([Block(h=L1(1.0), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)], b=b)
