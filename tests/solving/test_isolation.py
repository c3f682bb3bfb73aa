"""Solves leave callers' data alone, and nothing that runs beside or inside them changes what they find."""

import subprocess
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from test_checkpoint import CASES

import killed_solve
import problems
from checkpoints import assert_same
from ipds import Block, Problem, solve
from ipds.functions import L1, Stiefel, smooth


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
    folder = Path(killed_solve.__file__).parent
    other = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == killed_solve.answer(killed_solve.begin("auto", None))
