"""Models drawn from a seed, each written twice: with `ipds.modelling`, and as NumPy functions of its values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from ipds import Variable, minimize
from ipds.functions import (
    L0,
    L1,
    MCP,
    Affine,
    Box,
    CappedL1,
    Cardinality,
    HuberLoss,
    L2Ball,
    LeastSquares,
    Linf,
    LinfBall,
    Quadratic,
)
from ipds.modelling import (
    concatenate,
    diff,
    hinge,
    huber,
    logistic,
    norm1,
    norm2,
    norm21,
    nuclear,
    quad_form,
    quantile,
    sum_squares,
    total_variation,
)
from ipds.operators import FiniteDifference

Values = dict[Any, np.ndarray]


Fun = Callable[[Values], np.ndarray]


class Pair(NamedTuple):
    """An expression, and what it stands for."""

    e: Any
    f: Fun

    @property
    def shape(self):
        return self.e.shape


class Drawn(NamedTuple):
    """A model, the value of its objective as NumPy has it, and its constraints as (NumPy left - right, sense)."""

    problem: Any
    objective: Callable[[Values], float]
    constraints: list[tuple[Fun, str]]
    inside: Values
    """A point that satisfies the constraints."""


class Draw:
    """One model from a seed."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        shapes = [(), (1,), (3,), (5,), (2, 3), (4, 2), (3, 3), (2, 2, 2)]
        count = int(self.rng.integers(1, 4))
        self.variables = [
            Variable(shapes[self.rng.integers(len(shapes))], name=f"v{k}") for k in range(count)
        ]
        self.inside: Values = {v: self.rng.normal(size=v.shape) for v in self.variables}

    def maybe(self, p: float = 0.5) -> bool:
        return bool(self.rng.random() < p)

    def pick(self, choices: list[Any]) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def number(self) -> float:
        return float(self.rng.choice([-1.0, 1.0]) * self.rng.uniform(0.3, 2.0))

    def array(self, *shape: int) -> np.ndarray:
        return self.rng.normal(size=shape)

    # ------------------------------------------------------------------ expressions

    def variable(self) -> Pair:
        v = self.pick(self.variables)
        return Pair(v, lambda values: values[v])

    def expression(self, depth: int = 4) -> Pair:
        pair = self.variable()
        for _ in range(int(self.rng.integers(0, depth + 1))):
            pair = self.step(pair, depth)
        return pair

    def step(self, p: Pair, depth: int) -> Pair:
        ways = [self.scale, self.shift, self.weigh, self.fold, self.negate, self.divide, self.grow]
        if p.shape:
            ways += [self.index, self.transpose, self.total, self.flat_operator]
            if len(p.shape) <= 2:
                ways += [self.left, self.left, self.right]
            if p.shape[0] > 1:
                ways += [self.difference]
        if depth > 0:
            ways += [self.add, self.add]
            ways += [self.join] if p.shape else []
        return self.pick(ways)(p)

    def scale(self, p: Pair) -> Pair:
        c = self.number()
        return Pair(c * p.e, lambda v: c * p.f(v)) if self.maybe() else Pair(p.e * c, lambda v: c * p.f(v))

    def divide(self, p: Pair) -> Pair:
        c = self.number() if self.maybe() else 1.0 + np.abs(self.array(*p.shape))
        return Pair(p.e / c, lambda v: p.f(v) / c)

    def negate(self, p: Pair) -> Pair:
        return Pair(-p.e, lambda v: -p.f(v))

    def shift(self, p: Pair) -> Pair:
        c = self.number() if self.maybe() else self.array(*p.shape)
        how = self.rng.integers(4)
        e = [lambda: p.e + c, lambda: p.e - c, lambda: c - p.e, lambda: c + p.e][how]()
        return Pair(
            e, [lambda v: p.f(v) + c, lambda v: p.f(v) - c, lambda v: c - p.f(v), lambda v: c + p.f(v)][how]
        )

    def weigh(self, p: Pair) -> Pair:
        w = self.array(*p.shape) if p.shape else self.array(3)
        return Pair(w * p.e, lambda v: w * p.f(v)) if self.maybe() else Pair(p.e * w, lambda v: p.f(v) * w)

    def grow(self, p: Pair) -> Pair:
        if len(p.shape) > 1:
            return p
        zeros = np.zeros((2, *p.shape))
        return Pair(p.e + zeros, lambda v: p.f(v) + zeros)

    def fold(self, p: Pair) -> Pair:
        size = math.prod(p.shape)
        options = [(-1,), (size, 1), (1, size)] + [(k, size // k) for k in (2, 3) if size % k == 0]
        shape = self.pick(options)
        return Pair(p.e.reshape(shape), lambda v: np.reshape(p.f(v), shape))

    def index(self, p: Pair) -> Pair:
        n = p.shape[0]
        mask = self.rng.random(p.shape) < 0.6
        mask.flat[0] = True
        keys: list[Any] = [
            0,
            n - 1,
            -1,
            slice(None, None, 2),
            slice(max(n - 2, 0), None),
            mask,
            [0, n - 1, 0],
            None,
        ]
        keys += [(slice(None), 0), (slice(None), slice(None, None, -1))] if len(p.shape) > 1 else []
        key = self.pick(keys)
        return Pair(p.e[key], lambda v: p.f(v)[key])

    def transpose(self, p: Pair) -> Pair:
        return Pair(p.e.T, lambda v: p.f(v).T)

    def total(self, p: Pair) -> Pair:
        axis = self.pick([None, 0, -1])
        return Pair(p.e.sum(axis), lambda v: np.sum(p.f(v), axis=axis))

    def difference(self, p: Pair) -> Pair:
        return Pair(diff(p.e), lambda v: np.diff(p.f(v), axis=0))

    def left(self, p: Pair) -> Pair:
        rows = int(self.rng.integers(1, 5))
        M = self.array(rows, p.shape[0])
        kind = self.rng.integers(4)
        if kind == 0:
            return Pair(M[0] @ p.e, lambda v: M[0] @ p.f(v))
        if kind == 1:
            M = M * (self.rng.random(M.shape) < 0.5)
            return Pair(sp.csr_array(M) @ p.e, lambda v: M @ p.f(v))
        if kind == 2 and p.shape[0] > 1:
            return Pair(FiniteDifference() @ p.e, lambda v: np.diff(p.f(v), axis=0))
        return Pair(M @ p.e, lambda v: M @ p.f(v))

    def right(self, p: Pair) -> Pair:
        R = self.array(p.shape[-1], int(self.rng.integers(1, 4)))
        if self.maybe(0.3):
            R = R[:, 0]
        return Pair(p.e @ R, lambda v: p.f(v) @ R)

    def flat_operator(self, p: Pair) -> Pair:
        M = self.array(2, math.prod(p.shape))
        return Pair(spl.aslinearoperator(M) @ p.e, lambda v: M @ np.ravel(p.f(v)))

    def add(self, p: Pair) -> Pair:
        q = self.expression(1)
        if q.shape != p.shape:
            q = Pair(q.e.sum(), lambda v, f=q.f: np.sum(f(v)))
        sign = self.maybe()
        e = p.e + q.e if sign else p.e - q.e
        return Pair(e, lambda v: p.f(v) + q.f(v) if sign else p.f(v) - q.f(v))

    def join(self, p: Pair) -> Pair:
        q = self.expression(1)
        axis = int(self.rng.integers(len(p.shape)))
        if len(q.shape) != len(p.shape) or any(
            a != b for k, (a, b) in enumerate(zip(p.shape, q.shape, strict=True)) if k != axis
        ):
            return Pair(concatenate([p.e, p.e], axis), lambda v: np.concatenate([p.f(v), p.f(v)], axis))
        return Pair(concatenate([p.e, q.e], axis), lambda v: np.concatenate([p.f(v), q.f(v)], axis))

    # ------------------------------------------------------------------ terms

    def term(self) -> Pair:
        """A term and its value; half of the time of a variable itself."""
        p = self.variable() if self.maybe() else self.expression()
        kinds: list[Callable[[Pair], Pair]] = [
            lambda p: Pair(norm1(p.e), lambda v: np.abs(p.f(v)).sum()),
            lambda p: Pair(norm2(p.e), lambda v: np.sqrt((p.f(v) ** 2).sum())),
            lambda p: Pair(sum_squares(p.e), lambda v: (p.f(v) ** 2).sum()),
            lambda p: Pair(-sum_squares(p.e), lambda v: -(p.f(v) ** 2).sum()),
            lambda p: Pair(huber(p.e, 0.5), lambda v: _huber(p.f(v), 0.5)),
            lambda p: Pair(logistic(p.e), lambda v: np.log1p(np.exp(p.f(v))).sum()),
            lambda p: Pair(hinge(p.e), lambda v: np.maximum(1 - p.f(v), 0).sum()),
            lambda p: Pair(quantile(p.e, 0.3), lambda v: np.maximum(0.3 * p.f(v), -0.7 * p.f(v)).sum()),
            lambda p: Pair(Linf(2.0)(p.e), lambda v: 2 * np.abs(p.f(v)).max()),
            lambda p: Pair(MCP(1.0, 2.0)(p.e), lambda v: _mcp(p.f(v), 1.0, 2.0)),
            lambda p: Pair(CappedL1(1.0, 0.7)(p.e), lambda v: np.minimum(np.abs(p.f(v)), 0.7).sum()),
            lambda p: Pair(L0(1.5)(p.e), lambda v: 1.5 * np.count_nonzero(p.f(v))),
            self.weighted,
            self.quadratic,
            self.wide_set,
        ]
        if len(p.shape) == 1:
            kinds += [self.of_library]
        if len(p.shape) == 1 and p.shape[0] > 1:
            kinds += [lambda p: Pair(total_variation(p.e), lambda v: np.abs(np.diff(p.f(v))).sum())]
        if len(p.shape) == 2:
            kinds += [
                lambda p: Pair(norm21(p.e), lambda v: np.sqrt((p.f(v) ** 2).sum(axis=1)).sum()),
                lambda p: Pair(nuclear(p.e), lambda v: np.linalg.svd(p.f(v), compute_uv=False).sum()),
            ]
            if min(p.shape) > 1:
                kinds += [lambda p: Pair(total_variation(p.e), lambda v: _isotropic(p.f(v)))]
        t = self.pick(kinds)(p)
        if self.maybe(0.3):
            return t
        c = float(self.rng.uniform(0.2, 3.0))
        return Pair(c * t.e, lambda v: c * t.f(v))

    def weighted(self, p: Pair) -> Pair:
        w = np.abs(self.array(*(p.shape or (1,))))
        return Pair(L1(w)(p.e), lambda v: (w * np.abs(p.f(v))).sum())

    def wide_set(self, p: Pair) -> Pair:
        """A set that holds all points drawn here: it claims a block, and its value is 0."""
        sets = [
            Cardinality(1000),
            Box(-1e6, 1e6),
            L2Ball(1e6),
            LinfBall(1e6),
            Affine(np.zeros((1, 1)), np.zeros(1)),
        ]
        h = self.pick(sets[: 5 if p.shape == (1,) else 4])
        return Pair(h(p.e), lambda v: 0.0)

    def quadratic(self, p: Pair) -> Pair:
        n = (p.shape or (1,))[0]
        if not p.shape:
            p = Pair(p.e.reshape(1), lambda v, f=p.f: np.reshape(f(v), 1))
        Q = self.array(n, n)
        Q = Q + Q.T
        return Pair(quad_form(p.e, Q), lambda v: np.vdot(p.f(v), np.tensordot(Q, p.f(v), axes=1)))

    def of_library(self, p: Pair) -> Pair:
        G, y = self.array(4, p.shape[0]), self.array(4)
        Q, c = G.T @ G, self.array(p.shape[0])
        return self.pick(
            [
                Pair(LeastSquares(G, y)(p.e), lambda v: 0.5 * ((G @ p.f(v) - y) ** 2).sum()),
                Pair(-HuberLoss(G, y, 0.4)(p.e), lambda v: -_huber(G @ p.f(v) - y, 0.4)),
                Pair(Quadratic(Q, c)(p.e), lambda v: 0.5 * p.f(v) @ Q @ p.f(v) + c @ p.f(v)),
            ]
        )

    # ------------------------------------------------------------------ models

    def constraint(self) -> tuple[Any, Fun, str]:
        """A constraint that holds at the point `inside`, often with equality."""
        p = self.variable() if self.maybe() else self.expression(3)
        sense = self.pick(["==", "<=", ">="])
        here = p.f(self.inside)
        gap = np.where(self.rng.random(np.shape(here)) < 0.3, 0.0, self.rng.exponential(size=np.shape(here)))
        right = {"==": here, "<=": here + gap, ">=": here - gap}[sense]
        left_first = self.maybe(0.7)
        if sense == "==":
            constraint = p.e == right if left_first else right == p.e
        elif sense == "<=":
            constraint = p.e <= right if left_first else right >= p.e
        else:
            constraint = p.e >= right if left_first else right <= p.e
        return constraint, lambda v: p.f(v) - right, sense

    def model(self) -> Drawn:
        """The whole."""
        terms = [self.term() for _ in range(int(self.rng.integers(1, 5)))]
        objective, constant = terms[0].e, 0.0
        for t in terms[1:]:
            objective = objective + t.e
        if self.maybe(0.4):
            constant = self.number()
            objective = objective + constant
        if self.maybe(0.4):
            q, sign = self.expression(2), self.pick([-1.0, 1.0])
            terms.append(Pair(q.e.sum(), lambda v: sign * q.f(v).sum()))
            objective = objective - q.e.sum() if sign < 0 else q.e.sum() + objective
        drawn = [self.constraint() for _ in range(int(self.rng.integers(0, 4)))]
        problem = minimize(objective, [c for c, _, _ in drawn])

        def value(v: Values) -> float:
            return constant + sum(float(t.f(v)) for t in terms)

        return Drawn(problem, value, [(f, sense) for _, f, sense in drawn], self.inside)


def _huber(u: np.ndarray, delta: float) -> float:
    a = np.abs(u)
    return float(np.where(a <= delta, 0.5 * a**2, delta * a - 0.5 * delta**2).sum())


def _mcp(u: np.ndarray, lam: float, gamma: float) -> float:
    a = np.abs(u)
    return float(np.where(a <= gamma * lam, lam * a - a**2 / (2 * gamma), 0.5 * gamma * lam**2).sum())


def _isotropic(X: np.ndarray) -> float:
    down, right = np.zeros_like(X), np.zeros_like(X)
    down[:-1], right[:, :-1] = np.diff(X, axis=0), np.diff(X, axis=1)
    return float(np.sqrt(down**2 + right**2).sum())
