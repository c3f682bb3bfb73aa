"""Structured sparse phase retrieval: a sparse signal from squared linear measurements."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .._arrays import threads_for_data
from ..functions import L1, NonNegative, PhaseRetrieval
from ..problem import Block, Problem
from ._base import Estimator, fitting

NOISE = 0.1
"""Share of y by size that noise may have made negative."""
TRIAL = 500
"""Iterations at most of the solve that settles the sign."""


@dataclass(eq=False, repr=False)
class SparsePhaseRetrieval(RegressorMixin, Estimator):
    """A real, sparse signal v from intensities z ≈ |G v|², with or without D v ≥ 0.

        min_v ½‖|G v|² - z‖²/m + α·a·‖v‖₁   subject to   D v ≥ 0,   a = mean(z)^(3/2)·rms(G)

    The factor a (rms(G): root mean square of the entries) makes `alpha` free of the units of G and z. Solved, times m,
    as min ι(y ≥ 0) + f(v) + αma‖v‖₁ over y - D v = 0, or without D over v - u = 0, from a sparse spectral start; with
    D, a solve without it comes first, because the sign cannot be told from the spectral start alone.

    Parameters
    ----------
    alpha : weight of the ℓ1 norm.
    D : matrix (rows, features) of the constraint D v ≥ 0; None for no constraint.
    n_nonzero : number of coordinates of the spectral start; None tries several and keeps the one that fits z best.
    method, tol, max_iter, time_limit, warm_start, random_state, verbose, progress, checkpoint : of the solve; the same
        for all models, see `ipds.models.Estimator`.

    Attributes
    ----------
    coef_ : v. v and -v measure alike: the sign is the one that meets D v ≥ 0 better; where D does not tell or is None,
        the largest entry is positive.
    start_ : the spectral start. support_ : indices of nonzero entries. result_, n_iter_ : of the solve.

    `fit(G, z)` takes a real or complex measurement matrix G; `predict(G)` gives |G v|². D v ≥ 0 holds to the tolerance.

    >>> rng = np.random.default_rng(0)
    >>> v = np.zeros(20); v[[3, 8]] = 1.0, -0.5
    >>> G = rng.standard_normal((80, 20))
    >>> model = SparsePhaseRetrieval(alpha=1e-4).fit(G, (G @ v) ** 2)
    >>> model.support_, model.coef_[[3, 8]].round(2)
    (array([3, 8]), array([ 1. , -0.5]))

    Reference: Wang et al., *Sparse phase retrieval via truncated amplitude flow*, IEEE Trans. SP 2018 (the start);
    Candès, Li & Soltanolkotabi, *Phase retrieval via Wirtinger flow*, IEEE Trans. IT 2015.
    """

    alpha: float = 0.01
    _: KW_ONLY
    D: Any = None
    n_nonzero: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a model of intensities, not of any y
        tags.target_tags.positive_only = True
        return tags

    def problem(self, X: Any, y: Any) -> Problem:
        """The optimisation problem behind `fit`: X the measurement matrix, y the intensities."""
        return self._problem(*self._aside()._validated(X, y))

    @threads_for_data
    @fitting
    def fit(self, X: Any, y: Any) -> SparsePhaseRetrieval:
        """Fit to the measurement matrix X, real or complex, and the intensities y."""
        G, z, D = self._validated(X, y)
        problem = self._problem(G, z, D)
        self.start_ = v = self._spectral_start(G, z)
        x0 = [v, v]
        if D is not None:  # the sign is only plain once the signal is: first without the constraint
            v = _signed(np.asarray(self._solve(self._problem(G, z, None), x0, trial=TRIAL).x[1]), D)
            x0 = [np.maximum(D @ v, 0.0), v]
        self.coef_ = _signed(np.asarray(self._solve(problem, x0).x[1]), D)
        self.support_ = np.flatnonzero(self.coef_)
        misfit = np.abs(np.abs(G @ self.coef_) ** 2 - z)
        self.quality_ = {
            "relative misfit of intensities": float(misfit.sum() / max(float(np.abs(z).sum()), 1e-300)),
            "nonzero coefficients": len(self.support_),
        }
        if not len(self.support_):
            self._warn(
                "every coefficient is zero; lower alpha, and make sure that y holds intensities |G v|²"
            )
        return self

    def _terms(self) -> dict[str, dict[str, float]]:
        return {"signal": self._named(self.coef_)}

    def predict(self, X: Any) -> np.ndarray:
        """Intensities |X v|²."""
        check_is_fitted(self)
        return np.abs(self._matrix(X, reset=False) @ self.coef_) ** 2

    def _matrix(self, X: Any, reset: bool) -> np.ndarray:
        """X, real or complex, checked part by part."""
        if not _is_complex(X):
            return np.asarray(validate_data(self, X, reset=reset, dtype=float))
        X = np.asarray(X)
        imaginary = validate_data(self, X.imag, reset=reset, dtype=float)
        return np.asarray(validate_data(self, X.real, reset=False, dtype=float) + 1j * imaginary)

    def _validated(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        self._nonnegative("alpha", self.alpha)
        if _is_complex(y):
            raise ValueError(
                "Complex data not supported: y must hold real intensities |G v|²; pass abs(y)**2"
            )
        if _is_complex(X):
            G = self._matrix(X, reset=True)
            z = check_array(y, ensure_2d=False, dtype=float)
            if z.shape != (len(G),):
                raise ValueError(f"SparsePhaseRetrieval: y has shape {z.shape}, but X has {len(G)} rows")
        else:
            G, z = validate_data(self, X, y, dtype=float, y_numeric=True, ensure_min_samples=2)
            z = np.asarray(z, dtype=float)
        self._in_range("X", G, power=4)
        self._in_range("y", z)
        below, size = float(-z[z < 0].sum()), float(np.abs(z).sum())
        if below > NOISE * size:
            raise ValueError(
                f"SparsePhaseRetrieval: {100 * below / size:.0f}% of y by size is negative, and intensities |G v|² are "
                "not; for a target of any sign take RobustSparseRegressor"
            )
        if self.n_nonzero is not None:
            self._count("n_nonzero", self.n_nonzero, G.shape[1], "features")
        if self.D is None:
            return G, z, None
        if _is_complex(self.D):
            raise ValueError("Complex data not supported: D must be real, as the signal is")
        D = check_array(self.D, dtype=float)
        if D.shape[1] != G.shape[1]:
            raise ValueError(
                f"SparsePhaseRetrieval: D has {D.shape[1]} columns, but the signal has {G.shape[1]} entries"
            )
        return G, z, D

    def _problem(self, G: np.ndarray, z: np.ndarray, D: np.ndarray | None) -> Problem:
        (m, d), f = G.shape, PhaseRetrieval(G, z)
        unit = max(float(z.mean()), 0.0) ** 1.5 * math.sqrt(float(np.mean(np.abs(G) ** 2)))
        sparse = L1(self.alpha * m * unit)
        if D is None:
            return Problem([Block(f=f, A=-1.0, shape=d, name="v"), Block(h=sparse, A=1.0, shape=d, name="u")])
        return Problem(
            [
                Block(h=NonNegative(), A=1.0, shape=D.shape[0], name="y"),
                Block(f=f, h=sparse, A=-D, shape=d, name="v"),
            ]
        )

    def _spectral_start(self, G: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Leading eigenvector of Σ z_i g_i g_iᵀ on the coordinates with the largest marginals Σ z_i g_ij²."""
        m, d = G.shape
        order = np.argsort(-(z @ np.abs(G) ** 2))
        root = math.sqrt(m)
        sizes = {min(d, max(1, round(root * factor))) for factor in (0.25, 0.5, 1.0, 2.0)}
        if self.n_nonzero is not None:
            sizes = {int(self.n_nonzero)}
        starts = [_leading(G, z, np.sort(order[:k])) for k in sorted(sizes)]
        return min(starts, key=lambda v: float(np.sum((np.abs(G @ v) ** 2 - z) ** 2)))


def _is_complex(values: Any) -> bool:
    return np.asarray(values).dtype.kind == "c"


def _leading(G: np.ndarray, z: np.ndarray, support: np.ndarray) -> np.ndarray:
    """The leading eigenvector on `support`, of the length that fits z best."""
    rows = G[:, support]
    v = np.zeros(G.shape[1])
    v[support] = np.linalg.eigh(((rows.conj().T * z) @ rows).real)[1][:, -1]
    power = np.abs(G @ v) ** 2
    square = float(power @ power)
    return v * math.sqrt(max(0.0, float(power @ z)) / square) if square > 0 else v


def _signed(v: np.ndarray, D: np.ndarray | None) -> np.ndarray:
    """v or -v: the one that violates D v ≥ 0 less, else the one whose largest entry is positive."""
    if D is not None:
        w = D @ v
        up, down = float(np.minimum(w, 0).sum()), float(np.minimum(-w, 0).sum())
        if up != down:
            return v if up > down else -v
    return v if v[np.abs(v).argmax()] >= 0 else -v
