"""Smooth losses of a linear model, f(x) = φ(G x), and the plain quadratic and linear functions.

`G` is a dense array, a SciPy sparse matrix, a LinearOperator or an `ipds.operators` map. Values and gradients
have the dtype that the products of `G` and `x` have: keep the data in float32 to compute in float32.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from .._arrays import (
    Array,
    Shape,
    adopted,
    all_finite,
    asarray,
    choose,
    dot,
    is_array,
    is_traced,
    namespace,
    require_real,
    scalar,
    truth,
)
from ..operators import Compose, Diagonal, Identity, Matrix, Operator, as_operator
from .base import Smooth
from .hessians import between, semidefinite
from .rescaling import after_units, units, with_parts


class _LinearModel(Smooth):
    """f(x) = φ(G x): one application of G for the value, one more of Gᵀ for the gradient. ∇²f(x) = Gᵀ ∇²φ(G x) G."""

    G: Operator

    @abstractmethod
    def _value(self, u: Array) -> float:
        """φ(u)."""

    @abstractmethod
    def _value_and_slope(self, u: Array) -> tuple[float, Array]:
        """(φ(u), ∇φ(u))."""

    @abstractmethod
    def row_curvature(self, u: Array) -> Array:
        """φ''(u) of every row, for a φ that is a sum over rows: ∇²f(x) = Gᵀ diag(φ''(G x)) G."""

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


class LeastSquares(_LinearModel):
    """f(x) = ½‖G x - y‖², ∇f(x) = Gᵀ(G x - y), Lipschitz with ‖G‖². The map `G` and the target `y` are kept.

    >>> f = LeastSquares(np.eye(2), np.ones(2))
    >>> f(np.zeros(2)), f.grad(np.zeros(2))
    (1.0, array([-1., -1.]))

    Reference: Boyd & Vandenberghe, *Convex Optimization* (2004), §6.1.
    """

    is_convex = is_quadratic = True

    def __init__(self, G: Any, y: Any):
        self.G = as_operator(G)
        self.y = _data("LeastSquares", "y", y, self.G)

    def _value(self, u: Array) -> float:
        return self._value_and_slope(u)[0]

    def _value_and_slope(self, u: Array) -> tuple[float, Array]:
        residual = u - self.y
        return 0.5 * dot(residual, residual), residual

    def row_curvature(self, u: Array) -> Array:
        return namespace(u).ones_like(u)

    def curvature(self, x: Array, d: Array) -> Array:
        return self.G.adjoint(self.G.apply(d))

    @cached_property
    def lipschitz(self) -> float:  # type: ignore[override]
        """‖G‖², computed when first asked for."""
        return self.G.norm() ** 2


class HuberLoss(_LinearModel):
    """f(x) = Σ φ((G x - y)_i) with φ(t) = ½t² for |t| ≤ δ, else δ|t| - ½δ²; ∇f(x) = Gᵀ clip(G x - y, -δ, δ).

    Lipschitz with ‖G‖². Reference: Huber, *Robust estimation of a location parameter*, Ann. Math. Stat. 1964.
    """

    is_convex = True

    def __init__(self, G: Any, y: Any, delta: float = 1.0):
        if not (math.isfinite(delta) and delta > 0):
            raise ValueError(f"HuberLoss: delta must be a finite number > 0, got {delta}")
        self.G = as_operator(G)
        self.y = _data("HuberLoss", "y", y, self.G)
        self.delta = float(delta)

    def _value(self, u: Array) -> float:
        return self._value_and_slope(u)[0]

    def _value_and_slope(self, u: Array) -> tuple[float, Array]:
        residual = u - self.y
        clipped = namespace(residual).clip(residual, -self.delta, self.delta)
        # c·(t - c/2) with c = clip(t) is both branches of φ at once
        return dot(clipped, residual - 0.5 * clipped), clipped

    def row_curvature(self, u: Array) -> Array:
        xp = namespace(u)
        return xp.astype(xp.abs(u - self.y) <= self.delta, u.dtype)

    @cached_property
    def lipschitz(self) -> float:  # type: ignore[override]
        """‖G‖², computed when first asked for."""
        return self.G.norm() ** 2


class Logistic(_LinearModel):
    """f(x) = Σ log(1 + exp(-y_i (G x)_i)), ∇f(x) = -Gᵀ(y / (1 + exp(y·G x))), Lipschitz with ‖G‖²/4.

    Labels y are -1 and 1; labels 0 and 1 are read as -1 and 1. f is the sum over
    the samples, not the mean. Reference: Hastie, Tibshirani & Friedman, *Elements of Statistical Learning*
    (2009), §4.4.
    """

    is_convex = True

    def __init__(self, G: Any, labels: Any):
        self.G = as_operator(G)
        given = _data("Logistic", "labels", labels, self.G)
        xp = namespace(given)
        given = choose(truth(xp.all((given == 0) | (given == 1))), 2 * given - 1, given)
        valid = xp.all(xp.abs(given) == 1)
        if not is_traced(valid) and not bool(valid):
            raise ValueError("Logistic: labels must all be -1 or 1 (or all 0 or 1)")
        self.labels = given

    def _value(self, u: Array) -> float:
        xp = namespace(u)
        margin = self.labels * u
        return scalar(xp.sum(xp.logaddexp(xp.zeros_like(margin), -margin)))

    def _value_and_slope(self, u: Array) -> tuple[float, Array]:
        xp = namespace(u)
        margin = self.labels * u
        loss = xp.logaddexp(xp.zeros_like(margin), -margin)
        # 1/(1 + exp(t)) = exp(-t - log(1 + exp(-t))): no overflow at either end
        return scalar(xp.sum(loss)), -self.labels * xp.exp(-margin - loss)

    def row_curvature(self, u: Array) -> Array:
        xp = namespace(u)
        # σ(t)σ(-t) = (1 - tanh²(t/2))/4, in factors that do not cancel
        half = xp.tanh(0.5 * xp.abs(u))
        return 0.25 * (1.0 - half) * (1.0 + half)

    @cached_property
    def lipschitz(self) -> float:  # type: ignore[override]
        """‖G‖²/4, computed when first asked for."""
        return 0.25 * self.G.norm() ** 2


class PhaseRetrieval(_LinearModel):
    """f(v) = ½‖(G v)² - z‖² for real v, squares entrywise; ∇f(v) = 2 Gᵀ(((G v)² - z) · G v).

    A complex matrix G measures |G v|²: it is stored as its real and imaginary parts, so v and the gradient
    stay real. (A complex signal v = a + ib is the real unknown (a, b) with the matrix [G, iG].)
    The gradient has no global Lipschitz constant: see `local_lipschitz`.

    Reference: Candès, Li & Soltanolkotabi, *Phase retrieval via Wirtinger flow*, IEEE Trans. IT 2015.
    """

    is_convex = False

    def __init__(self, G: Any, z: Any):
        self._complex = _is_complex(G)
        self.G = Matrix(_stack_parts(G)) if self._complex else as_operator(G)
        self.z = _data("PhaseRetrieval", "z", z, self.G, parts=2 if self._complex else 1)

    def _value(self, u: Array) -> float:
        residual = self._power(u) - self.z
        return 0.5 * dot(residual, residual)

    def _value_and_slope(self, u: Array) -> tuple[float, Array]:
        residual = self._power(u) - self.z
        both = namespace(u).concat([residual, residual]) if self._complex else residual
        return 0.5 * dot(residual, residual), 2 * u * both

    def row_curvature(self, u: Array) -> Array:
        if self._complex:
            raise NotImplementedError("PhaseRetrieval: the real and imaginary parts of a row bend together")
        return 6 * u * u - 2 * self.z

    def curvature(self, x: Array, d: Array) -> Array:
        """Gᵀ(2(|u|² - z)·w + 4 Re(ū w)·u) with u = G x, w = G d."""
        u, w = self.G.apply(x), self.G.apply(d)
        bend, along = 2 * (self._power(u) - self.z), 4 * self._inner(u, w)
        if self._complex:
            xp = namespace(u)
            bend, along = xp.concat([bend, bend]), xp.concat([along, along])
        return self.G.adjoint(bend * w + along * u)

    def hessian(self, x: Array) -> Any:
        return Smooth.hessian(self, x) if self._complex else super().hessian(x)

    def _inner(self, u: Array, w: Array) -> Array:
        """Re(ū w) of every row."""
        product = u * w
        half = product.shape[0] // 2
        return product[:half, ...] + product[half:, ...] if self._complex else product

    def _power(self, u: Array) -> Array:
        """|G v|² from u = G v, or from its real part above its imaginary part."""
        return self._inner(u, u)

    def local_lipschitz(self, x: Array, radius: float) -> float:
        """A Lipschitz constant of ∇f on the ball of `radius` around x.

        φ(u) = ½(u² - z)² has curvature within [2u² - 2z, 6u² - 2z], and |G v| moves by at most ‖G‖·radius.
        """
        norm = self.G.norm()
        amplitude = self._power(self.G.apply(x)) ** 0.5
        xp = namespace(amplitude)
        reach = amplitude + norm * radius
        return norm**2 * max(
            float(xp.max(6 * reach**2 - 2 * self.z)), float(xp.max(2 * self.z + 0 * reach)), 0.0
        )


class Quadratic(Smooth):
    """f(x) = ½⟨x, Q x⟩ + ⟨c, x⟩ with symmetric Q, possibly indefinite; ∇f(x) = Q x + c, Lipschitz with ‖Q‖.

    >>> f = Quadratic(np.diag([2.0, -1.0]), np.ones(2))
    >>> f.value_and_grad(np.ones(2))
    (2.5, array([3., 0.]))
    """

    is_quadratic = True

    def __init__(self, Q: Any, c: Any = 0.0):
        _require_symmetric(Q)
        self.Q = as_operator(Q)
        self.c = _data("Quadratic", "c", c, self.Q)
        self._no_linear_term = not is_array(self.c) and self.c == 0.0

    def __call__(self, x: Array) -> float:
        return self.value_and_grad(x)[0]

    def grad(self, x: Array) -> Array:
        product = self.Q.apply(x)
        return product if self._no_linear_term else product + self.c

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        product = self.Q.apply(x)
        if self._no_linear_term:
            return 0.5 * dot(x, product), product
        # ½⟨x, Qx⟩ + ⟨c, x⟩ = ½⟨x, (Qx + c) + c⟩
        gradient = product + self.c
        return 0.5 * dot(x, gradient + self.c), gradient

    @cached_property
    def is_convex(self) -> bool | None:  # type: ignore[override]
        """Whether Q ≽ 0, by a factorisation when first asked for; None where Q is known by its products only."""
        return semidefinite(self.Q)

    def curvature(self, x: Array, d: Array) -> Array:
        return self.Q.apply(d)

    def hessian(self, x: Array) -> Any:
        if isinstance(self.Q, Identity):
            return self.Q.scale * namespace(x).ones_like(namespace(x).reshape(x, (-1,)))
        if isinstance(self.Q, Diagonal):
            return namespace(x).reshape(self.Q.diagonal, (-1,))
        matrix = self.Q.as_matrix(x.shape) if x.ndim == 1 else None
        return self.Q if matrix is None else matrix

    @cached_property
    def lipschitz(self) -> float:  # type: ignore[override]
        """‖Q‖, computed when first asked for."""
        return self.Q.norm()

    def rescaled(self, d: float | Array) -> Quadratic | None:
        """½⟨x, DQD x⟩ + ⟨d·c, x⟩."""
        found = units(d)
        shape = tuple(self.c.shape) if is_array(self.c) else None
        right = after_units(self.Q, found, shape)
        if right is None:
            return None
        if isinstance(found, float):
            Q: Operator | None = after_units(right, found)
        elif isinstance(right, Matrix):
            Q = after_units(right.T, found)  # (QD)ᵀD = DQD
        elif isinstance(right, Diagonal):
            Q = Diagonal(right.diagonal * found)
        else:
            Q = right.right @ right if isinstance(right, Compose) else None
        if Q is None:
            return None
        c = self.c if self._no_linear_term else asarray(found, self.c) * self.c if shape else self.c * found
        same = {"is_convex": self.is_convex} if "is_convex" in vars(self) else {}  # as D is positive
        return with_parts(self, Q=Q, c=c, **same)


class Linear(Smooth):
    """f(x) = ⟨c, x⟩, ∇f(x) = c, Lipschitz with 0."""

    lipschitz = 0.0
    is_convex = is_quadratic = True

    def __init__(self, c: Any):
        self.c = _data("Linear", "c", c, None)

    def __call__(self, x: Array) -> float:
        return scalar(namespace(x).sum(self.c * x))

    def grad(self, x: Array) -> Array:
        # + 0·x broadcasts a scalar c and never hands out our own array
        return self.c + 0 * x

    def curvature(self, x: Array, d: Array) -> Array:
        return namespace(x).zeros_like(x)

    def hessian(self, x: Array) -> Any:
        return namespace(x).zeros_like(namespace(x).reshape(x, (-1,)))

    def rescaled(self, d: float | Array) -> Linear:
        """c times d."""
        found = units(d)
        return Linear((asarray(found, self.c) if is_array(self.c) else found) * self.c)


def _data(name: str, argument: str, value: Any, G: Operator | None, parts: int = 1) -> Array:
    """`value` as a finite float array (numbers stay numbers) that fits the rows of G where known."""
    if scipy.sparse.issparse(value):
        raise TypeError(
            f"{name}: {argument} must be a dense array, got a sparse one; pass {argument}.toarray()"
        )
    require_real(f"{name}: {argument}", value)
    value = adopted(value, f"{name}: {argument}")
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


def _is_complex(G: Any) -> bool:
    if type(G) is np.ndarray or scipy.sparse.issparse(G):
        return bool(np.issubdtype(G.dtype, np.complexfloating))
    return is_array(G) and bool(namespace(G).isdtype(G.dtype, "complex floating"))


def _stack_parts(G: Any) -> Any:
    if scipy.sparse.issparse(G):
        return scipy.sparse.vstack([G.real, G.imag])
    xp = namespace(G)
    return xp.concat([xp.real(G), xp.imag(G)])


def _require_symmetric(Q: Any) -> None:
    if not (scipy.sparse.issparse(Q) or is_array(Q)) or Q.ndim != 2:
        return
    if Q.shape[0] != Q.shape[1]:
        raise ValueError(f"Quadratic: Q must be square, got shape {tuple(Q.shape)}")
    gap, size = abs(Q - Q.T), abs(Q)
    largest = gap.max() if scipy.sparse.issparse(Q) else namespace(Q).max(gap)
    scale = size.max() if scipy.sparse.issparse(Q) else namespace(Q).max(size)
    if not is_traced(largest) and float(largest) > 1e-6 * float(scale):
        raise ValueError("Quadratic: Q must be symmetric; pass (Q + Q.T) / 2, which gives the same function")
