"""Sparse principal component analysis with orthonormal components."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import threads_for_data
from ..functions import L1, PCAReconstruction, PCAVariance, Stiefel
from ..functions.row_covariance import RowCovariance
from ..problem import Block, Problem
from ._base import Estimator, fitting
from ._dask import features_of, is_dask
from ._orthonormal import ColumnCardinality, orthonormal_on_support
from ._scaling import scaled

FORMULATIONS = ("variance", "reconstruction")
LIGHT, TRIAL = 0.2, 1500
"""Weight of the penalty in the first stage of the ℓ0 variant, and its iterations at most."""
WIDE, FEW = 2000, 0.25
"""Features beyond which a first solve takes only those that matter, and the largest share of them that is worth it."""


class SparsePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
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
    n_components : number of components; None for min(samples, features).
    alpha : weight of the ℓ1 norm, between 0 (PCA) and `alpha_max(X)` (single features).
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

    def __init__(
        self,
        n_components: int | None = None,
        alpha: float = 0.1,
        *,
        formulation: str = "variance",
        sparsity: int | None = None,
        standardize: Any = "auto",
        method: Any = "auto",
        tol: float = 1e-4,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
        progress: bool = False,
        checkpoint: Any = None,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.formulation = formulation
        self.sparsity = sparsity
        self.standardize = standardize
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.progress = progress
        self.checkpoint = checkpoint

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def problem(self, X: Any, y: Any = None) -> Problem:
        """The optimisation problem behind `fit`."""
        X, r = self._aside()._validated(X)
        return self._problem(X, r, self._leading(X, r))

    @threads_for_data
    @fitting
    def fit(self, X: Any, y: Any = None) -> SparsePCA:
        """Find the components of the samples X (dense or sparse); y is ignored."""
        X, r = self._validated(X)
        start = self._leading(X, r)
        problem = self._problem(X, r, start)
        x0: Any = [start, start]
        z0 = None
        if self.sparsity is not None:  # a light penalty first: it leaves the support free to move
            V = problem.blocks[1].h.prox(start, 1.0)
            x0 = self._solve(self._problem(X, r, start, LIGHT), [start, V, start - V], trial=TRIAL).x
        elif X.shape[1] > WIDE and self.checkpoint is None and not self._warm(problem):
            x0, z0 = self._on_few_features(X, problem, start)
        self._solve(problem, x0, z0)
        if self.sparsity is None and self.alpha > 0 and not self._interrupted:
            single = _single_features(_variances(X), r)
            if problem.objective([single, single]) < self.result_.fun:  # single features do better
                self._solve(problem, [single, single], warm=False)
        Y, V = (np.asarray(block) for block in self.result_.x[:2])
        if self.alpha == 0 and self.sparsity is None:
            V = _rotated(X, Y)  # any rotation does as well: take the principal one
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
        return _scores(X, self.components_.T, self.mean_)

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
        X, _ = self._aside()._validated(X)
        d = X.shape[1]
        if d == 1:
            return 0.0
        if d > 4000:
            low, high = np.sort(np.sqrt(_variances(X)))[-2:]
            largest = float(low * high)
        else:
            C = _gram(X) / X.shape[0]
            np.fill_diagonal(C, 0.0)
            largest = float(np.abs(C).max())
        return 0.5 * largest * (np.sqrt(d) + 1)

    def path(self, X: Any, alphas: Sequence[float]) -> SparsePCAPath:
        """Fits for many alphas, each started at the solution for the next smaller one; in the order of `alphas`.

        Upwards from PCA, because single features stay locally optimal far below `alpha_max`: a path downwards would
        not leave them.
        """
        order = np.argsort(alphas)
        model = clone(self).set_params(warm_start=True)
        found: dict[int, SparsePCA] = {}
        for i in order:
            model.set_params(alpha=float(alphas[i])).fit(X)
            found[int(i)] = model
            model = _continued(model)
        models = [found[i] for i in range(len(alphas))]
        return SparsePCAPath(
            np.asarray(alphas, dtype=float),
            np.array([m.components_ for m in models]),
            np.array([m.explained_variance_ratio_ for m in models]),
            np.array([np.count_nonzero(m.components_, axis=1) for m in models]),
        )

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _validated(self, X: Any) -> tuple[Any, int]:
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
            X = scaled(X, self.feature_scales_)
        m, d = X.shape
        r = (
            min(m, d)
            if self.n_components is None
            else self._count("n_components", self.n_components, d, "features")
        )
        if self.sparsity is not None:
            self._count("sparsity", self.sparsity, d, "features")
        return X, r

    def _problem(self, X: Any, r: int, start: np.ndarray, weight: float = 1.0) -> Problem:
        d = X.shape[1]
        f = (PCAVariance if self.formulation == "variance" else PCAReconstruction)(X, center=True)
        Y = Block(f=f, h=Stiefel(), A=-1.0, shape=(d, r), name="Y")
        if self.sparsity is None:
            return Problem([Y, Block(h=L1(self.alpha), A=1.0, shape=(d, r), name="V")])
        slope = (
            float(np.abs(f.grad(start)).max()) or 1.0
        )  # the penalty is exact once it outweighs the slope of f
        return Problem(
            [
                Y,
                Block(h=ColumnCardinality(self.sparsity), A=1.0, shape=(d, r), name="V"),
                Block(h=L1(weight * slope), A=1.0, shape=(d, r), name="U"),
            ]
        )

    def _on_few_features(self, X: Any, problem: Problem, start: np.ndarray) -> tuple[Any, Any]:
        """(x0, z0) from the problem of those features alone whose slope |∂f| at the start is at least alpha.

        The others have loading 0 in most solutions; where one has not, the solve that begins here moves it. x0 is the
        start where more than a `FEW`th of the features are left.
        """
        f = problem.blocks[0].f
        if not isinstance(f, PCAVariance) or isinstance(X, RowCovariance):
            return [start, start], None
        few = np.flatnonzero(np.abs(f.grad(start)).max(axis=1) >= self.alpha)
        if not start.shape[1] <= len(few) <= FEW * X.shape[1]:
            return [start, start], None
        near = np.linalg.qr(start[few])[0]
        found = self._solve(self._problem(X[:, few], start.shape[1], near), [near, near], trial=self.max_iter)
        Y, V = np.zeros_like(start), np.zeros_like(start)
        Y[few], V[few] = found.x
        z = f.grad(Y)  # so that nothing is left of the stationarity of the features at 0
        z[few] = found.z
        return [Y, V], z

    def _leading(self, X: Any, r: int) -> np.ndarray:
        """Leading principal components, as columns: the start."""
        (m, d), mean = X.shape, _mean(X)
        if d <= 1000:
            return np.linalg.eigh(_gram(X))[1][:, ::-1][:, :r].copy()
        if m <= 1000 and not sp.issparse(X) and not isinstance(X, RowCovariance):
            V = np.linalg.svd(X - mean, full_matrices=False)[2][:r].T
        elif r >= min(m, d):
            raise ValueError(
                f"SparsePCA: n_components must be below min(samples, features) = {min(m, d)} for X of this size, "
                f"got {r}"
            )
        else:
            rng = check_random_state(0 if self.random_state is None else self.random_state)
            v0 = rng.standard_normal(min(m, d))
            if isinstance(X, RowCovariance):
                C = spla.LinearOperator((d, d), matvec=lambda v: np.asarray(X.apply(v.ravel())), dtype=float)
                return spla.eigsh(C, k=r, v0=np.resize(v0, d), tol=1e-6)[1][:, ::-1]
            centred = spla.LinearOperator(
                X.shape,
                matvec=lambda v: X @ v.ravel() - mean @ v.ravel(),
                rmatvec=lambda w: X.T @ w.ravel() - mean * w.sum(),
                dtype=float,
            )
            V = spla.svds(centred, k=r, v0=v0, tol=1e-3)[2][::-1].T
        if V.shape[1] < r:  # fewer samples than components: complete the basis
            V = np.linalg.qr(np.hstack([V, np.eye(d, r)]))[0][:, :r]
        return V

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
        mean = _mean(X)
        scores = _scores(X, V, mean)
        order = np.argsort(-np.einsum("ij,ij->j", scores, scores), kind="stable")
        V, scores = V[:, order], scores[:, order]
        signs = np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
        self.loadings_ = (V * signs).T
        self.components_, self.mean_ = self.loadings_ / self.feature_scales_, mean * self.feature_scales_
        triangle = np.asarray(np.linalg.qr(scores, mode="r"))
        diagonal = np.zeros(V.shape[1])
        diagonal[: min(triangle.shape)] = np.diagonal(triangle)
        self.explained_variance_ = diagonal**2 / (X.shape[0] - 1)
        total = float(_variances(X).sum()) * X.shape[0] / (X.shape[0] - 1)
        self.explained_variance_ratio_ = self.explained_variance_ / total if total > 0 else 0 * diagonal
        self.quality_ = {
            "explained variance": float(self.explained_variance_ratio_.sum()),
            "nonzero loadings": int(np.count_nonzero(self.loadings_)),
        }

    def _terms(self) -> dict[str, dict[str, float]]:
        return {f"component {k + 1}": self._named(row) for k, row in enumerate(self.loadings_)}


class SparsePCAPath(NamedTuple):
    """Fits along `alphas`: components (alphas, components, features); ratios, nonzeros (alphas, components)."""

    alphas: np.ndarray
    components: np.ndarray
    explained_variance_ratio: np.ndarray
    nonzeros: np.ndarray


def _continued(model: SparsePCA) -> SparsePCA:
    """A copy that starts where `model` ended."""
    following: SparsePCA = clone(model)
    following.result_ = model.result_
    return following


def _mean(X: Any) -> np.ndarray:
    if isinstance(X, RowCovariance):
        return X.mean
    return np.asarray(X.mean(axis=0)).ravel()


def _variances(X: Any) -> np.ndarray:
    """Variance of each feature, over m."""
    if isinstance(X, RowCovariance):
        return X.diagonal / X.samples
    if not sp.issparse(X):
        return np.asarray(X.var(axis=0))
    return np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - _mean(X) ** 2, 0.0)


def _gram(X: Any) -> np.ndarray:
    """DᵀD of the centred data D."""
    if isinstance(X, RowCovariance):
        return np.asarray(X.apply(np.eye(X.shape[1])))
    gram, mean = X.T @ X, _mean(X)
    return (gram.toarray() if sp.issparse(gram) else gram) - X.shape[0] * np.outer(mean, mean)


def _scores(X: Any, V: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """(X - mean) V without centring a sparse X; of distributed data the r×r root of its Gram matrix, which serves as
    well: lengths and angles are the same.
    """
    if isinstance(X, RowCovariance):
        w, q = np.linalg.eigh(V.T @ np.asarray(X.apply(V)))
        return (q * np.sqrt(np.maximum(w, 0.0))).T
    return np.asarray(X @ V - mean @ V if sp.issparse(X) else (X - mean) @ V)


def _single_features(variances: np.ndarray, r: int) -> np.ndarray:
    """The r unit vectors of largest variance, as columns."""
    V = np.zeros((len(variances), r))
    V[np.argsort(-variances, kind="stable")[:r], np.arange(r)] = 1.0
    return V


def _rotated(X: Any, Y: np.ndarray) -> np.ndarray:
    """The principal axes of the scores within the span of Y."""
    scores = _scores(X, Y, _mean(X))
    return Y @ np.linalg.eigh(scores.T @ scores)[1][:, ::-1]
