"""Random convex problems in units of their own, with a reference answer: what certificates are judged by.

A case is drawn in plain units first (blocks y_i, sizes near 1). Then every block is restated as x_i = u_i y_i, its part
of the objective multiplied by o_i, every row of the equation by c_k, with u, o, c log-uniform in 10^±S; at times every
entry of a block has units of its own, where its h allows that. The reference solves the plain one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ipds import Block, Problem
from ipds.functions import (
    L1,
    L2,
    Box,
    ElasticNet,
    HuberLoss,
    L2Ball,
    LeastSquares,
    Linear,
    Linf,
    Logistic,
    NonNegative,
    Quadratic,
    Simplex,
    smooth,
)

Vector = np.ndarray


@dataclass
class Piece:
    """One block in plain units: its functions at scale (u, o), and the same for CVXPY."""

    size: int
    A: Any
    inside: Vector
    """A point of the domain."""
    f: Callable[[Any, float], Any] | None = None
    """(u, o) ↦ f in these units; u is a number, or one for every entry."""
    h: Callable[[Any, float], Any] | None = None
    cost: Callable[[Any], list[Any]] = lambda y: []
    """The terms of the objective: of f, then of h; each once."""
    sets: Callable[[Any], list[Any]] = lambda y: []
    label: str = ""
    entrywise: bool = False
    """Whether every entry may have units of its own."""


@dataclass
class Case:
    """A problem, the same in plain units for the reference, and the units between the two."""

    problem: Problem
    pieces: list[Piece]
    units: list[Any]
    costs: Vector
    rows: Vector
    b: Vector
    label: str
    answer: Answer | None = field(default=None)


@dataclass
class Answer:
    """The optimum: values of every term of every block (in the units of the problem), the point, the multiplier."""

    terms: list[Vector]
    x: list[Vector]
    z: Vector
    known: list[bool]
    """Whether two reference runs agree on the block's own objective."""

    @property
    def size(self) -> float:
        """Σ of the absolute values of all terms."""
        return float(sum(np.abs(t).sum() for t in self.terms))

    @property
    def value(self) -> float:
        return float(sum(t.sum() for t in self.terms))


def matrix(g: np.random.Generator, m: int, n: int) -> Vector:
    """A Gaussian matrix; at times of low rank, with duplicate or with zero columns."""
    G = g.standard_normal((m, n)) / math.sqrt(n)
    kind = g.integers(0, 6)
    if kind == 0 and min(m, n) > 2:
        k = int(g.integers(1, min(m, n)))
        G = g.standard_normal((m, k)) @ g.standard_normal((k, n)) / math.sqrt(n * k)
    if kind == 1 and n > 1:
        G[:, 0] = G[:, -1]
    if kind == 2 and n > 2:
        G[:, g.integers(0, n)] = 0.0
    return G


def smooth_part(g: np.random.Generator, n: int, kind: str) -> tuple[Any, Any]:
    """(u, o) ↦ f, and y ↦ its CVXPY term."""
    m = int(g.integers(max(2, n - 3), n + 6))
    G, t = matrix(g, m, n), g.standard_normal(m)
    if kind in ("fit", "near"):  # a perfect one, or almost
        t = G @ g.standard_normal(n) + (kind == "near") * 10 ** g.uniform(-6, -1) * t
        kind = "squares"
    if kind == "squares":
        return (
            lambda u, o: LeastSquares(math.sqrt(o) / u * G, math.sqrt(o) * t),
            lambda y: 0.5 * cp.sum_squares(G @ y - t),
        )
    if kind == "quadratic":
        Q, c = G.T @ G, G.T @ g.standard_normal(m)
        return (
            lambda u, o: Quadratic(o * Q / np.outer(u * np.ones(n), u * np.ones(n)), o / u * c),
            lambda y: 0.5 * cp.sum_squares(G @ y) + c @ y,
        )
    if kind == "logistic":
        labels = np.where(g.random(m) < 0.5, 1.0, -1.0)
        inner = Logistic(G, labels)
        return (
            lambda u, o: smooth(
                lambda x: o * inner(x / u),
                lambda x: o / u * inner.grad(x / u),
                lipschitz=o / np.min(u) ** 2 * inner.lipschitz,
            ),
            lambda y: cp.sum(cp.logistic(cp.multiply(-labels, G @ y))),
        )
    if kind == "huber":
        delta = float(g.choice([0.3, 1.0]))
        return (
            lambda u, o: HuberLoss(math.sqrt(o) / u * G, math.sqrt(o) * t, math.sqrt(o) * delta),
            lambda y: 0.5 * cp.sum(cp.huber(G @ y - t, delta)),
        )
    c = g.standard_normal(n)
    return lambda u, o: Linear(o / u * c), lambda y: c @ y


def nonsmooth_part(g: np.random.Generator, n: int, kind: str) -> tuple[Any, Any, Any, Vector]:
    """(u, o) ↦ h, y ↦ its CVXPY term or None, y ↦ constraints, and a point of the domain."""
    point = g.standard_normal(n)
    weight = float(10 ** g.uniform(-1.5, 0.5))
    weights = weight * g.uniform(0.5, 2.0, n) if g.random() < 0.3 else np.full(n, weight)
    if kind == "l1":
        return lambda u, o: L1(o / u * weights), lambda y: weights @ cp.abs(y), None, point
    if kind == "l2":
        return lambda u, o: L2(o / u * weight), lambda y: weight * cp.norm(y, 2), None, point
    if kind == "linf":
        return lambda u, o: Linf(o / u * weight), lambda y: weight * cp.norm(y, "inf"), None, point
    if kind == "elastic":
        return (
            lambda u, o: ElasticNet(o / u * weights, o / u**2 * 0.5),
            lambda y: weights @ cp.abs(y) + 0.25 * cp.sum_squares(y),
            None,
            point,
        )
    if kind == "box":
        lo = g.standard_normal(n)
        hi = lo + g.uniform(0.1, 3.0, n)
        return lambda u, o: Box(u * lo, u * hi), None, lambda y: [y >= lo, y <= hi], g.uniform(lo, hi)
    if kind == "nonnegative":
        return lambda u, o: NonNegative(), None, lambda y: [y >= 0], np.abs(point)
    if kind == "simplex":
        inside = np.abs(point)
        return lambda u, o: Simplex(u), None, lambda y: [y >= 0, cp.sum(y) == 1], inside / inside.sum()
    if kind == "ball":
        return (
            lambda u, o: L2Ball(u),
            None,
            lambda y: [cp.norm(y, 2) <= 1],
            0.5 * point / np.linalg.norm(point),
        )
    return None, None, None, point


BOUNDED = ("box", "simplex", "ball")
PRICED = ("l1", "l2", "linf", "elastic")


def piece(g: np.random.Generator, n: int, A: Any, *, priced: bool) -> Piece:
    """A random block."""
    h = str(
        g.choice(
            ["l1", "l1", "l2", "linf", "elastic", "box", "nonnegative", "simplex", "ball", "none", "none"]
        )
    )
    kinds = ["squares", "squares", "fit", "near", "quadratic", "logistic", "huber", "none", "none"]
    if h in BOUNDED:
        kinds += ["linear", "linear"]
    f = str(g.choice(kinds))
    if priced and f == "none" and h not in PRICED:
        f = "squares"
    made_h, cost_h, sets, inside = nonsmooth_part(g, n, h)
    made_f, cost_f = smooth_part(g, n, f) if f != "none" else (None, None)
    terms = [cost for cost in (cost_f, cost_h) if cost is not None]
    return Piece(
        n,
        A,
        inside,
        made_f,
        made_h,
        lambda y: [cost(y) for cost in terms],
        sets or (lambda y: []),
        f"{f}+{h}",
        h in ("l1", "box", "nonnegative", "none"),
    )


def draw(seed: int, spread: float | None = None, blocks: int | None = None) -> Case:
    """A feasible convex case; most are bounded below, the reference tells."""
    g = np.random.default_rng([77, seed])
    S = float(g.integers(0, 5)) if spread is None else spread
    count = int(g.integers(1, 5)) if blocks is None else blocks
    m = int(g.integers(3, 11)) if count > 1 else int(g.integers(1, 5))
    pieces = []
    for i in range(count):
        last = i == count - 1
        n = m if g.random() < (0.7 if last else 0.3) else int(g.integers(2, 13))
        if count == 1 or (last and n < m):
            n = max(n, m + 1)
        if n == m and g.random() < 0.75:
            A: Any = float(g.choice([1.0, -1.0, 2.0]))
        else:
            A = g.standard_normal((m, n)) / math.sqrt(n) if last else matrix(g, m, n)
        pieces.append(piece(g, n, A, priced=last or g.random() < 0.7))
    if count == 2 and g.random() < 0.5:  # a plain split: b = 0
        b = np.zeros(m)
    else:
        b = sum(times(p.A, p.inside) for p in pieces)
    units, costs, rows = units_of(g, pieces, m, S)
    return stated(
        pieces, units, costs, rows, b, f"seed {seed} S={S:g} " + " | ".join(p.label for p in pieces)
    )


def units_of(
    g: np.random.Generator, pieces: list[Piece], m: int, S: float
) -> tuple[list[Any], Vector, Vector]:
    """Units of the blocks (at times of every entry), of their costs, and of the rows, log-uniform in 10^±S."""
    units: list[Any] = [
        10 ** g.uniform(-S, S, p.size) if p.entrywise and g.random() < 0.25 else float(10 ** g.uniform(-S, S))
        for p in pieces
    ]
    costs = 10 ** g.uniform(-S, S, len(pieces))
    rows = 10 ** g.uniform(-S, S, m) if g.random() < 0.3 else np.full(m, 10 ** g.uniform(-S, S))
    return units, costs, rows


def stated(pieces: list[Piece], units: list[Any], costs: Vector, rows: Vector, b: Vector, label: str) -> Case:
    """The case with these units."""
    blocks = []
    for p, u, o in zip(pieces, units, costs, strict=True):
        o = float(o)
        if sp.issparse(p.A):
            A: Any = sp.diags_array(rows) @ p.A @ sp.diags_array(1 / (u * np.ones(p.size)))
        elif not isinstance(p.A, float):
            A = rows[:, None] * p.A / u
        elif np.ptp(rows) == 0 and np.ndim(u) == 0:
            A = p.A * float(rows[0]) / u
        else:
            A = sp.diags_array(p.A * rows / u).tocsr()
        f, h = None if p.f is None else p.f(u, o), None if p.h is None else p.h(u, o)
        blocks.append(Block(f=f, h=h, A=A, shape=p.size))
    return Case(Problem(blocks, b=rows * b), pieces, units, costs, rows, b, label)


def times(A: Any, y: Any) -> Any:
    return A * y if isinstance(A, float) else A @ y


TIGHT: dict[str, Any] = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-12, "tol_feas": 1e-12, "max_iter": 200}


def solved(case: Case) -> str:
    """Sets the case's answer; returns "optimal", "infeasible", "unbounded" or "unknown"."""
    runs = []
    for scale in (1.0, 7.3):
        found = _reference(case, scale)
        if isinstance(found, str):
            return found
        runs.append(found)
    first, second = runs
    size = first.size
    own = [np.abs(t).sum() for t in first.terms]
    off = [abs(a.sum() - b.sum()) for a, b in zip(first.terms, second.terms, strict=True)]
    if abs(first.value - second.value) > 1e-5 * size:
        return "unknown"
    first.known = [o <= 1e-2 * e for o, e in zip(off, own, strict=True)]
    case.answer = first
    return "optimal"


def _reference(case: Case, scale: float) -> Answer | str:
    """Clarabel on the plain problem, its variables multiplied by `scale`."""
    y = [cp.Variable(p.size) for p in case.pieces]
    shown = [scale * v for v in y]
    terms = [p.cost(v) for p, v in zip(case.pieces, shown, strict=True)]
    top = float(np.max(case.costs))
    objective = sum(float(o / top) * t for o, ts in zip(case.costs, terms, strict=True) for t in ts)
    equation = sum(times(p.A, v) for p, v in zip(case.pieces, shown, strict=True)) == case.b
    sets = [c for p, v in zip(case.pieces, shown, strict=True) for c in p.sets(v)]
    problem = cp.Problem(cp.Minimize(objective), [equation, *sets])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=cp.CLARABEL, **TIGHT)
        except cp.SolverError:
            return "unknown"
    if problem.status in ("infeasible", "infeasible_inaccurate"):
        return "infeasible"
    if problem.status in ("unbounded", "unbounded_inaccurate"):
        return "unbounded"
    if problem.status not in ("optimal", "optimal_inaccurate") or y[0].value is None:
        return "unknown"
    values = [
        np.array([o * float(np.sum(t.value)) for t in ts]) for o, ts in zip(case.costs, terms, strict=True)
    ]
    x = [u * scale * v.value for u, v in zip(case.units, y, strict=True)]
    return Answer(values, x, top * equation.dual_value / case.rows, [True] * len(x))
