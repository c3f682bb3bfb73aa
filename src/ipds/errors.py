"""Exceptions of the package."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .distributed import ClusterError

if TYPE_CHECKING:
    from .problem import Problem
    from .result import Result


__all__ = [
    "AssumptionError",
    "CheckpointError",
    "CheckpointWarning",
    "ClusterError",
    "DivergenceError",
    "naming_blocks",
    "with_result",
]


class AssumptionError(ValueError):
    """A method was asked for what its theorem does not allow on this problem."""


class DivergenceError(ArithmeticError):
    """Every method tried has diverged; `result` is the best finite one."""

    def __init__(self, message: str, result: Any = None):
        super().__init__(message)
        self.result = result


class CheckpointError(ValueError):
    """A checkpoint cannot be used: damaged, of another solve, or not to be written; `result` is what was reached."""

    result: Any = None


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or the newest one was damaged and the one before it was taken."""


@contextlib.contextmanager
def naming_blocks(problem: Problem) -> Iterator[None]:
    """Errors that come out of a function or operator of the problem say of which block it is: same error, one note."""
    try:
        yield
    except Exception as error:
        source = _source(error, problem)
        if source and source not in getattr(error, "__notes__", ()):
            error.add_note(source)
        raise


def with_result(error: Exception, result: Result, instead: bool = False) -> None:
    """Let an error carry what was reached before it, as `error.result`, `instead` of what it carries already or not."""
    if instead or getattr(error, "result", None) is None:
        with contextlib.suppress(AttributeError, TypeError):  # an exception without room for attributes
            error.result = result  # type: ignore[attr-defined]


def _source(error: Exception, problem: Problem) -> str:
    """The innermost call on the traceback to an f, h or A of the problem, in words; "" where there is none."""
    owners: dict[int, tuple[str, Any, list[str]]] = {}
    for name, block, op in zip(problem.names, problem.blocks, problem.operators, strict=True):
        for role, thing in (("f", block.f), ("h", block.h), ("A", op)):
            if thing is not None:
                owners.setdefault(id(thing), (role, thing, []))[2].append(repr(name))
    source = ""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None  # self, in a method
        role, thing, names = owners.get(id(first), ("", None, []))
        public = code.co_name == "__call__" or not code.co_name.startswith("_")
        if names and public and hasattr(type(thing), code.co_name):
            called = role if code.co_name == "__call__" else f"{role}.{code.co_name}"
            source = f"ipds: raised by {called} of block {' or '.join(names)}"
    return source
