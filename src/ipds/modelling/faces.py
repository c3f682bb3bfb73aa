"""Functions that are known by a prox and smooth as well: as h in the last block, or as f of a linear model.

Σ λ(u - t)²             as f, u = M x + c:   2λ · ½‖M x - (t - c)‖²
Σ λ H_δ(u)              as f:                λ Σ H_δ(M x + c)
Σ λ log(1 + exp(-a u))  as f:                λ Σ log(1 + exp(-a M x)), for c = 0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import is_array
from ..functions import Composed, Huber, HuberLoss, LeastSquares, Logistic, LogisticLoss, Smooth, SumSquares
from .maps import Map


def is_smooth(function: Any) -> bool:
    """Whether a function may stand as a smooth f, and so be negated."""
    if isinstance(function, SumSquares | Huber):
        return isinstance(function.lam, float)
    if isinstance(function, LogisticLoss):
        return isinstance(function.lam, float) and isinstance(function.scale, float) and function.scale == 1.0
    return isinstance(function, Smooth)


def as_smooth_of(function: Any, map_: Map, constant: Any) -> tuple[float, Smooth] | None:
    """(w, f) with w·f(x) = function(M x + constant), None where there is no such f."""
    zero = not is_array(constant) and constant == 0.0
    if isinstance(function, SumSquares):
        target = function.target - constant
        return 2.0 * float(function.lam), LeastSquares(map_.operator, target)
    if isinstance(function, Huber):
        return float(function.lam), HuberLoss(map_.operator, 0.0 - constant, function.delta)
    if isinstance(function, LogisticLoss):
        if not zero:
            return None
        labels = np.broadcast_to(function.labels, map_.outputs) + 0.0
        return float(function.lam), Logistic(map_.operator, labels)
    if zero and map_.multiple == 1.0:
        return 1.0, function
    return 1.0, Composed(function, map_.operator, constant)
