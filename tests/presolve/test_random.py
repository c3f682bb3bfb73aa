"""Random problems: whatever the blocks, the maps and the functions, a point undone is as good as the canonical one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

from ipds import Block, Problem, iterate
from ipds.functions import (
    L1,
    L2,
    Affine,
    Box,
    Cardinality,
    HalfSpace,
    Hinge,
    L2Ball,
    LeastSquares,
    Linear,
    Logistic,
    NonNegative,
    Quadratic,
    Quantile,
    Separable,
    Zero,
)
from ipds.methods import AcceleratedIPDS
from ipds.operators import Diagonal, Identity, Matrix, Stack
from ipds.presolve import presolve
from ipds.theory.certificate import subgradients


def some_f(g: np.random.Generator, n: int):
    G, y = g.standard_normal((n + 2, n)), g.standard_normal(n + 2)
    B = g.standard_normal((n, n))
    kinds = [
        None,
        None,
        LeastSquares(G, y),
        Quadratic(1.0, g.standard_normal(n)),
        Quadratic(B @ B.T, g.standard_normal(n)),
        Logistic(G, np.sign(y)),
        Linear(0.1 * g.standard_normal(n)),
    ]
    return kinds[g.integers(len(kinds))]


def some_h(g: np.random.Generator, n: int):
    half = n // 2
    kinds = [
        Zero(),
        Zero(),
        L1(float(g.choice([0.1, 1.0]))),
        L1(g.random(n)),
        L2(0.5),
        NonNegative(),
        Box(-1.0, 2.0),
        Box(-np.ones(n), g.random(n)),
        L2Ball(1.0),
        Quantile(0.3),
        Hinge(),
        HalfSpace(g.standard_normal(n), 0.3),
        Affine(g.standard_normal((1, n)), g.standard_normal(1)),
        Separable([(slice(0, half), L1(1.0)), (slice(half, n), NonNegative())]) if half else L1(1.0),
        Cardinality(max(1, half)),
    ]
    return kinds[g.integers(len(kinds))]


def some_A(g: np.random.Generator, m: int, n: int):
    square = [
        1.0,
        -1.0,
        2.5,
        np.eye(n),
        -sp.eye_array(n),
        Diagonal(0.5 + g.random(n)),
        Matrix(np.eye(n)[::-1]),
    ]
    tall = [sp.csr_array(np.eye(m)[:, g.permutation(m)[:n]] * (0.5 + g.random(n)))] if n <= m else []
    half = m // 2
    stack = (
        [Stack([Matrix(g.standard_normal((half, n))), Matrix(g.standard_normal((m - half, n)))])]
        if half
        else []
    )
    kinds = [g.standard_normal((m, n)), sp.random_array((m, n), density=0.4, rng=g), np.zeros((m, n)), *stack]
    kinds = [*kinds, *tall, *tall, *(square if n == m else [])]
    return kinds[g.integers(len(kinds))]


def random_problem(seed: int) -> Problem:
    g = np.random.default_rng(seed)
    m, count = int(g.integers(2, 8)), int(g.integers(1, 5))
    blocks = []
    for _ in range(count):
        n = m if g.random() < 0.5 else int(g.integers(2, 9))
        blocks.append(Block(f=some_f(g, n), h=some_h(g, n), A=some_A(g, m, n), shape=n))
    return Problem(blocks, b=g.standard_normal(m) if g.random() < 0.6 else 0.0)


def critical(problem: Problem, state) -> float:
    """‖A q - b‖ + Σ_i ‖∇f_i(q_i) + s_i + A_iᵀz‖."""
    total = problem.infeasibility(state.q)
    for block, op, q, s in zip(
        problem.blocks, problem.operators, state.q, subgradients(problem, state), strict=True
    ):
        force = s + op.adjoint(state.z)
        total += float(np.linalg.norm(force if block.f is None else force + block.f.grad(q)))
    return total


@pytest.mark.parametrize("seed", range(120))
def test_a_point_undone_is_as_good(seed):
    problem = random_problem(seed)
    done = presolve(problem)
    inner = done.problem
    if len(inner.blocks) < 2 or not isinstance(inner.operators[-1], Identity):
        assert done.report  # nothing a method could eliminate was found, and nothing was changed
        return
    state = next(itertools.islice(iterate(inner, method=AcceleratedIPDS(), seed=0), 24, None))
    out = done.undo(state)
    assert [x.shape for x in out.x] == [block.shape for block in problem.blocks]
    assert out.z.shape == problem.shape
    own, stated = critical(inner, state), critical(problem, out)
    units = [np.ravel(u) for step in done.steps for u in getattr(step, "_units", [])]
    spread = max((max(u.max(), 1 / u.min()) for u in units), default=1.0)
    sizes = [op.norm() for op in problem.operators]
    worst = 20 * spread * (1 + max(sizes)) * (1 + 1 / min((s for s in sizes if s > 0), default=1.0))
    bends = max((float(b.f.lipschitz) for b in problem.blocks if b.f is not None), default=0.0)
    assert stated <= worst * (1 + bends) * own + 1e-8
    for block, q, s in zip(problem.blocks, out.q, subgradients(problem, out), strict=True):
        assert math.isfinite(block.h(q))
        if block.h.is_convex:  # s ∈ ∂h(q): a prox step along s stays
            step = 1e-3
            moved = block.h.prox(q + step * s, step)
            assert np.linalg.norm(moved - q) <= 1e-7 * (1 + np.linalg.norm(q) + step * np.linalg.norm(s))


@pytest.mark.parametrize("seed", range(0, 120, 4))
def test_a_start_finds_its_way(seed):
    problem = random_problem(seed)
    done = presolve(problem)
    g = np.random.default_rng(seed)
    x0 = [block.h.prox(g.standard_normal(block.shape), 1.0) for block in problem.blocks]
    z0 = g.standard_normal(problem.shape)
    x, z = done.start(x0, z0)
    assert [xi.shape for xi in x] == [block.shape for block in done.problem.blocks]
    assert z.shape == done.problem.shape
    assert all(np.all(np.isfinite(a)) for a in (*x, z))
