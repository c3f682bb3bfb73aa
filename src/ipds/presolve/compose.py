"""f(c - N v) as a function of v, in the simplest terms that say it up to a constant."""

from __future__ import annotations

import math
from typing import Any

from .._arrays import is_array
from ..functions import Composed, LeastSquares, Linear, Quadratic, Smooth
from ..operators import Identity, Operator
from .slack import multiple, times


def composed(f: Smooth, N: Operator, c: Any) -> Smooth:
    """v ↦ f(c - N v) + constant: least squares, quadratics and linear functions stay such."""
    a = multiple(N)
    if a == -1.0 and not is_array(c) and c == 0.0:
        return f
    if isinstance(f, Quadratic) and isinstance(f.Q, Identity):
        q = f.Q.scale
        if a is not None:  # ½q‖c - av‖² + ⟨l, c - av⟩ = ½qa²‖v‖² - a⟨qc + l, v⟩ + constant
            return Quadratic(q * a**2, -a * (q * c + f.c))
        if q > 0:  # ½q‖c - Nv‖² + ⟨l, c - Nv⟩ = ½‖√q(N v - c - l/q)‖² + constant
            return LeastSquares(times(N, math.sqrt(q)), math.sqrt(q) * (c + f.c / q))
    if isinstance(f, Linear) and is_array(f.c):
        return Linear(-N.adjoint(f.c))
    if isinstance(f, LeastSquares) and a is not None and (is_array(c) or c == 0.0):
        shift = f.G.apply(c) if is_array(c) else 0.0  # ½‖G(c - av) - y‖² = ½‖aG v - (Gc - y)‖²
        return LeastSquares(times(f.G, a), shift - f.y)
    return Composed(f, times(N, -1.0), c)
