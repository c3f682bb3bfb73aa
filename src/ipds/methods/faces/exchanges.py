"""Exchanges where all but a support is quadratic: one inverse tells what every exchange of two entries would earn.

With F(x) = ½ xᵀHx + cᵀx and the entries outside S at 0, x_S = -K c_S, K = H_SS⁻¹, g = Hx + c, B = H_·S K and
s_j = H_jj - B_j H_Sj, the least value changes by

    x_k²/(2 K_kk)                                                         where k leaves
    -g_j²/(2 s_j)                                                         where j joins
    x_k²/(2 K_kk) - (g_j - B_jk x_k/K_kk)²/(2 (s_j + B_jk²/K_kk))         where j takes the place of k

and by their prices. What is lowest is done, until nothing is lower.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...functions import Zero
from ...functions.faces import Support
from .restricted import Restricted
from .smooth import Total

LARGEST = 300
"""Entries up to which H is formed and inverted at every exchange."""
ROUNDS = 500
"""Exchanges at most."""
LOWER = 1e-9
"""By what fraction of itself the objective has to fall."""
DEPENDENT = 1e-10
"""Share of H_jj below which s_j, or 1/K_jj within S, is rounding: the entry adds nothing to the others of S."""


@dataclass(frozen=True, eq=False)
class Exchanges:
    """F, and which entries may come, go and take each other's place."""

    H: np.ndarray
    c: np.ndarray
    constant: float
    kind: np.ndarray
    """Entries may take each other's place where these agree; -1 for those that always stay."""
    price: np.ndarray | None
    """Of each entry of S; None where entries do not come or go alone."""
    place: slice
    """Of the block with the support."""

    def settled(self, label: np.ndarray) -> np.ndarray | None:
        """The support that exchanges lead to from `label`; None where that is empty or a part of H singular."""
        inside = self.kind < 0
        inside[self.place] |= np.ravel(label)
        if not inside.any():
            return None
        for _ in range(ROUNDS):
            try:
                better = self._exchanged(inside)
            except np.linalg.LinAlgError:
                return None
            if better is None:
                break
            inside = better
        return inside[self.place].reshape(label.shape)

    def _exchanged(self, inside: np.ndarray) -> np.ndarray | None:
        """The support after the best exchange; None where none is lower."""
        S, H = np.flatnonzero(inside), self.H
        K = np.linalg.inv(H[np.ix_(S, S)])
        own, bend, B = np.diag(K), np.diag(H), H[:, S] @ K
        if not np.all((own > 0) & (DEPENDENT * own * bend[S] < 1)):
            raise np.linalg.LinAlgError("entries of the support depend on each other")
        x = -K @ self.c[S]
        g = self.c + H[:, S] @ x
        room = bend - np.einsum("js,js->j", B, H[:, S])
        price = np.zeros(len(g)) if self.price is None else self.price
        value = self.constant + 0.5 * float(self.c[S] @ x) + float(price[S].sum())

        def falls(g: np.ndarray, room: np.ndarray, bend: np.ndarray) -> np.ndarray:
            known = room > DEPENDENT * bend
            return np.where(known, g**2 / (2 * np.where(known, room, 1.0)), 0.0)

        leaving = np.where(self.kind[S] < 0, math.inf, x**2 / (2 * own) - price[S])
        joining = np.where(inside, math.inf, price - falls(g, room, bend))
        swap = (
            leaving
            + price[:, None]
            - falls(g[:, None] - B * (x / own), room[:, None] + B**2 / own, bend[:, None])
        )
        swap[inside[:, None] | (self.kind[:, None] != self.kind[S])] = math.inf
        following = inside.copy()
        j, k = np.unravel_index(np.argmin(swap), swap.shape)
        best = [(swap[j, k], [j, S[k]])]
        if self.price is not None:
            best += [(leaving.min(), [S[np.argmin(leaving)]])] if len(S) > 1 else []
            best += [(joining.min(), [np.argmin(joining)])]
        change, entries = min(best, key=lambda pair: pair[0])
        following[entries] ^= True
        return following if change < -LOWER * abs(value) else None


def exchanges(restricted: Restricted) -> Exchanges | None:
    """Those of a problem on one support; None where not all the rest is quadratic, or entries come in groups."""
    ((i, face), *more), whole = restricted.faces.items(), restricted.whole
    if more or not isinstance(face, Support) or face.exchange is None:
        return None
    if face.h is not None or face.group is not None:
        return None
    sizes = [math.prod(block.shape) for block in whole.blocks[:-1]]
    others = (block.h for k, block in enumerate(whole.blocks[:-1]) if k != i)
    if sum(sizes) > LARGEST or not all(isinstance(h, Zero) for h in others):
        return None
    everything = Support(np.zeros_like(face.x), np.ones(face.x.shape, bool), face.exchange, cost=face.cost)
    full = Restricted(whole, {i: everything})
    F = Total(full)
    terms = [f for f in (F.f, *(block.f for block in full.problem.blocks[:-1])) if f is not None]
    if not (F.is_smooth and F.is_known and terms and all(f.is_quadratic for f in terms)):
        return None
    zero = np.zeros(sum(sizes))
    H = F.hessian(zero)
    if H is None:
        return None
    place = slice(sum(sizes[:i]), sum(sizes[: i + 1]))
    kind = np.full(len(zero), -1)
    kind[place] = np.unique(face.exchange, return_inverse=True)[1].ravel()
    price = None
    if face.cost is not None:
        price = np.zeros(len(zero))
        price[place] = np.broadcast_to(face.cost, face.x.shape).ravel()
    return Exchanges(H, F.gradient(zero), F.value(zero), kind, price, place)
