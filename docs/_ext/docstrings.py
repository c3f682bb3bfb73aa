"""Docstrings of the package as reStructuredText: they are written to be read in a terminal.

Formulas stand there as plain Unicode (`|x_i|`, `coef_`, `A_iᵀz`), and parameters as `name : what it is`. Here signs
that mean something else in reStructuredText are escaped, x_i gets a true subscript, formulas set off by indentation
are set by MathJax (`formulas`) and sections become definition lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from formulas import display

SECTION = re.compile(r"(Parameters|Returns|Attributes|Yields|Raises)\n-{3,}\n")
SUBSCRIPT = re.compile(
    r"(?<![^\W½²ᵀᵗΔ])((?:prox|argmin|min|max|grad|[^\W\d_])[\u0300-\u036f]?)_(?:\{([^}]*)\}|([^\W_]{1,2}?)(?![^\Wᵀᵗⁿᵏⁱ⁰¹²³⁴]))"
)
"""A letter and one or two signs below it, which a superscript or a transpose may follow."""
FOREIGN = {"sklearn", "builtins", "enum"}
"""Inherited from elsewhere: reStructuredText already."""
TITLE = re.compile(r"\*([^\W\d_][^*]*)\*")


def escape(text: str) -> str:
    """Plain text with formulas, as reStructuredText; `code` and *titles* stay what they are."""
    result = ""
    for part in re.split(r"(`[^`]+`)", text):
        joint = "\\ " if result and re.match(r"\w", part) else ""  # `Problem`s
        result += part if part.startswith("`") else joint + _escape(part)
    return result


def _escape(text: str) -> str:
    titles: list[str] = []

    def keep(match: re.Match[str]) -> str:
        titles.append(match[0])
        return f"\0{len(titles) - 1}\0"

    text = TITLE.sub(keep, text.replace("\\", "\\\\"))
    text = re.sub(r"[*|]", r"\\\g<0>", text)
    text = SUBSCRIPT.sub(lambda m: f"{m[1]}\\ :sub:`{m[2] or m[3]}`\\ ", text)
    text = re.sub(r"(\w)_(?!\w)", r"\1\\_", text)
    return re.sub("\0(\\d+)\0", lambda m: titles[int(m[1])], text)


def definitions(text: str) -> Iterator[str]:
    """`name : meaning` lines as a definition list."""
    for item in re.split(r"\n(?=\S)", text):
        name, separator, meaning = item.partition(" : ")
        if not separator:
            yield escape(item)
            continue
        yield ", ".join(f"``{one.strip()}``" for one in name.split(","))
        yield from ("    " + escape(line.strip()) for line in meaning.splitlines())


def converted(docstring: str) -> str:
    """The whole docstring."""
    blocks = []
    for block in re.split(r"\n\s*\n", docstring.strip("\n")):
        section = SECTION.match(block)
        if block.lstrip().startswith(">>>"):
            blocks.append(block)
        elif section:
            listed = "\n".join(definitions(block[section.end() :]))
            blocks.append(f".. rubric:: {section[1]}\n\n{listed}")
        elif block and all(line.startswith("    ") for line in block.splitlines()):
            blocks.append(display(block))
        elif re.match(r"\w+ : \S", block):
            blocks.append("\n".join(definitions(block)))
        else:
            blocks.append(escape(block))
    return "\n\n".join(blocks)


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """What autodoc calls for every docstring."""
    origin = (getattr(obj, "__module__", None) or "").partition(".")[0]
    if origin not in FOREIGN:
        lines[:] = [*converted("\n".join(lines)).splitlines(), ""]


def skip(app: Any, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out scikit-learn's requests for metadata, whose text refers to its own glossary."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
