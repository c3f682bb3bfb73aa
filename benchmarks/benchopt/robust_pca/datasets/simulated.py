import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """A product of Gaussian factors, one entry in five wrong, some missing."""

    name = "simulated"
    parameters = {"size, rank": [(50, 2), (150, 5)], "missing": [0.0, 0.3], "seed": [0]}

    def get_data(self):
        rng = np.random.default_rng(self.seed)
        n, r = self.size, self.rank
        truth = rng.standard_normal((n, r)) @ rng.standard_normal((r, n))
        wrong = rng.random((n, n)) < 0.2
        M = truth + np.where(wrong, np.sqrt(r) * rng.uniform(-10, 10, (n, n)), 0.0)
        return {"M": M, "mask": rng.random((n, n)) >= self.missing, "rank": r, "truth": truth}
