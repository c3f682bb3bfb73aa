"""What notebooks show of a result, a certificate, a problem and its assumptions: tables as rich prints them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .problem import Problem
    from .result import Result
    from .theory.assumptions import Assumptions
    from .theory.certificate import Certificate


def table(title: str, rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """A table in a <pre>, its text escaped, its colours those of the page.

    >>> "a &lt; b" in table("a < b", [("x", 1)])
    True
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=Text(title), box=box.SIMPLE, show_header=bool(head), title_justify="left")
    for name in head:
        shown.add_column(Text(name))
    for row in rows:
        shown.add_row(*(Text(str(cell)) for cell in row))
    console = Console(file=io.StringIO(), record=True, width=160, color_system=None)
    console.print(shown)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def result_html(result: Result) -> str:
    """Verdict and figures."""
    shapes = ", ".join(str(tuple(block.shape)) for block in result.x)
    rows = [
        ("ended", result.message),
        ("method", result.method),
        ("objective", f"{result.fun:.10g}"),
        ("relative certificate", f"{result.certificate.relative:.2e}"),
        ("criticality at most", f"{result.certificate.critical:.3e}"),
        ("iterations", f"{result.nit} in {result.seconds:.3g} s"),
        ("blocks x", shapes),
    ]
    return table(f"{'✓ certified' if result.success else '✗ not certified'}: ipds result", rows)


def certificate_html(certificate: Certificate) -> str:
    """The terms of the bound, and the same free of units."""
    values = (certificate.feasibility, *certificate.stationarity)
    names = ("feasibility", *(f"stationarity of block {i + 1}" for i in range(len(values) - 1)))
    relative = (certificate.rows, *certificate.blocks)
    rows = [
        *((n, f"{v:.3e}", f"{r:.2e}") for n, v, r in zip(names, values, relative, strict=True)),
        ("work left in the objective", "", f"{certificate.work:.2e}"),
        (
            "critical: the sum; relative: the largest",
            f"{certificate.critical:.3e}",
            f"{certificate.relative:.2e}",
        ),
    ]
    return table("certificate", rows, ("", "at most", "relative"))


def problem_html(problem: Problem) -> str:
    """The blocks of the problem."""
    rows = [
        (name, block.shape, "" if block.f is None else repr(block.f), repr(block.h), repr(op))
        for name, block, op in zip(problem.names, problem.blocks, problem.operators, strict=True)
    ]
    title = f"ipds problem: {len(rows)} blocks, constraint of shape {problem.shape}"
    return table(title, rows, ("block", "shape", "smooth f", "nonsmooth h", "A"))


def assumptions_html(report: Assumptions) -> str:
    """The report as it is printed."""
    return table("assumptions of the theory", [(line,) for line in str(report).splitlines()])
