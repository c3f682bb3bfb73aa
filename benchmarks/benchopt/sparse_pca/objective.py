"""min -‖BX‖² + λ‖X‖₁ over XᵀX = I, scored at the polar factor."""

import numpy as np
from benchopt import BaseObjective


def polar(X):
    U, _, W = np.linalg.svd(X, full_matrices=False)
    return U @ W


class Objective(BaseObjective):
    name = "Sparse PCA"
    min_benchopt_version = "1.7"
    parameters = {"weight": [0.6], "components": [5]}

    def set_data(self, B):
        self.B = B
        rng = np.random.default_rng(0)
        self.start = polar(rng.standard_normal((B.shape[1], self.components)))

    def evaluate_result(self, X):
        X = polar(X)
        variance = float(np.sum((self.B @ X) ** 2))
        return {
            "value": self.weight * float(np.abs(X).sum()) - variance,
            "variance": variance,
            "nonzeros": int(np.count_nonzero(np.abs(X) > 1e-6)),
        }

    def get_one_result(self):
        return {"X": self.start}

    def get_objective(self):
        return {"B": self.B, "weight": self.weight, "start": self.start}
