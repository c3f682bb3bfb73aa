"""Signed selections of rows, for an ℓ1 norm over orthonormal columns that outweighs a smooth function.

    min_Y f(Y) + λ‖Y‖₁  subject to  YᵀY = I

A signed selection has one entry ±1 in every column, in different rows: there ‖Y‖₁ = r, the least of all Y. Where
G = ∇f(E) has |G_ik| ≤ λ, the linear model of f at E is least at one, too:

    ⟨G, Y⟩ + λ‖Y‖₁ ≥ Σ (λ - |G_ik|) |Y_ik| ≥ Σ (λ - |G_ik|) Y_ik²,

and the Y_ik² are a convex combination of assignments of rows to columns (Birkhoff). So, from any Y,

    E ← the selection of least ⟨∇f(E), E⟩, by an assignment,

while that lowers the objective, as it does for concave f until E selects itself. Every selection with |∇f(E)| ≤ λ is
critical: the slopes of the norm cancel ∇f wherever E is 0. Hence a look at the others: with φ_i = ½⟨E, ∇f(E)⟩ of row
i, which is f's share of that row where f is a quadratic that treats all columns alike, selections that have every row
once price all rows, and the r rows of least φ_i are taken where their objective is lower.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy

from .._arrays import Array
from ..deadline import raise_if_late
from ..errors import AssumptionError
from ..functions import L1, Smooth, Stiefel
from ..operators import Identity
from ..problem import Block, Problem
from ..theory.state import State, prox_step
from .base import Method

LOOKS = 100
"""Selections by which rows are priced at most; where there are more rows, those in which ∇f is largest at the start."""


class Setup(NamedTuple):
    """a Y + c V = 0, that is V = kY, with f_Y, f_V and λ‖V‖₁."""

    first: int
    """Place of Y among the two blocks."""
    frame: Block
    last: Block
    a: float
    c: float
    lam: float
    k: float
    order: tuple[int, ...] = ()
    """Rows, those in which ∇f is largest at the start first."""

    @property
    def weight(self) -> float:
        """That of ‖Y‖₁."""
        return self.lam * abs(self.k)


class Carry(NamedTuple):
    """Where the next step starts."""

    t: int
    Y: np.ndarray
    values: tuple[float, float]
    """f_Y(Y), f_V(kY); ∞ at the start, from which any selection leads away."""
    slopes: tuple[np.ndarray, np.ndarray]
    """∇f_Y(Y), ∇f_V(kY)."""
    priced: bool
    """Whether other rows have been looked at."""


class SignedSelections(Method):
    """Steps from selection to selection; see the module for them."""

    presolves = announces = True
    name = "SignedSelections()"

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Setup, Carry]:
        """The gradient at x0."""
        setup = outweighed(problem)
        if setup is None or not all(type(x) is np.ndarray and x.dtype == np.float64 for x in x0):
            raise AssumptionError(
                "SignedSelections needs a Y + c V = 0 with Y in Stiefel(), L1 of V, and an f whose Lipschitz constant "
                "is at most the weight of that norm"
            )
        carry = Carry(0, x0[setup.first], (np.inf, np.inf), slopes_at(setup, x0[setup.first]), False)
        steepness = np.linalg.norm(slope_of(setup, carry), axis=1)
        return setup._replace(order=tuple(np.argsort(-steepness, kind="stable").tolist())), carry

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """The selection of the linear model, where it is lower; else the cheapest rows, where they are."""
        new = lower(setup, carry, selection(-slope_of(setup, carry)))
        if new.Y is carry.Y and not carry.priced:
            new = lower(setup, carry, cheapest(setup, carry.Y))._replace(priced=True)
        if np.abs(slope_of(setup, new)).max() > setup.weight:
            raise AssumptionError("SignedSelections: f outweighs the norm")
        return new, state_of(setup, new, settled=new.Y is carry.Y)


def lower(setup: Setup, carry: Carry, E: np.ndarray) -> Carry:
    """The next carry: at E where f is lower there, else where it was."""
    t = carry.t + 1
    if np.array_equal(E, carry.Y):
        return carry._replace(t=t)
    pairs = [(0.0, np.zeros_like(E)) if f is None else f.value_and_grad(x) for f, x in points(setup, E)]
    values, slopes = zip(*pairs, strict=True)
    return (
        Carry(t, E, values, slopes, carry.priced) if sum(values) < sum(carry.values) else carry._replace(t=t)
    )


def points(setup: Setup, Y: np.ndarray) -> tuple[tuple[Smooth | None, np.ndarray], ...]:
    """f_Y and f_V, with the point at which each is taken."""
    return (setup.frame.f, Y), (setup.last.f, setup.k * Y)


def slopes_at(setup: Setup, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """∇f_Y(Y), ∇f_V(kY)."""
    own, other = (np.zeros_like(Y) if f is None else f.grad(x) for f, x in points(setup, Y))
    return own, other


def slope_of(setup: Setup, carry: Carry) -> np.ndarray:
    """∇f(Y) of f(Y) = f_Y(Y) + f_V(kY)."""
    return carry.slopes[0] + setup.k * carry.slopes[1]


def selection(C: np.ndarray) -> np.ndarray:
    """The signed selection E of largest ⟨C, E⟩.

    >>> selection(np.array([[3.0, 2.0], [-2.0, 0.5], [0.0, 0.0]]))
    array([[ 0.,  1.],
           [-1.,  0.],
           [ 0.,  0.]])
    """
    rows, columns = scipy.optimize.linear_sum_assignment(np.abs(C), maximize=True)
    E = np.zeros_like(C)
    E[rows, columns] = np.where(C[rows, columns] < 0, -1.0, 1.0)
    return E


def cheapest(setup: Setup, E: np.ndarray) -> np.ndarray:
    """The selection of the r rows of least φ_i; rows that E has already stay in their columns."""
    (n, r), columns = E.shape, np.arange(E.shape[1])
    prices, rows = np.full(n, np.inf), np.array(setup.order[: LOOKS * r])
    for begin in range(0, len(rows), r):
        raise_if_late()
        looked = rows[max(0, min(begin, len(rows) - r)) :][:r]
        unit = np.zeros_like(E)
        unit[looked, columns] = 1.0
        own, other = slopes_at(setup, unit)
        prices[looked] = 0.5 * (own + setup.k * other)[looked, columns]
    best, mine = np.argsort(prices, kind="stable")[:r], np.abs(E).argmax(axis=0)
    leave = ~np.isin(mine, best)
    new = E.copy()
    new[:, leave] = 0.0
    new[np.setdiff1d(best, mine), np.flatnonzero(leave)] = 1.0
    return new


def state_of(setup: Setup, carry: Carry, settled: bool) -> State:
    """The State at a selection: ∇f_V + s + cz = 0 with s in the slopes of the norm, and ∇f_Y + az = 0 where Y is 0."""
    (own, other), Y, V = carry.slopes, carry.Y, setup.k * carry.Y
    s = np.where(V == 0, own * (setup.c / setup.a) - other, setup.lam * np.sign(V))
    step = prox_step(V, s)

    def in_order(of_frame: Any, of_last: Any) -> tuple[Any, Any]:
        return (of_frame, of_last) if setup.first == 0 else (of_last, of_frame)

    return State(
        carry.t,
        in_order(Y, V),
        V,
        (other + s) / -setup.c,
        0.0,
        0.0,
        (None, None),
        in_order((None, 1.0), (V + step * s, step)),
        last=1 - setup.first,
        gradients=in_order(None if setup.frame.f is None else own, None if setup.last.f is None else other),
        values=in_order(*carry.values),
        settled=settled,
        due=True,
    )


def outweighed(problem: Problem) -> Setup | None:
    """The parts of a problem that is the one above, where the Lipschitz constant of ∇f is at most λ; else None.

    Then no move away from a selection can earn in f what it costs in the norm, to first order.
    """
    if len(problem.blocks) != 2 or not all(isinstance(A, Identity) and A.scale for A in problem.operators):
        return None
    for first in range(2):
        frame, last = problem.blocks[first], problem.blocks[1 - first]
        a, c = problem.operators[first].scale, problem.operators[1 - first].scale  # type: ignore[attr-defined]
        if type(frame.h) is not Stiefel or not isinstance(last.h, L1) or type(last.h.lam) is not float:
            continue
        setup = Setup(first, frame, last, a, c, last.h.lam, -a / c)
        bounds = [0.0 if f is None else f.lipschitz for f in (frame.f, last.f)]
        if None in bounds or np.any(problem.b):
            return None
        return setup if 0 < setup.weight >= bounds[0] + setup.k**2 * bounds[1] else None  # type: ignore[operator]
    return None
