"""What a solve returns."""

from __future__ import annotations

from enum import Enum
from typing import Any

from scipy.optimize import OptimizeResult


class Status(Enum):
    """Why a solve ended; the value is the message."""

    CONVERGED = "converged: the relative certificate is below the tolerance"
    STALLED = "stalled: neither certificate nor objective moves any more; the point is not certified to the tolerance"
    STALLED_FEASIBLE = "stalled: feasible to the tolerance, but stationarity is not certified to it"
    MAX_ITER = "iteration limit reached before the tolerance"
    TIME_LIMIT = "time limit reached before the tolerance"
    CALLBACK = "stopped by the callback"
    INTERRUPTED = "interrupted by the user; this is the best point so far"
    FAILED = "stopped by an error in the caller's code; this is the last good point"
    DIVERGED = (
        "diverged: the iterates are no longer finite or grow without bound; this is the last good point"
    )


class Result(OptimizeResult):
    """A `scipy.optimize.OptimizeResult` with a certificate.

    Attributes
    ----------
    x : the blocks, a tuple; the block that the method smooths is the prox point x̆, as the theory asks.
    z : multiplier of the equation.
    fun : objective; where some block can absorb the residual exactly, at that feasible point.
    success : whether the solve ended because the relative certificate is at most `tol`.
    status, message : why it ended, a `Status` and its text.
    certificate : an `ipds.diagnostics.Certificate`: feasibility, stationarity of each block, critical, relative.
    history : arrays by name, one entry per check: iteration, seconds, objective, feasibility, critical, beta, mu, ...
    nit, seconds : iterations, and time without that of callbacks.
    method, parameters, state : how it was done, and the last `State`.
    """

    def __repr__(self) -> str:
        shapes = ", ".join(str(tuple(block.shape)) for block in self.x)
        return "\n".join(
            [
                f"ipds result: {self.message}",
                f"  method      {self.method}",
                f"  fun         {self.fun:.10g}",
                f"  certificate {self.certificate}",
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
