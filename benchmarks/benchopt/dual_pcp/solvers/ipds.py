from benchopt import BaseSolver

import ipds
from ipds import Block, Problem
from ipds.functions import L21, Stiefel


class Solver(BaseSolver):
    """ipds with default options: X orthonormal, U = GX with row norms."""

    name = "ipds"
    requirements = ["pip::ipds-admm"]
    sampling_strategy = "callback"

    def set_objective(self, G, start):
        rows = Block(h=L21(1.0), shape=(len(G), start.shape[1]))
        self.problem = Problem([Block(h=Stiefel(), A=-G, shape=start.shape), rows])
        self.start, self.X = [start, G @ start], start

    def run(self, callback):
        def seen(shown):
            self.X = shown.x[0]
            if not callback():
                raise StopIteration

        if callback():
            self.X = ipds.solve(self.problem, self.start, tol=1e-7, check_every=5, callback=seen).x[0]

    def get_result(self):
        return {"X": self.X}
