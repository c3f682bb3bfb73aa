"""Faces: what of a nonconvex h is decided at a point x, and the smooth piece of its graph on which x may still move.

`h.face(x)` gives one, or None where nothing is decided. On its face a cardinality is a set of free entries, MCP a
smooth function of entries with fixed signs, a rank or orthonormal columns a manifold: what is left is smooth or convex.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._abstract import Abstract
from .base import Nonsmooth, Smooth

if TYPE_CHECKING:
    from .scalar import ScalarPenalty

SHORTER, TRIES = 0.1, 12
"""Factor and number of the steps that `prox_point` tries."""


class Face(metaclass=Abstract):
    """The face of h that a point x lies on; NumPy arrays."""

    x: np.ndarray
    label: np.ndarray
    """What is decided, as an array of small integers: two points lie on one face where these agree."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Of the tangent space."""

    @abstractmethod
    def tangent(self, d: np.ndarray) -> np.ndarray:
        """The orthogonal projection of d on the tangent space at x."""

    @abstractmethod
    def subgradient(self, g: np.ndarray) -> np.ndarray:
        """The element of ∂h(x) that is nearest to g: its normal part, where h is a set."""


class Coordinates(Face):
    """A face in which some entries are free and the others stay where they are."""

    free: np.ndarray
    """Indices into the flattened x."""

    @property
    def dimension(self) -> int:
        """The number of free entries."""
        return len(self.free)

    def tangent(self, d: np.ndarray) -> np.ndarray:
        out = np.zeros_like(d)
        out.flat[self.free] = d.flat[self.free]
        return out

    def embed(self, y: np.ndarray) -> np.ndarray:
        """The point of the face whose free entries are y."""
        out = self.x.copy()
        out.flat[self.free] = y
        return out

    def smooth(self) -> Smooth | None:
        """h as a function of the free entries; None where it is constant."""
        return None

    def inner(self) -> Nonsmooth | None:
        """The set in which the free entries stay, or another nonsmooth function of them; None where there is none."""
        return None

    def pull(self, g: np.ndarray) -> np.ndarray:
        """How fast a function of gradient g falls as each entry alone leaves its place."""
        return np.abs(g)

    @property
    def price(self) -> float | None:
        """What the free entries cost because they are free; None where their number does not matter."""
        return None

    def neighbours(self, score: np.ndarray, count: int) -> list[tuple[int, np.ndarray]]:
        """Exchanges worth a trial: (an entry that would become free, the free ones of which one has to go).

        The `count` entries of largest positive `score` (one number for each entry) that are not free.
        """
        return []


class Support(Coordinates):
    """The nonzeros of x are free, the others are 0, and h is constant.

    `exchange`: for each entry a label; entries may take each other's place where these agree. None: no exchanges.
    `h`: where the free entries stay in a set besides, what knows it: `h.inside(free)`, `h.pull(g, free)`.
    `cost`: of every entry, where a free one costs something.
    `group`: for each entry a label; entries with one label come and go together. None: each comes and goes alone.

    >>> from ipds.functions import Cardinality
    >>> face = Cardinality(2).face(np.array([0.0, 3.0, 0.0, -1.0]))
    >>> face.dimension, face.subgradient(np.array([1.0, 2.0, 3.0, 4.0]))
    (2, array([1., 0., 3., 0.]))
    >>> face.neighbours(np.array([1.0, 2.0, 3.0, 4.0]), 1)
    [(2, array([1, 3]))]
    """

    is_rugged: bool = False
    """Whether exchanges of one entry are known to end in many places, so that several at once are worth a trial."""

    def __init__(
        self,
        x: np.ndarray,
        support: np.ndarray | None = None,
        exchange: np.ndarray | None = None,
        h: Any = None,
        cost: np.ndarray | None = None,
        group: np.ndarray | None = None,
    ):
        self.x, self.h, self.cost, self.group = x, h, cost, group
        self.label = (x != 0) if support is None else np.broadcast_to(support, x.shape)
        self.free, self.exchange = np.flatnonzero(self.label), exchange

    def subgradient(self, g: np.ndarray) -> np.ndarray:
        return np.where(self.label, 0.0, g)

    def inner(self) -> Nonsmooth | None:
        return None if self.h is None else self.h.inside(self.free)

    def pull(self, g: np.ndarray) -> np.ndarray:
        return np.abs(g) if self.h is None else np.asarray(self.h.pull(g, self.free))

    @property
    def price(self) -> float | None:
        return None if self.cost is None else float(self.cost.flat[self.free].sum())

    def having(self, joining: Iterable[int] = (), leaving: Iterable[int] = ()) -> Support:
        """The support with some entries in it, and without others."""
        support = np.array(self.label)
        for entries, free in ((joining, True), (leaving, False)):
            for k in entries:
                support.flat[self.together(k)] = free
        return type(self)(np.zeros_like(self.x), support, self.exchange, self.h, self.cost, self.group)

    def together(self, k: int) -> np.ndarray:
        """The entries that come and go with entry k."""
        return (
            np.array([k]) if self.group is None else np.flatnonzero(self.group.ravel() == self.group.flat[k])
        )

    def one_of_each(self, entries: np.ndarray) -> np.ndarray:
        """The first of these entries in every group."""
        if self.group is None:
            return entries
        return entries[np.sort(np.unique(self.group.ravel()[entries], return_index=True)[1])]

    def neighbours(self, score: np.ndarray, count: int) -> list[tuple[int, np.ndarray]]:
        if self.exchange is None:
            return []
        outside = np.where(self.label, 0.0, score).ravel()
        if self.group is not None:  # the root of the sum of squares of a group, with its first entry
            sums = np.bincount(self.group.ravel(), outside**2)
            first = self.one_of_each(np.arange(outside.size))
            outside = np.zeros(outside.size)
            outside[first] = np.sqrt(sums[self.group.ravel()[first]])
        order = np.argpartition(-outside, min(count, outside.size) - 1)[:count]
        order = order[np.argsort(-outside[order])]
        own = self.exchange.ravel()
        free = self.one_of_each(self.free)
        pairs = [(int(j), free[own[free] == own[j]]) for j in order if outside[j] > 0]
        return [(j, rivals) for j, rivals in pairs if rivals.size]


class Signs(Coordinates):
    """An entrywise penalty Σ φ(|x_i|): zeros stay, the others keep their signs and their piece of φ, where h is smooth.

    ∂h at 0 is the interval between -φ'(0+) and φ'(0+).
    """

    def __init__(self, h: ScalarPenalty, x: np.ndarray):
        self.h, self.x, self.free = h, x, np.flatnonzero(x)
        self.label = np.sign(x).astype(np.int8)
        if h.is_piecewise_quadratic:  # pieces differ in whether φ' or φ'' vanishes
            bent, flat = h.second_derivative(x) != 0, h.subgradient(x) == 0
            self.label = self.label * (1 + bent + 2 * flat).astype(np.int8)

    def subgradient(self, g: np.ndarray) -> np.ndarray:
        most = self.h.slope_at_zero(self.x.shape)
        return np.where(self.x != 0, self.h.subgradient(self.x), np.clip(g, -most, most))

    def smooth(self) -> Smooth:
        return PenaltyOnSigns(self)


class PenaltyOnSigns(Smooth):
    """y ↦ h(x) for the free entries y of x, while they stay on their pieces.

    Quadratic pieces go on beyond their ends, so that steps do not stumble over kinks that are not of this face.
    """

    def __init__(self, face: Signs):
        self.face = face
        self._slope, self._bend = self._at(face.x)
        self._start, self._value = face.x.ravel()[face.free], float(face.h(face.x))
        self.is_quadratic = face.h.is_piecewise_quadratic
        self.is_convex = None if not self.is_quadratic else bool(np.all(self._bend == 0)) or None

    def _at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The slopes and second derivatives of the free entries."""
        h, free = self.face.h, self.face.free
        return h.subgradient(x).ravel()[free], h.second_derivative(x).ravel()[free]

    def __call__(self, y: np.ndarray) -> float:
        if not self.is_quadratic:
            return float(self.face.h(self.face.embed(y)))
        d = y - self._start
        return self._value + float(self._slope @ d + 0.5 * (self._bend * d) @ d)

    def grad(self, y: np.ndarray) -> np.ndarray:
        if not self.is_quadratic:
            return self._at(self.face.embed(y))[0]
        return self._slope + self._bend * (y - self._start)

    def hessian(self, y: np.ndarray) -> np.ndarray:
        """The diagonal."""
        return self._bend if self.is_quadratic else self._at(self.face.embed(y))[1]

    def curvature(self, y: np.ndarray, d: np.ndarray) -> np.ndarray:
        return self.hessian(y) * d


class Vertex(Coordinates):
    """Nothing is free: every entry is at one of finitely many values. ∂h(x) is everything."""

    def __init__(self, x: np.ndarray, label: np.ndarray):
        self.x, self.label, self.free = x, label, np.empty(0, int)

    def subgradient(self, g: np.ndarray) -> np.ndarray:
        return g


class Manifold(Face):
    """A smooth set as a whole: nothing but its `normals` directions at x is decided."""

    def __init__(self, h: Nonsmooth, x: np.ndarray, normals: int):
        self.h, self.x, self.label, self.normals = h, x, np.zeros(0, np.int8), normals

    @property
    def dimension(self) -> int:
        """Entries less normals."""
        return self.x.size - self.normals

    def tangent(self, d: np.ndarray) -> np.ndarray:
        return np.asarray(self.h.tangent(self.x, d))

    def subgradient(self, g: np.ndarray) -> np.ndarray:
        return g - self.tangent(g)


def prox_point(h: Nonsmooth, x: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, float] | None:
    """(v, step) with prox_h(v, step) = x and (v - x)/step = s; None where no step tried makes x that prox.

    Any s ∈ ∂h(x) has one where h is convex; for other h, one that is a proximal subgradient has.

    >>> from ipds.functions import Cardinality
    >>> v, step = prox_point(Cardinality(1), np.array([0.0, 2.0]), np.array([8.0, 0.0]))
    >>> Cardinality(1).prox(v, step), (v - [0.0, 2.0]) / step
    (array([0., 2.]), array([8., 0.]))
    """
    size, length = float(np.linalg.norm(x)), float(np.linalg.norm(s))
    step = size / length if size > 0 and length > 0 else 1.0
    for _ in range(TRIES):
        v: Any = x + step * s
        if np.linalg.norm(h.prox(v, step) - x) <= 1e-12 * (size + step * length):
            return v, step
        step *= SHORTER
    return None
