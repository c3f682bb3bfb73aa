"""Few jumps: a signal x in increments w, x_i = w_1 + ... + w_i, so that its jumps are the nonzeros of w.

    Jumps(λ)(x) = λ·#{i > 1 : w_i ≠ 0},   A x = (A T) w,   T the lower triangle of ones

What is decided at x is where it is constant: a linear subspace, in w a set of free entries. A first-order method moves
x, for which the prox of `Jumps` is exact; faces are solved and exchanged in w: jumps go, come where they help most, and
take each other's place. As x = T w is one to one, s ∈ ∂Jumps(x) is the same as Tᵀs ∈ ∂h(w).

Where every entry of x has a loss of its own with one kink, there is a best x with values at kinks only; where it has a
parabola of its own, every stretch has a best value between its bounds. Dynamic programming finds the best x of all, and
the solution on its face is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy

from ..._arrays import Array, as_csr, row_counts
from ...functions import Composed, Jumps, Smooth
from ...functions.jumps import Increments, fewest_jumps_among, fewest_jumps_between
from ...functions.kinks import Kinks
from ...functions.losses import LinearModel
from ...functions.rescaling import with_parts
from ...operators import Identity, Matrix, Operator
from ...problem import Block, Problem
from ...theory.certificate import certify
from ...theory.state import State
from ..base import Method
from .method import OnFaces, has_flat_faces
from .restricted import Restricted

MOST = 4 * 10**6
"""Entries of A and of T, and of the losses at all kinks, up to which they are written out."""
SHOWN = 5
"""Iteration at which a best signal that is known is the answer."""
SURE = 1e-6
"""Its certificate, which is not to tell it from others: rounding of data far from 0 may leave no less."""


@dataclass(frozen=True, eq=False)
class InIncrements:
    """A problem, and the same in increments of the blocks `at`."""

    stated: Problem
    at: tuple[int, ...]
    problem: Problem

    def blocks(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        """x in increments."""
        return tuple(np.diff(xi, prepend=0.0) if i in self.at else xi for i, xi in enumerate(x))

    def sums(self, w: tuple[Array, ...]) -> tuple[Array, ...]:
        """Increments as blocks of the problem as stated."""
        return tuple(np.cumsum(wi) if i in self.at else wi for i, wi in enumerate(w))

    def forward(self, state: State) -> State:
        """A State of the problem as stated, in increments: slopes s become Tᵀs."""
        return self._changed(state, self.blocks(state.x), lambda s: np.cumsum(s[::-1])[::-1])

    def back(self, state: State) -> State:
        """A State in increments as one of the problem as stated."""
        return self._changed(state, self.sums(state.x), lambda s: s - np.append(s[1:], 0.0))

    def _changed(self, state: State, x: tuple[Array, ...], slope: Any) -> State:
        points = list(state.prox_points)
        for i in self.at:
            v, step = points[i]
            points[i] = x[i] + slope(v - state.x[i]), step
        return replace(state, x=x, prox_points=tuple(points), gradients=None, adjoints=None)


def in_increments(problem: Problem) -> InIncrements | None:
    """The problem in increments of its blocks with few jumps; None where there is none, or one that is too large."""
    if not any(type(block.h) is Jumps for block in problem.blocks):
        return None
    blocks, at = [], []
    for i, (block, op) in enumerate(zip(problem.blocks, problem.operators, strict=True)):
        f, h, A = block.f, block.h, op
        if type(h) is Jumps:
            matrix = op.as_matrix(block.shape) if len(block.shape) == 1 else None
            n = block.shape[0]
            if matrix is None or n < 2 or n * max(n, matrix.shape[0]) > MOST:
                return None
            dense = matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)
            f, h, A = _summed(f, n), Increments(h.lam, n), Matrix(_summed_columns(dense))
            at.append(i)
        blocks.append(Block(f=f, h=h, A=A, shape=block.shape, name=problem.names[i]))
    return InIncrements(problem, tuple(at), Problem(blocks, problem.b))


def has_stretches(problem: Problem, last: int) -> bool:
    """Whether some blocks have few jumps, and in increments all that is not convex has faces with free entries."""
    found = in_increments(problem)
    return found is not None and last not in found.at and has_flat_faces(found.problem, last)


class Setup(NamedTuple):
    """What stays fixed during a run."""

    form: InIncrements
    method: OnFaces
    inner: Any
    best: tuple[Array, ...] | None
    """The best blocks in increments, where dynamic programming finds them."""


class OnStretches(Method):
    """`OnFaces` for blocks with few jumps, in their increments; see the module.

    Parameters
    ----------
    first : the method that finds where they are.
    """

    def __init__(self, first: Method):
        self.first = first
        self.presolves = first.presolves
        self.name = f"{first.name}, finished on its stretches"

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Setup, Any]:
        """That of `OnFaces` on the problem in increments."""
        form = in_increments(problem)
        numeric = all(type(x) is np.ndarray and x.dtype == np.float64 for x in (*x0, z0))
        form = form if form is not None and numeric else InIncrements(problem, (), problem)
        method = OnFaces(Summed(self.first, form))
        inner, carry = method.init(form.problem, form.blocks(x0), z0)
        best = best_signal(problem) if form.at else None
        return Setup(form, method, inner, None if best is None else form.blocks(best)), carry

    def step(self, setup: Setup, carry: Any) -> tuple[Any, State]:
        """One step of `OnFaces`, or the best signal."""
        carry, state = setup.method.step(setup.inner, carry)
        if setup.best is not None and state.t == SHOWN and not carry.holds:
            problem = setup.form.problem
            faces = {i: problem.blocks[i].h.face(setup.best[i]) for i in setup.form.at}
            restricted = Restricted(problem, faces)  # type: ignore[arg-type]
            found = restricted.solve(setup.best, state.z)
            solved = None if found is None else restricted.state(state.t, found)
            if solved is not None and certify(problem, solved).relative <= SURE:
                carry, state = setup.method.held(setup.inner, carry, replace(solved, beta=state.beta))
        return carry, setup.form.back(state)

    def may_smooth(self, setup: Setup) -> bool:
        """Whether the first method may."""
        return setup.method.may_smooth(setup.inner)

    def parameters_of(self, setup: Setup) -> Any:
        """Those of the first method."""
        return setup.method.parameters_of(setup.inner)


class Summed(Method):
    """A method that moves the blocks as stated, seen in increments."""

    def __init__(self, method: Method, form: InIncrements):
        self.method, self.form, self.presolves, self.name = method, form, method.presolves, method.name

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Any, Any]:
        """That of the method on the problem as stated."""
        return self.method.init(self.form.stated, self.form.sums(x0), z0)

    def step(self, setup: Any, carry: Any) -> tuple[Any, State]:
        """One step of the method."""
        carry, state = self.method.step(setup, carry)
        return carry, self.form.forward(state)

    def may_smooth(self, setup: Any) -> bool:
        """Whether the method may."""
        return self.method.may_smooth(setup)

    def parameters_of(self, setup: Any) -> Any:
        """Those of the method."""
        return self.method.parameters_of(setup)


def best_signal(problem: Problem) -> tuple[Array, ...] | None:
    """(x, u) of least λ·#jumps(x) + Σ φ_i where A x + c u = b; None for other problems.

    Every φ_i is a loss of u_i with one kink; or a parabola in x_i, while u lies between bounds.
    """
    if [type(block.h) is Jumps for block in problem.blocks] != [True, False]:
        return None
    (signal, last), (A, C) = problem.blocks, problem.operators
    kinks = last.h.kinks(last.shape)
    if len(signal.shape) != 1 or last.f is not None or not isinstance(C, Identity) or kinks is None:
        return None
    b, best = np.zeros(last.shape) + problem.b, _among_kinks if signal.f is None else _between_bounds
    x = best(signal, A, C.scale, b.ravel(), kinks.filled(last.shape)) if C.scale else None
    return None if x is None else (x, (b - A.apply(x)) / C.scale)


def _among_kinks(signal: Block, A: Operator, c: float, b: np.ndarray, kinks: Kinks) -> np.ndarray | None:
    """The best x of losses of u with one kink each and no bounds, where A = a·I."""
    left, right, place, *bounds = map(np.ravel, kinks)
    if not isinstance(A, Identity) or not A.scale or np.isfinite(bounds).any():
        return None
    levels = np.unique((b - c * place) / A.scale)
    if len(levels) * len(b) > MOST:
        return None
    r = (b[:, None] - A.scale * levels) / c - place[:, None]
    return fewest_jumps_among(levels, np.maximum(left[:, None] * r, right[:, None] * r), signal.h.lam)  # type: ignore[attr-defined]


def _between_bounds(signal: Block, A: Operator, c: float, b: np.ndarray, kinks: Kinks) -> np.ndarray | None:
    """The best x of parabolas where u has bounds alone, and every row of A one entry."""
    assert signal.f is not None
    left, right, _, *bounds = map(np.ravel, kinks)
    (n,), sloped = signal.shape, np.any(left) or np.any(right)
    rows = None if sloped or n * n > MOST else A.as_matrix(signal.shape)
    parabolas = None if rows is None else _parabolas(signal.f, n)
    if parabolas is None:
        return None
    rows = as_csr(rows)
    if np.any(row_counts(rows) != 1) or not np.all(rows.data):
        return None
    ends = np.sort([(b - c * bound) / rows.data for bound in bounds], axis=0)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    np.maximum.at(lower, rows.indices, ends[0])
    np.minimum.at(upper, rows.indices, ends[1])
    return fewest_jumps_between(*parabolas, lower, upper, signal.h.lam)  # type: ignore[attr-defined]


def _parabolas(f: Smooth, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """(d, c) of f(x) = Σ ½d_i x_i² + c_i x_i + constant, d ≥ 0, c = 0 where d is; None for other functions."""
    zero = np.zeros(n)
    bend = f.hessian(zero) if f.is_quadratic and f.is_convex else None
    if bend is None or isinstance(bend, Operator):
        return None
    rows, columns = bend.nonzero() if bend.ndim == 2 else (zero, zero)
    d, c = bend.diagonal() if bend.ndim == 2 else bend, f.grad(zero)
    return None if np.any(rows != columns) or np.any(c[d == 0]) else (d, c)


def _summed_columns(A: np.ndarray) -> np.ndarray:
    """A T."""
    return np.ascontiguousarray(np.cumsum(A[:, ::-1], axis=1)[:, ::-1])


def _summed(f: Smooth | None, n: int) -> Smooth | None:
    """f(T w)."""
    if isinstance(f, LinearModel) and isinstance(f.G, Matrix) and type(f.G.matrix) is np.ndarray:
        summed: Smooth = with_parts(f, G=Matrix(_summed_columns(f.G.matrix)))
        return summed
    return None if f is None else Composed(f, Matrix(np.tril(np.ones((n, n)))))
