"""Matrices of one rank, by their factors: tangent vectors, steps along them and inner products without the matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from .faces import Face
from .truncation import OVERSAMPLING, orthonormal, start_block


class Tangent(NamedTuple):
    """U A Vᵀ + U' Vᵀ + U V'ᵀ with UᵀU' = 0, VᵀV' = 0: a tangent vector at U diag(σ) Vᵀ."""

    A: np.ndarray
    U: np.ndarray
    """U'."""
    V: np.ndarray
    """V'."""

    @property
    def square(self) -> float:
        """‖·‖²; the three parts are orthogonal."""
        A, U, V = self
        return float(np.vdot(A, A) + np.vdot(U, U) + np.vdot(V, V))


class FixedRank(Face):
    """Matrices x = U diag(σ) Vᵀ of one rank; the factors are all that is kept of x.

    Absil & Malick, Projection-like retractions on matrix manifolds, SIAM J. Optim. 22 (2012).

    >>> face = FixedRank(np.eye(3)[:, :1], np.array([2.0]), np.eye(2)[:, :1])
    >>> face.moved(face.parts(np.ones((3, 2))), 1.0).x.round(3).tolist()
    [[3.0, 1.0], [1.0, 0.333], [1.0, 0.333]]
    """

    def __init__(self, U: np.ndarray, sigma: np.ndarray, V: np.ndarray):
        self.U, self.sigma, self.V = U, sigma, V
        self.label = np.array([len(sigma)])

    @classmethod
    def of_product(cls, L: np.ndarray, R: np.ndarray, C: np.ndarray | None = None) -> FixedRank:
        """L C Rᵀ, or L Rᵀ, with L and R of as many columns as the rank."""
        (Q, left), (P, right) = _orthonormal(L), _orthonormal(R)
        u, sigma, vt, failed = scipy.linalg.lapack.dgesdd((left if C is None else left.dot(C)).dot(right.T))
        if failed:
            raise np.linalg.LinAlgError("the SVD of a matrix of few columns did not converge")
        return cls(Q.dot(u), sigma, P.dot(vt.T))

    @property
    def x(self) -> np.ndarray:  # type: ignore[override]
        """The matrix itself."""
        return (self.U * self.sigma) @ self.V.T

    def balanced(self) -> tuple[np.ndarray, np.ndarray]:
        """(L, R) of r columns with x = L Rᵀ, of the same lengths in both."""
        root = np.sqrt(self.sigma)
        return self.U * root, self.V * root

    @property
    def dimension(self) -> int:
        """r(m + n - r)."""
        return len(self.sigma) * (len(self.U) + len(self.V) - len(self.sigma))

    def projected(self, dV: np.ndarray, dtU: np.ndarray) -> Tangent:
        """The tangent part of a matrix d, from d V and dᵀU alone."""
        A = self.U.T @ dV
        return Tangent(A, dV - self.U @ A, dtU - self.V @ A.T)

    def parts(self, d: np.ndarray, scale: float = 1.0) -> Tangent:
        """The tangent part of scale·d."""
        return self.projected(scale * (d @ self.V), scale * (d.T @ self.U))

    def zero(self) -> Tangent:
        """The tangent vector 0."""
        return Tangent(*(np.zeros((len(part), len(self.sigma))) for part in (self.sigma, self.U, self.V)))

    def products(self, E: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(d V, dᵀU) of d = E Vᵀ + U Fᵀ."""
        return E + self.U @ (F.T @ self.V), F + self.V @ (E.T @ self.U)

    def dense(self, d: Tangent) -> np.ndarray:
        """A tangent vector as a matrix."""
        left, right = self.factors(d)
        return left @ right.T

    def factors(self, d: Tangent) -> tuple[np.ndarray, np.ndarray]:
        """(L, R) of 2r columns with d = L Rᵀ."""
        left = np.concatenate((self.U @ d.A + d.U, self.U), axis=1)
        return left, np.concatenate((self.V, d.V), axis=1)

    def moved(self, d: Tangent, step: float) -> FixedRank:
        """The orthographic retraction: the matrix of the rank whose difference to x + step·d is normal at x.

        With C = diag(σ) + step·A it is (U + step·U'C⁻¹) C (V + step·V'C⁻ᵀ)ᵀ. As U' is normal to U, the outer factors
        are well conditioned: a Cholesky factor of their Gram matrix makes them orthonormal.
        """
        C = np.diag(self.sigma) + step * d.A
        inverse = _inverse(C)
        return FixedRank.of_product(self.U + d.U.dot(step * inverse), self.V + d.V.dot(step * inverse.T), C)

    def inner(self, d: Tangent, other: FixedRank, e: Tangent) -> float:
        """⟨d, e⟩ of vectors tangent here and at another point, by products of their factors."""
        left, right = self.factors(d)
        L, R = other.factors(e)
        return float(np.vdot(left.T @ L, right.T @ R))

    def tangent(self, d: np.ndarray) -> np.ndarray:
        """UUᵀd + (d - UUᵀd)VVᵀ."""
        return self.dense(self.parts(d))

    def subgradient(self, g: np.ndarray) -> np.ndarray:
        return g - self.tangent(g)


def fixed_rank(x: np.ndarray, rank: int) -> FixedRank | None:
    """The face of the matrices whose rank is that of x, `rank`; None where x has a smaller one."""
    if not 0 < rank <= min(x.shape):
        return None
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    if not s[rank - 1] > 1e-12 * s[0]:
        return None
    return FixedRank(u[:, :rank], s[:rank], vt[:rank].T)


def near(x: np.ndarray, rank: int, powers: int = 1) -> FixedRank:
    """Nearly the best approximation of x by a matrix of the rank, from its range as a few products show it.

    Products in the precision of x, which may be a lower one than that of the factors.
    Halko, Martinsson & Tropp, Finding structure with randomness, SIAM Rev. 53 (2011).
    """

    def range_of(x: np.ndarray, block: np.ndarray) -> np.ndarray:
        return orthonormal(np.asfortranarray(x @ block.astype(x.dtype, copy=False), float))

    Q = range_of(x, start_block(x.shape[1], min(rank + OVERSAMPLING, *x.shape)))
    for _ in range(powers):
        Q = range_of(x, range_of(x.T, Q))
    X = FixedRank.of_product(Q, (x.T @ Q.astype(x.dtype, copy=False)).astype(float, copy=False))
    return FixedRank(*(np.ascontiguousarray(part[..., :rank]) for part in (X.U, X.sigma, X.V)))


def _inverse(C: np.ndarray) -> np.ndarray:
    """C⁻¹, or the pseudoinverse where there is none."""
    try:
        return np.linalg.inv(C)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(C)


def _orthonormal(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q with orthonormal columns and an upper triangle R with a = Q R, by the Cholesky factor of aᵀa; else by QR."""
    R, failed = scipy.linalg.lapack.dpotrf(a.T.dot(a), clean=1)
    if failed or not FAR * R.diagonal().min() > R.diagonal().max():
        return np.linalg.qr(a)
    return a.dot(scipy.linalg.lapack.dtrtri(R)[0]), R


FAR = 100.0
"""Spread of the diagonal of a Cholesky factor up to which its columns are orthonormal to nearly all digits."""
