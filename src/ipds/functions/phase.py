"""Phase retrieval: a linear model of which only the squared magnitudes are measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from .._arrays import Array, dot, is_array, namespace
from ..operators import Matrix
from ._arguments import linear_map
from .base import Smooth
from .losses import LinearModel, data


class PhaseRetrieval(LinearModel):
    """f(v) = ½‖(G v)² - z‖² for real v, squares entrywise; ∇f(v) = 2 Gᵀ(((G v)² - z) · G v).

    A complex matrix G measures |G v|²: it is stored as its real and imaginary parts, so v and the gradient
    stay real. (A complex signal v = a + ib is the real unknown (a, b) with the matrix [G, iG].)
    The gradient has no global Lipschitz constant: see `local_lipschitz`.

    Reference: Candès, Li & Soltanolkotabi, *Phase retrieval via Wirtinger flow*, IEEE Trans. IT 2015.
    """

    is_convex = False
    is_even = True

    def __init__(self, G: Any, z: Any):
        self._complex = _is_complex(G)
        self.G = Matrix(_stack_parts(G)) if self._complex else linear_map("PhaseRetrieval", "G", G)
        self.z = data("PhaseRetrieval", "z", z, self.G, parts=2 if self._complex else 1)

    def largest_bend(self) -> None:
        """None: φ is of fourth order."""

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
        return self._inner(u, u) if self._complex else u * u

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


def _is_complex(G: Any) -> bool:
    if type(G) is np.ndarray or scipy.sparse.issparse(G):
        return bool(np.issubdtype(G.dtype, np.complexfloating))
    return is_array(G) and bool(namespace(G).isdtype(G.dtype, "complex floating"))


def _stack_parts(G: Any) -> Any:
    if scipy.sparse.issparse(G):
        return scipy.sparse.vstack([G.real, G.imag])
    xp = namespace(G)
    return xp.concat([xp.real(G), xp.imag(G)])
