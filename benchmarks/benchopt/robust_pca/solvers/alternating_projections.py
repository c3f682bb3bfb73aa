import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """A specialist: the best rank of what is kept, then large residuals count as errors (Netrapalli et al., 2014)."""

    name = "alternating projections"
    sampling_strategy = "callback"

    def set_objective(self, M, mask, rank):
        self.M, self.mask, self.rank = M, mask, rank
        self.X = np.zeros_like(M)

    def run(self, callback):
        filled = np.where(self.mask, self.M, 0.0)
        limit = float(np.abs(filled).max())
        while callback():
            residual = np.where(self.mask, self.M - self.X, 0.0)
            errors = np.where(np.abs(residual) > limit, residual, 0.0)
            U, sizes, W = np.linalg.svd(self.X + residual - errors, full_matrices=False)
            self.X = (U[:, : self.rank] * sizes[: self.rank]) @ W[: self.rank]
            limit *= 0.95

    def get_result(self):
        return {"X": self.X}
