import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """A specialist: eigenvectors of GᵀWG, W the inverse row norms (Tsakiris & Vidal, 2018)."""

    name = "IRLS"
    sampling_strategy = "callback"

    def set_objective(self, G, start):
        self.G, self.X = G, start

    def run(self, callback):
        while callback():
            weights = 1 / np.maximum(np.linalg.norm(self.G @ self.X, axis=1), 1e-12)
            self.X = np.linalg.eigh((self.G.T * weights) @ self.G)[1][:, : self.X.shape[1]]

    def get_result(self):
        return {"X": self.X}
