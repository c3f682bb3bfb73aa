"""The look of the report: one HTML page with everything inside, no file beside it, no network, readable on a phone."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from typing import NamedTuple


class Section(NamedTuple):
    """A heading with what stands below it, as HTML."""

    name: str
    title: str
    body: str


def page(title: str, sentence: str, picture: tuple[str, bytes] | None, sections: Sequence[Section]) -> str:
    """The page: title, one sentence, a picture (its description, PNG) and the way to the sections come first."""
    way = "".join(f"<a href='#{section.name}'>{html.escape(section.title)}</a>" for section in sections)
    shown = "" if picture is None else image(*picture, first=True)
    below = "".join(
        f"<section id='{section.name}'><h2>{html.escape(section.title)}</h2>{section.body}</section>"
        for section in sections
    )
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<title>{html.escape(title)}</title>"
        f"<meta name='viewport' content='width=device-width, initial-scale=1'><style>{STYLE}</style></head><body>"
        f"<header><h1>{html.escape(title)}</h1><p class='sentence'>{html.escape(sentence)}</p>{shown}"
        f"<nav>{way}</nav></header><main>{below}</main></body></html>"
    )


def paragraphs(texts: Sequence[str]) -> str:
    """One <p> each."""
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)


def definitions(items: dict[str, str]) -> str:
    """A list of terms and what they are."""
    return (
        "<dl>"
        + "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in items.items())
        + "</dl>"
    )


def image(title: str, png: bytes, first: bool = False) -> str:
    """A picture inside the page; wide ones scroll where the screen is narrow."""
    data = base64.b64encode(png).decode()
    kind = "opening" if first else "wide"
    caption = "" if first else f"<figcaption>{html.escape(title)}</figcaption>"
    return (
        f"<figure>{caption}<div class='{kind}'>"
        f"<img alt='{html.escape(title)}' src='data:image/png;base64,{data}'></div></figure>"
    )


def table(headers: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table that scrolls by itself, its first column and its head staying; "**no**" and "…*" are marked."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in headers)
    body = ""
    for line in lines:
        body += "<tr>"
        for cell in line:
            kind = "lost" if cell == "**no**" else "best" if cell.endswith("*") else ""
            body += f"<td class='{kind}'>{html.escape(cell.replace('**', ''))}</td>"
        body += "</tr>"
    return (
        "<div class='wide tall' tabindex='0'>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


STYLE = """
:root { --ink: #1f2328; --faint: #57606a; --paper: #fff; --line: #d8dee4; --tint: #f6f8fa; --accent: #0b57a4;
  --best: #dff3e0; --lost: #f9d9d7; color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1180px; margin: 0 auto; padding: 0 1rem 4rem; }
header { border-bottom: 1px solid var(--line); padding: 2rem 0 1rem; }
h1 { font-size: clamp(1.35rem, 4.5vw, 2rem); line-height: 1.2; margin: 0 0 .6rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .6rem; }
p, dd { max-width: 44rem; overflow-wrap: anywhere; }
.sentence { font-size: 1.15rem; color: var(--faint); margin: 0 0 1rem; }
nav { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; font-size: .95rem; padding-top: .6rem; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
dt { font-weight: 600; } dd { margin: 0 0 .5rem 1.2rem; color: var(--faint); }
figure { margin: 1.2rem 0 2rem; } figcaption { font-weight: 600; margin-bottom: .3rem; }
.wide, .opening { overflow-x: auto; } .tall { max-height: 70vh; overflow-y: auto; border: 1px solid var(--line); }
.wide img { min-width: 640px; width: 100%; display: block; } .opening img { min-width: 560px; width: 100%;
  display: block; }
table { border-collapse: separate; border-spacing: 0; font-size: .8rem; white-space: nowrap; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: right; background: var(--paper); }
thead th { position: sticky; top: 0; z-index: 1; background: var(--tint); }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--tint); }
thead th:first-child { z-index: 2; }
td.best { background: var(--best); } td.lost { background: var(--lost); font-weight: 600; }
summary { cursor: pointer; color: var(--accent); margin: 1rem 0; }
"""
