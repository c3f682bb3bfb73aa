"""Presolve: canonical form, units, and the way back to the problem as stated.

`presolve` is the whole of it. A problem becomes a `draft`, which `rules`, `slack`, `largest`, `recognise` and
`equations` simplify, and that a canonical problem (`canonical`); `known` and `substitute` take out what is known
before the solve, `equilibrate` chooses units from a `table` (with `squares`, `thin`); `compose` and `restrict` say
what functions become. `recovery` leads back, block by block.
"""

from .presolve import Presolved, as_stated, foreign_libraries, presolve

__all__ = ["Presolved", "as_stated", "foreign_libraries", "presolve"]
