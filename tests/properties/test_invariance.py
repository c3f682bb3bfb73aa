"""The certificate of a point is the same in all writings of a problem: units, order, rows that are split in two."""

from dataclasses import replace
from functools import lru_cache
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp

from ipds import Block, Problem, iterate
from ipds.functions import Linear, Weighted
from ipds.methods import IPDS
from ipds.theory.certificate import certify
from properties.convex import draw, stated

SEEDS = range(16)


@lru_cache
def plain(seed):
    """A case in plain units, and states of it: a rough one, and one that is almost solved."""
    case = draw(seed, spread=0.0)
    states = list(islice(iterate(case.problem, method=IPDS()), 100))
    return case, (states[2], states[-1])


def restated(state, units, costs, rows):
    """The same point where x_i is written as u_i x_i, row k as c_k times itself, the objective as o times itself."""
    j = state.last % len(state.x)
    points = [
        (None if v is None else u * v, step * np.max(u) ** 2 / costs)
        for (v, step), u in zip(state.prox_points, units, strict=True)
    ]
    return replace(
        state,
        x=tuple(u * x for u, x in zip(units, state.x, strict=True)),
        x_breve=units[j] * state.x_breve,
        z=costs * state.z / rows,
        products=(None,) * len(units),
        prox_points=tuple(points),
        gradients=None,
        adjoints=None,
        values=None,
    )


def same(a, b, factor=1.0, order=None):
    """Whether two certificates agree to rounding, the gap up to a factor."""
    order = range(len(a.blocks)) if order is None else order
    answers = [(a.rows, b.rows), (a.work, b.work), *[(a.blocks[i], b.blocks[k]) for k, i in enumerate(order)]]
    if a.gap is not None:
        answers.append((factor * a.gap, b.gap))
    for one, other in answers:
        assert other == pytest.approx(one, rel=1e-5, abs=1e-12)
    assert (a.gap is None, a.rigorous) == (b.gap is None, b.rigorous)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("which", ["blocks", "columns", "rows", "objective", "all"])
def test_units(seed, which):
    case, states = plain(seed)
    g, count = np.random.default_rng(seed), len(case.pieces)
    units, factor, rows = [1.0] * count, 1.0, np.ones(len(case.b))
    if which in ("blocks", "all"):
        units = [float(u) for u in 10 ** g.uniform(-3, 3, count)]
    if which == "columns":
        units = [10 ** g.uniform(-2, 2, p.size) if p.entrywise else 1.0 for p in case.pieces]
    if which in ("rows", "all"):
        rows = 10 ** g.uniform(-3, 3, len(case.b))
    if which in ("objective", "all"):
        factor = 1e3
    other = stated(case.pieces, units, np.full(count, factor), rows, case.b, "")
    for state in states:
        moved = restated(state, units, factor, rows)
        same(certify(case.problem, state), certify(other.problem, moved), factor)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_constant_in_the_objective(seed):
    case, states = plain(seed)
    first, *others = case.problem.blocks
    f = Weighted(Linear(0.0) if first.f is None else first.f, constant=1e6)
    problem = Problem([Block(f=f, h=first.h, A=first.A, shape=first.shape), *others], b=case.problem.b)
    for state in states:
        same(certify(case.problem, state), certify(problem, replace(state, gradients=None, values=None)))


@pytest.mark.parametrize("seed", SEEDS)
def test_order_of_blocks(seed):
    case, states = plain(seed)
    order = list(np.random.default_rng(seed).permutation(len(case.pieces)))
    problem = Problem([case.problem.blocks[i] for i in order], b=case.problem.b)
    for state in states:
        j = state.last % len(state.x)
        moved = replace(
            state,
            x=tuple(state.x[i] for i in order),
            last=order.index(j),
            products=(None,) * len(order),
            prox_points=tuple(state.prox_points[i] for i in order),
            gradients=None,
            adjoints=None,
            values=None,
        )
        same(certify(case.problem, state), certify(problem, moved), order=order)


@pytest.mark.parametrize("seed", SEEDS)
def test_equations_split_in_two(seed):
    """Rows 0.3 (A x - b) = 0 and 0.7 (A x - b) = 0 with the same multipliers say what A x - b = 0 says."""
    case, states = plain(seed)

    def twice(A, n):
        A = A * sp.eye_array(n) if isinstance(A, float) else sp.csr_array(A)
        return sp.vstack([0.3 * A, 0.7 * A]).tocsr()

    blocks = [
        Block(f=block.f, h=block.h, A=twice(p.A, p.size), shape=p.size)
        for block, p in zip(case.problem.blocks, case.pieces, strict=True)
    ]
    problem = Problem(blocks, b=np.concatenate([0.3 * case.b, 0.7 * case.b]))
    for state in states:
        moved = restated(state, [1.0] * len(blocks), 1.0, 1.0)
        same(certify(case.problem, state), certify(problem, replace(moved, z=np.tile(state.z, 2))))
