"""Presolve: canonical form, units, and the way back to the problem as stated."""

from .presolve import Presolved, presolve

__all__ = ["Presolved", "presolve"]
