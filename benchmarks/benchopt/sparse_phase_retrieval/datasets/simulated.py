import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Squares of Gaussian products with a sparse unit vector; half of the rows of D are active at it."""

    name = "simulated"
    parameters = {"features, samples, nonzeros, rows": [(40, 120, 5, 10), (200, 600, 10, 20)], "seed": [0]}

    def get_data(self):
        rng = np.random.default_rng(self.seed)
        G, truth = rng.standard_normal((self.samples, self.features)), np.zeros(self.features)
        support = rng.choice(self.features, self.nonzeros, replace=False)
        truth[support] = rng.choice([-1, 1], self.nonzeros) * (
            0.5 + np.abs(rng.standard_normal(self.nonzeros))
        )
        truth /= np.linalg.norm(truth)
        z = (G @ truth) ** 2 + 0.01 * rng.standard_normal(self.samples)
        D, active = rng.standard_normal((self.rows, self.features)), self.rows // 2
        D[:active] -= np.outer(D[:active] @ truth, truth)
        D[active:] *= np.sign(D[active:] @ truth)[:, None]
        return {"G": G, "z": z, "D": D / np.sqrt(self.features), "truth": truth}
