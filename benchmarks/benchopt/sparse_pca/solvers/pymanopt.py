import numpy as np
import pymanopt
from benchopt import BaseSolver


class Solver(BaseSolver):
    """pymanopt: conjugate gradients with |x| as √(x² + ε²), ε smaller in every stage."""

    name = "pymanopt"
    requirements = ["pip::pymanopt"]
    sampling_strategy = "iteration"

    def set_objective(self, B, weight, start):
        self.B, self.weight, self.start = B, weight, start

    def run(self, stages):
        X, manifold = self.start, pymanopt.manifolds.Stiefel(*self.start.shape)
        for width in 0.1 * 0.3 ** np.arange(min(stages, 12)):
            cost, gradient = self._smoothed(manifold, width)
            problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
            optimizer = pymanopt.optimizers.ConjugateGradient(verbosity=0, max_iterations=100)
            X = optimizer.run(problem, initial_point=X).point
        self.X = X

    def _smoothed(self, manifold, width):
        @pymanopt.function.numpy(manifold)
        def cost(X):
            return self.weight * np.sqrt(X * X + width * width).sum() - np.sum((self.B @ X) ** 2)

        @pymanopt.function.numpy(manifold)
        def gradient(X):
            return self.weight * X / np.sqrt(X * X + width * width) - 2 * self.B.T @ (self.B @ X)

        return cost, gradient

    def get_result(self):
        return {"X": self.X}
