"""Exceptions of the package."""

from __future__ import annotations

from typing import Any


class AssumptionError(ValueError):
    """A method was asked for what its theorem does not allow on this problem."""


class DivergenceError(ArithmeticError):
    """Every method tried has diverged; `result` is the last finite one."""

    def __init__(self, message: str, result: Any = None):
        super().__init__(message)
        self.result = result
