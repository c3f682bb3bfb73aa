"""HTML for notebooks: tables that take their colours from the page, so they read in light and dark alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .problem import Problem
    from .result import Result
    from .theory.assumptions import Assumptions
    from .theory.diagnostics import Certificate


def result_html(result: Result) -> str:
    """Verdict, figures, and the course of the certificate."""
    verdict = "✓ certified" if result.success else "✗ not certified"
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
    return table(f"{verdict}: ipds result", rows) + curve(result.history["relative"], "relative certificate")


def certificate_html(certificate: Certificate) -> str:
    """The terms of the bound and their scales."""
    values = (certificate.feasibility, *certificate.stationarity)
    names = ("feasibility", *(f"stationarity of block {i + 1}" for i in range(len(values) - 1)))
    scales = certificate.scales or (math.nan,) * len(values)
    rows = [
        *((n, f"{v:.3e}", f"{s:.3g}") for n, v, s in zip(names, values, scales, strict=True)),
        ("critical: their sum", f"{certificate.critical:.3e}", ""),
        ("relative: each over its scale, summed", f"{certificate.relative:.3e}", ""),
    ]
    return table("certificate", rows, ("", "at most", "scale"))


def problem_html(problem: Problem) -> str:
    """The problem in a line, then its blocks."""
    names = [escape(name) for name in problem.names]
    parts = zip(names, problem.blocks, strict=True)
    terms = " + ".join(f"{'' if b.f is None else f'f({n}) + '}h({n})" for n, b in parts)
    equation = " + ".join(f"A<sub>{n}</sub> {n}" for n in names)
    rows = [
        (name, block.shape, "" if block.f is None else repr(block.f), repr(block.h), repr(op))
        for name, block, op in zip(problem.names, problem.blocks, problem.operators, strict=True)
    ]
    b = f"array {problem.shape}" if isinstance(problem.b, np.ndarray) else str(problem.b)
    title = f"ipds problem: {len(rows)} blocks, constraint of shape {problem.shape}, b = {b}"
    return f"<div>min {terms} subject to {equation} = b</div>" + table(
        title, rows, ("block", "shape", "smooth f", "nonsmooth h", "A")
    )


def assumptions_html(report: Assumptions) -> str:
    """The report, what fails with its remedy, and the table of methods."""
    text = table("assumptions of the theory", report.rows())
    if report.failures:
        failures = [(failure.assumption, failure.remedy) for failure in report.failures]
        text += table("what fails", failures, ("assumption", "remedy"))
    methods = [
        (
            row.name,
            "yes" if row.guarantee else "no",
            row.complexity,
            "; ".join(row.lacks) or ("nothing" if row.guarantee else "there is no theorem to apply"),
        )
        for row in report.methods
    ]
    return text + table("methods", methods, ("method", "theorem applies", "steps", "lacks"))


def table(title: str, rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """A titled table; every cell is escaped, the first of each row is its heading.

    >>> table("a < b", [("x", 1)])
    '<table><caption ...>a &lt; b</caption><tbody><tr><th ...>x</th><td ...>1</td></tr></tbody></table>'
    """
    left = 'style="text-align:left"'
    top = "".join(f"<th {left}>{escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr><th {left}>{escape(str(row[0]))}</th>"
        + "".join(f"<td {left}>{escape(str(cell))}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    caption = f'<caption style="text-align:left;font-weight:bold;color:inherit">{escape(title)}</caption>'
    return f"<table>{caption}{f'<thead><tr>{top}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def curve(values: np.ndarray, label: str, width: int = 320, height: int = 60) -> str:
    """A small curve of positive values on a log scale, with its range in words."""
    kept = values[np.isfinite(values) & (values > 0)]
    if len(kept) < 2:
        return ""
    logs = np.log10(kept[np.linspace(0, len(kept) - 1, min(len(kept), width)).astype(int)])
    low, high = float(logs.min()), float(logs.max())
    span = high - low or 1.0
    points = " ".join(
        f"{width * k / (len(logs) - 1):.1f},{2 + (height - 4) * (high - value) / span:.1f}"
        for k, value in enumerate(logs)
    )
    name = escape(f"{label}: from {kept[0]:.1e} to {kept[-1]:.1e} in {len(kept)} checks")
    return (
        f'<figure style="margin:0"><svg width="{width}" height="{height}" role="img" aria-label="{name}">'
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
        f'<figcaption style="font-size:smaller">{name}</figcaption></figure>'
    )
