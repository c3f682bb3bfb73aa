import alpaqa as pa
import numpy as np
from benchopt import BaseSolver


class Statement(pa.BoxConstrProblem):
    """½‖(Gx)² - z‖² + ρ‖x‖₁ subject to Dx ≥ 0."""

    def __init__(self, G, z, D, rho):
        super().__init__(G.shape[1], len(D))
        self.G, self.z, self.D = G, z, D
        self.general_bounds.lower[:], self.general_bounds.upper[:] = 0.0, np.inf
        self.l1_reg = np.array([rho])

    def eval_objective(self, x):
        misfit = (self.G @ x) ** 2 - self.z
        return 0.5 * float(misfit @ misfit)

    def eval_objective_gradient(self, x, out):
        Gx = self.G @ x
        out[:] = 2 * (self.G.T @ ((Gx * Gx - self.z) * Gx))

    def eval_constraints(self, x, out):
        out[:] = self.D @ x

    def eval_constraints_gradient_product(self, x, y, out):
        out[:] = self.D.T @ y


class Solver(BaseSolver):
    """alpaqa: an augmented Lagrangian around PANOC, to tighter and tighter tolerances."""

    name = "alpaqa"
    requirements = ["pip::alpaqa"]
    sampling_strategy = "tolerance"

    def set_objective(self, G, z, D, rho, start):
        self.problem, self.start = pa.Problem(Statement(G, z, D, rho)), start

    def run(self, tolerance):
        tolerance = min(max(tolerance, 1e-9), 1e-1)
        inner = pa.PANOCSolver({"max_iter": 5000}, pa.LBFGSDirection({"memory": 20}))
        solver = pa.ALMSolver({"tolerance": tolerance, "dual_tolerance": tolerance}, inner)
        self.x = solver(self.problem, self.start.copy(), asynchronous=False)[0]

    def get_result(self):
        return {"x": self.x}
