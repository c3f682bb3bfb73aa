"""Mixed-integer linear programs: discrete blocks where all else is piecewise linear, or convex, and told by tangents.

With all blocks in one vector w, under A w = b, entries of discrete blocks being one of two values,

    min Σ_i c_iᵀx_i + t_i + η_i,   t ≥ left·(x - place), t ≥ right·(x - place),   lower ≤ x ≤ upper,
                                    η_i ≥ f_i(x_k) + ⟨∇f_i(x_k), x_i - x_k⟩ for the convex f_i and the points x_k seen,

is a lower bound of the problem, by branch and bound (HiGHS, in SciPy). Where there is no η its answer is the
problem's; where there is, all else is solved for at the discrete point found, which gives the next tangents, until the
bound is as high as the best answer. Duran & Grossmann, An outer-approximation algorithm for a class of mixed-integer
nonlinear programs, Math. Program. 36 (1986).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from ..functions import Binary, KBinary
from ..functions.composed import constant_in
from ..functions.kinks import Kinks
from ..problem import Problem, split_blocks
from ..theory.fixed import is_convex
from .inventing import prototype
from .relaxing import hull, relaxed
from .stopping import Stopwatch

if TYPE_CHECKING:
    from ..result import Result

ENTRIES, DISCRETE = 3000, 400
"""Entries of all blocks, and of discrete ones, at most."""
NODES = 2000
"""Nodes that branch and bound visits at most, in all."""
STALE = 20
"""Discrete points in a row at which all else is solved for, and none of which is lower, before the search ends."""
SHARE = 0.5
"""What branch and bound may take of the time that is left."""
PASSES = 5
"""Passes that find units of columns and rows."""
ROOTS, RISE = 30, 1e-3
"""Tangents at answers without whole numbers, before others, and by what fraction of itself each raises these."""
SMALLEST = 1e-6
"""Switches as small as this count as this much."""
LOWER = 1e-6
"""By what fraction of itself the objective has to be below the best for another look."""


class Bowl(NamedTuple):
    """½Σ d x² in an f, which is convex without it, where x_j = 0 if a switch y_j is off."""

    i: int
    switches: int
    """The blocks of x and of y."""
    d: np.ndarray
    column: int
    """The first of the columns of its terms."""


class Program(NamedTuple):
    """Columns are those of w in units in which discrete entries are 0 or 1, w = shift + unit·v, then t, then η."""

    problem: Problem
    shift: np.ndarray
    unit: np.ndarray
    size: float
    """The unit of the objective."""
    cost: np.ndarray
    rows: Any
    """A sparse matrix, whose products with a point lie between `low` and `high`."""
    low: np.ndarray
    high: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    whole: np.ndarray
    """Which columns are whole numbers."""
    curved: dict[int, int]
    """The columns of η, by the blocks whose f are not linear."""
    constant: float
    """Σ f_i(0) of those that are, and the constants in the others: what the columns do not tell."""
    bowls: Sequence[Bowl] = ()
    """Of blocks whose entries are 0 where a switch is off."""

    @property
    def has_inequalities(self) -> bool:
        """Whether entries that are not discrete are bounded: some discrete points may leave them no room."""
        bounded = np.isfinite(self.lower) | np.isfinite(self.upper)
        return bool(np.any(bounded & (self.lower < self.upper) & (self.whole == 0)))

    def least(
        self,
        tangents: list[tuple[np.ndarray, float]],
        nodes: int,
        clock: Stopwatch,
        integrality: np.ndarray | None = None,
    ) -> tuple[tuple[np.ndarray, ...], float, int] | None:
        """(blocks, a lower bound of the objective, nodes visited); None where there is none, or it is not found.

        The blocks are the lowest that were seen after so many nodes, or half of the time that the clock leaves.
        `integrality` is `whole` unless it is given.
        """
        rows, low, high = self.rows, self.low, self.high
        whole = self.whole if integrality is None else integrality
        if tangents:
            rows = scipy.sparse.vstack([rows, np.array([row for row, _ in tangents])]).tocsr()
            low = np.concatenate([low, [value for _, value in tangents]])
            high = np.concatenate([high, np.full(len(tangents), np.inf)])
        constraints = scipy.optimize.LinearConstraint(rows, low, high)
        seconds = SHARE * clock.left()  # read once SciPy has loaded what it needs
        limits = {"time_limit": seconds} if math.isfinite(seconds) else {}
        found = scipy.optimize.milp(
            self.cost,
            constraints=constraints,
            bounds=scipy.optimize.Bounds(self.lower, self.upper),
            integrality=whole,
            options={"node_limit": nodes, "mip_rel_gap": LOWER, **limits},
        )
        if found.x is None or found.mip_dual_bound is None:
            return None
        v = found.x[: self.unit.size]
        w = self.shift + self.unit * np.where(whole[: v.size] == 1, np.round(v), v)
        bound = found.mip_dual_bound + float(self.cost[: v.size] @ (self.shift / self.unit))
        x = tuple(split_blocks(w, [b.shape for b in self.problem.blocks]))
        return x, self.size * bound + self.constant, int(found.mip_node_count)

    def with_bowls(self, bowls: Sequence[tuple[int, int, np.ndarray]]) -> Program:
        """The same with what is known of curved f: blocks of x and of y, and d."""
        size, own = self.cost.size, list[Bowl]()
        for i, switches, d in bowls:
            own.append(Bowl(i, switches, d, size))
            size += d.size
        more = size - self.cost.size
        rest = scipy.sparse.csr_array((self.rows.shape[0], more))
        return self._replace(
            cost=np.append(self.cost, np.ones(more)),
            rows=scipy.sparse.hstack([self.rows, rest]).tocsr(),
            lower=np.append(self.lower, np.zeros(more)),
            upper=np.append(self.upper, np.full(more, np.inf)),
            whole=np.append(self.whole, np.zeros(more, int)),
            bowls=own,
        )

    def tangents(self, x: Sequence[np.ndarray]) -> list[tuple[np.ndarray, float]]:
        """Rows η_i - ⟨∇f_i, w_i⟩ ≥ f_i - ⟨∇f_i, x_i⟩ at x, one for each f_i that is not linear.

        A bowl is seen by itself: of ½d w², where w is 0 if y is 0, the convex hull is ½d w²/y, and a tangent of that
        is d·a·w - ½d a²·y at a = x/y. Frangioni & Gentile, Perspective cuts for a class of convex 0-1 mixed integer
        programs, Math. Program. 106 (2006).
        """
        found, ends = [], np.cumsum([math.prod(block.shape) for block in self.problem.blocks])
        bowls = {bowl.i: bowl for bowl in self.bowls}
        for i, column in self.curved.items():
            f: Any = self.problem.blocks[i].f
            v, g, value = np.ravel(x[i]), np.ravel(f.grad(x[i])), float(f(x[i])) - constant_in(f)
            own = slice(ends[i] - v.size, ends[i])
            if i in bowls:
                _, k, d, first = bowls[i]
                y = np.ravel(x[k]) if k < len(x) else np.ones(v.size)
                a = v / np.maximum(y, SMALLEST)
                g, value = g - d * v, value - 0.5 * float(d @ v**2)
                for j in np.flatnonzero(d * a):
                    row = np.zeros(self.cost.size)
                    row[first + j], row[own.start + j] = self.size, -d[j] * a[j] * self.unit[own.start + j]
                    row[ends[k] - v.size + j] = 0.5 * d[j] * a[j] ** 2
                    found.append((row, d[j] * a[j] * self.shift[own.start + j]))
            row = np.zeros(self.cost.size)
            row[own], row[column] = -g * self.unit[own], self.size
            found.append((row, value + float(g @ (self.shift[own] - v))))
        largest = [float(np.max(np.abs(row))) for row, _ in found]
        return [(row / most, value / most) for (row, value), most in zip(found, largest, strict=True)]


def program_of(problem: Problem) -> Program | None:
    """The program, where discrete blocks stand beside functions of kinks and bounds and f are convex; else None."""
    if type(prototype(problem)) is not np.ndarray:
        return None
    blocks, sizes = problem.blocks, [math.prod(block.shape) for block in problem.blocks]
    is_discrete = [isinstance(block.h, Binary | KBinary) for block in blocks]
    count = sum(n for n, own in zip(sizes, is_discrete, strict=True) if own)
    near = relaxed(problem, hull) if 0 < count <= DISCRETE and sum(sizes) <= ENTRIES else None
    kinks = [
        _two_values(b.h) if own else b.h.kinks(b.shape) for b, own in zip(blocks, is_discrete, strict=True)
    ]
    matrices: list[Any] = [op.as_matrix(b.shape) for op, b in zip(problem.operators, blocks, strict=True)]
    if near is None or not is_convex(near) or any(part is None for part in (*kinks, *matrices)):
        return None
    filled = [own.filled(b.shape) for own, b in zip(kinks, blocks, strict=True) if own is not None]
    left, right, place, lower, upper = (
        np.concatenate([np.ravel(v) for v in part]) for part in zip(*filled, strict=True)
    )
    whole = np.repeat(is_discrete, sizes)
    A = scipy.sparse.csr_array(scipy.sparse.hstack([scipy.sparse.csr_array(M) for M in matrices]))
    shift, unit = np.where(whole, lower, 0.0), _units(A, np.where(whole, upper - lower, 0.0))
    linear = [b.f is None or b.f.lipschitz == 0.0 for b in blocks]
    flat_parts = [b.f if flat else None for b, flat in zip(blocks, linear, strict=True)]
    slopes = [
        np.zeros(n) if f is None else np.ravel(f.grad(np.zeros(b.shape)))
        for b, n, f in zip(blocks, sizes, flat_parts, strict=True)
    ]
    cost, bent = np.concatenate(slopes) * unit, np.flatnonzero((left != 0) | (right != 0))
    size = float(np.max(np.abs([cost, left * unit, right * unit]))) or 1.0
    n, pieces, curved = sum(sizes), len(bent), [i for i, flat in enumerate(linear) if not flat]
    width, starts = n + pieces + len(curved), np.cumsum([0, *sizes])
    rest = scipy.sparse.csr_array((A.shape[0], width - n))
    b = np.broadcast_to(np.asarray(problem.b, float), problem.shape).ravel() - A @ shift
    rows = [(scipy.sparse.hstack([A.multiply(unit[None, :]), rest]), b, b)]
    for slope in (left, right):  # size·t - slope·(shift + unit·v - place) ≥ 0
        at, columns = np.arange(pieces), n + np.arange(pieces)
        entries = np.concatenate([np.full(pieces, size), -(slope * unit)[bent]])
        places = (np.concatenate([at, at]), np.concatenate([columns, bent]))
        own = scipy.sparse.csr_array((entries, places), shape=(pieces, width))
        rows.append((own, (slope * (shift - place))[bent], np.full(pieces, np.inf)))
    for i, block in enumerate(blocks):
        if isinstance(block.h, KBinary):
            ones, k = np.zeros((1, width)), np.array([float(block.h.k)])
            ones[0, starts[i] : starts[i + 1]] = 1.0
            rows.append((scipy.sparse.csr_array(ones), k, k))
    matrix, low, high = (
        scipy.sparse.vstack([row for row, _, _ in rows]).tocsr(),
        *(np.concatenate(ends) for ends in list(zip(*rows, strict=True))[1:]),
    )
    largest = _largest(matrix)
    free = np.full(width - n, np.inf)
    return Program(
        problem,
        shift,
        unit,
        size,
        np.concatenate([cost / size, np.ones(width - n)]),
        scipy.sparse.csr_array(matrix.multiply(1 / largest[:, None])),
        low / largest,
        high / largest,
        np.concatenate([np.where(whole, 0.0, lower / unit), -free]),
        np.concatenate([np.where(whole, 1.0, upper / unit), free]),
        np.concatenate([whole, np.zeros(width - n, bool)]).astype(int),
        {i: n + pieces + k for k, i in enumerate(curved)},
        sum(
            constant_in(b.f) if f is None else float(f(np.zeros(b.shape)))
            for b, f in zip(blocks, flat_parts, strict=True)
        ),
    )


def _largest(A: Any) -> np.ndarray:
    """The largest entry of each row, 1 where there is none."""
    found = np.ravel(abs(A).max(axis=1).toarray())
    return np.where(found > 0, found, 1.0)


def _units(A: Any, given: np.ndarray) -> np.ndarray:
    """Units of the columns, those that are given and others, in which rows and columns have entries of one size."""
    unit = np.where(given > 0, given, 1.0)
    for _ in range(PASSES):
        rows = _largest(A.multiply(unit[None, :]))
        unit = np.where(given > 0, given, 1 / _largest(A.multiply(1 / rows[:, None]).T))
    return unit


def _two_values(h: Any) -> Kinks:
    """The bounds of a discrete set."""
    return Kinks(lower=h.lo, upper=h.hi) if isinstance(h, Binary) else Kinks(lower=0.0, upper=1.0)


def search_by_program(
    program: Program,
    answers: Sequence[Result],
    best: float,
    solved_at: Callable[[Sequence[np.ndarray]], Result | None],
    clock: Stopwatch,
    nodes: int = NODES,
    idle: int = STALE,
) -> tuple[list[Result], bool]:
    """Answers at discrete points, and whether nothing is lower than the best of them.

    `answers` are that of the convex relaxation and others, where tangents begin; `best` is the lowest value known, ∞
    where there is none; `solved_at` gives the answer where the discrete blocks of a point are held, None where it has
    none. Branch and bound visits so many nodes at most, and takes half of what the clock leaves, so that there is time
    for these answers; it ends after so many (`idle`) in a row that are no better.
    """
    tangents = [row for answer in answers for row in program.tangents(answer.x)]
    found: list[Result] = []
    if program.bowls:
        tangents += _at_root(program, tangents, clock)
    stale, seen = 0, set[bytes]()
    while stale < idle and nodes > 0 and not clock.over():
        least = program.least(tangents, nodes, clock)
        if least is None:
            break
        point, bound, visited = least
        nodes -= visited
        if math.isfinite(best) and best <= bound + LOWER * abs(best - program.constant):
            return found, True
        discrete = np.concatenate([np.ravel(xi) for xi in point])[program.whole[: program.unit.size] == 1]
        answer = None if discrete.tobytes() in seen else solved_at(point)
        if answer is None:
            break
        seen.add(discrete.tobytes())
        found.append(answer)
        stale = 0 if answer.fun < best - LOWER * abs(answer.fun - program.constant) else stale + 1
        best = min(best, answer.fun)
        tangents += program.tangents(answer.x)
        if not program.curved:
            return found, best <= bound + 10 * LOWER * abs(best - program.constant)
    return found, False


def _at_root(
    program: Program, tangents: list[tuple[np.ndarray, float]], clock: Stopwatch
) -> list[tuple[np.ndarray, float]]:
    """Tangents at answers without whole numbers, while these rise: branch and bound begins high."""
    more, last = list[tuple[np.ndarray, float]](), -math.inf
    for _ in range(ROOTS):
        least = program.least([*tangents, *more], NODES, clock, np.zeros_like(program.whole))
        if least is None or clock.over() or least[1] - last <= RISE * abs(least[1] - program.constant):
            break
        last = least[1]
        more += program.tangents(least[0])
    return more
