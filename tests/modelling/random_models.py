"""Random models, each written twice: with `ipds.modelling`, and as plain NumPy functions of the variables' values.

Everything is drawn from one generator, so that a seed is a model; `make fuzz` checks 10,000 of them.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from drawn_models import Draw, Drawn, Values


def check(seed: int) -> None:
    """Draw a model and compare the compiled problem with NumPy; AssertionError names the seed."""
    draw = Draw(seed)
    model = draw.model()
    problem, rng = model.problem, np.random.default_rng(seed + 1)
    for k in range(3):
        values = {v: x if k == 0 else x + rng.normal(size=x.shape) for v, x in model.inside.items()}
        blocks = problem.point({v: values[v] for v in problem.variables})
        compare_values(seed, model, values, blocks)
        compare_equation(seed, problem, blocks, rng)
    compare_gradients(seed, problem, blocks, rng)


def compare_values(seed: int, model: Drawn, values: Values, blocks: Any) -> None:
    """Σ f + h at the blocks is the objective where the constraints hold, ∞ where they are clearly broken."""
    worst = 0.0
    for f, sense in model.constraints:
        gap = f(values)
        broken = {"==": np.abs(gap), "<=": np.maximum(gap, 0), ">=": np.maximum(-gap, 0)}[sense]
        worst = max(worst, float(np.max(broken)))
    u = np.where(np.abs(blocks[-1]) < 1e-12, 0.0, blocks[-1])  # what rounding leaves of an equation
    got = model.problem.objective((*blocks[:-1], u))
    if 1e-12 < worst < 1e-3:
        return
    want = model.objective(values) if worst <= 1e-12 else math.inf
    close = got == want or abs(got - want) <= 1e-9 * (1 + abs(want))
    assert close, f"seed {seed}: objective {got}, by NumPy {want}: {model.problem}\n{model.problem.splitting}"


def compare_equation(seed: int, problem: Any, blocks: Any, rng: np.random.Generator) -> None:
    """The equation holds at `point`, its last block is u with A = I, and every adjoint is one."""
    size = 1 + max(float(np.abs(b).max()) for b in blocks)
    assert problem.infeasibility(blocks) <= 1e-9 * size, f"seed {seed}: {problem.infeasibility(blocks)}"
    if problem.unconstrained:
        return
    step = rng.normal(size=blocks[-1].shape)
    off = problem.residual((*blocks[:-1], blocks[-1] + step))
    assert np.allclose(off, step, atol=1e-9 * size), f"seed {seed}: the last block does not have A = I"
    for operator, block in zip(problem.operators, blocks, strict=True):
        d, y = rng.normal(size=block.shape), rng.normal(size=problem.shape)
        left, right = np.vdot(operator.apply(d), y), np.vdot(d, operator.adjoint(y))
        assert abs(left - right) <= 1e-9 * (1 + abs(left)), f"seed {seed}: {operator!r} has another adjoint"
        matrix = operator.as_matrix(block.shape)
        if matrix is not None:
            assert np.allclose(matrix @ d.ravel(), operator.apply(d).ravel()), (
                f"seed {seed}: matrix of {operator!r}"
            )


def compare_gradients(seed: int, problem: Any, blocks: Any, rng: np.random.Generator) -> None:
    """Every f has the gradient of its differences."""
    for block, x in zip(problem.blocks, blocks, strict=True):
        if block.f is None:
            continue
        d, t = rng.normal(size=x.shape), 1e-5
        slope = (block.f(x + t * d) - block.f(x - t * d)) / (2 * t)
        got = float(np.vdot(block.f.grad(x), d))
        assert abs(slope - got) <= 1e-4 * (1 + abs(slope) + abs(block.f(x))), (
            f"seed {seed}: gradient of {block.f!r}"
        )


def main() -> None:
    """Check as many models as asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for k in range(arguments.draws):
        check(arguments.seed + k)
    print(f"{arguments.draws} random models agree with NumPy")


if __name__ == "__main__":
    main()
