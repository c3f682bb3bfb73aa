"""Sections of a page that a benchmark writes again, between markers; what stands outside them is left alone."""

from __future__ import annotations

from pathlib import Path


def write_section(path: Path, name: str, text: str) -> None:
    """Put `text` between the markers of section `name`, at the end of the page where there are none yet."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = path.read_text() if path.exists() else ""
    section = f"{begin}\n{text.strip()}\n{end}"
    if begin in page:
        head, rest = page.split(begin, 1)
        page = head + section + rest.split(end, 1)[1]
    else:
        page = f"{page.rstrip()}\n\n{section}\n".lstrip()
    path.write_text(page)
