"""Checkpoints: a solve that was cut off goes on to the same bits; foreign and damaged files are refused."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import problems
from ipds import Block, Checkpoint, Problem, methods, solve
from ipds.functions import L1, Box, Cardinality, LeastSquares, Stiefel, smooth
from ipds.methods import (
    IPDS,
    RADMM,
    SPGM,
    AcceleratedIPDS,
    FixedPenaltyADMM,
    ManPG,
    RiemannianALM,
    Subgradient,
)
from ipds.methods.reordered import Reordered


def on_stiefel(d=10, r=2):
    D = problems.rng().standard_normal((20, d))
    f = smooth(
        lambda Y: -0.5 * float(np.sum((D @ Y) ** 2)) / 20, lambda Y: -D.T @ (D @ Y) / 20, lipschitz=4.0
    )
    return Problem(
        [Block(f=f, h=Stiefel(), A=-1.0, shape=(d, r), name="Y"), Block(h=L1(0.2), shape=(d, r), name="V")]
    )


def convex():
    g = problems.rng(3)
    f = LeastSquares(g.standard_normal((9, 6)), g.standard_normal(9))
    return Problem([Block(f=f, A=-1.0, shape=6), Block(h=L1(0.3), shape=6)])


def piecewise():
    """f looks quadratic at the start and is none later: what evaluates it changes during the run."""
    y = np.array([3.0, -4.0, 5.0, 1.0])

    def value(x):
        return 0.5 * float(np.sum((x - y) ** 2)) + float(np.sum(np.maximum(x - 2.0, 0.0) ** 3))

    def grad(x):
        return x - y + 3 * np.maximum(x - 2.0, 0.0) ** 2

    return Problem([Block(f=smooth(value, grad), shape=4, A=-1.0), Block(h=L1(0.1), shape=4)])


def last_is_not_convex():
    g = problems.rng(4)
    return Problem(
        [
            Block(h=L1(1.0), A=g.standard_normal((8, 8)), shape=8),
            Block(f=problems.concave(5), h=Box(-1.0, 1.0), A=g.standard_normal((8, 5)), shape=5),
            Block(h=Cardinality(2), A=g.standard_normal((8, 4)), shape=4),
        ],
        b=g.standard_normal(8),
    )


CASES = {
    "IPDS sound": (problems.surjective, IPDS("sound")),
    "IPDS practical": (problems.five_blocks, IPDS("practical")),
    "IPDS scaled multiplier": (problems.three_blocks, IPDS("sound", scaled_multiplier=True)),
    "accelerated": (problems.sparse_pca, AcceleratedIPDS()),
    "accelerated, annealing": (problems.sparse_pca, AcceleratedIPDS("thorough")),
    "accelerated, f moved": (problems.three_blocks, AcceleratedIPDS()),
    "accelerated, not quadratic": (piecewise, AcceleratedIPDS()),
    "RADMM": (on_stiefel, RADMM("tuned")),
    "SPGM": (on_stiefel, SPGM("tuned")),
    "Subgradient": (on_stiefel, Subgradient("tuned")),
    "RiemannianALM": (on_stiefel, RiemannianALM()),
    "ManPG": (on_stiefel, ManPG()),
    "FixedPenaltyADMM": (convex, FixedPenaltyADMM("he-yuan-2012")),
    "Reordered": (last_is_not_convex, Reordered(IPDS("practical"), 0)),
    "auto": (problems.robust_regression, "auto"),
    "auto, reordered": (last_is_not_convex, "auto"),
}


class Killed(BaseException):
    """Ends a solve as abruptly as a test can."""


def same(a, b):
    """Equality to the last bit, through records and tuples."""
    if isinstance(a, Block | Problem):
        return True  # part of the problem
    if is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "shape"):
        layout = getattr(a, "flags", None) is None or a.flags.c_contiguous == b.flags.c_contiguous
        return a.dtype == b.dtype and layout and np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)
    if isinstance(a, float | int | str | None):
        return type(a) is type(b) and (a == b or a != a)
    return type(a) is type(b)  # functions and operators


def assert_same(first, second):
    assert (first.status, first.method, first.nit, first.fun) == (
        second.status,
        second.method,
        second.nit,
        second.fun,
    )
    assert same(first.state, second.state)
    assert same(first.certificate, second.certificate)
    assert set(first.history) == set(second.history)
    for name in set(first.history) - {"seconds"}:
        np.testing.assert_array_equal(first.history[name], second.history[name])


def cut(make, path, after, every=0.0, **options):
    """Begin the solve and kill it in the check of iteration `after`; what was saved is the check before that."""

    def callback(now):
        if now.nit >= after:
            raise Killed

    with pytest.raises(Killed):
        solve(make(), checkpoint=Checkpoint(path, every=every), callback=callback, **options)


@pytest.mark.parametrize("case", CASES)
def test_a_solve_that_was_killed_goes_on_to_the_same_bits(case, tmp_path):
    make, method = CASES[case]
    options = {"method": method, "seed": 1, "tol": 1e-13, "check_every": 7}
    most = 800 if "annealing" in case else 120
    undisturbed = solve(make(), max_iter=most, **options)
    path = tmp_path / "run.ckpt"
    for after in (2, 30, most // 2):
        cut(make, path, after, max_iter=most, **options)
    seen = []
    result = solve(
        make(), checkpoint=path, max_iter=most, callback=lambda now: seen.append(now.nit), **options
    )
    assert seen[0] >= most // 2 - 7  # it did go on, and did not begin again
    assert_same(result, undisturbed)


def test_every_method_is_among_the_cases():
    kinds = {type(method) for _, method in CASES.values()}
    assert kinds >= {
        getattr(methods, name) for name in methods.__all__ if isinstance(getattr(methods, name), type)
    } - {
        methods.Method,
        methods.State,
    }
