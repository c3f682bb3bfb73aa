"""What must hold of every answer to a random problem (`drawing`), computed without the package."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from drawing import METHODS, Case, cases

from ipds import AssumptionError, DivergenceError, Result, Status, solve
from ipds.functions import (
    L0,
    MCP,
    SCAD,
    CappedL1,
    Cardinality,
    LHalf,
    LogSum,
    NonzeroRows,
    Sphere,
    Stiefel,
)

__all__ = ["Case", "cases", "judge"]


def judge(case: Case, seen: Counter[str] | None = None) -> None:
    """Solve, and check everything that must hold; `seen` counts how the cases end."""
    seen = Counter() if seen is None else seen
    x0, z0 = case.start if case.start is not None else (None, None)
    given = [*case.arrays, *(x0 or []), *([] if z0 is None else [z0])]
    before = [array.copy() for array in given]
    try:
        result = solve(case.problem, x0, z0, METHODS[case.method], **case.options)
    except AssumptionError:
        seen["refused"] += 1
        return
    except DivergenceError as error:
        seen["diverged, raised"] += 1
        result = error.result
        assert not result.success
    seen[result.status.name] += 1
    for now, then in zip(given, before, strict=True):
        np.testing.assert_array_equal(now, then, err_msg="an input was changed")
    check_types(case, result)
    check_numbers(case, result)


def check_types(case: Case, result: Result) -> None:
    """Floats, bools, tuples, arrays of the input's dtype: the same in every result."""
    assert type(result.fun) is float
    assert type(result.success) is bool
    assert type(result.nit) is int
    assert isinstance(result.status, Status)
    assert result.message.startswith(result.status.value)  # a remark may follow
    assert result.success == (result.status is Status.CONVERGED)
    assert type(result.x) is tuple
    assert [x.shape for x in result.x] == [block.shape for block in case.problem.blocks]
    assert result.z.shape == case.problem.shape
    for array in (*result.x, result.z):
        assert type(array) is np.ndarray
        assert array.dtype == case.dtype, (array.dtype, case.dtype)
    certificate = result.certificate
    assert {type(number) for number in (certificate.feasibility, *certificate.stationarity)} == {float}
    assert result.nit <= case.options["max_iter"] or case.method == "auto"
    lengths = {len(column) for column in result.history.values()}
    assert len(lengths) <= 1


def length(a: Any) -> float:
    """‖a‖, safe from overflow: some methods diverge, and are judged where they were last finite."""
    top = float(np.max(np.abs(a), initial=0.0))
    return top * float(np.linalg.norm(np.asarray(a, dtype=float) / top)) if 0 < top < math.inf else top


def check_numbers(case: Case, result: Result) -> None:
    """Everything finite; the certificate no smaller than what an outsider computes."""
    for array in (*result.x, result.z):
        assert np.all(np.isfinite(array))
    assert not math.isnan(result.fun)
    certificate = result.certificate
    if result.nit == 0:
        assert math.isinf(certificate.relative)
        return
    assert math.isfinite(certificate.critical)
    if result.success:
        assert certificate.relative <= case.options["tol"]
        assert math.isfinite(result.fun)
    parts = [M @ x.reshape(-1).astype(float) for M, x in zip(case.maps, result.x, strict=True)]
    residual = length(sum(parts) - case.b.reshape(-1))
    sizes = [length(x.astype(float)) for x in result.x]
    terms = [length(M) * size for M, size in zip(case.maps, sizes, strict=True)]
    room = SUMS * case.eps * (sum(terms) + length(case.b))
    assert abs(residual - certificate.feasibility) <= room + 1e-3 * case.eps, (
        residual,
        certificate.feasibility,
    )
    for block, M, x, claimed in zip(
        case.problem.blocks, case.maps, result.x, certificate.stationarity, strict=True
    ):
        x, z = x.astype(float), result.z.reshape(-1).astype(float)
        moved = 0.0
        if block.h.is_set:
            # a point of the set to its own last digits; from here on the nearest one in the set
            inside = np.asarray(block.h.prox(x, 1.0))
            assert length(x - inside) <= SUMS * case.eps * length(x), (x, block.h)
            x, moved = inside, case.eps * length(x)
        pull = (M.T @ z).reshape(block.shape)
        slope = 0.0 * x if block.f is None else np.asarray(block.f.grad(x))
        least = criticality(block.h, x, slope + pull, moved)
        room = rounding(case, block.h, M, x, z, slope)
        assert least <= claimed * (1 + 1e-6) + room, (least, claimed, room, block.h, x, slope, pull)


SUMS = 20
"""Units in the last place of sums: of up to five products with up to six terms, of the entries of a block."""


def rounding(case: Case, h: Any, M: np.ndarray, x: np.ndarray, z: np.ndarray, slope: np.ndarray) -> float:
    """How much larger than the certificate an honest outsider's number may be.

    The solver's gradients and Mᵀz carry rounding of the solver's precision, of which the certificate says nothing.
    All else is double: a prox at the shortest step magnifies the rounding of x and of the constants of h. The solver's
    own prox gets no allowance: its rounding is the certificate's to count.
    """
    size = length(slope) + length(M) * length(z)
    constants = length(x) + length(getattr(h, "t", 1.0))
    return float(case.eps * size + 4 * np.finfo(float).eps * (size + constants / min(STEPS)))


STEPS = (1e-2, 1.0, 1e2)


def criticality(h: Any, x: np.ndarray, force: np.ndarray, moved: float = 0.0) -> float:
    """A lower bound on dist(-force, ∂h(x)) that needs no subgradient of the solver.

    Convex h: x = prox(x + t s, t) for s ∈ ∂h(x), and a prox does not expand distances, so that
    ‖x - prox(x - t·force, t)‖ ≤ t‖s + force‖ for every t; or 2·moved more, where the solver's x, with a radius rounded
    to its own precision, lies that far from a point to which s belongs. On manifolds the tangent part of the force;
    for entrywise nonconvex penalties and for cardinalities the entries where ∂h is known. 0 where nothing is.
    """
    if h.is_convex:
        return max((length(x - h.prox(x - t * force, t)) - 2 * moved) / t for t in STEPS)
    if isinstance(h, Sphere):
        return length(force - x * (np.sum(x * force) / np.sum(x * x)))
    if isinstance(h, Stiefel):
        return length(force - x @ (x.T @ force + force.T @ x) / 2)
    if isinstance(h, Cardinality | NonzeroRows):
        return length(force[x != 0])
    if isinstance(h, L0 | LHalf | LogSum | MCP | SCAD | CappedL1):
        away = np.abs(np.abs(x) - getattr(h, "theta", -1.0)) > 1e-6  # ∂h is a point away from the kinks
        on = (x != 0) & away & (np.abs(x) > 1e-9)
        return length((force + h.subgradient(x))[on])
    return 0.0
