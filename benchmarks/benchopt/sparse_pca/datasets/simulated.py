import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Gaussian data, centred, columns of norm one: variance and sparsity truly compete."""

    name = "simulated"
    parameters = {"samples, features": [(50, 100), (50, 500)], "seed": [0]}

    def get_data(self):
        B = np.random.default_rng(self.seed).standard_normal((self.samples, self.features))
        B -= B.mean(axis=0)
        return {"B": B / np.linalg.norm(B, axis=0)}
