"""Sections of a page that a benchmark writes again, between markers; when and where it ran; problems in words."""

from __future__ import annotations

import datetime
import platform
import re
from pathlib import Path

from ipds.experiments.findings import processor

WORDS = (
    (r"^(?=.*(rho|lambda)=)", "sparse PCA, "),
    (r"^LAD\b", "least absolute deviations"),
    (r"^LP\b", "linear program"),
    (r"^SVM\b", "support vector machine"),
    (r"^dual PCP (\d+)/(\d+) (\d+)\+(\d+)", r"dual PCP, \3 + \4 samples of \1 features"),
    (r"^phase (\d+)/(\d+) s=(\d+)", r"phase retrieval, \1 unknowns, \2 measurements"),
    (r"^low rank (\d+)/(\d+)", r"low rank \2 of \1,"),
    (r" s=(\d+)", r", \1 nonzeros,"),
    (r"% gross", "% gross errors"),
    (r"rrors (\d+%)", r"rrors, \1"),
    (r"[- ](\d+)-(\d+)", r" \1x\2"),
    (r"\brandn\b", "random"),
    (r" rho=", ", ρ = "),
    (r" lambda=", ", λ = "),
    (r"breast_cancer", "breast cancer"),
)
"""Patterns in names of problems, and what readers are shown instead."""


def in_words(problem: str) -> str:
    """The name of a problem for readers who do not know the log.

    >>> in_words("low rank 150/5 20% gross 30% missing")
    'low rank 5 of 150, 20% gross errors, 30% missing'
    """
    for pattern, words in WORDS:
        problem = re.sub(pattern, words, problem)
    return problem


def where_and_when() -> str:
    """A line for below a table."""
    return f"Measured on {datetime.date.today()} on {processor()}, one thread, Python {platform.python_version()}."


def write_section(path: Path, name: str, text: str) -> None:
    """Put `text` between the markers of section `name`, at the end of the page where there are none yet.

    What stands outside the markers is left alone.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = path.read_text() if path.exists() else ""
    section = f"{begin}\n{text.strip()}\n{end}"
    if begin in page:
        head, rest = page.split(begin, 1)
        page = head + section + rest.split(end, 1)[1]
    else:
        page = f"{page.rstrip()}\n\n{section}\n".lstrip()
    path.write_text(page)
