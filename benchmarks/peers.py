"""Packages that one could use instead, on the problems of the engine: solver(case, record), as in `specialists`.

Each package is called as its documentation shows, from the case's start where it takes one, with tolerances tight
enough that its answer is its best. What a package cannot state (a rank, an orthonormal frame, a count) is left to a
prox written here, to a smoothing, or to the relaxation that its users take; the nearest feasible point is scored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.clock import Recorder
from benchmarks.problems import Array, Case, largest, polar
from benchmarks.specialists import on_support, soft

# ---------------------------------------------------------------- CVXPY


def smooth_programming(solver: str) -> Any:
    """CVXPY's DNLP: sparse components (VᵀV = I), dual pursuit, or phase retrieval as nonlinear programmes."""

    def run(case: Case, record: Recorder) -> Array:
        import cvxpy as cp

        v = cp.Variable(case.start.shape)
        v.value = case.start
        data, constraints = case.data, []
        if "z" in data:
            misfit = cp.square(data["G"] @ v) - data["z"]
            cost = 0.5 * cp.sum(cp.square(misfit)) + data["rho"] * cp.norm1(v)
            constraints = [data["D"] @ v >= 0]
        else:
            frame = v.T @ v == np.eye(case.start.shape[1])
            constraints = [frame]
            if "f" in data:
                B = data["D"] / np.sqrt(2 * len(data["D"]))
                cost = -cp.sum(cp.square(B @ v)) + data["weight"] * cp.sum(cp.abs(v))
            elif solver == "IPOPT":
                cost = sum(cp.norm2(g @ v) for g in data["G"])
            else:  # UNO: no answer in minutes with norms or less smoothing, a worse one with cones t² ≥ ‖gᵀv‖²
                cost = cp.sum(cp.sqrt(cp.sum(cp.square(data["G"] @ v), axis=1) + 1e-4))
        problem = cp.Problem(cp.Minimize(cost), constraints)
        options: dict[str, Any] = {"logger": "SILENT", "time_limit": record.budget}
        if solver == "IPOPT":
            options = {"print_level": 0, "sb": "yes", "max_wall_time": record.budget}
        problem.solve(nlp=True, solver=solver, **options)
        if v.value is None:
            raise RuntimeError(f"no point: {problem.status}")
        if problem.status == cp.USER_LIMIT:  # cut off, which is no failure of the method: the table says so
            record(np.asarray(v.value), final=True)
            record.over = True
        return np.asarray(v.value)

    return run


def convex_programming(solver: str) -> Any:
    """CVXPY: the case itself where it is convex; of a regression with few coefficients the ℓ1 relaxation, refitted."""

    def run(case: Case, record: Recorder) -> Array:
        import cvxpy as cp

        v, data = cp.Variable(case.start.shape), case.data
        if "tv" in data:
            cost: Any = 0.5 * cp.sum_squares(v - data["y"]) + data["tv"] * cp.norm1(cp.diff(v))
        elif "lam" in data:
            cost = 0.5 * cp.sum_squares(data["G"] @ v - data["y"]) + data["lam"] * cp.norm1(v)
        else:
            return _relaxed(case, record, solver)
        problem = cp.Problem(cp.Minimize(cost))
        problem.solve(solver=solver)
        if v.value is None:
            raise RuntimeError(f"no point: {problem.status}")
        return np.asarray(v.value)

    return run


def _relaxed(case: Case, record: Recorder, solver: str) -> Array:
    """min ‖Gv - y‖₁ + α‖v‖₁ for three α; the s largest entries, refitted."""
    import cvxpy as cp

    G, y, s = case.data["G"], case.data["y"], case.data["s"]
    v, weight = cp.Variable(G.shape[1]), cp.Parameter(nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.norm1(G @ v - y) + weight * cp.norm1(v)))
    best = (np.inf, case.start)
    for share in (0.3, 0.1, 0.03):
        weight.value = share * np.abs(G.T @ np.sign(y)).max()
        problem.solve(solver=solver)
        if v.value is None:
            continue
        point = on_support(G, y, largest(np.asarray(v.value), s))
        record(point)
        best = min(best, (case.objective(point), point), key=lambda pair: pair[0])
    return best[1]


# ---------------------------------------------------------------- phase retrieval


def panoc(case: Case, record: Recorder) -> Array:
    """alpaqa: an augmented Lagrangian for Dv ≥ 0 around PANOC with L-BFGS, the ℓ1 norm by its prox."""
    import alpaqa as pa  # type: ignore[import-not-found, unused-ignore]

    G, z, D, rho = (case.data[name] for name in ("G", "z", "D", "rho"))

    class Statement(pa.BoxConstrProblem):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__(G.shape[1], len(D))
            self.general_bounds.lower[:], self.general_bounds.upper[:] = 0.0, np.inf
            self.l1_reg = np.array([rho])

        def eval_objective(self, v: Array) -> float:
            misfit = (G @ v) ** 2 - z
            return 0.5 * float(misfit @ misfit)

        def eval_objective_gradient(self, v: Array, out: Array) -> None:
            Gv = G @ v
            out[:] = 2 * (G.T @ ((Gv * Gv - z) * Gv))

        def eval_constraints(self, v: Array, out: Array) -> None:
            out[:] = D @ v

        def eval_constraints_gradient_product(self, v: Array, y: Array, out: Array) -> None:
            out[:] = D.T @ y

    inner = pa.PANOCSolver({"max_iter": 5000}, pa.LBFGSDirection({"memory": 20}))
    solver = pa.ALMSolver({"tolerance": 1e-7, "dual_tolerance": 1e-7}, inner)
    return solver(pa.Problem(Statement()), case.start.copy(), asynchronous=False)[0]


# ---------------------------------------------------------------- regression


def splicing(case: Case, record: Recorder) -> Array:
    """skscope: s coefficients by splicing under a Huber loss (its objectives must be smooth), refitted."""
    import jax
    import jax.numpy as jnp
    import skscope  # type: ignore[import-not-found, unused-ignore]

    jax.config.update("jax_enable_x64", True)
    G, y, s = case.data["G"], case.data["y"], case.data["s"]
    width = float(np.median(np.abs(y))) / 10

    def loss(v: Any) -> Any:
        r = jnp.abs(jnp.asarray(y) - jnp.asarray(G) @ v)
        return jnp.where(r < width, 0.5 * r * r / width, r - 0.5 * width).sum()

    found = skscope.ScopeSolver(G.shape[1], s).solve(loss, jit=True)
    return on_support(G, y, largest(np.asarray(found), s))


def folded_concave(case: Case, record: Recorder) -> Array:
    """skglm: a Huber loss with the minimax concave penalty along a path; the s largest entries, refitted."""
    from skglm import GeneralizedLinearEstimator  # type: ignore[import-not-found, unused-ignore]
    from skglm.datafits import Huber  # type: ignore[import-not-found, unused-ignore]
    from skglm.penalties import MCPenalty  # type: ignore[import-not-found, unused-ignore]

    G, y, s = np.asfortranarray(case.data["G"]), case.data["y"], case.data["s"]
    width = 1.35 * float(np.median(np.abs(y)))
    ceiling = float(np.abs(G.T @ np.clip(y, -width, width)).max()) / len(y)
    best = (np.inf, case.start)
    for share in (0.3, 0.1, 0.03):
        fit = GeneralizedLinearEstimator(Huber(width), MCPenalty(share * ceiling, 3.0)).fit(G, y)
        point = on_support(case.data["G"], y, largest(np.ravel(fit.coef_), s))
        record(point)
        best = min(best, (case.objective(point), point), key=lambda pair: pair[0])
    return best[1]


# ---------------------------------------------------------------- lasso


def coordinate_descent(package: str) -> Any:
    """celer, skglm, scikit-learn: their `Lasso`, whose loss is ‖Gv - y‖²/(2m)."""

    def run(case: Case, record: Recorder) -> Array:
        G, y, lam = case.data["G"], case.data["y"], case.data["lam"]
        options: dict[str, Any] = {"alpha": lam / len(y), "tol": 1e-10, "fit_intercept": False}
        if package == "celer":
            from celer import Lasso  # type: ignore[import-not-found, unused-ignore]
        elif package == "skglm":
            from skglm import Lasso  # type: ignore[import-not-found, unused-ignore]
        else:
            from sklearn.linear_model import Lasso

            options["max_iter"] = 100_000
        return np.asarray(Lasso(**options).fit(np.asfortranarray(G), y).coef_)

    return run


def taut_string(case: Case, record: Recorder) -> Array:
    """prox-tv: total variation in one dimension, exactly."""
    import prox_tv  # type: ignore[import-not-found, unused-ignore]

    return prox_tv.tv1_1d(case.data["y"], case.data["tv"])


# ---------------------------------------------------------------- frames and ranks by ADMM


def variable_projection(case: Case, record: Recorder) -> Array:
    """sparsepca: loadings with an ℓ1 penalty by its own splitting; not orthonormal, so that the polar factor counts."""
    import sparsepca  # type: ignore[import-not-found, unused-ignore]

    B, weight = case.data["D"], case.data["weight"]
    covariance = B.T @ B / len(B)
    options = {"x0": case.start, "y0": case.start, "k": case.start.shape[1], "type": 1, "normalize": False}
    found = sparsepca.spca(covariance, weight * np.ones((case.start.shape[1], 1)), 0.0, **options)
    return np.asarray(found[0] if isinstance(found, tuple) else found["loadings"])


def _spectrum(X: Array, threshold: Any) -> Array:
    U, sizes, W = np.linalg.svd(X, full_matrices=False)
    return (U * threshold(sizes)) @ W


def splitting_pyproximal(case: Case, record: Recorder) -> Array:
    """pyproximal's ADMM with a fixed step: the set by a prox of our own, as its users would write it."""
    import pyproximal  # type: ignore[import-not-found, unused-ignore]

    shape = case.start.shape

    class Own(pyproximal.ProxOperator):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self, prox: Any) -> None:
            super().__init__(None, False)
            self._prox = prox

        def __call__(self, x: Array) -> float:
            return 0.0

        def prox(self, x: Array, tau: float) -> Array:
            return self._prox(x.reshape(shape), tau).ravel()

    f, g = (Own(prox) for prox in _proxes(case))
    admm = pyproximal.optimization.primal.ADMM
    for step in _steps(case):  # the recorder keeps the best
        admm(f, g, case.start.ravel(), step, niter=1000, callback=lambda x: record(x.reshape(shape)))
    return record.best[1]


def splitting_scico(case: Case, record: Recorder) -> Array:
    """SCICO's ADMM with a fixed penalty, the same two proxes as its functionals."""
    import jax.numpy as jnp
    from scico import functional, linop, optimize  # type: ignore[import-not-found, unused-ignore]

    first, second = _proxes(case)

    class Own(functional.Functional):  # type: ignore[misc, name-defined, unused-ignore]
        has_eval, has_prox = False, True

        def __init__(self, prox: Any) -> None:
            self._prox = prox
            super().__init__()

        def prox(self, v: Any, lam: float = 1.0, **kwargs: Any) -> Any:
            return jnp.asarray(self._prox(np.asarray(v, float), float(lam)))

    identity, x = linop.Identity(case.start.shape), jnp.asarray(case.start)
    for step in _steps(case):  # the recorder keeps the best
        start = {"x0": x, "z0": x, "u0": jnp.zeros_like(x), "maxiter": 1}
        weights = {"rho": 1 / step, "mu": 1.01, "nu": 1.01}
        solver = optimize.ProximalADMM(f=Own(first), g=Own(second), A=identity, **weights, **start)
        for _ in range(1000):
            solver.step()
            record(np.asarray(solver.x, float))
    return record.best[1]


def _proxes(case: Case) -> tuple[Any, Any]:
    """(v, step) ↦ prox of the set with its smooth part, and of the penalty."""
    if "f" in case.data:
        f, weight = case.data["f"], case.data["weight"]
        return lambda v, t: polar(v - t * f.grad(v)), lambda v, t: soft(v, t * weight)
    M, r = case.data["M"], case.data["r"]

    def few(sizes: Array) -> Array:
        return np.where(np.arange(len(sizes)) < r, sizes, 0.0)

    return lambda v, t: _spectrum(v, few), lambda v, t: M + soft(v - M, t)


def _steps(case: Case) -> tuple[float, ...]:
    """Steps of ADMM worth a try: about 1/L of the smooth part, or the size of an entry, and smaller ones."""
    first = 1 / case.data["lipschitz"] if "f" in case.data else float(np.median(np.abs(case.data["M"])))
    return first, 0.3 * first, 0.1 * first
