"""General-purpose packages on the same problems; a package that is not installed is skipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize
from benchmarks.clock import Recorder
from benchmarks.problems import Array, Case, largest
from benchmarks.specialists import on_support, soft


def quantile_regression(case: Case, record: Recorder) -> Array:
    """scikit-learn's linear programme min ‖Gv - y‖₁/m + α‖v‖₁ for three α; the s largest entries, refitted."""
    from sklearn.linear_model import QuantileRegressor

    G, y, s = case.data["G"], case.data["y"], case.data["s"]
    ceiling = np.abs(G.T @ np.sign(y)).max() / len(y) / 2
    best = (np.inf, case.start)
    for share in (0.3, 0.1, 0.03):
        model = QuantileRegressor(quantile=0.5, alpha=share * ceiling, fit_intercept=False).fit(G, y)
        v = on_support(G, y, largest(model.coef_, s))
        record(v)
        best = min(best, (float(np.abs(G @ v - y).sum()), v), key=lambda pair: pair[0])
    return best[1]


def conjugate_gradients(case: Case, record: Recorder) -> Array:
    """pymanopt's conjugate gradients on the Stiefel manifold, |x| as √(x² + ε²), ε smaller in every stage."""
    import pymanopt  # type: ignore[import-not-found, unused-ignore]

    f, weight, X = case.data["f"], case.data["weight"], case.start
    manifold = pymanopt.manifolds.Stiefel(*X.shape)
    for width in 0.1 * 0.3 ** np.arange(10):

        @pymanopt.function.numpy(manifold)
        def cost(X: Array, width: float = width) -> float:
            return f(X) + weight * float(np.sqrt(X * X + width * width).sum())

        @pymanopt.function.numpy(manifold)
        def gradient(X: Array, width: float = width) -> Array:
            record(X, lambda: soft(X, width))
            return f.grad(X) + weight * X / np.sqrt(X * X + width * width)

        stage = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
        optimizer = pymanopt.optimizers.ConjugateGradient(
            verbosity=0, max_iterations=100, min_gradient_norm=1e-6
        )
        X = optimizer.run(stage, initial_point=X).point
    return X


def quadratic_programming(case: Case, record: Recorder) -> Array:
    """SciPy's SLSQP on v = p - q, p, q ≥ 0, D(p - q) ≥ 0."""
    G, z, D, rho = (case.data[name] for name in ("G", "z", "D", "rho"))
    n = G.shape[1]

    def smooth(pq: Array) -> tuple[float, Array]:
        v = pq[:n] - pq[n:]
        record(v)
        Gv = G @ v
        misfit = Gv * Gv - z
        g = 2 * (G.T @ (misfit * Gv))
        return 0.5 * float(misfit @ misfit) + rho * float(pq.sum()), np.concatenate([g + rho, rho - g])

    start = np.concatenate([np.maximum(case.start, 0), np.maximum(-case.start, 0)])
    jacobian = np.hstack([D, -D])
    cone: Any = {"type": "ineq", "fun": lambda pq: jacobian @ pq, "jac": lambda pq: jacobian}
    bounds = [(0, None)] * (2 * n)
    options: Any = {"maxiter": 1000, "ftol": 1e-12}
    pq = scipy.optimize.minimize(
        smooth, start, jac=True, method="SLSQP", bounds=bounds, constraints=[cone], options=options
    ).x
    return pq[:n] - pq[n:]
