"""The documentation site: every page in the navigation, every public name described, every command shown works."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
API = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.rst")}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]


PARTS = ("experiments.datasets", "distributed", "functions", "methods", "models", "operators", "plot")
PUBLIC = ("ipds", *(f"ipds.{part}" for part in PARTS))


def described() -> set[str]:
    """Full names in the API reference."""
    found = set()
    for text in API.values():
        for module, names in re.findall(
            r"\.\. currentmodule:: (\S+)\n(.*?)(?=\.\. currentmodule|\Z)", text, re.S
        ):
            found |= {f"{module}.{name}" for name in re.findall(r"^    (\w+)$", names, re.M)}
    return found


def test_every_public_name_is_in_the_api_reference() -> None:
    names = {
        f"{module}.{name}"
        for module in PUBLIC
        for name in importlib.import_module(module).__all__
        if not name.startswith("__") and not inspect.ismodule(getattr(importlib.import_module(module), name))
    }
    assert len(names) > 100
    assert names - described() == set()


def test_what_the_api_reference_names_exists_and_has_a_docstring() -> None:
    for full in described():
        module, _, name = full.rpartition(".")
        thing = getattr(importlib.import_module(module), name)
        own = thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__
        assert own, f"{full} has no docstring of its own"
        assert not own.startswith(f"{name}("), f"{full}: the docstring is the one dataclasses make"


def test_every_page_is_in_the_navigation() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    entries = {
        line for block in re.findall(r"```{toctree}\n(.*?)```", index, re.S) for line in block.splitlines()
    }
    assert {page.stem for page in DOCS.glob("*.md")} - {"index"} <= entries
    api = (DOCS / "api" / "index.md").read_text(encoding="utf-8").splitlines()
    assert set(API) <= set(api)


UNRUN = re.compile(
    r"(make|pip|ipds (reproduce|bench)|\.venv/bin/(pre-commit|pip)|export|python (benchmarks|examples)/|dask) ?|#|$"
)
"""Commands that are shown but not run here: other targets, installers, benchmarks, other machines."""


def shell_blocks() -> list[tuple[str, str]]:
    """Blocks of commands by page; those with their output (`console`) are run in test_docs_console.py."""
    return [
        (f"{page.name}-{k}", block)
        for page in PAGES
        for k, block in enumerate(
            re.findall(r"```(?:sh|bash)\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
        )
    ]


def runnable(block: str) -> bool:
    return not all(UNRUN.match(line) for line in block.splitlines())


@pytest.mark.parametrize(
    "block", [pytest.param(block, id=name) for name, block in shell_blocks() if runnable(block)]
)
def test_shell_block_runs(block: str, tmp_path: Path) -> None:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", block], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"


@pytest.fixture
def docstrings(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return importlib.import_module("docstrings")


@pytest.mark.parametrize(
    ("plain", "latex"),
    [
        ("min_V ½‖G V‖² + α‖V‖₁", r"\min_{V} \tfrac12\|G V\|^{2} + α\|V\|_{1}"),
        ("x̆_j ← prox_{h_j}(u, s)", r"\breve{x}_{j} \leftarrow \operatorname{prox}_{h_{j}}(u, s)"),
        ("A x = b   subject to   VᵀV = I", r"A x = b \quad \text{subject to} \quad V^{⊤}V = I"),
        ("α of some length", r"α\text{ of some length}"),
    ],
)
def test_formulas_become_latex(docstrings, plain, latex) -> None:
    assert importlib.import_module("formulas").latex(plain) == latex


@pytest.mark.parametrize(
    ("plain", "rst"),
    [
        ("Σ λ_i |x_i|", r"Σ λ\ :sub:`i`\  \|x\ :sub:`i`\ \|"),
        (
            "A_iᵀA_i, C_ij, ½C_h² of x_breve",
            r"A\ :sub:`i`\ ᵀA\ :sub:`i`\ , C\ :sub:`ij`\ , ½C\ :sub:`h`\ ² of x_breve",
        ),
        ("see `coef_` and components_", r"see `coef_` and components\_"),
        ("Zou, *Sparse PCA*, 2006; x_n* and 2*3", r"Zou, *Sparse PCA*, 2006; x\ :sub:`n`\ \* and 2\*3"),
        ("`Problem`s", r"`Problem`\ s"),
    ],
)
def test_docstrings_become_restructured_text(docstrings, plain, rst) -> None:
    assert docstrings.escape(plain) == rst


def test_sections_and_formulas_of_docstrings(docstrings) -> None:
    text = docstrings.converted(
        "Sum.\n\n    a = b_i\n\nParameters\n----------\nx0, z0 : where\n    to start.\n\n>>> 1\n1"
    )
    assert text == (
        "Sum.\n\n.. math::\n\n    \\begin{aligned}\n    & a = b_{i}\n    \\end{aligned}\n\n"
        ".. rubric:: Parameters\n\n``x0``, ``z0``\n    where\n    to start.\n\n>>> 1\n1"
    )
