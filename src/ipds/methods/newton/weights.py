"""W of K = ∇²f + εI + MᵀWM: a diagonal, but for groups of rows and for blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy

from ..._arrays import to_dense


class Weights(NamedTuple):
    """a on single rows, a(I - e eᵀ) + b e eᵀ on groups, less a low rank on some rows, and matrices on blocks."""

    diagonal: np.ndarray
    """a; of no meaning on rows of blocks."""
    general: int
    """How many of the rows, from the first, are general ones; the others pick entries of v, and W is diagonal there."""
    members: np.ndarray
    """Rows that belong to groups."""
    label: np.ndarray
    """The group of each member."""
    direction: np.ndarray
    """e, entry by entry of the members; unit vectors, or 0 for a multiple of the identity."""
    along: np.ndarray
    """b, group by group."""
    low: tuple[tuple[slice, Any, np.ndarray], ...] = ()
    """(rows, V, c): W is diag(a) - V diag(c) Vᵀ there."""
    blocks: tuple[tuple[slice, Any], ...] = ()
    """(rows, W there): a dense matrix, or a function where only products are known."""
    inverses: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    """(rows, W⁻¹ there): matrices of one size, on rows where W itself would be a matrix without digits; those of each
    are next to each other, in a row of `rows`."""

    @property
    def is_lowered(self) -> bool:
        """Whether groups or low ranks take from the diagonal."""
        return bool(self.members.size or self.low)

    @property
    def grouped(self) -> int:
        """Entries of W on groups."""
        return int(np.sum(np.bincount(self.label) ** 2))

    @property
    def ungrouped(self) -> Weights:
        """The same without groups, a on their rows."""
        none = np.empty(0, int)
        return self._replace(members=none, label=none, direction=np.empty(0), along=np.empty(0))

    def without(self, count: int) -> Weights:
        """The same for general rows of which `count`, all after those of groups, are left out."""
        return self._replace(general=self.general - count)

    def times(self, y: np.ndarray) -> np.ndarray:
        """W y."""
        out = self.diagonal * y
        if self.members.size:
            self._add_groups(out, y, self.along - self.across())
        for rows, V, c in self.low:
            out[rows] -= V @ (c * (V.T @ y[rows]))
        for rows, W in self.blocks:
            out[rows] = W(y[rows]) if callable(W) else W @ y[rows]
        return out

    def divide(self, y: np.ndarray) -> np.ndarray:
        """W⁻¹ y, for diagonals, groups and rows with `inverses`; 0 where W is."""
        used = self.diagonal > 0
        every = used.all()  # a division with `where` takes four times as long
        out = y / self.diagonal if every else np.divide(y, self.diagonal, out=np.zeros_like(y), where=used)
        if self.members.size:
            self._add_groups(out, y, 1 / self.along - 1 / self.across())
        for rows, inverse in self.inverses:
            out[rows] = (inverse @ y[rows][:, :, None])[:, :, 0]
        return out

    def root(self, w: np.ndarray, y: np.ndarray) -> np.ndarray:
        """W^½ y, column by column, for diagonals and groups; `w` as in `coupled`."""
        columns = y.reshape(len(w), -1)
        out = np.sqrt(w)[:, None] * columns
        drop, own = np.sqrt(self.along) - np.sqrt(self.across()), slice(len(w) - self.general, None)
        along = (drop[:, None] * self.sums(columns[own]))[self.label]
        out[own][self.members] += self.direction[:, None] * along
        return out.reshape(y.shape)

    def lowered(self, G: Any) -> tuple[Any, np.ndarray]:
        """(P, d) with GᵀWG = Gᵀ diag(a) G - Pᵀ diag(d) P for the general rows G, blocks apart."""
        parts, drops = [V.T @ G[rows] for rows, V, _ in self.low], [c for _, _, c in self.low]
        if self.members.size or not parts:
            parts.append(self.sums(G))
            drops.append(self.across() - self.along)
        return (parts[0] if len(parts) == 1 else np.vstack(list(map(to_dense, parts)))), np.concatenate(drops)

    def couples(self) -> np.ndarray:
        """Pairs of members of the same group, each once; they are sorted by group."""
        sizes = np.bincount(self.label)
        starts = np.cumsum(sizes) - sizes
        found = [np.empty((0, 2), int)]
        for size in np.unique(sizes[sizes > 1]):
            pairs = np.stack(np.triu_indices(size, 1), axis=1)
            found.append((starts[sizes == size][:, None, None] + pairs).reshape(-1, 2))
        return np.concatenate(found)

    def coupled(self, w: np.ndarray, couples: np.ndarray) -> np.ndarray:
        """The diagonal of W, then its entries of `couples`; `w` is a on rows of which the last are the general ones."""
        if not self.members.size:
            return w
        drop, own = self.across() - self.along, w.copy()
        own[len(w) - self.general + self.members] -= drop[self.label] * self.direction**2
        first, second = couples.T
        return np.append(own, -drop[self.label[first]] * self.direction[first] * self.direction[second])

    def sums(self, G: Any) -> Any:
        """Σ e_k G_k over the members k of every group; they are sorted by group."""
        if isinstance(G, np.ndarray) and self.members.size:
            used, starts = np.unique(self.label, return_index=True)
            sums = np.zeros((len(self.along), G.shape[1]))
            sums[used] = np.add.reduceat(self.direction[:, None] * G[self.members], starts, axis=0)
            return sums
        triple = (self.direction, (self.label, self.members))
        return scipy.sparse.csr_array(triple, shape=(len(self.along), G.shape[0])) @ G

    def across(self) -> np.ndarray:
        """a, group by group."""
        across = np.ones(len(self.along))
        across[self.label] = self.diagonal[self.members]
        return across

    def _add_groups(self, out: np.ndarray, y: np.ndarray, factor: np.ndarray) -> None:
        """out += Σ_g factor_g e_g ⟨e_g, y⟩."""
        inner = np.bincount(self.label, self.direction * y[self.members], len(factor))
        out[self.members] += self.direction * (factor * inner)[self.label]


def along_diagonal(rows: slice, matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A matrix on some rows, or several of one size one after the other, as `Weights.inverses` has them."""
    width = matrices.shape[-1]
    return np.arange(rows.start, rows.stop).reshape(-1, width), matrices.reshape(-1, width, width)
