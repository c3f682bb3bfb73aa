"""What a solve returns.

Imported where a result is made, not before: `scipy.optimize` alone takes longer to load than the rest of the package.
"""

from __future__ import annotations

from typing import Any

from scipy.optimize import OptimizeResult

from .status import Status

__all__ = ["Result", "Status", "intermediate"]


class Result(OptimizeResult):
    """A `scipy.optimize.OptimizeResult` with a certificate.

    Attributes
    ----------
    x : the blocks, a tuple; the block that the method smooths is the prox point x̆, as the theory asks.
    z : multiplier of the equation.
    fun : objective; where some block can absorb the residual exactly, at that feasible point.
    success : whether the solve ended because the relative certificate is at most `tol`.
    status, message : why it ended, a `Status` and its text.
    certificate : an `ipds.theory.certificate.Certificate`: feasibility, stationarity of each block, critical, relative.
    history : arrays by name, one entry per check: iteration, seconds, objective, feasibility, critical, beta, mu, ...
    nit, seconds : iterations, and time without that of callbacks.
    method, parameters, state : how it was done, and the last `State`.
    problem : where `ipds.minimize` made it, the problem; then `value` and `dual` speak its language.
    presolve : what was done to the problem first, in words.
    starts : how many starts were tried; more than one for small problems with sets of several pieces.
    proof : an `ipds.theory.proofs.Proof` where the status is INFEASIBLE or UNBOUNDED, else None.
    """

    def value(self, expression: Any) -> Any:
        """The value of a variable, of an expression or of a term, of a problem made by `minimize`."""
        return self._model("value").value(expression, self.x)

    def dual(self, constraint: Any) -> Any:
        """The multiplier of a constraint of a problem made by `minimize`; signs as in CVXPY."""
        return self._model("dual").dual(constraint, self)

    @property
    def violations(self) -> dict[str, float]:
        """By how much the values of the variables miss each set and each constraint of a problem made by `minimize`.

        Keys are the terms and constraints as written, numbers are distances. All are 0, to rounding or to the
        tolerance of the equation; where a variable has two sets that are not convex, `value` meets one of them exactly.
        """
        return self._model("violations").violations(self.x)

    def _model(self, wanted: str) -> Any:
        problem = self.get("problem")
        if problem is None:
            raise TypeError(
                f"{wanted}: this is the result of a problem of blocks: its values are in x, its multiplier is z; "
                "variables and constraints belong to problems made by ipds.minimize"
            )
        return problem

    def __repr__(self) -> str:
        shapes = ", ".join(str(tuple(block.shape)) for block in self.x)
        proved = self.get("proof") is not None  # that there is no answer, of which a certificate would speak
        return "\n".join(
            [
                f"ipds result: {self.message}",
                f"  method      {self.method}",
                f"  presolve    {self.presolve}",
                f"  fun         {self.fun:.10g}",
                f"  certificate {'none: result.proof says why there is no answer' if proved else self.certificate}",
                f"  iterations  {self.nit} in {self.seconds:.3g} s",
                f"  x           blocks of shape {shapes}",
            ]
        )

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from ._html import result_html

        return result_html(self)


def intermediate(**values: Any) -> OptimizeResult:
    """The record handed to callbacks."""
    return OptimizeResult(**values)
