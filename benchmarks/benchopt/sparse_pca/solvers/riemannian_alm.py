import numpy as np
from benchopt import BaseSolver

import ipds
from ipds import Block, Problem
from ipds.functions import L1, PCAVariance, Stiefel
from ipds.methods import RiemannianALM


class Solver(BaseSolver):
    """A specialist: the augmented Lagrangian of Y = V, minimised on the manifold."""

    name = "Riemannian ALM"
    requirements = ["pip::ipds-admm"]
    sampling_strategy = "callback"

    def set_objective(self, B, weight, start):
        f = PCAVariance(np.sqrt(2 * len(B)) * B)
        Y = Block(f=f, h=Stiefel(), A=-1.0, shape=start.shape)
        self.problem = Problem([Y, Block(h=L1(weight), shape=start.shape)])
        self.X = self.start = start

    def run(self, callback):
        states = ipds.iterate(self.problem, [self.start, self.start], method=RiemannianALM())
        while callback():
            self.X = next(states).x[0]

    def get_result(self):
        return {"X": self.X}
