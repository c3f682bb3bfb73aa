import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """A specialist: Wirtinger flow with soft thresholding and a projection onto Dx ≥ 0 by cyclic half-spaces."""

    name = "thresholded flow"
    sampling_strategy = "callback"

    def set_objective(self, G, z, D, rho, start):
        self.G, self.z, self.D, self.rho, self.x = G, z, D, rho, start

    def run(self, callback):
        step = 1 / (8 * len(self.z) * max(float(np.mean(self.z)), 1e-12))
        squares = np.sum(self.D**2, axis=1)
        while callback():
            Gx = self.G @ self.x
            x = self.x - step * 2 * (self.G.T @ ((Gx * Gx - self.z) * Gx))
            x = x - np.clip(x, -step * self.rho, step * self.rho)
            for row, square in zip(self.D, squares, strict=True):
                x = x - row * (min(float(row @ x), 0.0) / square)
            self.x = x

    def get_result(self):
        return {"x": self.x}
