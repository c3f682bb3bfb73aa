"""Steps of NewtonALM by hand, and what is left of the optimality conditions after them."""

import numpy as np

from ipds.methods import NewtonALM


def run(problem, tol=1e-8, steps=120, x0=None, watch=None, columns=1.0):
    """Steps until the residuals are below `tol`."""
    x0 = x0 or tuple(np.zeros(block.shape) for block in problem.blocks)
    method = NewtonALM()
    setup, carry = method.init(problem, x0, np.zeros(problem.shape))
    before = [np.copy(x) for x in x0]
    for _ in range(steps):
        carry, state = method.step(setup, carry)
        if watch is not None:
            watch(setup, carry)
        if max(residuals(problem, state, columns)) <= tol:
            break
    assert all(np.array_equal(a, b) for a, b in zip(before, x0, strict=True))
    return setup, carry, state


def residuals(problem, state, columns=1.0):
    """Feasibility and stationarity of every block, with s from the prox points, against the sizes of their terms.

    `columns` are the units of the first block; terms of products count before they cancel.
    """
    q, norm = state.q, np.linalg.norm
    matrices = [abs(op.as_matrix(x.shape)) for op, x in zip(problem.operators, q, strict=True)]
    gap = sum(op.apply(x) for op, x in zip(problem.operators, q, strict=True)) - problem.b
    sizes = [norm(A @ np.abs(x.ravel())) for A, x in zip(matrices, q, strict=True)]
    found = [norm(gap) / max(*sizes, norm(problem.b))]
    for i, (block, op, x) in enumerate(zip(problem.blocks, problem.operators, q, strict=True)):
        point, step = state.prox_points[i]
        unit = columns if i == 0 else 1.0
        gradient = np.zeros(block.shape) if block.f is None else block.f.grad(x)
        s, pulled = (point - x) / step, matrices[i].T @ np.abs(state.z.ravel())
        size = max(norm(gradient / unit), norm(s / unit), norm(pulled / unit)) or 1.0
        found.append(norm((gradient + s + op.adjoint(state.z)) / unit) / size)
    return found


def objective(problem, state):
    return sum(
        (b.f(x) if b.f is not None else 0.0) + b.h(x) for b, x in zip(problem.blocks, state.q, strict=True)
    )
