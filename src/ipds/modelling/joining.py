"""Expressions from several others, and from neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import refusals
from .expressions import Expression, as_expression
from .maps import differences, placement
from .shapes import require_axis
from .writing import WHOLE, Text


def diff(expression: Expression, axis: int = 0) -> Expression:
    """Differences of neighbours along an axis: e[1:] - e[:-1].

    >>> from ipds import Variable
    >>> diff(Variable((5, 2), name="X")).shape
    (4, 2)
    """
    e = require_expression("diff", expression)
    if isinstance(axis, int) and axis >= max(e.ndim, 2):
        raise ValueError(
            f"diff: `{e}`, of shape {e.shape}, has no axis {axis}; second differences are diff(diff(e)), and so on"
        )
    require_axis(e, axis)
    if e.shape[axis] < 2:
        raise ValueError(f"diff: axis {axis} of `{e}`, of shape {e.shape}, has one entry and no differences")
    indices = np.moveaxis(np.arange(e.size).reshape(e.shape), axis, 0)
    low, high = np.moveaxis(indices[:-1], 0, axis), np.moveaxis(indices[1:], 0, axis)
    text = Text(f"diff({e.text}{f', axis={axis}' if axis else ''})", WHOLE)
    return e._then(differences(low, high, e.size), low.shape, text)


def concatenate(expressions: Sequence[Any], axis: int = 0) -> Expression:
    """Expressions (and arrays) one after another along an axis; numbers are vectors of one entry.

    >>> from ipds import Variable
    >>> x, y = Variable(3, name="x"), Variable(2, name="y")
    >>> concatenate([x, y])
    concatenate([x, y])
    >>> concatenate([x, y]).shape
    (5,)
    """
    if isinstance(expressions, Expression):
        raise TypeError("concatenate: the expressions go into a list: concatenate([x, y])")
    pieces = [require_expression("concatenate", e) for e in expressions]
    pieces = [e if e.shape else e.reshape(1)._named(e.text) for e in pieces]
    if not pieces:
        raise ValueError("concatenate: needs at least one expression")
    shapes = [p.shape for p in pieces]
    try:
        places = [np.arange(p.size).reshape(p.shape) for p in pieces]
        start = itertools.accumulate((p.size for p in pieces), initial=0)
        order = np.concatenate([place + s for place, s in zip(places, start, strict=False)], axis=axis)
    except ValueError:
        raise ValueError(
            f"concatenate: shapes {shapes} do not fit one after another along axis {axis}"
        ) from None
    text = Text(
        f"concatenate([{', '.join(str(p.text) for p in pieces)}]{f', axis={axis}' if axis else ''})", WHOLE
    )
    where = np.argsort(order.reshape(-1), kind="stable")  # where each entry of each piece goes
    total = Expression(order.shape, {}, 0.0, text)
    begin = 0
    for piece in pieces:
        body = placement(where[begin : begin + piece.size], order.size)
        total = total._add(piece._then(body, order.shape, piece.text), "+")
        begin += piece.size
    return total._named(text)


def require_expression(owner: str, value: Any) -> Expression:
    """`value` as an expression; TypeError where it is none."""
    expression = as_expression(value)
    if expression is None:
        raise TypeError(refusals.not_affine(owner, value))
    return expression
