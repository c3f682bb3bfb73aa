"""How a solve can end."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """Why a solve ended; the value is the message."""

    CONVERGED = "converged: the relative certificate is below the tolerance"
    INFEASIBLE = "infeasible: no point satisfies the equation and the sets; result.proof says why"
    UNBOUNDED = "unbounded: from any feasible point the objective falls without end along the direction in result.proof"
    STALLED = "stalled: neither certificate nor objective moves any more; the point is not certified to the tolerance"
    STALLED_FEASIBLE = "stalled: feasible to the tolerance, but stationarity is not certified to it"
    AT_REST = (
        "stopped by the paper's rule: the moves are below the tolerance; the point is not certified to it"
    )
    MAX_ITER = "iteration limit reached before the tolerance"
    TIME_LIMIT = "time limit reached before the tolerance"
    CALLBACK = "stopped by the callback"
    INTERRUPTED = "interrupted by the user; this is the best point so far"
    FAILED = "stopped by an error in the caller's code, or of the cluster; this is the best point so far"
    DIVERGED = (
        "diverged: the iterates are no longer finite or grow without bound; this is the best point before"
    )
    PENALTY_CEILING = "stalled: however large the penalty, the equation comes no nearer to holding"
