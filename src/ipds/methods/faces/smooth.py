"""What is left of a problem on its faces where no kink is: the minimum of a smooth function, by Newton steps.

F(y) = Σ f_i(y_i) + f_n(u) + h_n(u),   u = M y + c,   h_n differentiable (a logistic loss, say) or 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...functions import Differentiable, Nonsmooth, Scaled, Smooth, Weighted, Zero
from ...functions.composed import total
from ...functions.entrywise import Entrywise
from ..newton.factors import dense_cholesky

if TYPE_CHECKING:
    from .restricted import Restricted

STEPS = 50
"""Newton steps at most."""
ENOUGH = 1e-13
"""‖∇F‖ in units of ‖∇²F y‖ at which only rounding is left."""
NEAR = 1e-9
"""The same for an end where steps no longer help: what is found then is looked at by its certificate."""
SHORTEST = 1e-6
"""Step below which the search gives up."""


class Total:
    """F of a restricted problem without nonsmooth terms."""

    def __init__(self, restricted: Restricted):
        self.restricted, self.last = restricted, restricted.problem.blocks[-1]
        self.is_smooth, self.f = isinstance(self.last.h, Zero), self.last.f
        if not self.is_smooth:
            own = as_smooth(self.last.h)
            self.is_smooth = own is not None
            self.f = total([f for f in (own, self.last.f) if f is not None])
        self.M: np.ndarray | None = None
        self.c = np.zeros(0)
        if self.is_smooth and self.f is not None:
            self.M, self.c = restricted.rows()

    @property
    def is_known(self) -> bool:
        """Whether M is at hand where it is needed."""
        return self.f is None or self.M is not None

    def argument(self, y: np.ndarray) -> np.ndarray:
        """u."""
        assert self.M is not None
        return (self.M @ y + self.c).reshape(self.last.shape)

    def value(self, y: np.ndarray) -> float:
        """F."""
        pairs = zip(self.restricted.problem.blocks, self.restricted.split(y), strict=False)
        found = [0.0 if block.f is None else float(block.f(yi)) for block, yi in pairs]
        if self.f is not None:
            found.append(float(self.f(self.argument(y))))
        return sum(found)

    def gradient(self, y: np.ndarray) -> np.ndarray:
        """∇F."""
        g = self.restricted.gradient(y)
        if self.f is None or self.M is None:
            return g
        return g + self.M.T @ np.ravel(self.f.grad(self.argument(y)))

    def hessian(self, y: np.ndarray) -> np.ndarray | None:
        """∇²F; None where it is known by its products only."""
        H = self.restricted.hessian(y)
        if H is None or self.f is None:
            return H
        if self.M is None:
            return None
        bend = self.f.hessian(self.argument(y))
        if not isinstance(bend, np.ndarray):
            return None
        return H + self.M.T @ (bend[:, None] * self.M if bend.ndim == 1 else bend @ self.M)


def as_smooth(h: Nonsmooth) -> Smooth | None:
    """h as a smooth function that is finite everywhere; None where it has kinks or a domain."""
    if isinstance(h, Scaled):
        own = as_smooth(h.h)
        return None if own is None else Weighted(own, h.c)
    plain = isinstance(h, Entrywise) and h.is_differentiable and h.domain is None
    return Differentiable(h) if plain else None  # type: ignore[arg-type]


def minimised(F: Total, y: np.ndarray) -> np.ndarray | None:
    """The minimiser of a convex F near y, to rounding; None where Newton steps with halving do not get there."""
    if not F.is_known:
        return None
    best, left = y, np.inf
    for _ in range(STEPS):
        g, H = F.gradient(y), F.hessian(y)
        if H is None:
            return None
        size = float(np.linalg.norm(H @ y))
        if float(np.linalg.norm(g)) < left * size:
            best, left = y, float(np.linalg.norm(g)) / size
        if left <= ENOUGH:
            return best
        try:
            d = -dense_cholesky(H)(g)
        except np.linalg.LinAlgError:
            return None
        step = _falling(F, y, d, g)
        if not step:
            break
        y = y + step * d
    return best if left <= NEAR else None


def _falling(F: Total, y: np.ndarray, d: np.ndarray, g: np.ndarray) -> float:
    """A step along d after which F is less, or ∇F is much less, as near a minimum only that can tell; else 0."""
    value, size, step = F.value(y), float(np.linalg.norm(g)), 1.0
    while step > SHORTEST:
        there = y + step * d
        if F.value(there) < value or float(np.linalg.norm(F.gradient(there))) < 0.5 * size:
            return step
        step /= 2
    return 0.0
