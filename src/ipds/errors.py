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


class CheckpointError(ValueError):
    """A checkpoint cannot be used: damaged, of another solve, or not to be written; `result` is what was reached."""

    result: Any = None


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or the newest one was damaged and the one before it was taken."""
