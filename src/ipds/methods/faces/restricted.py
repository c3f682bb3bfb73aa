"""A problem on faces of its nonconvex h_i: only the free entries of these blocks are left.

With x_i = embed(y_i) the blocks become f_i(embed(y)) + h_i on its face, A_i restricted to the free columns. What is
found there is a point of the whole problem, with s_i = the subgradient of h_i nearest to -(∇f_i + A_iᵀz) as a witness.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy

from ...errors import AssumptionError
from ...functions import Zero
from ...functions.composed import total
from ...functions.faces import Coordinates, Support, prox_point
from ...operators import Operator
from ...problem import Block, Problem, split_blocks
from ...theory.certificate import certify, subgradient
from ...theory.objective import objective
from ...theory.state import State, prox_step
from ..base import product_unless_identity
from ..newton import NewtonALM
from .bounded import within_bounds
from .free import WRITTEN_OUT, columns, function_of
from .pivots import Vertex, least_deviations, reweighted
from .smooth import Total, minimised

STEPS = 80
"""Newton steps at most."""
PATIENCE = 12
"""Newton steps without a better certificate at most."""
NEAR = 1e-11
"""A relative certificate below which the first step without a better one is the last: it may be rounding already."""
ENOUGH = 1e-13
"""A relative certificate below which rounding is all that is left."""


FEW = 5
"""Reweighted least squares to within 1e-4 of a solution."""


class Deviations(NamedTuple):
    """Σ max(left·r, right·r) with r = M y + c; the last block is r + place."""

    M: np.ndarray
    c: np.ndarray
    left: np.ndarray
    right: np.ndarray
    place: np.ndarray


REMEMBERED = 20_000
"""Rows of the equation up to which solutions are kept."""


@dataclass(frozen=True, eq=False)
class Restricted:
    """The problem on `faces`, by block."""

    whole: Problem
    faces: Mapping[int, Coordinates]
    solved: dict[bytes, State | None] = field(default_factory=dict)
    """What `solve` has come to on these faces and on those next to them, by the supports of the blocks."""
    pulled: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    """z and A_iᵀz of the whole problem, by block, for the last z."""

    def adjoint(self, i: int, z: Any) -> Any:
        """A_iᵀz of the whole problem, once: it tells which face is next, and its certificate needs it as well."""
        if i not in self.pulled or self.pulled[i][0] is not z:
            self.pulled[i] = z, self.whole.operators[i].adjoint(z)
        return self.pulled[i][1]

    def on(self, faces: Mapping[int, Coordinates]) -> Restricted:
        """The problem on other faces, which shares what is solved."""
        return Restricted(self.whole, faces, self.solved)

    @cached_property
    def problem(self) -> Problem:
        """In the free entries."""
        b, blocks = self.whole.b, []
        for i, (block, op) in enumerate(zip(self.whole.blocks, self.whole.operators, strict=True)):
            face = self.faces.get(i)
            if face is None:
                blocks.append(Block(f=block.f, h=block.h, A=op, shape=block.shape))
                continue
            fixed = face.embed(np.zeros(face.dimension))
            if np.any(fixed):
                b = b - op.apply(fixed)
            terms = [own for own in (function_of(block.f, face, fixed), face.smooth()) if own is not None]
            A, shape = columns(op, block.shape, face), (face.dimension,)
            blocks.append(Block(f=total(terms), h=face.inner() or Zero(), A=A, shape=shape))
        return Problem(blocks, b)

    def start(self, x: tuple[Any, ...]) -> tuple[Any, ...]:
        """The free entries of x."""
        own = [xi if i not in self.faces else xi.ravel()[self.faces[i].free] for i, xi in enumerate(x)]
        return tuple(own)

    def solve(self, x: tuple[Any, ...], z: Any, far: bool = False) -> State | None:
        """A solution of `problem` as its State, from x, which may be `far` from it.

        By exchanges for least absolute deviations, by plain Newton steps where everything is smooth, an equation or a
        bound, else `NewtonALM`. Swaps come to the same supports again and again: where all else is convex, whatever
        the start, what was found there is found once.
        """
        others = [block for i, block in enumerate(self.whole.blocks) if i not in self.faces]
        fs = [block.f for block in self.whole.blocks if block.f is not None]
        supports = all(isinstance(face, Support) for face in self.faces.values())
        convex = all(f.is_convex for f in fs) and all(block.h.is_convex for block in others)
        if not (supports and convex and math.prod(self.whole.shape) <= REMEMBERED):
            return self._anew(x, z, far)
        key = b"".join(face.label.tobytes() for face in self.faces.values())
        if key not in self.solved:
            self.solved[key] = self._anew(x, z, far)
        return self.solved[key]

    def _anew(self, x: tuple[Any, ...], z: Any, far: bool) -> State | None:
        y = self.start(x)
        return self.exactly(y, far) or self._smoothly(y) or within_bounds(self, y) or self._by_newton(y, z)

    def is_vertex(self, x: tuple[Any, ...]) -> bool:
        """Whether x is where exchanges of least absolute deviations end: one deviation is 0 for every free entry."""
        d = self._deviations
        return d is not None and np.count_nonzero(np.ravel(x[-1]) == d.place) >= d.M.shape[1]

    def reached(self, found: State) -> float:
        """The objective at a solution of `problem`, every block in its set."""
        if self._deviations is not None:
            return self.value(found.q)
        return float(objective(self.problem, replace(found, x=found.q))) + self.price

    @property
    def price(self) -> float:
        """What the faces cost, whatever the point."""
        return sum(face.price or 0.0 for face in self.faces.values())

    def value(self, y: tuple[Any, ...]) -> float:
        """The objective where the last block meets the equation of `problem`; ∞ where that leaves its set."""
        if self._deviations is not None:
            d = self._deviations
            r = d.M @ _joined(y) + d.c
            return float(np.sum(np.maximum(d.left * r, d.right * r))) + self.price
        *others, last = self.problem.blocks
        left, result = self.problem.b, self.price
        for block, op, yi in zip(others, self.problem.operators, y, strict=False):
            left = left - op.apply(yi)
            result += (0.0 if block.f is None else float(block.f(yi))) + float(block.h(yi))
        u = (left / self.scale).reshape(last.shape)
        return result + float(last.h(u)) + (0.0 if last.f is None else float(last.f(u)))

    @property
    def scale(self) -> float:
        """a of A_n = a·I."""
        return float(self.whole.operators[-1].scale)  # type: ignore[attr-defined]

    @cached_property
    def _deviations(self) -> Deviations | None:
        """The problem as one of least absolute deviations, where it is one with dense columns."""
        *others, last = self.whole.blocks
        kinks = last.h.kinks(last.shape)
        if kinks is None or any(block.f is not None for block in (*others, last)):
            return None
        if any(np.isfinite(bound).any() for bound in (kinks.lower, kinks.upper)):
            return None
        columns = []
        for i, (block, op) in enumerate(zip(others, self.whole.operators, strict=False)):
            face, matrix = self.faces.get(i), op.as_matrix(block.shape)
            constant = (isinstance(face, Support) and face.h is None) or isinstance(block.h, Zero)
            if not constant or matrix is None:
                return None
            own = matrix if face is None else matrix[:, face.free]
            if scipy.sparse.issparse(own):
                if math.prod(own.shape) > WRITTEN_OUT:
                    return None
                own = own.toarray()
            columns.append(own)
        left, right, place = (np.ravel(a) for a in kinks.filled(last.shape)[:3])
        c = (np.zeros(len(left)) + np.ravel(self.whole.b)) / self.scale - place
        joined = columns[0] if len(columns) == 1 else np.hstack(columns)
        return Deviations(joined * (-1 / self.scale), c, left, right, place)

    def rows(self) -> tuple[np.ndarray | None, np.ndarray]:
        """M and c of u = M y + c, M dense or None."""
        M, shapes = [], [block.shape for block in self.problem.blocks[:-1]]
        for op, shape in zip(self.problem.operators, shapes, strict=False):
            matrix = op.as_matrix(shape)
            if matrix is None:
                return None, np.zeros(0)
            M.append(matrix.toarray() if scipy.sparse.issparse(matrix) else matrix)
        joined = np.hstack(M) * (-1 / self.scale)
        return joined, np.zeros(len(joined)) + np.ravel(self.problem.b) / self.scale

    def split(self, y: np.ndarray) -> list[np.ndarray]:
        """The blocks but the last, of one vector."""
        return split_blocks(y, [block.shape for block in self.problem.blocks[:-1]])

    def gradient(self, y: np.ndarray) -> np.ndarray:
        """∇F, F the sum of the f of `problem`."""
        pairs = zip(self.problem.blocks, self.split(y), strict=False)
        found = [np.zeros(yi.size) if block.f is None else np.ravel(block.f.grad(yi)) for block, yi in pairs]
        return np.concatenate(found)

    def hessian(self, y: np.ndarray) -> np.ndarray | None:
        """∇²F as a matrix; None where it is known by its products only."""
        found = []
        for block, yi in zip(self.problem.blocks, self.split(y), strict=False):
            H: Any = np.zeros(yi.size) if block.f is None else block.f.hessian(yi)
            if isinstance(H, Operator) and yi.size**2 <= WRITTEN_OUT:
                H = H.as_matrix(yi.shape)
            H = H.toarray() if scipy.sparse.issparse(H) else H
            if not isinstance(H, np.ndarray):
                return None
            found.append(np.diag(H) if H.ndim == 1 else H)
        return scipy.linalg.block_diag(*found)

    def exactly(self, y: tuple[Any, ...], far: bool = False) -> State | None:
        """By exchanges from y, where `problem` is one of least absolute deviations; None where it is another.

        From a y that is `far` from a solution, reweighted least squares come first.
        """
        d = self._deviations
        if d is None:
            return None
        found = least_deviations(d.M, d.c, d.left, d.right, _joined(y), far)
        return None if found is None else self._at_deviations(y, found)

    def nearly(self, y: tuple[Any, ...], steps: int = FEW) -> State | None:
        """What is near a solution, by some steps of reweighted least squares from y; None as in `exactly`."""
        d = self._deviations
        if d is None:
            return None
        v = reweighted(d.M, d.c, d.left, d.right, _joined(y), steps)
        r = d.M @ v + d.c
        return self._at_deviations(y, Vertex(v, r, np.where(r > 0, d.right, d.left)))

    def _at_deviations(self, y: tuple[Any, ...], found: Vertex) -> State:
        """The State at a point with its residuals and their slopes, in blocks of the shapes of y."""
        assert self._deviations is not None
        parts: list[np.ndarray] = []
        for yi in y[:-1]:
            parts.append(found.v[sum(part.size for part in parts) :][: yi.size].reshape(yi.shape))
        u, slope = (found.r + self._deviations.place).reshape(y[-1].shape), found.y.reshape(y[-1].shape)
        return self._solution(parts, u, slope, slope)

    def _smoothly(self, y: tuple[Any, ...]) -> State | None:
        """By Newton steps, where no kink is left; None where there is one, or the steps do not get there."""
        *others, last = self.problem.blocks
        F = Total(self)
        if not (F.is_smooth and all(isinstance(block.h, Zero) for block in others)):
            return None
        v = minimised(F, _joined(y))
        if v is None:
            return None
        parts = self.split(v)
        products = [op.apply(yi) for op, yi in zip(self.problem.operators, parts, strict=False)]
        u = ((self.problem.b - sum(products)) / self.scale).reshape(last.shape)
        slope = np.zeros(u.shape) if F.f is None else F.f.grad(u)
        own = np.zeros(u.shape) if isinstance(last.h, Zero) else last.h.subgradient(u)
        return self._solution(parts, u, own, slope)

    def _solution(self, parts: list[np.ndarray], u: np.ndarray, s: np.ndarray, slope: np.ndarray) -> State:
        """The State at the blocks `parts` and u with s ∈ ∂h(u), `slope` = ∇f(u) + s of the last block: z = -slope/a."""
        step = prox_step(u, s)
        points = (*((part, 1.0) for part in parts), (u + step * s, step))
        z = slope.reshape(self.whole.shape) * (-1 / self.scale)
        return State(0, (*parts, u), u, z, 1.0, 0.0, (None,) * len(points), points)

    def _by_newton(self, y: tuple[Any, ...], z: Any) -> State | None:
        method, problem = NewtonALM(), self.problem
        try:
            setup, carry = method.init(problem, y, z)
        except AssumptionError:
            return None
        best, found, since = math.inf, None, 0
        for _ in range(STEPS):
            try:
                carry, state = method.step(setup, carry)
                relative = certify(problem, state).relative
            except np.linalg.LinAlgError:
                break
            since += 1
            if relative < best:
                best, found, since = relative, state, 0
            if best <= ENOUGH or since > (PATIENCE if best > NEAR else 0) or not math.isfinite(relative):
                break
        return found

    def state(self, t: int, found: State) -> State | None:
        """A State of `problem` as one of the whole problem; None where a point lies on another face."""
        x = [xi if i not in self.faces else self.faces[i].embed(xi) for i, xi in enumerate(found.q)]
        now = {i: self.whole.blocks[i].h.face(x[i]) for i in self.faces}
        if any(own is None or not np.array_equal(own.label, self.faces[i].label) for i, own in now.items()):
            return None
        witnesses, adjoints = [], {}
        for i, (block, op) in enumerate(zip(self.whole.blocks, self.whole.operators, strict=True)):
            if i not in self.faces:
                witnesses.append(subgradient(block, op, x[i], found.z, found.prox_points[i]))
                continue
            adjoints[i] = self.adjoint(i, found.z)
            g = adjoints[i] if block.f is None else adjoints[i] + block.f.grad(x[i])
            face = now[i]
            assert isinstance(face, Coordinates)
            s = face.subgradient(-g)
            if face.inner() is not None:
                part = self.problem.blocks[i], self.problem.operators[i]
                s.flat[face.free] = subgradient(*part, found.q[i], found.z, found.prox_points[i])
            witnesses.append(s)
        known = tuple(adjoints.get(i) for i in range(len(x)))
        products = self._products(found.q)
        return assembled(
            self.whole, t, tuple(x), tuple(witnesses), found.z, products=products, adjoints=known
        )

    def _products(self, y: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """A_i x_i at the free entries y, by the columns at hand; None where they are not."""
        if self._deviations is None:
            return None
        found, done = [], 0
        for yi in y[:-1]:
            product = self._deviations.M[:, done : done + yi.size] @ yi.ravel()
            found.append((product * -self.scale).reshape(self.whole.shape))
            done += yi.size
        return (*found, None)


def _joined(y: tuple[Any, ...]) -> np.ndarray:
    """The blocks but the last, as one vector."""
    return np.concatenate([np.ravel(yi) for yi in y[:-1]])


def assembled(
    problem: Problem,
    t: int,
    x: tuple[Any, ...],
    slopes: tuple[Any, ...],
    z: Any,
    beta: float = 1.0,
    products: tuple[Any, ...] | None = None,
    adjoints: tuple[Any, ...] | None = None,
) -> State | None:
    """The State at (x, z) with witnesses s_i ∈ ∂h_i(x_i); None where a nonconvex h_i does not have x_i as a prox.

    `products` are the A_i x_i and `adjoints` the A_iᵀz, where they are known.
    """
    points: list[tuple[Any, float]] = []
    usual = max(float(np.linalg.norm(si)) for si in slopes)
    for block, xi, si in zip(problem.blocks, x, slopes, strict=True):
        if block.h.is_convex:
            step = prox_step(xi, si, usual)
            points.append((xi + step * si, step))
            continue
        found = prox_point(block.h, xi, si)
        if found is None:
            return None
        points.append(found)
    if products is None:
        products = tuple(
            [product_unless_identity(op, xi) for op, xi in zip(problem.operators, x, strict=True)]
        )
    return State(t, x, x[-1], z, beta, 0.0, products, tuple(points), adjoints=adjoints)
