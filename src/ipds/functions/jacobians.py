"""Derivatives of proxes that are not entrywise: symmetric maps, kept as factors.

`h.prox_jacobian(v, step)` is an element J of the generalised Jacobian of prox_h(·, step) at v. The prox of a convex h
is the gradient of a convex function and firmly nonexpansive, so J is symmetric and 0 ≼ J ≼ I there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from .._arrays import Array, Shape, asarray, namespace, of_arrays, to_numpy
from ..operators import Diagonal, Identity, Operator
from ..operators.base import Symmetric
from ..operators.maps import on_rows
from ..operators.one_shape import OfOneShape


class Jacobian(Symmetric, OfOneShape):
    """A symmetric map J of arrays of `shape`, ‖J‖ ≤ `bound`; a subclass gives `apply`."""

    is_natural = False

    def __init__(self, shape: Shape, bound: float = 1.0) -> None:
        self.shape, self.bound = tuple(shape), bound
        self.output = self.shape

    def norm(self) -> float:
        return self.bound

    def low_rank(self) -> tuple[np.ndarray, Any, np.ndarray] | None:
        """(a, V, c) with J = diag(a) + V diag(c) Vᵀ on the flattened block, V dense or sparse; None where unknown."""
        return None

    def as_matrix(self, shape: Shape) -> Any:
        found = self.low_rank()
        if found is None:
            return None
        a, V, c = found
        return scipy.sparse.diags_array(a, format="csr") + (V * c) @ V.T

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.shape}"


class RankOnePerGroup(Jacobian):
    """d ↦ a·d + u·(c_g ⟨u, d⟩_g): a diagonal, plus a rank-one term for each of the disjoint groups g of entries.

    `diagonal` is a, a number or an array that broadcasts to u. A group extends along `axes` (all of them by default),
    and the `weights` c then broadcast to u; or `labels` holds the group of every entry of the flattened block, and c_g
    is weights[g].
    """

    def __init__(
        self,
        diagonal: Any,
        u: Array,
        weights: Any,
        *,
        axes: tuple[int, ...] | None = None,
        labels: np.ndarray | None = None,
        bound: float = 1.0,
    ) -> None:
        super().__init__(u.shape, bound)
        self.diagonal, self.u, self.weights, self.labels = diagonal, u, weights, labels
        self.axes = tuple(range(u.ndim)) if axes is None else axes

    def apply(self, x: Array) -> Array:
        if self.labels is None:
            inner = namespace(x).sum(self.u * x, axis=self.axes, keepdims=True)
            return self.diagonal * x + self.u * (self.weights * inner)
        if type(x) is not np.ndarray:
            return asarray(self.apply(to_numpy(x)), like=x)
        inner = np.bincount(self.labels, (self.u * x).reshape(-1), len(self.weights))
        terms = (self.weights * inner)[self.labels].reshape(x.shape).astype(x.dtype, copy=False)
        return self.diagonal * x + self.u * terms

    def low_rank(self) -> tuple[np.ndarray, Any, np.ndarray]:
        u, weights, labels = to_numpy(self.u), to_numpy(self.weights), self.labels
        if labels is None:
            kept = tuple(1 if k in self.axes else n for k, n in enumerate(self.shape))
            weights = np.broadcast_to(weights, kept).reshape(-1)
            labels = np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), self.shape).reshape(-1)
        diagonal = np.broadcast_to(to_numpy(self.diagonal), self.shape).reshape(-1)
        V = of_arrays("csr_array", (u.size, weights.size), u.reshape(-1), labels, np.arange(u.size + 1))
        return diagonal, V, weights


def centring(active: Array, axes: tuple[int, ...] | None = None) -> RankOnePerGroup:
    """d ↦ d minus its mean, over the `active` entries (1, others 0) of every group along `axes`; 0 on the others."""
    xp = namespace(active)
    count = xp.sum(active, axis=axes, keepdims=True)
    return RankOnePerGroup(active, active, -1.0 / xp.clip(count, 1.0, None), axes=axes)


class Projector(Jacobian):
    """d ↦ d - W Wᵀ d along the first axis, for W with orthonormal columns."""

    def __init__(self, W: np.ndarray, shape: Shape) -> None:
        super().__init__(shape)
        self.W = W

    def apply(self, x: Array) -> Array:
        W = asarray(self.W, x)
        return x - W @ (W.T @ x)

    def low_rank(self) -> tuple[np.ndarray, Any, np.ndarray]:
        V = on_rows(self.W, math.prod(self.shape[1:]))
        return np.ones(math.prod(self.shape)), V, -np.ones(V.shape[1])


class Spectral(Jacobian):
    """The derivative of v = U diag(σ) Wᵀ ↦ U diag(g) Wᵀ at v, where g depends on σ and has the slope `slope` if g ≠ 0.

    With H₁ = UᵀHW for a direction H, and its symmetric and skew parts,
    J H = U (Γ∘sym H₁ + Ω∘skew H₁) Wᵀ + what lies outside of both ranges, times g/σ;
    Γ_ij = (g_i - g_j)/(σ_i - σ_j), Ω_ij = (g_i + g_j)/(σ_i + σ_j). The g_i ≠ 0 come first, and terms without one of
    them vanish: the cost of `apply` is that of as many columns.
    Lewis & Sendov, Nonsmooth analysis of singular values, Set-Valued Analysis 13 (2005).
    """

    def __init__(self, U: Array, sigma: Array, Wt: Array, g: Array, slope: float) -> None:
        xp = namespace(sigma)
        super().__init__((U.shape[0], Wt.shape[1]))
        k = int(np.count_nonzero(g)) if type(g) is np.ndarray else g.shape[0]
        self.U1, self.U2, self.Wt1, self.Wt2 = U[:, :k], U[:, k:], Wt[:k, :], Wt[k:, :]
        a, s = g[:k][:, None], sigma[:k][:, None]

        def quotient(top: Array, bottom: Array) -> Array:
            return top / xp.where(bottom > 0, bottom, xp.ones_like(bottom))

        self.ratio = quotient(a, s)
        both = (a != 0) & (a.T != 0)
        self.gamma = xp.where(
            both, slope * xp.astype(both, a.dtype), quotient(xp.abs(a - a.T), xp.abs(s - s.T))
        )
        self.omega = quotient(a + a.T, s + s.T)
        rest = sigma[None, k:]
        self.gamma_rest, self.omega_rest = (
            quotient(a + 0.0 * rest, s - rest),
            quotient(a + 0.0 * rest, s + rest),
        )

    def norm(self) -> float:
        return max(map(_largest, (self.gamma, self.omega, self.gamma_rest)))

    def apply(self, x: Array) -> Array:
        rows, columns = self.shape
        left, right = self.U1.T @ x, x @ self.Wt1.T
        inside, across, down = left @ self.Wt1.T, left @ self.Wt2.T, self.U2.T @ right
        sym, skew = 0.5 * (inside + _turned(inside)), 0.5 * (inside - _turned(inside))
        even = 0.5 * self.gamma_rest * (across + _turned(down))
        odd = 0.5 * self.omega_rest * (across - _turned(down))
        top = (self.gamma * sym + self.omega * skew) @ self.Wt1 + (even + odd) @ self.Wt2
        if rows < columns:
            top = top + self.ratio * (left - inside @ self.Wt1 - across @ self.Wt2)
        out = self.U1 @ top + self.U2 @ (_turned(even - odd) @ self.Wt1)
        if rows > columns:
            out = out + ((right - self.U1 @ inside - self.U2 @ down) * self.ratio[:, 0]) @ self.Wt1
        return out

    def matrix(self) -> np.ndarray:
        """The same on flattened matrices: what becomes of all unit vectors at once."""
        size = math.prod(self.shape)
        return self.apply(np.eye(size).reshape(size, *self.shape)).reshape(size, size)


def _turned(x: Array) -> Array:
    """The transpose, of each of several matrices where there is a first axis of them."""
    return x.T if x.ndim == 2 else np.swapaxes(x, 1, 2)


class Conjugated(Jacobian):
    """H ↦ Q (Ω ∘ Qᵀ sym(H) Q) Qᵀ: the derivative of a function of the eigenvalues of a symmetric matrix."""

    def __init__(self, Q: Array, omega: Array) -> None:
        super().__init__(Q.shape)
        self.Q, self.omega = Q, omega

    def apply(self, x: Array) -> Array:
        return self.Q @ (self.omega * (self.Q.T @ (0.5 * (x + x.T)) @ self.Q)) @ self.Q.T

    def matrix(self) -> np.ndarray:
        """The same on flattened matrices, of n⁴ entries: (Q⊗Q) diag(Ω) (Q⊗Q)ᵀ on symmetric ones."""
        Q, omega = to_numpy(self.Q), to_numpy(self.omega)
        n = len(Q)
        both = (Q[:, None, :, None] * Q[None, :, None, :]).reshape(n * n, n * n)
        straight = (both * omega.reshape(-1)) @ both.T
        return 0.5 * (straight + straight[:, np.arange(n * n).reshape(n, n).T.reshape(-1)])


class OnParts(Jacobian):
    """Maps that act each on its own part of the flattened block: a block-diagonal one, up to the order of the entries.

    `parts` is a list of (places, J_k, shape_k): the places of the part in the flattened block, a slice or integer
    indices; its map, an array for a diagonal one; its shape. The parts cover every entry once.
    """

    def __init__(self, parts: Sequence[tuple[slice | np.ndarray, Any, Shape]], shape: Shape) -> None:
        super().__init__(shape)
        self.parts = list(parts)
        everything = np.arange(math.prod(self.shape))
        self.order = np.concatenate([everything[places] for places, _, _ in self.parts])
        self._back = np.argsort(self.order)

    def apply(self, x: Array) -> Array:
        xp = namespace(x)
        flat, pieces = xp.reshape(x, (-1,)), []
        for places, J, shape in self.parts:
            own = flat[places] if isinstance(places, slice) else xp.take(flat, xp.asarray(places), axis=0)
            own = xp.reshape(own, shape)
            pieces.append(xp.reshape(J.apply(own) if isinstance(J, Operator) else J * own, (-1,)))
        return xp.reshape(xp.take(xp.concat(pieces), xp.asarray(self._back), axis=0), self.shape)

    def norm(self) -> float:
        return max(J.norm() if isinstance(J, Operator) else _largest(J) for _, J, _ in self.parts)

    def as_matrix(self, shape: Shape) -> Any:
        blocks = [jacobian_map(J).as_matrix(own) for _, J, own in self.parts]
        if any(block is None for block in blocks):
            return None
        return scipy.sparse.block_diag(blocks, format="csr")[self._back][:, self._back]


def jacobian_map(J: Any) -> Operator:
    """A derivative as an operator: what it is, or the diagonal map of an array."""
    return J if isinstance(J, Operator) else Diagonal(J) if J.ndim else Identity(float(J))


def masked(J: Any, mask: Array) -> Any:
    """M J M for a diagonal M of zeros and ones; an array where J is one."""
    if isinstance(J, RankOnePerGroup):
        mask = mask if J.labels is None else to_numpy(mask)
        return RankOnePerGroup(
            J.diagonal * mask, J.u * mask, J.weights, axes=J.axes, labels=J.labels, bound=J.bound
        )
    return Diagonal(mask) @ J @ Diagonal(mask) if isinstance(J, Operator) else J * mask


def _largest(diagonal: Array) -> float:
    xp = namespace(diagonal)
    return float(xp.max(xp.abs(diagonal))) if math.prod(diagonal.shape) else 0.0
