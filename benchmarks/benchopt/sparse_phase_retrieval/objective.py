"""min ½‖(Gx)² - z‖² + ρ‖x‖₁ over Dx ≥ 0, scored at the projection onto the cone."""

import numpy as np
from benchopt import BaseObjective
from scipy.optimize import nnls


class Objective(BaseObjective):
    name = "Sparse phase retrieval"
    min_benchopt_version = "1.7"
    parameters = {"weight": [0.01]}

    def set_data(self, G, z, D, truth):
        self.G, self.z, self.D, self.truth = G, z, D, truth
        self.rho = self.weight * len(z)
        vectors = np.linalg.eigh((G.T * z) @ G)[1]
        x = vectors[:, -1] * np.sqrt(max(z.mean(), 0.0))
        self.start = x if np.minimum(D @ x, 0).sum() >= np.minimum(-D @ x, 0).sum() else -x

    def evaluate_result(self, x):
        if (self.D @ x).min() < 0:
            x = x + self.D.T @ nnls(self.D.T, -x)[0]
        misfit = (self.G @ x) ** 2 - self.z
        value = 0.5 * float(misfit @ misfit) + self.rho * float(np.abs(x).sum())
        return {"value": value, "error": float(np.linalg.norm(x - self.truth))}

    def get_one_result(self):
        return {"x": self.start}

    def get_objective(self):
        return {"G": self.G, "z": self.z, "D": self.D, "rho": self.rho, "start": self.start}
