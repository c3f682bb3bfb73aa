"""The statements of benchmarks/zoo.py as models: a function of the data for each, in at most four lines.

Each returns the problem and the variables that stand for the blocks that the statement's objective looks at.
"""

from __future__ import annotations

import numpy as np
from zoo_models_cones import CONES
from zoo_models_far import FAR
from zoo_models_ordinary import (
    FURTHER,
    determinant,
    fit,
    least_jerk,
    least_trace,
    own_penalty,
    polynomial,
    raw_inverse,
    robust_program,
    spline,
    vector,
)
from zoo_models_pieces import PIECES
from zoo_models_steps import STEPS

from ipds import Variable, minimize
from ipds.functions import (
    L0,
    L1,
    MCP,
    PSD,
    SCAD,
    Binary,
    Cardinality,
    Entropy,
    GroupL2,
    Linf,
    LinfBall,
    NegativeLog,
    PCAVariance,
    Poisson,
    Rank,
    Simplex,
    Stiefel,
)
from ipds.modelling import (
    diff,
    hinge,
    huber,
    log_det,
    logistic,
    norm1,
    norm2,
    norm21,
    nuclear,
    quad_form,
    quantile,
    sum_squares,
    total_variation,
)
from ipds.operators import DCT, Convolution


def lad(d):
    x = vector(d)
    return minimize(norm1(d.G @ x - d.y)), x


def lasso(d):
    x = vector(d)
    return minimize(fit(d, x) + L1(d.weights)(x)), x


def elastic_net(d):
    x = vector(d)
    return minimize(fit(d, x) + d.lam * norm1(x) + 0.5 * sum_squares(x)), x


def nnls(d):
    x = vector(d)
    return minimize(fit(d, x), [x >= 0]), x


def quantiles(d):
    x = vector(d)
    return minimize(quantile(d.y - d.G @ x, 0.9)), x


def huber_lasso(d):
    x = vector(d)
    return minimize(huber(d.G @ x - d.y, 1.0) + d.lam / 10 * norm1(x)), x


def support_vectors(d):
    w = vector(d)
    return minimize(0.5 * sum_squares(w) + hinge(d.labels * (d.G @ w))), w


def logistic_lasso(d):
    w = vector(d)
    return minimize(logistic(-d.labels * (d.G @ w)) + L1(d.weights)(w)), w


def group_lasso(d):
    x = vector(d)
    groups = [list(range(k, k + 5)) for k in range(0, d.G.shape[1], 5)]
    return minimize(fit(d, x) + GroupL2(d.lam, groups)(x)), x


def fused_lasso(d):
    x = vector(d)
    return minimize(fit(d, x) + d.lam / 20 * norm1(x) + d.lam / 4 * total_variation(x)), x


def dantzig(d):
    x = vector(d)
    return minimize(norm1(x) + LinfBall(d.lam)(d.G.T @ (d.G @ x - d.y))), x


def basis_pursuit(d):
    x = vector(d)
    return minimize(norm1(x), [d.G @ x == d.y]), x


def root_lasso(d):
    x = vector(d)
    return minimize(norm1(x) + 4 * norm2(d.G @ x - d.y)), x


def chebyshev(d):
    x = vector(d)
    return minimize(Linf(1.0)(d.G @ x - d.y)), x


def poisson(d):
    x = Variable(60, name="x")
    return minimize(Poisson(d.y)(d.K @ x + 1e-3), [x >= 0]), x


def on_a_plane(d):
    x = vector(d)
    return minimize(fit(d, x), [x.sum() == 1]), x


def trend(d):
    x = Variable(d.n, name="x")
    return minimize(0.5 * sum_squares(x - d.y) + d.lam * norm1(diff(diff(x)))), x


def variation(d):
    x = Variable(d.n, name="x")
    return minimize(0.5 * sum_squares(x - d.y) + d.lam * total_variation(x)), x


def anisotropic(d):
    X = Variable((d.n, d.n), name="X")
    return minimize(0.5 * sum_squares(X - d.y) + d.lam * (norm1(diff(X)) + norm1(diff(X, axis=1)))), X


def isotropic(d):
    X = Variable((d.n, d.n), name="X")
    return minimize(0.5 * sum_squares(X - d.y) + d.lam * total_variation(X)), X


def inpainting(d):
    X = Variable((d.n, d.n), name="X")
    jumps = norm1(diff(X)) + norm1(diff(X, axis=1))
    return minimize(0.5 * sum_squares(X[d.known] - d.y[d.known]) + d.lam * jumps), X


def deconvolution(d):
    x = Variable(200, name="x")
    blurred = Convolution(d.kernel, mode="same") @ x
    return minimize(0.5 * sum_squares(blurred - d.y) + d.lam * norm1(x), [x >= 0]), x


def sensing(d):
    x = Variable(256, name="x")
    return minimize(norm1(DCT() @ x), [x[d.known] == d.y]), x


def clustering(d):
    X = Variable((90, 2), name="X")
    i, j = np.array(d.edges).T
    return minimize(0.5 * sum_squares(X - d.X) + d.lam * norm21(X[i] - X[j])), X


def isotonic(d):
    x = Variable(150, name="x")
    return minimize(0.5 * sum_squares(x - d.y), [diff(x) >= 0]), x


def linear_program(d):
    x = Variable(d.n, name="x")
    return minimize(d.c @ x, [d.A @ x == d.b, x >= 0]), x


def inequalities(d):
    x = Variable(30, name="x")
    return minimize(d.c @ x, [d.A @ x <= d.b]), x


def transport(d):
    P = Variable((d.n, d.n), name="P")
    return minimize((d.C * P).sum(), [P.sum(axis=1) == d.a, P.sum(axis=0) == d.b, P >= 0]), P


def costs(d):
    w = Variable(d.n, name="w")
    gain = 0.5 * quad_form(w, d.S) - d.mu @ w
    return minimize(gain + d.cost * norm1(w - d.held), [w >= 0, w.sum() == 1]), w


def long_only(d):
    w = Variable(d.n, name="w")
    return minimize(0.5 * quad_form(w, d.S) - d.mu @ w + Simplex()(w)), w


def box_program(d):
    x = Variable(80, name="x")
    return minimize(0.5 * quad_form(x, d.Q) + d.c @ x, [x >= -0.5, x <= 0.5]), x


def quadratic_program(d):
    x = Variable(80, name="x")
    return minimize(0.5 * quad_form(x, d.Q) + d.c @ x, [x >= -1, x <= 1, d.A @ x <= 1]), x


def centre(d):
    x, r = Variable(8, name="x"), Variable(name="r")
    return minimize(-r, [d.A @ x + r * d.norms <= d.b, r >= 0]), x, r


def moments(d):
    p = Variable(100, name="p")
    return minimize(Entropy()(p), [d.A @ p == d.b]), p


def design(d):
    w = Variable(30, name="w")
    products = np.stack([np.outer(g, g).ravel() for g in d.G], axis=1)
    information = (products @ w).reshape(5, 5) + 1e-6 * np.eye(5)
    return minimize(-log_det(information), [w >= 0, w <= 1, w.sum() == d.k]), w


def barrier(d):
    x = Variable(20, name="x")
    return minimize(NegativeLog(d.c)(x + 1e-8), [x >= 0, x.sum() == 1]), x


def tracking(d):
    w = vector(d)
    return minimize(fit(d, w) + Simplex()(w), [d.a @ w <= 0.3]), w


def completion(d):
    X = Variable((d.n, d.n), name="X")
    return minimize(0.5 * sum_squares(X[d.known] - d.X[d.known]) + nuclear(X)), X


def robust_components(d):
    L = Variable((d.n, d.n), name="L")
    return minimize(nuclear(L) + norm1(d.gross - L) / np.sqrt(d.n)), L


def correlation(d):
    X = Variable((12, 12), name="X")
    return minimize(0.5 * sum_squares(X) - (d.C * X).sum() + PSD()(X), [X[range(12), range(12)] == 1]), X


def tasks(d):
    B = Variable((30, 5), name="B")
    return minimize(0.5 * sum_squares(d.G @ B - d.Y) + 10 * norm21(B)), B


def nuclear_regression(d):
    B = Variable((30, 5), name="B")
    return minimize(0.5 * sum_squares(d.G @ B - d.Y) + 8 * nuclear(B)), B


def graphical_lasso(d):
    K = Variable((8, 8), name="K")
    return minimize((d.S * K).sum() - log_det(K) + d.lam * norm1(K)), K


def columns(d):
    X = Variable((10, 8), name="X")
    return minimize(0.5 * sum_squares(X) - (d.Y * X).sum() + 0.2 * norm1(X), [X.sum(axis=0) == 0]), X


def best_subset(d):
    x = vector(d)
    return minimize(fit(d, x) + Cardinality(3)(x)), x


def counted(d):
    x = vector(d)
    return minimize(fit(d, x) + L0(1.0)(x)), x


def mcp(d):
    x = vector(d)
    return minimize(fit(d, x) + MCP(5.0, 3.0)(x)), x


def scad(d):
    x = vector(d)
    return minimize(fit(d, x) + SCAD(5.0, 3.7)(x)), x


def robust_subset(d):
    x = vector(d)
    return minimize(norm1(d.G @ x - d.y) + Cardinality(5)(x)), x


def rank_completion(d):
    X = Variable((40, 40), name="X")
    return minimize(norm2(X[d.known] - d.X[d.known]) / np.linalg.norm(d.X[d.known]) + Rank(3)(X)), X


def sparse_pca(d):
    V = Variable((30, 3), name="V")
    return minimize(PCAVariance(d.X)(V) + norm1(V) + Stiefel()(V)), V


def signs(d):
    x = vector(d)
    return minimize(fit(d, x) + Binary(-1.0, 1.0)(x)), x


MODELS = {
    **STEPS,
    **FAR,
    "LAD,": lad,
    "lasso, own h": own_penalty,
    "lasso,": lasso,
    "elastic net": elastic_net,
    "NNLS": nnls,
    "quantile": quantiles,
    "Huber and L1": huber_lasso,
    "support vectors": support_vectors,
    "logistic and L1": logistic_lasso,
    "group lasso": group_lasso,
    "fused lasso": fused_lasso,
    "Dantzig selector": dantzig,
    "basis pursuit": basis_pursuit,
    "square-root lasso": root_lasso,
    "Chebyshev fit": chebyshev,
    "Poisson, nonnegative": poisson,
    "least squares on a plane": on_a_plane,
    "trend filtering": trend,
    "total variation": variation,
    "picture, anisotropic": anisotropic,
    "picture, isotropic": isotropic,
    "inpainting": inpainting,
    "deconvolution of spikes": deconvolution,
    "sensing in cosines": sensing,
    "convex clustering": clustering,
    "isotonic regression": isotonic,
    "LP 40x100": linear_program,
    "LP 150x400": linear_program,
    "LP with inequalities": inequalities,
    "transport": transport,
    "Markowitz with costs": costs,
    "Markowitz, simplex": long_only,
    "QP in a box": box_program,
    "QP with inequalities": quadratic_program,
    "Chebyshev centre": centre,
    "entropy with moments": moments,
    "D-optimal design, log_det": determinant,
    "D-optimal design": design,
    "A-optimal design": least_trace,
    "least jerk": least_jerk,
    "spline": spline,
    "robust LP": robust_program,
    "polynomial": polynomial,
    "logarithms on the simplex": barrier,
    "tracking a portfolio": tracking,
    "matrix completion": completion,
    "robust principal components": robust_components,
    "nearest correlation matrix": correlation,
    "rows shared by tasks": tasks,
    "nuclear norm regression": nuclear_regression,
    "graphical lasso, raw units": raw_inverse,
    "graphical lasso": graphical_lasso,
    "columns that sum to zero": columns,
    **CONES,
    "best subset": best_subset,
    "L0 regression": counted,
    "MCP regression": mcp,
    "SCAD regression": scad,
    "robust best subset": robust_subset,
    "completion of rank 3": rank_completion,
    "sparse PCA": sparse_pca,
    "signs": signs,
    **FURTHER,
    **PIECES,
}
"""By the beginning of the statement's name."""


def model_of(name):
    """The function that writes the statement of that name as a model."""
    return next(model for begin, model in MODELS.items() if name.startswith(begin))
