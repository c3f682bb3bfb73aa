"""Sparse principal component analysis with orthonormal components."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import threads_for_data
from ..functions import L1, PCAReconstruction, PCAVariance, Stiefel
from ..functions.covariance import Covariance, Gram
from ..functions.row_covariance import RowCovariance
from ..problem import Block, Problem
from . import _moments as moments
from ._base import Decomposition, fitting
from ._dask import features_of, is_dask
from ._few_features import on_few_features
from ._orthonormal import ColumnCardinality, orthonormal_on_support
from ._pca_path import SHARE, SparsePCAPath, chosen_alpha, path_of
from ._scaling import scaled

FORMULATIONS = ("variance", "reconstruction")
LIGHT, STAGE, MOST = 0.2, 1500, 8
"""Weight of the penalty in the first stage of the ℓ0 variant, its iterations at most; components taken unasked."""


@dataclass(eq=False, repr=False)
class SparsePCA(Decomposition):
    """Principal components with few nonzero loadings, orthonormal like those of PCA.

        min_V f(V) + α‖V‖₁   subject to   VᵀV = I,   V of shape (features, components)

    with D the centred data of m samples and f(V) = -‖D V‖²/(2m) ("variance") or ‖D - D V Vᵀ‖²/(2m)
    ("reconstruction", the paper's quartic); on VᵀV = I they differ by a constant. Solved as
    min f(Y) + ι(YᵀY = I) + α‖V‖₁ over -Y + V = 0. The factor 1/m makes `alpha` independent of the number of samples.

    With `sparsity=k` the ℓ1 norm gives way to at most k nonzeros in each component:
    min f(Y) + ι(YᵀY = I) + ι(column-wise ‖·‖₀ ≤ k)(V) + γ‖U‖₁ over -Y + V + U = 0, an exact penalty of the gap. This
    variant is slower and often stops short of `tol`; the warning says how near it came.

    Parameters
    ----------
    n_components : number of components; a share between 0 and 1 for as many as PCA needs to explain it; None for a
        share of 0.9 and at most 8, with a warning where 8 hold less.
    alpha : weight of the ℓ1 norm, between 0 (PCA) and `alpha_max(X)` (single features), or chosen among ten: "auto",
        the largest whose components explain 90% of what as many of PCA do; "bic", by the unexplained variance as a
        multiple of PCA's + log(m)/m for each nonzero (Croux, Filzmoser & Fritz, Technometrics 2013); "cv", the
        largest whose explained variance of held-out samples is within one standard error of the best.
    formulation : "variance" or "reconstruction".
    sparsity : k, nonzeros per component; None for the ℓ1 norm.
    standardize : divide features by their standard deviations; "auto" where one is 10 times larger than the
        median.
    method, tol, max_iter, time_limit, warm_start, random_state, verbose, progress, checkpoint : of the solve; the same
        for all models, see `ipds.models.Estimator`.

    Attributes
    ----------
    loadings_ : (components, features), orthonormal rows, by falling explained variance, largest entry positive. Zeros
        are exact: the zeros of V, with orthonormality restored to rounding within its support.
    components_ : loadings_ / feature_scales_: the loadings themselves, where features are not standardised.
    mean_, feature_scales_ : of the features; the scales are 1 where they are not standardised.
    explained_variance_, explained_variance_ratio_ : adjusted for the correlation of scores (Zou et al. 2006): squared
        diagonal of R in the QR factorisation of the scores, over m - 1: what each component adds to those before it. At
        alpha = 0 those of PCA.
    result_, n_iter_ : of the solve.

    X may be a Dask array cut by rows: it stays on its workers; up to 4000 features they send their covariance once,
    beyond that an array of the size of V for every evaluation of f.
    Sparse X is never made dense: it is centred implicitly. Constant features get loading 0 (or, beyond the number of
    features that vary, single-feature components of variance 0).

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) @ [[1, 1, 0, 0, 0, 0]] + rng.standard_normal((200, 1)) @ [[0, 0, 0, 1, 1, 0]]
    >>> X += 0.1 * rng.standard_normal(X.shape)
    >>> model = SparsePCA(n_components=2, alpha=0.2).fit(X)
    >>> (model.components_ != 0).sum(axis=1), bool(np.allclose(model.components_ @ model.components_.T, np.eye(2)))
    (array([2, 2]), True)

    Reference: Zou, Hastie & Tibshirani, *Sparse principal component analysis*, JCGS 2006; Lu & Zhang, *An augmented
    Lagrangian approach for sparse principal component analysis*, Math. Prog. 2012.
    """

    accepts_sparse = True
    n_components: int | float | None = None
    alpha: Any = "auto"
    _: KW_ONLY
    formulation: str = "variance"
    sparsity: int | None = None
    cv: Any = 5
    standardize: Any = "auto"
    tol: float = 1e-4

    def problem(self, X: Any, y: Any = None) -> Problem:
        """The optimisation problem behind `fit`."""
        model = self._aside()
        X = model._validated(X)
        start = model._started(X)
        model.alpha_, _ = chosen_alpha(model, X, start)
        return model._problem(X, start.shape[1], start)

    @threads_for_data
    @fitting
    def fit(self, X: Any, y: Any = None) -> SparsePCA:
        """Find the components of the samples X (dense or sparse); y is ignored."""
        X = self._validated(X)
        start = self._started(X)
        self.n_components_ = r = start.shape[1]
        self.alpha_, guess = chosen_alpha(self, X, start)
        problem = self._problem(X, r, start)
        x0: Any = [guess.Y, guess.V]
        z0 = guess.z
        if self.sparsity is not None:  # a light penalty first: it leaves the support free to move
            V = problem.blocks[1].h.prox(start, 1.0)
            x0 = self._solve(self._problem(X, r, start, LIGHT), [start, V, start - V], trial=STAGE).x
        elif self.checkpoint is None and not self._warm(problem):
            finer = copy(self)  # so that it stands among all features, too
            finer.tol = 0.2 * self.tol
            *x0, z0 = on_few_features(finer, X, guess, trial=self.max_iter) or guess
        self._solve(problem, x0, z0)
        if self.sparsity is None and self.alpha_ > 0 and not self._interrupted:
            single = moments.single_features(moments.variances(X), r)
            if problem.objective([single, single]) < self.result_.fun:  # single features do better
                self._solve(problem, [single, single], warm=False)
        Y, V = (np.asarray(block) for block in self.result_.x[:2])
        if self.alpha_ == 0 and self.sparsity is None:
            V = moments.principal_axes(X, Y)  # any rotation does as well: take the principal one
        else:
            V = self._orthonormal(Y, V)
        self._store(X, V)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Scores (X - mean_) @ components_.T."""
        check_is_fitted(self)
        if is_dask(X):
            return (features_of(self, X, reset=False) - self.mean_) @ self.components_.T
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=float)
        return moments.scores(X, self.components_.T, self.mean_)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The points with the given scores: X @ (loadings_ · feature_scales_) + mean_."""
        check_is_fitted(self)
        rows = self.loadings_ * self.feature_scales_
        return (X if is_dask(X) else np.asarray(X, dtype=float)) @ rows + self.mean_

    def alpha_max(self, X: Any) -> float:
        """An alpha from which single features of largest variance are a solution: ½ c (√d + 1), c = max_{i≠j}|C_ij|.

        C is the covariance (over m), and Σ_ij C_ij v_i v_j ≤ Σ_i C_ii v_i² + c(‖v‖₁² - 1) with ‖v‖₁ ≤ √d proves it.
        They are a local solution from max |C_ij| between a chosen and another feature on, never below. Beyond 4000
        features c is bounded by the two largest standard deviations.
        """
        X = self._aside()._validated(X)
        return 0.5 * moments.largest_covariance(X) * (np.sqrt(X.shape[1]) + 1) if X.shape[1] > 1 else 0.0

    def score(self, X: Any, y: Any = None) -> float:
        """The share of the variance of X, about `mean_`, that lies in the span of the components; y is ignored."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=float)
        return moments.share_of_squares(
            scaled(X, self.feature_scales_), self.loadings_.T, self.mean_ / self.feature_scales_
        )

    def path(self, X: Any, alphas: Sequence[float]) -> SparsePCAPath:
        """Fits for many alphas, each started at the solution for the next smaller one; in the order of `alphas`.

        Upwards from PCA, because single features stay locally optimal far below `alpha_max`: a path downwards would
        not leave them.
        """
        return path_of(self, X, alphas)

    def _validated(self, X: Any) -> Any:
        if not isinstance(self.alpha, str):
            self._nonnegative("alpha", self.alpha)
        self._choice("formulation", self.formulation, FORMULATIONS)
        if is_dask(X):
            X = features_of(self, X, reset=True)
            self.feature_scales_ = self._scales(X, quiet=True)
            X = RowCovariance("SparsePCA", X, center=True, data="X")
        else:
            X = validate_data(self, X, accept_sparse="csr", dtype=float, ensure_min_samples=2)
            self._in_range("X", X)
            self.feature_scales_ = self._scales(X, quiet=True)
            X = Covariance("SparsePCA", scaled(X, self.feature_scales_), center=True)
        if self.sparsity is not None:
            self._count("sparsity", self.sparsity, X.shape[1], "features")
        return X

    def _started(self, X: Any) -> np.ndarray:
        """Leading principal components, as columns: as many as asked for, or as the share asked for needs."""
        m, d = X.shape
        share = SHARE if self.n_components is None else self.n_components
        if not isinstance(share, float) or not 0 < share < 1:
            return moments.leading(
                X, self._count("n_components", self.n_components, d, "features"), self.random_state
            )
        most = min(m, d) if d <= 1000 else min(m, d) - 1
        if self.n_components is None:
            most = min(most, MOST)
        V = moments.leading(X, max(1, most), self.random_state)
        scores = X.scores(V)
        held = np.cumsum(np.einsum("ij,ij->j", scores, scores)) / max(
            X.shape[0] * float(moments.variances(X).sum()), 1e-300
        )
        r = min(int(np.searchsorted(held, share - 1e-12)) + 1, V.shape[1])
        if self.n_components is None and held[r - 1] < share and min(m, d) > MOST:
            self._warn(
                f"{r} components are taken, and PCA's hold {100 * held[r - 1]:.0f}% of the variance; set n_components, "
                "a number or a share, for more",
                UserWarning,
            )
        return V[:, :r]

    def _problem(self, X: Any, r: int, start: np.ndarray, weight: float = 1.0) -> Problem:
        d = X.shape[1]
        data = X if X.C is None else Gram(X.C, X.samples)  # which is all that f needs
        f = (PCAVariance if self.formulation == "variance" else PCAReconstruction)(data)
        Y = Block(f=f, h=Stiefel(), A=-1.0, shape=(d, r), name="Y")
        if self.sparsity is None:
            return Problem([Y, Block(h=L1(self.alpha_), A=1.0, shape=(d, r), name="V")])
        # the penalty is exact once it outweighs the slope of f
        slope = float(np.abs(f.grad(start)).max()) or 1.0
        return Problem(
            [
                Y,
                Block(h=ColumnCardinality(self.sparsity), A=1.0, shape=(d, r), name="V"),
                Block(h=L1(weight * slope), A=1.0, shape=(d, r), name="U"),
            ]
        )

    def _orthonormal(self, Y: np.ndarray, V: np.ndarray) -> np.ndarray:
        found = orthonormal_on_support(V)
        if found is None:
            warnings.warn(
                "SparsePCA: no orthonormal components within the zeros found; returning orthonormal ones with small "
                "entries in their place (raise max_iter, or change alpha or sparsity)",
                ConvergenceWarning,
                stacklevel=3,
            )
            return Y
        return found

    def _store(self, X: Any, V: np.ndarray) -> None:
        """Components ordered and signed, and the variance they explain."""
        scores = X.scores(V)
        order = scipy.linalg.qr(scores, mode="r", pivoting=True)[1]  # each adds most to those before it
        V, scores = V[:, order], scores[:, order]
        signs = np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
        self.loadings_ = (V * signs).T
        self.components_, self.mean_ = self.loadings_ / self.feature_scales_, X.mean * self.feature_scales_
        triangle = np.asarray(np.linalg.qr(scores, mode="r"))
        diagonal = np.zeros(V.shape[1])
        diagonal[: min(triangle.shape)] = np.diagonal(triangle)
        self.explained_variance_ = diagonal**2 / (X.shape[0] - 1)
        total = float(moments.variances(X).sum()) * X.shape[0] / (X.shape[0] - 1)
        self.explained_variance_ratio_ = self.explained_variance_ / total if total > 0 else 0 * diagonal
        self.quality_ = {
            "explained variance": float(self.explained_variance_ratio_.sum()),
            "nonzero loadings": int(np.count_nonzero(self.loadings_)),
        }

    def _terms(self) -> dict[str, dict[str, float]]:
        return {f"component {k + 1}": self._named(row) for k, row in enumerate(self.loadings_)}
