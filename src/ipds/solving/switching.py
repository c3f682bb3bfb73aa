"""Entries that are 0 or within bounds, as switches: counts and numbers of nonzeros become a mixed-integer program.

For every entry of an h that counts nonzeros (`L0`), or allows few of them (`Cardinality`), there is a switch y with

    lower·y ≤ x ≤ upper·y,   y ∈ {0, 1},   at the price of λ·y, or with at most s of them on.

The bounds are those of h and what the rows of the equation leave: x ≥ 0 with Σ x = 1 is at most 1. Where an entry has
none, there is no such program. Its first blocks are those of the problem, so that tangents and answers serve both.

A caller's set that says of each entry in which of some intervals it is (`pieces`: whole numbers, 0 or a range) has a
switch for each of them,

    Σ_p lower_p·y_p ≤ x ≤ Σ_p upper_p·y_p,   Σ_p y_p = 1,

where something else has bounds too: without any, moves of single entries find as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from .._arrays import to_dense
from ..functions import L0, Binary, Box, Cardinality, Linear, NonNegative, Nonsmooth, RowCardinality, Sum
from ..functions.hessians import constant_hessian
from ..functions.kinks import Kinks
from ..functions.recognising import own_of_user
from ..presolve.slack import as_map
from ..problem import Block, Problem
from ..status import Status
from ..theory.certificate import subgradients
from ..theory.objective import size_of
from ..theory.state import State
from .inventing import prototype
from .pieces import Pieces, ends_of, is_entrywise_set, pieces_of
from .programs import NODES, Program, program_of, search_by_program
from .relaxing import hull, relaxed
from .starts import AGREED, Again, Point, Search, certified_at
from .stopping import Stopwatch

if TYPE_CHECKING:
    from ..result import Result

SWITCHES, PIECES, ENTRIES = 60, 300, 500
"""Entries that are switched at most, intervals of such, and entries of all blocks."""
ROUNDED, WEAK = 1e-9, 0.1
"""What is rounding, of an eigenvalue of a matrix of diagonal 1, and what bounds too little for its many columns."""
FEWER, IDLE = 60, 4
"""Nodes that branch and bound visits at most where tangents stand for what is curved, and answers in a row that are no
better: what more would prove is proved in most cases by then, and further starts take less."""
PASSES = 3
"""Passes over the rows of an equation that bound entries by what others leave."""


class Switches(NamedTuple):
    """The program of a problem, and what it takes to go back."""

    program: Program
    of: dict[int, int]
    """The blocks of switches, by the blocks of the problem that they switch."""
    left: dict[int, Pieces]
    """What is left of the h of these blocks where switches are off, and where they are on."""

    placed: bool = False
    """Whether a set is of pieces, between which short steps do not lead."""

    @property
    def is_linear(self) -> bool:
        """Whether branch and bound needs no tangents."""
        return not self.program.curved

    @property
    def come_first(self) -> bool:
        """Whether branch and bound needs no answer before it, or hardly gets one."""
        return self.is_linear or self.placed


def switches_of(problem: Problem) -> Switches | None:
    """The program where blocks count nonzeros between bounds, beside an equation; None elsewhere.

    >>> from ipds.functions import Quadratic
    >>> few = Block(f=Quadratic(1.0), h=Sum(Cardinality(2), NonNegative()), A=np.ones((1, 5)), shape=5)
    >>> switches_of(Problem([few], b=np.ones(1))).program.problem.blocks[0].h.hi
    array([1., 1., 1., 1., 1.])
    """
    blocks, shapes = problem.blocks, [block.shape for block in problem.blocks]
    found = ((i, _count(block.h)) for i, block in enumerate(blocks))
    counts = {i: count for i, count in found if count is not None}
    others = [i for i, block in enumerate(blocks) if i not in counts and _may_be_pieces(block.h)]
    linear = all(block.f is None or block.f.lipschitz == 0.0 for block in blocks)
    own = others if linear or problem.restorable is None else []
    many = (
        sum(math.prod(shapes[i]) for i in (*counts, *own)) > SWITCHES or sum(map(math.prod, shapes)) > ENTRIES
    )
    if problem.unconstrained or not (counts or own) or many or type(prototype(problem)) is not np.ndarray:
        return None
    if not all(is_entrywise_set(blocks[i].h, np.zeros(shapes[i])) for i in own):
        return None
    given = [_ends(b.h, b.shape) if i in own else _bounds(b.h, b.shape) for i, b in enumerate(blocks)]
    matrices = [op.as_matrix(shape) for op, shape in zip(problem.operators, shapes, strict=True)]
    known = [to_dense(M) for M in matrices if M is not None]
    if any(given[i] is None for i in (*counts, *own)) or len(known) < len(blocks):
        return None
    A, b = np.hstack(known), np.broadcast_to(np.asarray(problem.b, float), problem.shape).ravel()
    within = _left_by_rows(A, b, [own or Kinks() for own in given], shapes)
    if not all(np.isfinite([within[i].lower, within[i].upper]).all() for i in (*counts, *own)):
        return None
    found_in = [pieces_of(blocks[i].h, np.asarray(within[i].lower), np.asarray(within[i].upper)) for i in own]
    pieces = {i: found for i, found in zip(own, found_in, strict=True) if found is not None}
    if len(pieces) < len(own) or sum(found.lower.size for found in pieces.values()) > PIECES:
        return None
    draft = _Draft(problem, known, b)
    of = {
        i: draft.switched(i, np.minimum(within[i].lower, 0.0), np.maximum(within[i].upper, 0.0), counts[i])
        for i in counts
    }
    of |= {i: draft.switched(i, p.lower[1], p.upper[1]) for i, p in pieces.items() if p.are_switches}
    bowls = [(i, k, _bowl(blocks[i])) for i, k in of.items()]
    of |= {i: draft.placed(i, p) for i, p in pieces.items() if not p.are_switches}
    program = program_of(draft.problem())
    if program is None:
        return None
    zeros = {i: np.zeros(shapes[i]) for i in counts}
    left = {
        i: Pieces(*(np.array([zeros[i], side]) for side in (kinks.lower, kinks.upper)))
        for i, kinks in enumerate(given)
        if i in counts and kinks is not None
    }
    curved = [bowl for bowl in bowls if bowl[0] in program.curved and bowl[2].any()]
    return Switches(program.with_bowls(curved), of, left | pieces, bool(pieces))


class _Draft:
    """Blocks and rows of a problem, and further ones."""

    def __init__(self, problem: Problem, matrices: Sequence[Any], b: np.ndarray):
        self.blocks = list(problem.blocks)
        self.columns = [[scipy.sparse.csr_array(M)] for M in matrices]
        self.right = [b]

    def block(self, h: Nonsmooth, size: int, f: Any = None) -> int:
        """Where this further block is."""
        self.blocks.append(Block(f=f, h=h, shape=size))
        self.columns.append([scipy.sparse.csr_array((part.size, size)) for part in self.right])
        return len(self.blocks) - 1

    def rows(self, pieces: dict[int, Any], right: np.ndarray) -> None:
        """Further rows, by their blocks."""
        self.right.append(right)
        for i, (block, column) in enumerate(zip(self.blocks, self.columns, strict=True)):
            nothing = scipy.sparse.csr_array((right.size, math.prod(block.shape)))
            column.append(pieces.get(i, nothing))

    def switched(
        self,
        i: int,
        lower: np.ndarray,
        upper: np.ndarray,
        count: L0 | Cardinality | RowCardinality | None = None,
    ) -> int:
        """Where the switches of block i are: its entries are 0, or within these bounds, and counted."""
        block = self.blocks[i]
        size, one = math.prod(block.shape), scipy.sparse.eye_array(math.prod(block.shape), format="csr")
        held = Box(np.minimum(lower, 0.0), np.maximum(upper, 0.0))
        self.blocks[i] = Block(f=block.f, h=held, shape=block.shape)
        price = np.broadcast_to(count.lam, block.shape).ravel() if isinstance(count, L0) else np.zeros(size)
        y = self.block(Binary(), size, Linear(price))
        for sign, side in ((1.0, upper), (-1.0, lower)):
            if np.any(side != 0):  # else the bounds themselves say so
                end = scipy.sparse.diags_array(-sign * np.ravel(side)).tocsr()
                rest = self.block(NonNegative(), size)
                self.rows({i: sign * one, y: end, rest: one}, np.zeros(size))
        if isinstance(count, Cardinality | RowCardinality):
            n = block.shape[0] if isinstance(count, RowCardinality) else 1
            sums = scipy.sparse.kron(scipy.sparse.eye_array(n), np.ones((1, size // n))).tocsr()
            rest = self.block(NonNegative(), n)
            self.rows({y: sums, rest: scipy.sparse.eye_array(n, format="csr")}, np.full(n, float(count.s)))
        return y

    def placed(self, i: int, pieces: Pieces) -> int:
        """Where the switches of the intervals of block i are, which have the place of its set."""
        block, (count, *_) = self.blocks[i], pieces.lower.shape
        size = math.prod(block.shape)
        one = scipy.sparse.eye_array(size, format="csr")
        held = Box(pieces.lower.min(axis=0), pieces.upper.max(axis=0))
        self.blocks[i] = Block(f=block.f, h=held, shape=block.shape)
        y = self.block(Binary(), count * size)
        self.rows({y: scipy.sparse.kron(np.ones((1, count)), one).tocsr()}, np.ones(size))
        for sign, side in ((1.0, pieces.upper), (-1.0, pieces.lower)):
            ends = scipy.sparse.hstack([scipy.sparse.diags_array(-sign * np.ravel(end)) for end in side])
            rest = self.block(NonNegative(), size)
            self.rows({i: sign * one, y: ends.tocsr(), rest: one}, np.zeros(size))
        return y

    def problem(self) -> Problem:
        whole = [
            Block(
                f=block.f,
                h=block.h,
                A=as_map(scipy.sparse.vstack(column).tocsr(), block.shape),
                shape=block.shape,
            )
            for block, column in zip(self.blocks, self.columns, strict=True)
        ]
        return Problem(whole, np.concatenate(self.right))


def search_by_switches(
    problem: Problem,
    switches: Switches,
    first: Result | None,
    again: Again,
    tol: float,
    used: float,
    limit: float | None,
) -> tuple[Result | None, bool]:
    """The best of `first` and of what branch and bound leads to, and whether nothing is lower."""
    found = [] if first is None else [first]
    search = Search(problem, list(found), again, Stopwatch(used, limit))
    near = None if switches.is_linear else relaxed(switches.program.problem, hull)
    answer = None if near is None else search.answer_of(near)
    answers = [*([] if answer is None else [answer]), *found]
    best = min((r.fun for r in found if r.success), default=math.inf)
    limits = (NODES,) if switches.is_linear else (FEWER, IDLE)
    held, proved = search_by_program(
        switches.program, answers, best, lambda x: _held_at(search, switches, x, tol), search.clock, *limits
    )
    search.found += [r for r in held if r.success]
    lowest = min(held, key=lambda r: r.fun, default=None)
    if lowest is not None and not lowest.success:
        search.attempt(lowest.x)  # no force of its own keeps an entry at 0 there: steps lead further
    if not search.found:
        return None, False
    result = search.answer()
    best = best if lowest is None else min(best, lowest.fun)
    proved = proved and result.success and result.fun <= best + AGREED * size_of(problem, best)
    if proved:
        result.message += "; here nothing is lower: branch and bound rules all else out"
    return result, proved


def _held_at(search: Search, switches: Switches, x: Sequence[np.ndarray], tol: float) -> Result | None:
    """The answer with these switches, which is no success where it is not certified as it stands."""
    problem, pairs = search.problem, zip(search.problem.blocks, search.problem.operators, strict=True)
    blocks = [Block(f=block.f, h=block.h, A=A, shape=block.shape) for block, A in pairs]
    for i, k in switches.of.items():
        block, y = blocks[i], x[k].reshape(-1, *blocks[i].shape)
        of_pieces = len(y) == len(switches.left[i].lower)
        chosen = np.argmax(y, axis=0) if of_pieces else (y[0] > 0.5).astype(int)
        held = Box(*switches.left[i].at(chosen))
        blocks[i] = Block(f=block.f, h=held, A=block.A, shape=block.shape)
    part = Problem(blocks, problem.b)
    result = search.answer_of(part)
    if result is None or not (result.success and isinstance(result.state, State)):
        return None
    result.method = f"{result.method}, switches by branch and bound"
    point = Point(result.x, tuple(subgradients(part, result.state)), result.z)
    if certified_at(search, result, point, tol) is None:
        price = sum(float(problem.blocks[i].h(result.x[i])) for i in switches.of)
        result.update(success=False, status=Status.STALLED_FEASIBLE, fun=result.fun + price)
    return result


def _bowl(block: Block) -> np.ndarray:
    """d ≥ 0 with f - ½Σ d x² convex: in proportion to the diagonal of a constant Hessian; 0 where that is weak."""
    f, size = block.f, math.prod(block.shape)
    H = None if f is None else constant_hessian(f, np.zeros(block.shape))
    if H is None:
        return np.zeros(size)
    if H.ndim == 1 or H.shape != (size, size):
        return np.maximum(H.ravel(), 0.0)
    diagonal = np.diag(H)
    if not np.all(diagonal > 0):
        return np.zeros(size)
    least = np.linalg.eigvalsh(H / np.sqrt(np.outer(diagonal, diagonal)))[0]
    return (float(least) - ROUNDED if least >= WEAK else 0.0) * diagonal


def _count(h: Nonsmooth) -> L0 | Cardinality | RowCardinality | None:
    """What counts nonzeros."""
    h = h.penalty if isinstance(h, Sum) else h
    return h if isinstance(h, L0 | Cardinality | RowCardinality) else None


def _may_be_pieces(h: Nonsmooth) -> bool:
    """Whether nothing but its prox says what h is."""
    return not (h.is_convex or h.is_manifold) and own_of_user(h)


def _ends(h: Nonsmooth, shape: tuple[int, ...]) -> Kinks:
    """The bounds of the pieces."""
    low, high = ends_of(h, shape)
    return Kinks(lower=low, upper=high).filled(shape)


def _bounds(h: Nonsmooth, shape: tuple[int, ...]) -> Kinks | None:
    """The bounds of entries, None where h is more than a count and bounds, or tells of none."""
    own = h
    if _count(h) is not None:
        if not isinstance(h, Sum):
            return Kinks().filled(shape)
        own = h.constraint
    kinks = own.kinks(shape)
    if kinks is None or (own is not h and _is_more(kinks)):
        return None
    return kinks.filled(shape)


def _is_more(kinks: Kinks) -> bool:
    """Whether these are more than bounds around 0."""
    return bool(
        np.any(kinks.left) or np.any(kinks.right) or np.any(kinks.lower > 0) or np.any(kinks.upper < 0)
    )


def _left_by_rows(A: np.ndarray, b: np.ndarray, given: list[Kinks], shapes: list[Any]) -> list[Kinks]:
    """The bounds, and those that follow from A w = b: every entry makes up for what the others of a row may be."""
    lower, upper = (
        np.concatenate(
            [np.broadcast_to(side, shape).ravel() for side, shape in zip(sides, shapes, strict=True)]
        )
        for sides in zip(*((own.lower, own.upper) for own in given), strict=True)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        for _ in range(PASSES):
            least, most = np.where(A > 0, A * lower, A * upper), np.where(A > 0, A * upper, A * lower)
            most, least = b[:, None] - _sums_of_others(least, A), b[:, None] - _sums_of_others(most, A)
            above = np.where(A > 0, most / A, np.where(A < 0, least / A, np.inf))
            below = np.where(A > 0, least / A, np.where(A < 0, most / A, -np.inf))
            lower, upper = np.maximum(lower, below.max(axis=0)), np.minimum(upper, above.min(axis=0))
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    return [
        own._replace(lower=low.reshape(shape), upper=high.reshape(shape))
        for own, low, high, shape in zip(
            given, np.split(lower, ends), np.split(upper, ends), shapes, strict=True
        )
    ]


def _sums_of_others(terms: np.ndarray, A: np.ndarray) -> np.ndarray:
    """For each entry of a row the sum of the terms of all others; infinite ones are all of one sign."""
    terms = np.where(A == 0, 0.0, terms)
    far = np.isinf(terms)
    near = np.where(far, 0.0, terms)
    infinite = np.where(far, terms, 0.0).sum(axis=1, keepdims=True)
    others = near.sum(axis=1, keepdims=True) - near
    return np.where(far.sum(axis=1, keepdims=True) - far > 0, infinite, others)
