from benchopt import BaseSolver

import ipds
from ipds import Variable, minimize
from ipds.functions import Rank
from ipds.modelling import norm1


class Solver(BaseSolver):
    """ipds with default options: the objective as it is written."""

    name = "ipds"
    requirements = ["pip::ipds-admm"]
    sampling_strategy = "callback"

    def set_objective(self, M, mask, rank):
        X = Variable(M.shape, name="X")
        self.problem = minimize(norm1(X[mask] - M[mask]) + Rank(rank)(X))
        self.X = 0.0 * M

    def run(self, callback):
        def seen(shown):
            self.X = shown.x[0]
            if not callback():
                raise StopIteration

        if callback():
            self.X = ipds.solve(self.problem, tol=1e-7, check_every=5, callback=seen).x[0]

    def get_result(self):
        return {"X": self.X}
