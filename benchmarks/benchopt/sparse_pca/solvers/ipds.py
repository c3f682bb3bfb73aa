import numpy as np
from benchopt import BaseSolver

import ipds
from ipds import Block, Problem
from ipds.functions import L1, PCAVariance, Stiefel


class Solver(BaseSolver):
    """ipds with default options: two blocks, Y orthonormal and V sparse, Y = V."""

    name = "ipds"
    requirements = ["pip::ipds-admm"]
    sampling_strategy = "callback"

    def set_objective(self, B, weight, start):
        f = PCAVariance(np.sqrt(2 * len(B)) * B)
        Y = Block(f=f, h=Stiefel(), A=-1.0, shape=start.shape)
        self.problem = Problem([Y, Block(h=L1(weight), shape=start.shape)])
        self.X = self.start = start

    def run(self, callback):
        def seen(shown):
            self.X = shown.x[0]
            if not callback():
                raise StopIteration

        if callback():
            start = [self.start, self.start]
            self.X = ipds.solve(self.problem, start, tol=1e-7, check_every=5, callback=seen).x[0]

    def get_result(self):
        return {"X": self.X}
