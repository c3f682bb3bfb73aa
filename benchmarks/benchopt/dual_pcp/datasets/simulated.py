import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Unit vectors of a subspace among as many of the whole sphere."""

    name = "simulated"
    parameters = {"dimension, codimension": [(10, 2), (30, 3)], "points": [300], "seed": [0]}

    def get_data(self):
        rng = np.random.default_rng(self.seed)
        Q = np.linalg.qr(rng.standard_normal((self.dimension, self.dimension)))[0]
        normals, plane = Q[:, : self.codimension], Q[:, self.codimension :]
        near = rng.standard_normal((self.points, plane.shape[1])) @ plane.T
        G = np.vstack([near, rng.standard_normal((self.points, self.dimension))])
        return {"G": G / np.linalg.norm(G, axis=1, keepdims=True), "normals": normals}
