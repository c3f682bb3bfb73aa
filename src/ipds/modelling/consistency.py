"""Equations and inequalities that cannot hold, found before a solver is started."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from .._arrays import to_numpy
from .constraints import Constraint
from .expressions import Expression

SOLVED = 10**8
"""Equations whose least squares solution costs more operations are left to the solver."""
ROUNDING = 1e-8
CANCELLED = 1e-14
"""What is left of constants that cancel, as in differences of equal numbers, may be as much: the solver decides."""


def solvable(constraint: Constraint) -> Expression:
    """left - right, plainly satisfied in rows that no variable enters and that hold up to rounding.

    ValueError where no values of the variables can satisfy the constraint, as far as that is seen quickly.
    """
    e = constraint.difference
    maps = [map_ for map_ in e.maps.values() if not (isinstance(map_.body, float) and map_.body == 0.0)]
    constant = np.broadcast_to(to_numpy(np.asarray(e.constant)), e.shape).reshape(-1)
    broken, nearly = _broken(constant, constraint)
    if not maps and broken.any():
        raise ValueError(
            f"`{constraint}` has no variable in it and does not hold: left - right is "
            f"{constant[broken][0]:.6g} in entry {int(np.flatnonzero(broken)[0])}"
        )
    if not all(map_.is_explicit for map_ in maps) or (constraint.sense != "==" and not nearly.any()):
        return e
    matrices = [map_.matrix for map_ in maps]
    empty = sum((_row_counts(matrix) for matrix in matrices), np.zeros(e.size, int)) == 0
    if (empty & nearly).any():
        inside = {"==": 0.0, "<=": -1.0, ">=": 1.0}[constraint.sense]
        constant = np.where(empty & nearly, inside, constant)
        settled = constant.reshape(e.shape)
        e = Expression(e.shape, e.maps, settled if e.shape else float(settled), e.text)
    if constraint.sense != "==" or not maps:
        return e
    unknowns = sum(math.prod(map_.inputs) for map_ in maps)
    if (empty & broken).any():
        row = int(np.flatnonzero(empty & broken)[0])
        raise ValueError(
            f"`{constraint}` has no solution: no variable enters row {row}, which asks 0 = {-constant[row]:.6g}; "
            "the expression has shape " + str(e.shape)
        )
    if e.size > unknowns and e.size * unknowns**2 <= SOLVED:
        _require_consistent(constraint, matrices, constant, unknowns)
    return e


def _require_consistent(
    constraint: Constraint, matrices: list[Any], constant: np.ndarray, unknowns: int
) -> None:
    """More equations than unknowns: is there a solution?"""
    matrix = np.hstack([m.toarray() if scipy.sparse.issparse(m) else m for m in matrices])
    x = np.linalg.lstsq(matrix, -constant, rcond=None)[0]
    gap = float(np.abs(matrix @ x + constant).max())
    size = float(np.abs(constant).max(initial=0.0) + (np.abs(matrix) @ np.abs(x)).max(initial=0.0))
    if gap > ROUNDING * size:
        e = constraint.difference
        raise ValueError(
            f"`{constraint}` has no solution: {e.size} equations in {unknowns} unknowns, off by {gap:.3g} at best. "
            f"To come as near as possible minimise sum_squares or norm1 of `{e}`; or is the matrix transposed?"
        )


def _broken(constant: np.ndarray, constraint: Constraint) -> tuple[np.ndarray, np.ndarray]:
    """Where the constant alone does not satisfy the constraint, beyond the rounding of both sides; where it is that."""
    sides = (constraint.left.constant, constraint.right.constant)
    largest = max(float(np.max(np.abs(to_numpy(np.asarray(side))))) for side in sides)
    room = max(ROUNDING * largest, CANCELLED)
    off = {"==": np.abs(constant), "<=": constant, ">=": -constant}[constraint.sense]
    return off > room, (constant != 0) & (np.abs(constant) <= room)


def _row_counts(matrix: Any) -> np.ndarray:
    """Nonzeros in each row."""
    if scipy.sparse.issparse(matrix):
        return np.bincount(matrix.tocoo().row[matrix.data != 0], minlength=matrix.shape[0])
    return np.count_nonzero(matrix, axis=1)
