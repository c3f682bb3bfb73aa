import numpy as np
from benchopt import BaseSolver

import ipds
from ipds import Block, Problem
from ipds.functions import L1, NonNegative, PhaseRetrieval


class Solver(BaseSolver):
    """ipds with default options: y = Dx nonnegative, x sparse."""

    name = "ipds"
    requirements = ["pip::ipds-admm"]
    sampling_strategy = "callback"

    def set_objective(self, G, z, D, rho, start):
        x = Block(f=PhaseRetrieval(G, z), h=L1(rho), A=-D, shape=G.shape[1])
        self.problem = Problem([Block(h=NonNegative(), shape=len(D)), x])
        self.start, self.x = [np.maximum(D @ start, 0), start], start

    def run(self, callback):
        def seen(shown):
            self.x = shown.x[1]
            if not callback():
                raise StopIteration

        if callback():
            self.x = ipds.solve(self.problem, self.start, tol=1e-7, check_every=5, callback=seen).x[1]

    def get_result(self):
        return {"x": self.x}
