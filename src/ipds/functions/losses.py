"""Smooth losses of a linear model, f(x) = φ(G x).

`G` is a dense array, a SciPy sparse matrix, a LinearOperator or an `ipds.operators` map. Values and gradients
have the dtype that the products of `G` and `x` have: keep the data in float32 to compute in float32.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import (
    Array,
    Shape,
    absolute_sum,
    adopted,
    all_finite,
    choose,
    dot,
    is_array,
    is_traced,
    namespace,
    require_dense,
    require_real,
    scalar,
    to_numpy,
    truth,
)
from ..operators import Identity, Matrix, Operator
from ._arguments import linear_map, weight
from .base import Smooth
from .far import vanishes
from .hessians import between
from .rescaling import after_units, units, with_parts


class LinearModel(Smooth):
    """f(x) = φ(G x): one application of G for the value, one more of Gᵀ for the gradient. ∇²f(x) = Gᵀ ∇²φ(G x) G."""

    G: Operator

    def _value(self, u: Array) -> float:
        """φ(u)."""
        return self._value_and_slope(u)[0]

    @abstractmethod
    def _value_and_slope(self, u: Array) -> tuple[float, Array]:
        """(φ(u), ∇φ(u))."""

    def row_slope(self, u: Array) -> Array:
        """∇φ(u)."""
        return self._value_and_slope(u)[1]

    @abstractmethod
    def row_curvature(self, u: Array) -> Array:
        """φ''(u) of every row, for a φ that is a sum over rows: ∇²f(x) = Gᵀ diag(φ''(G x)) G."""

    def largest_bend(self) -> float | None:
        """sup φ'', None where there is none."""
        return 1.0

    @cached_property
    def lipschitz(self) -> float | None:  # type: ignore[override]
        """sup φ''·‖G‖², computed when first asked for."""
        bend = self.largest_bend()
        return None if bend is None else bend * self.G.norm() ** 2

    def __call__(self, x: Array) -> float:
        return self._value(self.G.apply(x))

    def grad(self, x: Array) -> Array:
        return self.G.adjoint(self._value_and_slope(self.G.apply(x))[1])

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        value, slope = self._value_and_slope(self.G.apply(x))
        return value, self.G.adjoint(slope)

    def curvature(self, x: Array, d: Array) -> Array:
        return self.G.adjoint(self.row_curvature(self.G.apply(x)) * self.G.apply(d))

    def hessian(self, x: Array) -> Any:
        weights = self.row_curvature(self.G.apply(x))
        return between(self.G, namespace(x).reshape(weights, (-1,)), x.shape)

    def rescaled(self, d: float | Array) -> Smooth | None:
        """The same φ of G(d·x)."""
        G = after_units(self.G, units(d), self._block_shape())
        return None if G is None else with_parts(self, G=G)

    def _block_shape(self) -> Shape | None:
        """The shape of x, where the data say it: that of G x for a scaled identity."""
        data: Any = getattr(self, "y", getattr(self, "labels", None))
        return tuple(data.shape) if isinstance(self.G, Identity) and is_array(data) else None


class LeastSquares(LinearModel):
    """f(x) = ½‖G x - y‖², ∇f(x) = Gᵀ(G x - y), Lipschitz with ‖G‖². The map `G` and the target `y` are kept.

    >>> f = LeastSquares(np.eye(2), np.ones(2))
    >>> f(np.zeros(2)), f.grad(np.zeros(2))
    (1.0, array([-1., -1.]))

    Reference: Boyd & Vandenberghe, *Convex Optimization* (2004), §6.1.
    """

    is_convex = is_quadratic = True

    def __init__(self, G: Any, y: Any):
        self.G = linear_map("LeastSquares", "G", G)
        self.y = data("LeastSquares", "y", y, self.G)

    def _value_and_slope(self, u: Array) -> tuple[float, Array]:
        residual = u - self.y
        return 0.5 * dot(residual, residual), residual

    def row_curvature(self, u: Array) -> Array:
        return namespace(u).ones_like(u)

    def curvature(self, x: Array, d: Array) -> Array:
        return self.G.adjoint(self.G.apply(d))

    def recession(self, d: Array) -> float:
        """0 where G d = 0, else ∞."""
        return 0.0 if vanishes(self.G.apply(d), self.G.norm(), d) else math.inf


class HuberLoss(LinearModel):
    """f(x) = Σ φ((G x - y)_i) with φ(t) = ½t² for |t| ≤ δ, else δ|t| - ½δ²; ∇f(x) = Gᵀ clip(G x - y, -δ, δ).

    Lipschitz with ‖G‖². Reference: Huber, *Robust estimation of a location parameter*, Ann. Math. Stat. 1964.
    """

    is_convex = True

    def __init__(self, G: Any, y: Any, delta: float = 1.0):
        if not (math.isfinite(delta) and delta > 0):
            raise ValueError(f"HuberLoss: delta must be a finite number > 0, got {delta}")
        self.G = linear_map("HuberLoss", "G", G)
        self.y = data("HuberLoss", "y", y, self.G)
        self.delta = float(delta)

    def _value_and_slope(self, u: Array) -> tuple[float, Array]:
        residual = u - self.y
        clipped = namespace(residual).clip(residual, -self.delta, self.delta)
        # c·(t - c/2) with c = clip(t) is both branches of φ at once
        return dot(clipped, residual - 0.5 * clipped), clipped

    def row_curvature(self, u: Array) -> Array:
        xp = namespace(u)
        return xp.astype(xp.abs(u - self.y) <= self.delta, u.dtype)

    def recession(self, d: Array) -> float:
        """δ Σ |(G d)_i|."""
        return self.delta * absolute_sum(self.G.apply(d))


class Logistic(LinearModel):
    """f(x) = Σ c_i log(1 + exp(-y_i (G x)_i)), ∇f(x) = -Gᵀ(c y / (1 + exp(y·G x))), Lipschitz with max(c)‖G‖²/4.

    Labels y are -1 and 1; labels 0 and 1 are read as -1 and 1. `weights` c of the samples, 1 when left out. f is the
    sum over the samples, not the mean. Reference: Hastie, Tibshirani & Friedman, *Elements of Statistical Learning*
    (2009), §4.4.
    """

    is_convex = True

    def __init__(self, G: Any, labels: Any, weights: Any = 1.0):
        self.G = linear_map("Logistic", "G", G)
        self.weights = weight("Logistic", "weights", weights)
        given = data("Logistic", "labels", labels, self.G)
        xp = namespace(given)
        given = choose(truth(xp.all((given == 0) | (given == 1))), 2 * given - 1, given)
        valid = xp.all(xp.abs(given) == 1)
        if not is_traced(valid) and not bool(valid):
            raise ValueError("Logistic: labels must all be -1 or 1 (or all 0 or 1)")
        self.labels = given

    def _value(self, u: Array) -> float:
        xp = namespace(u)
        margin = self.labels * u
        return scalar(xp.sum(self.weights * xp.logaddexp(xp.zeros_like(margin), -margin)))

    def _value_and_slope(self, u: Array) -> tuple[float, Array]:
        xp = namespace(u)
        margin = self.labels * u
        loss = xp.logaddexp(xp.zeros_like(margin), -margin)
        # 1/(1 + exp(t)) = exp(-t - log(1 + exp(-t))): no overflow at either end
        return scalar(xp.sum(self.weights * loss)), -self.weights * self.labels * xp.exp(-margin - loss)

    def recession(self, d: Array) -> float:
        """Σ c_i max(-y_i (G d)_i, 0)."""
        xp = namespace(d)
        return scalar(xp.sum(self.weights * xp.clip(-self.labels * self.G.apply(d), 0.0, None)))

    def row_curvature(self, u: Array) -> Array:
        xp = namespace(u)
        # σ(t)σ(-t) = (1 - tanh²(t/2))/4, in factors that do not cancel
        half = xp.tanh(0.5 * xp.abs(u))
        return self.weights * 0.25 * (1.0 - half) * (1.0 + half)

    def largest_bend(self) -> float:
        return 0.25 * float(np.max(to_numpy(self.weights), initial=0.0))


def data(name: str, argument: str, value: Any, G: Operator | None, parts: int = 1) -> Array:
    """`value` as a finite float array (numbers stay numbers) that fits the rows of G where known."""
    require_dense(f"{name}: {argument}", value)
    value = adopted(value, f"{name}: {argument}")
    require_real(f"{name}: {argument}", value)
    # lists and integers take the precision of the matrix
    dtype = G.matrix.dtype if isinstance(G, Matrix) and G.natural_shape() else float
    if not is_array(value):
        value = float(value) if np.ndim(value) == 0 else np.asarray(value, dtype=dtype)
    if is_array(value):
        if type(value) is np.ndarray and not np.issubdtype(value.dtype, np.floating):
            value = value.astype(dtype)
        if not all_finite(value):
            raise ValueError(f"{name}: {argument} contains NaN or infinity")
        if isinstance(G, Matrix):
            rows = G.matrix.shape[0] // parts
            if value.ndim and value.shape[0] != rows:
                raise ValueError(
                    f"{name}: {argument} of shape {tuple(value.shape)} does not fit a matrix of "
                    f"{rows} rows and {G.matrix.shape[1]} columns; its first axis must have length {rows}"
                )
    elif not math.isfinite(value):
        raise ValueError(f"{name}: {argument} must be finite, got {value}")
    return value
