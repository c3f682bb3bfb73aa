"""Ways to factorise K = Q + rest + diag + RᵀwR (less what groups take away), and the choice between them.

    Diagonal   nothing but a diagonal
    Woodbury   no Q and fewer rows than columns: K⁻¹ through the small matrix 1/w + R diag⁻¹ Rᵀ
    Beside     the same, and rows with one entry, which only touch the diagonal
    Sparse     by its pattern: banded Cholesky where some order has a narrow band, else SuperLU
    Bordered   sparse rows and a few dense ones: Woodbury's formula around a sparse factorisation
    Lowered    one of them, less a low rank: that of a prox, or of groups of many rows
    Softened   one of them for fewer columns, where many are slack ones (`slack_columns`)
    Dense      Cholesky

Each is made once for a problem; `factorise` gives (solve, augmented) at a point, the latter a function (a, b) ↦ (x, t)
with (K - RᵀwR) x + Rᵀt = a, R x - t/w = b, or None where `solve` is all there is: t is then no small difference of
large numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import scipy

from ..._arrays import as_csr, products_with, row_counts, to_dense, transposed
from .factors import Solve, dense_cholesky
from .gram import Gram
from .slack_columns import Softened, slacks_of
from .sparse import PAIRS, Sparse
from .weights import Weights

DENSE = 3000
"""Columns up to which sparse rows may make a dense K."""
SMALL = 200
"""Columns up to which a K of more than rows and a diagonal is dense: calls cost more than entries there."""
FEW = 0.3
"""Dense rows beside sparse ones are few up to this part of the columns; a K fuller than this is dense."""
FULL = 0.1
"""Density from which sparse rows are treated as dense ones."""
FLAT = 0.7
"""Rows up to this part of the columns are few enough for Woodbury's formula."""

Augmented = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
Factorised = tuple[Solve, Augmented | None]


class Strategy(Protocol):
    """A way to factorise K."""

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        """For weights w of the rows, a diagonal, a further matrix or None, and W of the last of the rows."""


def choose(
    n: int, Q: Any, rows: Sequence[Any], W: Weights, rest: Any, is_firm: bool = False
) -> Strategy | None:
    """The cheapest way for a matrix Q, stacks of rows, and samples of W and of the rest; None where there is none.

    `is_firm` says that the diagonal alone is far from singular: then a part of the rows makes a matrix with digits.
    """
    others = [A for A in (Q, rest) if A is not None]
    if not rows and not others:
        return Diagonal()
    if W.blocks and n > DENSE:
        return None
    if W.is_lowered and not W.blocks:
        row_each = n * len(W.along)  # the entries that a full row for each group has
        has_wide = n > SMALL and _meetings(rows[-1], W) > row_each
        if W.low or has_wide:
            base = choose(n, Q, rows, (W.ungrouped if has_wide else W)._replace(low=()), rest, is_firm)
            return base if base is None or isinstance(base, Dense) else Lowered(base, rows[-1], has_wide)
    if rest is None and not W.is_lowered and not W.blocks:
        slacks = slacks_of(n, Q, rows)
        if slacks is not None:
            kept = slacks.others
            left = [_of_columns(A, kept) for A in rows]
            inner = choose(len(kept), None if Q is None else Q[kept][:, kept], left, W, None, is_firm)
            return None if inner is None else Softened(slacks, left, inner)
    only_rows = not W.is_lowered and not W.blocks and not others
    are_sparse = [scipy.sparse.issparse(A) for A in rows]
    count = sum(A.shape[0] for A in rows)
    if n > DENSE:
        bordered = _bordered(n, Q, rows, W, others, rest is None)
        if bordered is not None:
            return bordered
    if all(are_sparse) and all(map(scipy.sparse.issparse, others)) and not W.blocks:
        further = sum(A.nnz for A in others) + (_meetings(rows[-1], W) if W.members.size else 0)
        found: Strategy | None = _sparse_choice(n, Q, rows, _stacked(rows, n), further, W, rest is None)
    else:
        work = sum(A.shape[0] for A in rows if not scipy.sparse.issparse(A)) * n**2 + n**3 / 3
        if only_rows and count < n and count**2 * n + count**3 / 3 < work:
            return Woodbury(np.vstack([to_dense(A) for A in rows]))
        found = Dense(n, Q, rows)
    if isinstance(found, Dense) and SMALL < n <= DENSE and is_firm:
        bordered = _bordered(n, Q, rows, W, others, rest is None)
        return found if bordered is None or bordered.bulk.is_full else bordered
    return found


def _bordered(
    n: int, Q: Any, rows: Sequence[Any], W: Weights, others: Sequence[Any], is_constant: bool
) -> Bordered | None:
    """Around a sparse factorisation, where all rows but a few make one, and none of these is in a group."""
    if W.blocks or not any(map(scipy.sparse.issparse, rows)) or not all(map(scipy.sparse.issparse, others)):
        return None
    is_thin = np.concatenate([_are_thin(A) for A in rows])
    # groups end before
    grouped = len(is_thin) - W.general + int(np.max(W.members)) + 1 if W.members.size else 0
    if not 0 < np.count_nonzero(is_thin) < FEW * n or is_thin[:grouped].any():
        return None
    every = scipy.sparse.vstack([as_csr(A) for A in rows], format="csr")
    bulk, beside = every[~is_thin], W.without(int(np.count_nonzero(is_thin)))
    return Bordered(every[is_thin].toarray(), is_thin, Sparse(n, Q, bulk, beside, is_constant))


def _stacked(rows: Sequence[Any], n: int) -> Any:
    """Stacks of sparse rows as one, sorted by rows."""
    if len(rows) == 1 and rows[0].format == "csr":
        return rows[0]
    return scipy.sparse.vstack(rows, format="csr") if rows else scipy.sparse.csr_array((0, n))


def _of_columns(A: Any, kept: np.ndarray) -> Any:
    """Some columns of rows; as an array where these are full."""
    part = A[:, kept]
    return part.toarray() if scipy.sparse.issparse(part) and part.nnz > FULL * math.prod(part.shape) else part


def _meetings(G: Any, W: Weights) -> int:
    """At most so many entries are in what groups take from GᵀWG; rows of a group may cancel for some directions."""
    return int(np.sum(row_counts(W.sums(abs(G))).astype(float) ** 2)) if scipy.sparse.issparse(G) else 0


def _are_thin(A: Any) -> np.ndarray:
    """Rows that are dense, or that would alone make RᵀR fuller than all the others do."""
    if not scipy.sparse.issparse(A):
        return np.full(A.shape[0], True)
    counts = row_counts(A).astype(float)
    return counts**2 > 4 * (np.sum(counts) + A.shape[1])


def _sparse_choice(
    n: int, Q: Any, rows: Sequence[Any], R: Any, further: int, W: Weights, is_constant: bool
) -> Strategy | None:
    only_rows = is_constant and Q is None and not W.is_lowered
    is_single = row_counts(R) == 1
    if only_rows and np.count_nonzero(~is_single) < FLAT * n <= R.shape[0]:
        others_only = R[~is_single]
        inner = (
            _sparse_choice(n, None, [others_only], others_only, 0, W, True)
            if others_only.shape[0]
            else Diagonal()
        )
        if isinstance(inner, SparseWoodbury | Diagonal):
            return Beside(inner, R[is_single], is_single)
    work = Gram.work(R)
    if only_rows and R.shape[0] < FLAT * n:
        transposed = R.T.tocsr()
        if Gram.work(transposed) <= PAIRS:
            gram = Gram(transposed)
            if 2 * len(gram.row) < work + n:  # fewer entries than RᵀR has
                return SparseWoodbury(R, gram)
    is_full = work + further > FEW * n * n
    if is_full and n > DENSE:
        return None
    if is_full or (n <= SMALL and not only_rows):
        return Dense(n, Q, rows)
    return Sparse(n, Q, R, W, is_constant)


class Diagonal:
    """K = diag."""

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        return (lambda g: g / diagonal), None


class Dense:
    """Cholesky of K, written out; sparse rows stay sparse until they are added.

    RᵀwR of the first of two stacks of rows is kept for the w asked for last: a quadratic f has the same in every step.
    """

    def __init__(self, n: int, Q: Any, rows: Sequence[Any]):
        self.n, self.Q, self.rows = n, Q, rows
        self._grams = [Gram(R) if scipy.sparse.issparse(R) and Gram.work(R) <= PAIRS else None for R in rows]
        self._kept: tuple[np.ndarray, np.ndarray] | None = None

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        parts, begin = [], 0
        for k, R in enumerate(self.rows):
            own, begin = w[begin : begin + R.shape[0]], begin + R.shape[0]
            parts.append(self._first(own) if begin < len(w) else self._product(k, own))
        K = parts[0] if parts else np.zeros((self.n, self.n))
        for A in (*parts[1:], self.Q, rest):
            if A is not None:
                K += to_dense(A)
        if W.is_lowered:
            P, drop = W.lowered(self.rows[-1])
            K -= to_dense(P.T @ (drop[:, None] * to_dense(P)))
        for place, block in W.blocks:
            part = to_dense(self.rows[-1][place])
            K += part.T @ ((block - np.diag(W.diagonal[place])) @ part)
        K.flat[:: self.n + 1] += diagonal
        return dense_cholesky(K), None

    def _first(self, w: np.ndarray) -> np.ndarray:
        if self._kept is None or not np.array_equal(w, self._kept[0]):
            self._kept = w, self._product(0, w)
        return self._kept[1].copy()

    def _product(self, k: int, w: np.ndarray) -> np.ndarray:
        """RᵀwR of the k-th rows."""
        R, gram = self.rows[k], self._grams[k]
        if gram is not None:
            return gram.dense(gram.triangle(w))
        if scipy.sparse.issparse(R):
            return (R.T @ scipy.sparse.diags_array(w) @ R).toarray()
        root = np.sqrt(w)[:, None]
        if np.count_nonzero(w) == len(w):
            B = R * root
        else:
            active = np.flatnonzero(w)
            B = R[active] * root[active]
        return B.T @ B


class Woodbury:
    """(B + RᵀwR)⁻¹ = B⁻¹ - B⁻¹Rᵀ S⁻¹ R B⁻¹ with S = 1/w + R B⁻¹Rᵀ over the rows with w > 0; B diagonal, R dense."""

    def __init__(self, R: np.ndarray):
        self.R = R

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        active = np.flatnonzero(w > 0)
        R = self.R if active.size == len(w) else self.R[active]
        B = R / np.sqrt(diagonal)
        S = B @ B.T
        S.flat[:: len(S) + 1] += 1 / w[active]
        return around(lambda g: g / diagonal, R.dot, R.T.dot, dense_cholesky(S), active, len(w))


class SparseWoodbury:
    """The same for sparse R."""

    def __init__(self, R: Any, gram: Gram):
        self.R, self.gram = R, gram
        self.products = products_with(R), products_with(transposed(R))

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        active, off = np.flatnonzero(w > 0), w <= 0
        data = self.gram.entries(1 / diagonal, 1 / np.where(off, 1.0, w))
        if off.any():  # rows that do not count become rows of the identity
            data = np.where(off[self.gram.row] | off[self.gram.column], 0.0, data)
            data[self.gram.diagonal[off]] = 1.0
        whole = self.gram.definite(data)

        def small(g: np.ndarray) -> np.ndarray:
            full = np.zeros(len(w))
            full[active] = g
            return whole(full)[active]

        products = self.products
        if off.any():
            R = self.R[active]
            products = products_with(R), products_with(transposed(R))
        return around(lambda g: g / diagonal, *products, small, active, len(w))


class Beside:
    """Rows with one entry only touch the diagonal: they are added to it, and the others are left to `inner`."""

    def __init__(self, inner: Strategy, single: Any, is_single: np.ndarray):
        self.inner, self.single, self.is_single = inner, single, is_single
        self.squares = scipy.sparse.csr_array(single.multiply(single)).T.tocsr()

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        own = w[self.is_single]
        solve, inner = self.inner.factorise(w[~self.is_single], diagonal + self.squares @ own, rest, W)
        return solve, beside_rows(inner or (lambda a, b: (solve(a), b)), self.single, own, self.is_single)


class Lowered:
    """K less a low rank, PᵀdP, that of groups included or not: with K the matrix without it,

    (K - PᵀdP)⁻¹ = K⁻¹ + K⁻¹Pᵀ (1 - d P K⁻¹Pᵀ)⁻¹ d P K⁻¹.
    """

    def __init__(self, base: Strategy, G: Any, has_groups: bool):
        self.base, self.G, self.has_groups = base, G, has_groups

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        taken, left = (W, W.ungrouped) if self.has_groups else (W.ungrouped, W)
        P, d = taken.lowered(self.G)
        base, _ = self.base.factorise(w, diagonal, rest, left._replace(low=()))
        if not len(d):  # weights of a first step, before any Jacobian is known
            return base, None
        P = to_dense(P)
        KP = np.stack([base(row) for row in P], axis=1)
        small = np.eye(len(d)) - d[:, None] * (P @ KP)

        def solve(g: np.ndarray) -> np.ndarray:
            x = base(g)
            return x + KP @ np.linalg.solve(small, d * (P @ x))

        return solve, None


class Bordered:
    """Woodbury's formula around a sparse factorisation, for a few dense rows."""

    def __init__(self, thin: np.ndarray, is_thin: np.ndarray, bulk: Sparse):
        self.thin, self.is_thin, self.bulk = thin, is_thin, bulk

    def factorise(self, w: np.ndarray, diagonal: np.ndarray, rest: Any, W: Weights) -> Factorised:
        is_thin, own, B = self.is_thin, w[~self.is_thin], self.bulk.R
        base, _ = self.bulk.factorise(own, diagonal, rest, W.without(int(np.count_nonzero(is_thin))))
        wt = w[is_thin]
        active = np.flatnonzero(wt > 0)
        R = self.thin[active]
        S = R @ np.stack([base(r) for r in R], axis=1) if active.size else np.zeros((0, 0))
        S.flat[:: len(S) + 1] += 1 / wt[active]
        solve, inner = around(base, R.dot, R.T.dot, dense_cholesky(S), active, len(wt))

        return solve, None if W.members.size else beside_rows(inner, B, own, ~is_thin)


def beside_rows(others: Augmented, R: Any, w: np.ndarray, is_own: np.ndarray) -> Augmented:
    """The augmented system of all rows from that of the others, where RᵀwR of these is in K."""
    adjoint = R.T

    def augmented(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        t, right = np.zeros(len(is_own)), b[is_own]
        x, t[~is_own] = others(a + adjoint @ (w * right), b[~is_own])
        t[is_own] = w * (R @ x - right)
        return x, t

    return augmented


def around(
    base: Solve, product: Solve, adjoint: Solve, small: Solve, active: np.ndarray, count: int
) -> tuple[Solve, Augmented]:
    """Woodbury's formula, and the augmented system that it comes from, by products with R and Rᵀ."""

    def augmented(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = small(product(base(a)) - (b if active.size == count else b[active]))
        x, t = base(a - adjoint(own)), own
        if active.size < count:
            t = np.zeros(count)
            t[active] = own
        return x, t

    return (lambda g: base(g - adjoint(small(product(base(g)))))), augmented
