"""Coarse fits of a robust regression, for comparisons: of large data, they see few features and few samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._lad import weighted_quantile

if TYPE_CHECKING:
    from .robust_regression import RobustSparseRegressor

LARGE, MORE = 2_000_000, 50
"""Entries of X beyond which coarse fits look at few features, and how many besides those they are to choose."""
ROWS = 20_000
"""Samples that coarse fits look at."""
JOINED = 10
"""Features that join what a coarse fit has chosen: those along which the sum over all samples falls fastest."""


class Samples(NamedTuple):
    """Features, targets and weights of samples."""

    X: Any
    y: Any
    c: np.ndarray

    def at(self, rows: Any) -> Samples:
        """Some of them."""
        return Samples(self.X[rows], self.y[rows], self.c[rows])

    def merged(self) -> Samples:
        """Those of positive weight, equal ones as one with the sum of their weights.

        Which of many critical points is found depends on rounding: so a weight of two and a sample twice are made the
        same numbers in the same order. Samples that all differ, of weight 1, stay as they are.
        """
        plain = bool(np.all(self.c == 1.0))
        if plain and len(np.unique(self.y)) == len(self.y):
            return self
        X, y, c = self if plain else self.at(np.flatnonzero(self.c > 0))
        keys = list(zip(y.tolist(), _rows(X), strict=True))
        order = sorted(range(len(keys)), key=keys.__getitem__)
        is_first = np.array([k == 0 or keys[i] != keys[order[k - 1]] for k, i in enumerate(order)])
        if plain and is_first.all():
            return self
        places = np.flatnonzero(is_first)
        total = np.add.reduceat(c[order], places)
        kept = np.array(order)[places]
        return Samples(X[kept], y[kept], total)

    def residuals(self, v: np.ndarray, t: float) -> np.ndarray:
        """y - X v - t."""
        return np.asarray(self.y - (np.asarray(self.X @ v) + t))


def _rows(X: Any) -> list[bytes]:
    """The numbers of every row, as something to compare."""
    if not sp.issparse(X):
        return [row.tobytes() for row in np.ascontiguousarray(X) + 0.0]  # + 0.0: -0.0 is 0.0
    X = sp.csr_array(X, copy=True)
    X.eliminate_zeros()
    X.sum_duplicates()
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends]


class Trials:
    """Coarse fits with one s after another.

    Of large data they see the features that any of them has chosen so far, and the s + `MORE` along which Σ c_i|r_i|
    falls fastest from the residuals r of the fit with the next smaller s: iterated sure independence screening (Fan &
    Lv, JRSS B 2008). Of more than `ROWS` samples they see so many, drawn at random. The fit with the s that is chosen
    sees them all.
    """

    def __init__(self, model: RobustSparseRegressor):
        self.model = model
        self.found: dict[int, tuple[np.ndarray, float]] = {}

    def __call__(self, samples: Samples, s: int, design: Any) -> tuple[np.ndarray, float]:
        """(v, t)."""
        few, m = self._screen(samples, s, design), samples.X.shape[0]
        own = samples
        if m > ROWS:
            own = own.at(np.sort(np.random.default_rng(0).choice(m, ROWS, replace=False)))
        if few is not None:
            own = Samples(own.X[:, few], own.y, own.c)
        chosen, t = self.model._fitted(
            own, s, design if own is samples else self.model._standardised(own), trial=True
        )
        v = np.zeros(samples.X.shape[1])
        v[slice(None) if few is None else few] = chosen
        self.found[s] = v, t
        return v, t

    def support(self, samples: Samples, s: int, design: Any, top: int) -> np.ndarray:
        """The features that the fit with s has chosen, and `JOINED` that would join it first; at most `top`."""
        chosen = np.flatnonzero(self.found[s][0])
        steep = self._steepest(samples, s, design, len(chosen) + JOINED)
        joining = steep[~np.isin(steep, chosen)][: min(JOINED, max(0, top - len(chosen)))]
        return np.union1d(chosen, joining)

    def _screen(self, samples: Samples, s: int, design: Any) -> np.ndarray | None:
        """The features to look at; None for all."""
        m, d = samples.X.shape
        if m * d <= LARGE or s + MORE >= d:
            return None
        smaller = [k for k in self.found if k < s]
        steep = self._steepest(samples, max(smaller, default=0), design, s + MORE)
        few = np.union1d(steep, np.flatnonzero(sum((v != 0 for v, _ in self.found.values()), np.zeros(d))))
        return few if 2 * len(few) <= d else None

    def _steepest(self, samples: Samples, s: int, design: Any, count: int) -> np.ndarray:
        """The `count` features along which Σ c_i|r_i| falls fastest, r of the fit with s (0: of a constant)."""
        d, c = samples.X.shape[1], samples.c
        level = weighted_quantile(samples.y, 0.5, c) if self.model.fit_intercept and s == 0 else 0.0
        v, t = self.found[s] if s else (np.zeros(d), level)
        slopes = np.abs(np.asarray(design.A.adjoint(c * np.sign(samples.residuals(v, t)))))
        return np.argsort(-slopes, kind="stable")[:count]
