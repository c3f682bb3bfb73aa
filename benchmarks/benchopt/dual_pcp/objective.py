"""min Σ‖g_iᵀX‖₂ over XᵀX = I, scored at the polar factor; the angle to the true normals is reported beside it."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "Dual principal component pursuit"
    min_benchopt_version = "1.7"

    def set_data(self, G, normals):
        self.G, self.normals = G, normals
        self.start = np.linalg.eigh(G.T @ G)[1][:, : normals.shape[1]]

    def evaluate_result(self, X):
        U, _, W = np.linalg.svd(X, full_matrices=False)
        X = U @ W
        sine = np.linalg.norm(X - self.normals @ (self.normals.T @ X), 2)
        value = float(np.linalg.norm(self.G @ X, axis=1).sum())
        return {"value": value, "degrees": float(np.degrees(np.arcsin(min(1.0, sine))))}

    def get_one_result(self):
        return {"X": self.start}

    def get_objective(self):
        return {"G": self.G, "start": self.start}
