import numpy as np
import pymanopt
from benchopt import BaseSolver


class Solver(BaseSolver):
    """pymanopt: conjugate gradients with ‖r‖ as √(‖r‖² + ε²), ε smaller in every stage."""

    name = "pymanopt"
    requirements = ["pip::pymanopt"]
    sampling_strategy = "iteration"

    def set_objective(self, G, start):
        self.G, self.start = G, start

    def run(self, stages):
        X, manifold = self.start, pymanopt.manifolds.Stiefel(*self.start.shape)
        for width in 0.1 * 0.3 ** np.arange(min(stages, 12)):
            cost, gradient = self._smoothed(manifold, width)
            problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
            optimizer = pymanopt.optimizers.ConjugateGradient(verbosity=0, max_iterations=100)
            X = optimizer.run(problem, initial_point=X).point
        self.X = X

    def _smoothed(self, manifold, width):
        def sizes(X):
            return np.sqrt(np.sum((self.G @ X) ** 2, axis=1) + width * width)

        @pymanopt.function.numpy(manifold)
        def cost(X):
            return sizes(X).sum()

        @pymanopt.function.numpy(manifold)
        def gradient(X):
            return (self.G.T / sizes(X)) @ (self.G @ X)

        return cost, gradient

    def get_result(self):
        return {"X": self.X}
