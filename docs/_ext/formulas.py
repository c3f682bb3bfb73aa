"""Formulas of docstrings, which stand there in Unicode, as LaTeX for MathJax.

>>> latex("min_V ½‖G V‖² + α‖V‖₁   subject to   VᵀV = I")
'\\\\min_{V} \\\\tfrac12\\\\|G V\\\\|^{2} + α\\\\|V\\\\|_{1} \\\\quad \\\\text{subject to} \\\\quad V^{⊤}V = I'
"""

from __future__ import annotations

import re

OPERATORS = set(
    re.findall(r"\w+", "min max argmin argmax prox env loss rank rms mean diag sign grad log exp lim sup det")
)
SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀᵗⁿᵏⁱᵖ", "0123456789+-⊤tnkip", strict=True))
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋", "0123456789+-", strict=True))
ACCENTS = {"\u0306": "breve", "\u0302": "hat", "\u0304": "bar", "\u0303": "tilde", "\u0307": "dot"}
SIGNS = {
    "‖": r"\|",
    "½": r"\tfrac12",
    "Σ": r"\sum",
    "·": r"\cdot ",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    "←": r"\leftarrow ",
    "∈": r"\in ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "∇": r"\nabla ",
    "∂": r"\partial ",
    "∞": r"\infty ",
    "≠": r"\ne ",
    "→": r"\to ",
    "{": r"\{",
    "}": r"\}",
    "#": r"\#",
    "%": r"\%",
    "&": r"\&",
}
QUAD = r"\qquad "
TOKEN = re.compile(
    r"(?P<code>`[^`]+`)"
    r"|(?P<space>\s{2,})"
    r"|_(?P<below>\{[^}]*\}|[a-z0-9]{1,2}(?![a-z])|[^\W_])"
    r"|(?P<word> ?[A-Za-z]{2,}(?:[ -](?:[A-Za-z]{2,}|a\b))*(?: (?=\S))?)"
    rf"|(?P<above>[{''.join(SUPERSCRIPTS)}]+)"
    rf"|(?P<index>[{''.join(SUBSCRIPTS)}]+)"
    rf"|(?P<accent>\w[{''.join(ACCENTS)}])"
    r"|(?P<sign>.)",
    re.S,
)


def _token(match: re.Match[str]) -> str:
    kind, text = match.lastgroup, match[match.lastgroup or 0]
    if kind == "code":
        return rf"\texttt{{{text[1:-1]}}}"
    if kind == "space":
        return r" \quad "
    if kind == "below":
        return f"_{{{latex(text[1:-1]) if text.startswith('{') else text}}}"
    if kind == "word":
        return _words(text)
    if kind == "above":
        return f"^{{{''.join(SUPERSCRIPTS[sign] for sign in text)}}}"
    if kind == "index":
        return f"_{{{''.join(SUBSCRIPTS[sign] for sign in text)}}}"
    if kind == "accent":
        return rf"\{ACCENTS[text[1]]}{{{text[0]}}}"
    return SIGNS.get(text, text)


def _words(text: str) -> str:
    """Operators by their names, a product of two letters as it is, all else as text."""
    first, _, rest = text.strip().partition(" ")
    if first in OPERATORS:
        name = rf"\{first}" if first in ("min", "max", "log", "exp", "lim", "sup", "det") else None
        return (name or rf"\operatorname{{{first}}}") + (f" {_words(rest)}" if rest else "")
    if len(text.strip()) == 2 and not text.islower():
        return text
    return rf"\text{{{text}}}"


def latex(formula: str) -> str:
    """One line of a formula as LaTeX."""
    return TOKEN.sub(_token, formula.strip())


def display(block: str) -> str:
    """An indented block of formulas as a displayed equation; deeper indentation is kept."""
    lines = block.splitlines()
    least = min(len(line) - len(line.lstrip()) for line in lines)
    rows = []
    for line in lines:
        deeper = (len(line) - len(line.lstrip()) - least) // 4
        rows.append(f"    & {deeper * QUAD}{latex(line)}")
    return ".. math::\n\n    \\begin{aligned}\n" + " \\\\\n".join(rows) + "\n    \\end{aligned}"
