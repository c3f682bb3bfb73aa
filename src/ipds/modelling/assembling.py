"""Blocks, operators and the right-hand side from the parts of a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from .._arrays import Shape, to_numpy
from ..functions import Box, ExponentialCone, L2Ball, Linear, Nonsmooth, SecondOrderCone, Smooth, Weighted
from ..functions.composed import total
from ..operators import FlatStack, Operator, ZeroMap
from . import refusals
from .constants import block_constant, block_shape, plain
from .expressions import Expression, Variable
from .joining import concatenate
from .maps import Map
from .parts import Holding, Row

SMALL = 5000
"""Entries up to which rows of several parts are one dense matrix: a product with it takes less time than any call."""
WRITTEN, THIN = 40_000, 0.2
"""Entries up to which they are one sparse matrix, where no more than this share of them is other than 0."""


def require_together(rows: Sequence[Row]) -> None:
    """Rows on workers cannot share a vector with others."""
    for row in rows if len(rows) > 1 else ():
        if any(map_.operator.rows is not None for map_ in row.expression.maps.values()):
            others = ", ".join(other.note for other in rows if other is not row)
            raise ValueError(refusals.distributed(row.note, row.expression.shape, others))


def balls_as_cones(rows: list[Row]) -> list[Row]:
    """Several balls ‖e‖ ≤ r as cones ‖e‖ ≤ t with t = r, after all other rows: cones of one size are one function."""
    balls = [row for row in rows if type(row.function) is L2Ball]
    if len(balls) < 2:
        return rows
    cones = []
    for row in sorted(balls, key=lambda ball: ball.expression.size):
        e, radius = row.expression, np.full(1, row.function.radius)  # type: ignore[attr-defined]
        cones.append(
            replace(row, function=SecondOrderCone(), expression=concatenate([radius, e.reshape((e.size,))]))
        )
    return [row for row in rows if type(row.function) is not L2Ball] + cones


def merged(rows: Sequence[Row], equations: Sequence[Row]) -> list[tuple[Nonsmooth, Shape]]:
    """The functions of u by parts; cones of one size in a row are one array of them, all equations and inequalities one
    box."""
    parts: list[tuple[Nonsmooth, Shape]] = []
    for row in rows:
        h, shape = row.function, block_shape(row.expression.shape)
        is_cone = isinstance(h, SecondOrderCone | ExponentialCone)
        if is_cone and parts and type(parts[-1][0]) is type(h) and parts[-1][1][-1:] == shape:
            h, rest = parts.pop()
            shape = (math.prod(rest) // shape[0] + 1, *shape)
        parts.append((h, shape))
    if equations:
        sizes = [row.expression.size for row in equations]
        ends = [(row.function.lo, row.function.hi) for row in equations]  # type: ignore[attr-defined]
        low, high = (
            float(side[0]) if len(set(side)) == 1 else np.repeat(side, sizes)
            for side in zip(*ends, strict=True)
        )
        parts.append((Box(low, high), (sum(sizes),)))
    return parts


def smooth_of(holding: Holding, constant: float) -> Smooth | None:
    """The sum of a block's smooth terms and of a constant."""
    f = total([f if weight == 1.0 else Weighted(f, weight) for weight, f in holding.smooth])
    return f if constant == 0.0 else Weighted(Linear(0.0) if f is None else f, 1.0, constant)


def operator_of(variable: Variable, expressions: Sequence[Expression]) -> Operator:
    """-M_j for the rows of u, one matrix where all rows are sparse."""
    maps = [block_map(e.maps[variable]) if variable in e.maps else None for e in expressions]
    outputs = [block_shape(e.shape) for e in expressions]
    shape = block_shape(variable.shape)
    written = _written_out(maps, shape, outputs)
    if written is not None:
        return written
    if len(maps) == 1:
        return ZeroMap(shape, outputs[0]) if maps[0] is None else maps[0].negative
    if all(m is None or isinstance(m.body, float) or scipy.sparse.issparse(m.body) for m in maps):
        pieces = [
            scipy.sparse.csr_array((math.prod(out), math.prod(shape))) if m is None else m.matrix
            for m, out in zip(maps, outputs, strict=True)
        ]
        matrix = scipy.sparse.vstack(pieces, format="csr")
        return Map(shape, (matrix.shape[0],), matrix).negative
    return FlatStack(
        [ZeroMap(shape, out) if m is None else m.negative for m, out in zip(maps, outputs, strict=True)],
        shape,
    )


def _written_out(maps: Sequence[Map | None], shape: Shape, outputs: Sequence[Shape]) -> Operator | None:
    """The same as one small matrix, sparse where it is not that small; None where it is large, or a matrix already."""
    rows, columns = sum(map(math.prod, outputs)), math.prod(shape)
    if rows * columns > WRITTEN or (len(maps) == 1 and (maps[0] is None or maps[0].is_explicit)):
        return None
    found = [
        None if m is None else m.matrix if m.is_explicit else m.operator.as_matrix(m.inputs) for m in maps
    ]
    if any(M is None and m is not None for m, M in zip(maps, found, strict=True)):
        return None
    matrix, begin = np.zeros((rows, columns)), 0
    for M, out in zip(found, outputs, strict=True):
        end = begin + math.prod(out)
        if M is not None:
            matrix[begin:end] -= M.toarray() if scipy.sparse.issparse(M) else M
        begin = end
    is_small = matrix.size <= SMALL
    if not is_small and np.count_nonzero(matrix) > THIN * matrix.size:
        return None
    body = matrix if is_small else scipy.sparse.csr_array(matrix)
    return Map(shape, outputs[0] if len(maps) == 1 else (rows,), body).operator


def constants_of(rows: Sequence[Row]) -> Any:
    """c: a number where it is the same for all rows."""
    constants = [block_constant(row.expression.constant) for row in rows]
    if len(rows) == 1:
        return constants[0]
    if all(plain(c) and c == 0.0 for c in constants):
        return 0.0
    return np.concatenate(
        [
            np.broadcast_to(to_numpy(np.asarray(c)), row.expression.shape).reshape(-1)
            for row, c in zip(rows, constants, strict=True)
        ]
    )


def block_map(map_: Map) -> Map:
    """A map as one between blocks, which have at least one axis."""
    if map_.inputs and map_.outputs:
        return map_
    inputs, outputs = block_shape(map_.inputs), block_shape(map_.outputs)
    if map_.is_explicit:
        return Map(inputs, outputs, map_.body)
    before, after = Map(inputs, map_.inputs, 1.0), Map(map_.outputs, outputs, 1.0)
    return Map(inputs, outputs, after.operator @ map_.operator @ before.operator)
