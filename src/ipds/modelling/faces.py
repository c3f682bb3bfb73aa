"""Functions that are known by a prox and smooth as well: as h in the last block, or as f of a linear model.

    Σ λ(u - t)²             as f, u = M x + c:   2λ · ½‖M x - (t - c)‖²
    Σ λ H_δ(u)              as f:                λ Σ H_δ(M x + c)
    Σ λ log(1 + exp(-a u))  as f:                λ Σ log(1 + exp(-a M x)), for c = 0 and labels a

and others that are differentiable everywhere, with a Lipschitz gradient, composed with M x + c.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import is_array
from ..functions import (
    Composed,
    Differentiable,
    Huber,
    HuberLoss,
    LeastSquares,
    Logistic,
    LogisticLoss,
    Smooth,
    SumSquares,
)
from ..functions.entrywise import Entrywise
from .maps import Map


def is_smooth(function: Any) -> bool:
    """Whether a function may stand as a smooth f, and so be negated."""
    if isinstance(function, Huber):
        return isinstance(function.lam, float)
    if isinstance(function, Entrywise):
        return function.is_differentiable and function.domain is None and function.largest_bend() is not None
    return isinstance(function, Smooth)


def as_smooth_of(function: Any, map_: Map, constant: Any) -> tuple[float, Smooth]:
    """(w, f) with w·f(x) = function(M x + constant), for a function that `is_smooth`."""
    zero = not is_array(constant) and constant == 0.0
    if isinstance(function, SumSquares) and isinstance(function.lam, float):
        return 2.0 * function.lam, LeastSquares(map_.operator, function.target - constant)
    if isinstance(function, Huber):
        return float(function.lam), HuberLoss(map_.operator, 0.0 - constant, function.delta)
    if isinstance(function, LogisticLoss) and zero and _is_plain(function):
        labels = np.broadcast_to(function.labels, map_.outputs) + 0.0
        return float(function.lam), Logistic(map_.operator, labels)
    f = Differentiable(function) if isinstance(function, Entrywise) else function
    return 1.0, f if zero and map_.multiple == 1.0 else Composed(f, map_.operator, constant)


def _is_plain(loss: LogisticLoss) -> bool:
    """Whether all entries have one weight and the scale 1."""
    return isinstance(loss.lam, float) and isinstance(loss.scale, float) and loss.scale == 1.0
