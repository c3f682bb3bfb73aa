"""Signals and pictures: trends, total variation, deconvolution, clustering."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from sklearn.isotonic import isotonic_regression
from sklearn.neighbors import kneighbors_graph

from ipds import Block, Problem
from ipds.functions import L1, L21, Affine, LeastSquares, NonNegative, Quadratic
from ipds.operators import DCT, Convolution, FiniteDifference, Gradient, Sampling

from .statement import Answer, Data, Statement, below, cvx, off, sparse_vector, timed


def knots(seed: int, n: int) -> Data:
    """A piecewise linear signal with noise."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, n)
    y = np.interp(t, [0, 0.2, 0.5, 0.6, 1], [0, 3, -1, 2, 2]) + 0.3 * rng.standard_normal(n)
    return Data(y=y, n=n, lam=5.0 * (n / 200) ** 1.5)


def second(n: int) -> Any:
    return sp.diags_array([1.0, -2.0, 1.0], offsets=[0, 1, 2], shape=(n - 2, n)).tocsr()


def trend(d: Data) -> Problem:
    return Problem(
        [Block(f=Quadratic(1.0, -d.y), A=-second(d.n), shape=d.n), Block(h=L1(d.lam), shape=d.n - 2)]
    )


def trend_oracle(d: Data) -> Answer:
    x = cp.Variable(d.n)
    return cvx(0.5 * cp.sum_squares(x - d.y) + d.lam * cp.norm1(second(d.n) @ x))


def trend_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((x[0] - d.y) ** 2) + d.lam * np.abs(second(d.n) @ x[0]).sum())


def steps(seed: int, n: int) -> Data:
    """A piecewise constant signal with noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat(3 * rng.standard_normal(10), n // 10) + 0.5 * rng.standard_normal(n)
    return Data(y=y, n=n, lam=2.0)


def variation(d: Data) -> Problem:
    return Problem(
        [
            Block(f=LeastSquares(np.eye(d.n), d.y), A=-FiniteDifference(), shape=d.n),
            Block(h=L1(d.lam), shape=d.n - 1),
        ]
        if d.n <= 500
        else [
            Block(f=Quadratic(1.0, -d.y), A=-FiniteDifference(), shape=d.n),
            Block(h=L1(d.lam), shape=d.n - 1),
        ]
    )


def variation_oracle(d: Data) -> Answer:
    x = cp.Variable(d.n)
    return cvx(0.5 * cp.sum_squares(x - d.y) + d.lam * cp.norm1(cp.diff(x)))


def variation_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((x[0] - d.y) ** 2) + d.lam * np.abs(np.diff(x[0])).sum())


def picture(seed: int, n: int) -> Data:
    """A square and a ramp with noise; half of the pixels are known."""
    rng = np.random.default_rng(seed)
    clean = np.zeros((n, n))
    clean[n // 4 : n // 2, n // 4 : 3 * n // 4] = 1.0
    clean += np.linspace(0, 1, n)[:, None] * (np.arange(n) > n // 2)
    return Data(y=clean + 0.1 * rng.standard_normal((n, n)), n=n, lam=0.15, known=rng.random((n, n)) < 0.5)


def anisotropic(x: np.ndarray) -> float:
    return float(np.abs(np.diff(x, axis=0)).sum() + np.abs(np.diff(x, axis=1)).sum())


def cvx_anisotropic(x: Any) -> Any:
    return cp.sum(cp.abs(cp.diff(x, axis=0))) + cp.sum(cp.abs(cp.diff(x, axis=1)))


def isotropic(x: np.ndarray) -> float:
    down, right = np.zeros_like(x), np.zeros_like(x)
    down[:-1], right[:, :-1] = np.diff(x, axis=0), np.diff(x, axis=1)
    return float(np.hypot(down, right).sum())


def smooth_picture(d: Data) -> Problem:
    shape = (d.n, d.n)
    return Problem(
        [
            Block(f=Quadratic(1.0, -d.y), A=-Gradient(shape), shape=shape),
            Block(h=L1(d.lam), shape=(d.n**2, 2)),
        ]
    )


def smooth_picture_oracle(d: Data) -> Answer:
    x = cp.Variable((d.n, d.n))
    return cvx(0.5 * cp.sum_squares(x - d.y) + d.lam * cvx_anisotropic(x))


def smooth_picture_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((x[0] - d.y) ** 2) + d.lam * anisotropic(x[0]))


def isotropic_picture(d: Data) -> Problem:
    shape = (d.n, d.n)
    return Problem(
        [
            Block(f=Quadratic(1.0, -d.y), A=-Gradient(shape), shape=shape),
            Block(h=L21(d.lam), shape=(d.n**2, 2)),
        ]
    )


def isotropic_oracle(d: Data) -> Answer:
    x = cp.Variable((d.n, d.n))
    return cvx(0.5 * cp.sum_squares(x - d.y) + d.lam * _cvx_isotropic(x, d.n))


def _cvx_isotropic(x: Any, n: int) -> Any:
    down = cp.vstack([cp.diff(x, axis=0), np.zeros((1, n))])
    right = cp.hstack([cp.diff(x, axis=1), np.zeros((n, 1))])
    both = cp.vstack([cp.vec(down, order="C"), cp.vec(right, order="C")])
    return cp.sum(cp.norm(both, axis=0))


def isotropic_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((x[0] - d.y) ** 2) + d.lam * isotropic(x[0]))


def inpainting(d: Data) -> Problem:
    """Known pixels fitted, the others by total variation."""
    shape = (d.n, d.n)
    f = LeastSquares(Sampling(d.known), d.y[d.known])
    return Problem([Block(f=f, A=-Gradient(shape), shape=shape), Block(h=L1(d.lam), shape=(d.n**2, 2))])


def inpainting_oracle(d: Data) -> Answer:
    x = cp.Variable((d.n, d.n))
    fit = cp.sum_squares(cp.multiply(d.known, x - d.y))
    return cvx(0.5 * fit + d.lam * cvx_anisotropic(x))


def inpainting_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((x[0] - d.y)[d.known] ** 2) + d.lam * anisotropic(x[0]))


def spikes(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    kernel = np.exp(-0.5 * (np.arange(-10, 11) / 3.0) ** 2)
    x = np.abs(sparse_vector(rng, 200, 10))
    y = np.convolve(x, kernel, "same") + 0.05 * rng.standard_normal(200)
    return Data(
        kernel=kernel, y=y, lam=0.3, G=np.column_stack([np.convolve(e, kernel, "same") for e in np.eye(200)])
    )


def deconvolution(d: Data) -> Problem:
    """Blurred spikes: L1 and x ≥ 0 on two copies."""
    f = LeastSquares(Convolution(d.kernel, mode="same"), d.y)
    return Problem([Block(f=f, h=L1(d.lam), A=-1.0, shape=200), Block(h=NonNegative(), shape=200)])


def deconvolution_oracle(d: Data) -> Answer:
    x = cp.Variable(200)
    return cvx(0.5 * cp.sum_squares(d.G @ x - d.y) + d.lam * cp.sum(x), [x >= 0])


def deconvolution_value(d: Data, x: Any) -> float:
    return float(0.5 * np.sum((d.G @ x[1] - d.y) ** 2) + d.lam * np.abs(x[1]).sum())


def cosines(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    import scipy.fft

    signal = scipy.fft.idct(sparse_vector(rng, 256, 12), norm="ortho")
    known = np.sort(rng.choice(256, 100, replace=False))
    basis = scipy.fft.idct(np.eye(256), norm="ortho", axis=0)
    return Data(known=known, y=signal[known], basis=basis)


def sensing(d: Data) -> Problem:
    """Few samples of a signal that is sparse in cosines: min ‖DCT x‖₁ with x given at some places."""
    rows = np.eye(256)[d.known]
    return Problem([Block(h=Affine(rows, d.y), A=-DCT(), shape=256), Block(h=L1(1.0), shape=256)])


def sensing_oracle(d: Data) -> Answer:
    c = cp.Variable(256)
    return cvx(cp.norm1(c), [d.basis[d.known] @ c == d.y])


def sensing_value(d: Data, x: Any) -> float:
    return float(np.abs(d.basis.T @ x[0]).sum())


def clusters(seed: int, lam: float) -> Data:
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [5.0, 5.0], [0.0, 6.0]])
    X = centres[np.arange(90) % 3] + 0.5 * rng.standard_normal((90, 2))
    pairs = zip(*kneighbors_graph(X, 6).nonzero(), strict=True)
    edges = sorted({tuple(sorted((int(i), int(j)))) for i, j in pairs})
    return Data(X=X, edges=edges, lam=lam)


def clustering(d: Data) -> Problem:
    D = FiniteDifference.graph(d.edges, 90)
    return Problem(
        [Block(f=Quadratic(1.0, -d.X), A=-D, shape=(90, 2)), Block(h=L21(d.lam), shape=(len(d.edges), 2))]
    )


def clustering_oracle(d: Data) -> Answer:
    x = cp.Variable((90, 2))
    i, j = np.array(d.edges).T
    return cvx(0.5 * cp.sum_squares(x - d.X) + d.lam * cp.sum(cp.norm(x[i] - x[j], axis=1)))


def clustering_value(d: Data, x: Any) -> float:
    i, j = np.array(d.edges).T
    return float(0.5 * np.sum((x[0] - d.X) ** 2) + d.lam * np.linalg.norm(x[0][i] - x[0][j], axis=1).sum())


def isotonic_data(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(y=np.log1p(np.arange(150.0)) + 0.5 * rng.standard_normal(150))


def isotonic(d: Data) -> Problem:
    return Problem(
        [Block(f=Quadratic(1.0, -d.y), A=-FiniteDifference(), shape=150), Block(h=NonNegative(), shape=149)]
    )


def isotonic_oracle(d: Data) -> Answer:
    return timed(lambda: 0.5 * float(np.sum((isotonic_regression(d.y) - d.y) ** 2)))


STATEMENTS = [
    Statement("trend filtering, 200", lambda s: knots(s, 200), trend, trend_oracle, trend_value),
    Statement("trend filtering, 2000", lambda s: knots(s, 2000), trend, trend_oracle, trend_value),
    Statement("total variation, 300", lambda s: steps(s, 300), variation, variation_oracle, variation_value),
    Statement(
        "total variation, 5000", lambda s: steps(s, 5000), variation, variation_oracle, variation_value
    ),
    Statement(
        "picture, anisotropic 24x24",
        lambda s: picture(s, 24),
        smooth_picture,
        smooth_picture_oracle,
        smooth_picture_value,
    ),
    Statement(
        "picture, anisotropic 64x64",
        lambda s: picture(s, 64),
        smooth_picture,
        smooth_picture_oracle,
        smooth_picture_value,
    ),
    Statement(
        "picture, isotropic 24x24",
        lambda s: picture(s, 24),
        isotropic_picture,
        isotropic_oracle,
        isotropic_value,
    ),
    Statement("inpainting, 32x32", lambda s: picture(s, 32), inpainting, inpainting_oracle, inpainting_value),
    Statement(
        "deconvolution of spikes",
        spikes,
        deconvolution,
        deconvolution_oracle,
        deconvolution_value,
        lambda d, x: below(x[1]),
    ),
    Statement(
        "sensing in cosines",
        cosines,
        sensing,
        sensing_oracle,
        sensing_value,
        lambda d, x: off(x[0][d.known] - d.y, d.y),
    ),
    Statement(
        "convex clustering, some merge",
        lambda s: clusters(s, 0.2),
        clustering,
        clustering_oracle,
        clustering_value,
    ),
    Statement(
        "convex clustering, all merge",
        lambda s: clusters(s, 3.0),
        clustering,
        clustering_oracle,
        clustering_value,
    ),
    Statement(
        "isotonic regression",
        isotonic_data,
        isotonic,
        isotonic_oracle,
        lambda d, x: float(0.5 * np.sum((x[0] - d.y) ** 2)),
        lambda d, x: below(np.diff(x[0])),
    ),
]
