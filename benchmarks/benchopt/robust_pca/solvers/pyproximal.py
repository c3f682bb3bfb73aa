import numpy as np
import pyproximal
from benchopt import BaseSolver


class RankBall(pyproximal.ProxOperator):
    """Matrices of bounded rank; pyproximal has none."""

    def __init__(self, shape, rank):
        super().__init__(None, False)
        self.shape, self.rank = shape, rank

    def __call__(self, x):
        return 0.0

    def prox(self, x, tau):
        U, sizes, W = np.linalg.svd(x.reshape(self.shape), full_matrices=False)
        return ((U[:, : self.rank] * sizes[: self.rank]) @ W[: self.rank]).ravel()


class Misfit(pyproximal.ProxOperator):
    """‖(x - m)_Ω‖₁."""

    def __init__(self, M, mask):
        super().__init__(None, False)
        self.m, self.seen = M.ravel(), mask.ravel()

    def __call__(self, x):
        return float(np.abs(x - self.m)[self.seen].sum())

    def prox(self, x, tau):
        apart = x - self.m
        return np.where(self.seen, self.m + apart - np.clip(apart, -tau, tau), x)


class Solver(BaseSolver):
    """pyproximal's ADMM with one step, two proxes written for it."""

    name = "pyproximal"
    requirements = ["pip::pyproximal"]
    sampling_strategy = "iteration"

    def set_objective(self, M, mask, rank):
        self.M, self.mask, self.rank = M, mask, rank

    def run(self, iterations):
        step = float(np.median(np.abs(self.M)))
        rank, misfit = RankBall(self.M.shape, self.rank), Misfit(self.M, self.mask)
        start = np.where(self.mask, self.M, 0.0).ravel()
        admm = pyproximal.optimization.primal.ADMM
        self.X = admm(rank, misfit, start, step, niter=max(1, iterations))[0].reshape(self.M.shape)

    def get_result(self):
        return {"X": self.X}
