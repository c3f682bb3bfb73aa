"""min ‖(X - M)_Ω‖₁ over rank X ≤ r, scored at the nearest matrix of that rank."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "Robust PCA"
    min_benchopt_version = "1.7"

    def set_data(self, M, mask, rank, truth):
        self.M, self.mask, self.rank, self.truth = M, mask, rank, truth

    def evaluate_result(self, X):
        U, sizes, W = np.linalg.svd(X, full_matrices=False)
        X = (U[:, : self.rank] * sizes[: self.rank]) @ W[: self.rank]
        error = np.linalg.norm(X - self.truth) / np.linalg.norm(self.truth)
        return {"value": float(np.abs(X - self.M)[self.mask].sum()), "error": float(error)}

    def get_one_result(self):
        return {"X": np.where(self.mask, self.M, 0.0)}

    def get_objective(self):
        return {"M": self.M, "mask": self.mask, "rank": self.rank}
