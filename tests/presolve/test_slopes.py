"""What a check takes over of the step before it: ∇f and f, where block and f are those of the problem as stated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ipds import Block, Problem
from ipds.functions import L1, LeastSquares
from ipds.methods import AcceleratedIPDS
from ipds.presolve import presolve
from ipds.theory.certificate import certify
from ipds.theory.state import State

M, N = 30, 12
rng = np.random.default_rng(0)
G, Y = rng.standard_normal((M, N)), rng.standard_normal(M)
FIT = LeastSquares(G, Y)
FORMS = {
    "alone": (Problem([Block(f=FIT, h=L1(2.0), shape=N)]), 1),
    "split": (Problem([Block(f=FIT, A=-1.0, shape=N), Block(h=L1(2.0), shape=N)]), 1),
    "free": (Problem([Block(f=FIT, h=L1(2.0), A=-1.0, shape=N), Block(shape=N)]), 1),
    "residual": (
        Problem([Block(h=L1(2.0), A=-G, shape=N), Block(f=LeastSquares(np.eye(M), Y), shape=M)]),
        0,
    ),
    "units": (Problem([Block(f=LeastSquares(G * 10.0 ** np.arange(N), Y), h=L1(2.0), shape=N)]), 0),
}
"""Problems, and how many blocks keep what is known of their f."""


def first_state(problem: Problem) -> State:
    """After one step on the presolved problem, in the blocks as stated."""
    done, method = presolve(problem), AcceleratedIPDS()
    x0 = tuple(np.ones(block.shape) for block in problem.blocks)
    setup, carry = method.init(done.problem, *done.start(x0, np.zeros(problem.shape), False))
    return done.undo(method.step(setup, carry)[1])


@pytest.mark.parametrize("name", FORMS)
def test_checks_take_what_the_step_knows_of_f(name):
    problem, kept = FORMS[name]
    state = first_state(problem)
    known = zip(problem.blocks, state.q, state.gradients, state.values, strict=True)
    found = [(block.f, q, gradient, value) for block, q, gradient, value in known if gradient is not None]
    assert len(found) == kept
    for f, q, gradient, value in found:
        np.testing.assert_array_equal(gradient, f.grad(q))
        assert value == f(q)
    assert certify(problem, state) == certify(problem, replace(state, gradients=None, values=None))
