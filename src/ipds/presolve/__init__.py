"""Presolve: canonical form, units, and the way back to the problem as stated."""

from .presolve import Presolved, as_stated, foreign_libraries, presolve

__all__ = ["Presolved", "as_stated", "foreign_libraries", "presolve"]
