"""From the problem's blocks to (v, y) of the form, and from (v, u, y) back to a state with exact zeros and bounds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._arrays import Array, from_numpy, namespace, norm, to_numpy
from ...problem import Problem
from ...theory.state import State
from .form import Form

MET = 1e-5
"""Relative residual of the equation above which a state does not end a run, however little its rows weigh: those of
constraints may be small beside what they add up, and sweeps leave them last."""
HELD = 1e-6
"""The same of the rows of constraints alone, in units of what they add up: a budget that is missed weighs nothing
beside many rows of data, and a Newton step or two meet it."""
ROUNDING = 4.0
"""Units of the last place of its largest entry that a prox may be off."""
TINY = 1e-150
"""Beyond this nothing is left of a residual: where the solution is 0, all that it is compared with vanishes with it."""


def _last_slope(problem: Problem, u: np.ndarray) -> Any:
    """∇f_n at a flat u, 0 where there is no f_n."""
    last = problem.blocks[-1]
    return 0.0 if last.f is None else np.ravel(to_numpy(last.f.grad(u.reshape(last.shape))))


def point_of(problem: Problem, form: Form, z0: Array) -> tuple[np.ndarray, np.ndarray]:
    """(v, y) of the starting point, in the units of the form; a given z also says what a block's own h has for y."""
    v = form.inward(form.start)
    z, y = np.ravel(to_numpy(z0)).astype(float), np.zeros(form.m)
    last = form.source < z.size
    if np.any(z):
        u = np.zeros(z.size)
        u[form.source[last]] = ((form.apply(v) + form.c) / form.E)[last]
        y[last] = (-form.scale * z - _last_slope(problem, u))[form.source[last]] / form.E[last]
        y = y if form.turned is None else form.turned.inward(y)
        force = -(form.smooth.gradient(v) + form.adjoint(y)) / form.C
        for place, own in form.blocks:
            if own is not None:
                rows = (form.source >= own.start) & (form.source < own.stop)
                y[rows] = force[place][form.source[rows] - own.start] / form.E[rows]
    return v, y


class Pair(NamedTuple):
    """Where a method stands: v, and (u, y) with y ∈ ∂H(u) as nearly as it knows."""

    v: np.ndarray
    u: np.ndarray
    y: np.ndarray
    beta: float
    """The weight of the prox that makes the pair an exact one."""


def state_of(
    problem: Problem, form: Form, likes: tuple[Array, ...], pair: Pair, t: int, due: bool, strict: bool
) -> State:
    """The state in the problem's own units: every block with an h at a prox of it, s = (w - q)/step ∈ ∂h(q).

    `likes` are the starting blocks and z0: the state is of their library and precision. `strict` where constraints
    are to be met up to `HELD`.
    """
    u, beta = pair.u, pair.beta
    for _ in range(6):
        w = u + pair.y / beta
        q = form.terms.prox(w, beta)
        v = _on_faces(form, pair.v, q, w, beta)
        if form.smooth.is_finite(v):
            break
        # on a bound where f is not finite: nearer to v it is
        u, beta = form.apply(pair.v) + form.c, 100 * beta
    product = form.apply(v) + form.c
    q = _without_rounding(form, product, q)
    met = _is_met(form, product, q, v, pair.y) and (not strict or _are_held(form, product, q, v))
    met = met or _is_nothing(form, product, q, v, pair.y)
    if form.turned is not None:
        w[form.turned.rows] = q[form.turned.rows] + form.turned.outward(w - q)[form.turned.rows]
    rows = sum(place.stop - place.start for _, place in form.blocks if place is not None)
    size = math.prod(problem.blocks[-1].shape)
    own, point, step = np.zeros(size + rows), np.zeros(size + rows), np.zeros(size + rows)
    own[form.source], point[form.source] = q / form.E, w / form.E
    step[form.source] = 1 / (beta * form.E**2)
    v = _in_domains(form, form.outward(v), product, q)
    x: list[Any] = []
    points: list[Any] = []
    for (place, rows_of), block, like in zip(form.blocks, problem.blocks, likes, strict=False):
        own_rows = rows_of or slice(0, 0)
        at = v[place] if rows_of is None else own[own_rows]
        x.append(_like(at.reshape(block.shape), like))
        if rows_of is None:
            points.append((x[-1], 1.0))
        else:
            points.append(
                (_like(point[own_rows].reshape(block.shape), like), _step(step[own_rows], block.shape, like))
            )
    shape, like = problem.blocks[-1].shape, likes[-2]
    u, at = own[:size], point[:size]
    slope = _last_slope(problem, u)
    z = -((at - u) / step[:size] + slope) / form.scale
    last = _like(u.reshape(shape), like)
    points.append((_like(at.reshape(shape), like), _step(step[:size], shape, like)))
    return State(
        t,
        (*x, last),
        last,
        _like(z.reshape(problem.shape), likes[-1]),
        pair.beta,
        0.0,
        (None,) * len(problem.blocks),
        tuple(points),
        due=due,
        settled=met,
    )


def _without_rounding(form: Form, product: np.ndarray, q: np.ndarray) -> np.ndarray:
    """q with entries of M v + c where they differ by rounding: a prox of eigenvalues makes no exact zeros, as v has.

    That of a sum over entries is exact in each of them, however small it is beside others.
    """
    q = q.copy()
    for piece in form.terms.pieces:
        if piece.h.is_entrywise:
            continue
        own, there = q[piece.rows], product[piece.rows]
        units = ROUNDING * np.finfo(float).eps * np.max(np.abs(own), initial=0.0)
        q[piece.rows] = np.where(np.abs(own - there) <= units, there, own)
    return q


def _is_met(form: Form, product: np.ndarray, q: np.ndarray, v: np.ndarray, y: np.ndarray) -> bool:
    """Whether u = M v + c holds up to `MET`, or what is left of it moves the objective by rounding only."""
    left = norm(product - q)
    if left <= MET * max(norm(product), norm(q), norm(v)):  # ‖M‖ = 1
        return True
    return bool(left * norm(y) <= np.finfo(float).eps * abs(form.smooth.value(v)) + TINY)


def _is_nothing(form: Form, product: np.ndarray, q: np.ndarray, v: np.ndarray, y: np.ndarray) -> bool:
    """Whether what is left of u = M v + c changes ∇f by rounding of the forces only, as near a solution of zeros."""
    bend = np.max(form.smooth.curvature(v), initial=0.0)
    return bool(0.0 < norm(product - q) * bend <= np.finfo(float).eps * norm(y))


def _are_held(form: Form, product: np.ndarray, q: np.ndarray, v: np.ndarray) -> bool:
    """Whether the rows of constraints hold up to `HELD` of what they add up, or up to rounding in v: ‖M‖ = 1."""
    rows, sizes = form.constraints
    left = norm((product - q)[rows])
    if left <= np.finfo(float).eps * norm(v):
        return True
    return bool(left <= HELD * norm(sizes @ np.abs(v) + np.abs(form.c[rows])))


def _on_faces(form: Form, v: np.ndarray, q: np.ndarray, w: np.ndarray, beta: float) -> np.ndarray:
    """v with the entries that rows pick at the values of these rows: exact zeros and bounds in v as in u.

    Where several rows pick one entry, those at a kink or a bound come before others.
    """
    v, first = v.copy(), form.general - form.terms.last.start
    picked = (q - form.c)[form.general :]  # u = v + c there
    held = form.terms.entries.held(w[form.terms.last], 1 / beta)[first:]
    for rows in (~held, held):
        v[form.M.index[rows]] = picked[rows]
    return v


def _in_domains(form: Form, v: np.ndarray, product: np.ndarray, q: np.ndarray) -> np.ndarray:
    """v, in the units of the problem, with the entries of q that rows of losses pick, where M v + c is outside the
    domain of one of them: by rounding, where entries are tiny, as those of plans are that cost too much."""
    rows, entries, coefficients = form.lone
    if rows.size and not all(piece.is_finite(product) for piece in form.terms.pieces if piece.h.is_entrywise):
        v = v.copy()
        v[entries] = (q - form.c)[rows] / (form.E[rows] * coefficients)
    return v


def _step(step: np.ndarray, shape: tuple[int, ...], like: Array) -> Any:
    """One number where all are the same."""
    return float(step[0]) if step.size and (step == step[0]).all() else _like(step.reshape(shape), like)


def _like(x: np.ndarray, like: Array) -> Array:
    """In the library and the precision of `like`."""
    if type(like) is np.ndarray:
        return x.astype(like.dtype) if like.dtype != x.dtype and np.issubdtype(like.dtype, np.floating) else x
    return namespace(like).astype(from_numpy(x, like), like.dtype)
