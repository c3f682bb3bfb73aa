"""Solves that are cut off, and what it means that two results are the same."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import problems
from ipds import Block, Checkpoint, Problem, solve


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
    assert same((first.x, first.z), (second.x, second.z))
    if (
        first.state is not None and second.state is not None
    ):  # not at hand where a finished solve was read again
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


def run(path, make=problems.sparse_pca, **options):
    return solve(make(), **{"seed": 1, "tol": 1e-13, "max_iter": 60, "checkpoint": path, **options})
