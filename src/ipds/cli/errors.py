"""How commands fail: one line on stderr with the remedy, and an exit code that means something."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

OK, UNCERTIFIED, BAD_INPUT, IMPOSSIBLE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141
"""Exit codes of every command; the last is what a shell gives a program that nobody reads any more."""

UsageError: Any = typer.BadParameter.__base__
"""Typer's own errors of usage: a wrong option, a missing argument."""


class Commands(TyperGroup):
    """A group whose commands report errors on one line; `--debug`, anywhere on the line, shows the traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands as help lists them: `solve`, a group, which Typer would put last, comes second."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: names.index(name) if name != "solve" else 0.5)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`--debug` belongs to the group, but may stand after the command like any other option."""
        own = args[: args.index("--")] if "--" in args else args
        if "--debug" in own:
            args = ["--debug", *(a for a in own if a != "--debug"), *args[len(own) :]]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()  # here, where a closed pipe can still be told from an answer
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None
        except Exception as error:
            if ctx.find_root().params.get("debug") or _is_help(error):
                raise
            say(_in_words(error))
            raise typer.Exit(_exit_code(error)) from None


def say(message: str) -> None:
    """One line on stderr, where it does not mix with results."""
    print(f"ipds: {printable(message)}", file=sys.stderr)


def printable(text: str) -> str:
    """The text with control characters spelt out: what a file is called or holds must not steer a terminal.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def _is_help(error: Exception) -> bool:
    """A command without arguments shows its help by raising it."""
    return isinstance(error, UsageError) and type(error).__name__ == "NoArgsIsHelpError"


def _in_words(error: Exception) -> str:
    if isinstance(error, UsageError):
        context = getattr(error, "ctx", None)
        where = f" (see {context.command_path} --help)" if context is not None else ""
        return f"{error.format_message().rstrip('.')}{where}"
    if isinstance(error, MemoryError):
        return f"out of memory: {error}" if str(error) else "out of memory"
    text = " ".join(" ".join([str(error), *getattr(error, "__notes__", ())]).split())
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    known = (ValueError, TypeError, OSError, ImportError, ArithmeticError, NotImplementedError)
    if isinstance(error, known) and text:
        return text
    return f"{type(error).__name__}: {text} (an error in ipds or in your code: --debug shows where)"


def _exit_code(error: Exception) -> int:
    from ..errors import AssumptionError, DivergenceError

    return IMPOSSIBLE if isinstance(error, AssumptionError | DivergenceError | MemoryError) else BAD_INPUT
