"""Convex models written for ipds and for CVXPY, side by side.

A case is a function of a random generator that returns `Case(ipds problem, CVXPY problem, pairs of variables)`; the
constraints of both are listed in the same order. Data are random and in general position, so that the multipliers of
most are unique; `duals=False` marks those where they are not, or where CVXPY knows the constraint in another form.
"""

from __future__ import annotations

import convex_programs  # noqa: F401, enters its cases
import convex_regression  # noqa: F401
import convex_signals  # noqa: F401
from convex_case import CASES

__all__ = ["CASES"]
