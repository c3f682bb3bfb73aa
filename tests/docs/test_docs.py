"""The catalogue docs/functions.md against the classes: it cannot go stale unseen."""

import inspect
import math
import re
from pathlib import Path

import numpy as np
import pytest

import ipds
import ipds.functions
import ipds.methods
import ipds.operators
from ipds.methods import Method, named
from ipds.operators import Operator

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "functions.md").read_text(encoding="utf-8")
SHAPE = (4, 3)
ARGUMENTS = {
    "TrimmedSquares": (2,),
    **dict.fromkeys(["Poisson", "KLDivergence"], (1.0,)),
    "GroupL2": (1.0, [[0, 1], [2]]),
    "Affine": (np.ones((1, 4)), np.ones((1, 3))),
    "HalfSpace": (np.ones(SHAPE),),
    **dict.fromkeys(
        ["Rank", "Cardinality", "RowCardinality", "NonzeroRows", "NonzeroColumns", "KBinary"], (2,)
    ),
    **dict.fromkeys(["LeastSquares", "HuberLoss", "PhaseRetrieval"], (np.eye(4), np.ones(4))),
    "Logistic": (np.eye(4), np.array([1.0, 0.0, 1.0, 0.0])),
    "Quadratic": (np.eye(4),),
    "Linear": (np.ones(SHAPE),),
    **dict.fromkeys(["PCAVariance", "PCAReconstruction"], (np.eye(4),)),
    "Differentiable": (ipds.functions.SumSquares(),),
    "Composed": (ipds.functions.Quadratic(np.eye(4)), 2.0),
    "Weighted": (ipds.functions.Quadratic(np.eye(4)), 2.0),
    "SmoothSum": ([ipds.functions.Quadratic(np.eye(4))],),
}


def section(title):
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(title):
    """(name, arguments, other cells) of every table row of a section."""
    for line in section(title).splitlines():
        call = re.match(r"\| `(\w+)\((.*?)\)` \|", line)
        if call:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[2:-1]]
            yield call[1], [a.strip() for a in call[2].split(",") if a.strip()], cells


SECTIONS = {
    "Nonsmooth functions: penalties": ipds.functions,
    "Nonsmooth functions: sets": ipds.functions,
    "Calculus": ipds.functions,
    "Smooth functions": ipds.functions,
    "Operators": ipds.operators,
    "Methods": ipds.methods,
}


@pytest.mark.parametrize(
    ("module", "titles"),
    [
        (ipds.functions, [*list(SECTIONS)[:4], "Your own functions"]),
        (ipds.operators, ["Operators"]),
        (ipds.methods, ["Methods"]),
    ],
)
def test_every_public_name_is_in_the_catalogue(module, titles):
    text = "\n".join(section(title) for title in titles)
    missing = [name for name in module.__all__ if not re.search(rf"`{name}\b", text)]
    assert not missing


@pytest.mark.parametrize("title", SECTIONS)
def test_the_catalogue_names_what_exists_with_its_arguments(title):
    found = list(rows(title))
    assert found
    for name, arguments, _ in found:
        assert name in SECTIONS[title].__all__
        assert arguments == list(inspect.signature(getattr(SECTIONS[title], name)).parameters), name


@pytest.mark.parametrize("title", list(SECTIONS)[:2])
def test_convexity_and_lipschitz_constants_of_h(title):
    for name, _, (_, convex, constant) in rows(title):
        h = getattr(ipds.functions, name)(*ARGUMENTS.get(name, ()))
        assert convex == ("yes" if h.is_convex else "no"), name
        assert (constant == "∞") == math.isinf(h.lipschitz(SHAPE)), name
        assert h.is_set == (title.endswith("sets")), name


def test_lipschitz_constants_of_gradients():
    for name, _, (_, _, constant) in rows("Smooth functions"):
        f = getattr(ipds.functions, name)(*ARGUMENTS[name])
        assert (constant == "local only") == (f.lipschitz is None), name


def test_names_of_methods():
    for name, _, (names, _) in rows("Methods"):
        for given in re.findall(r'"(\w+)"', names):
            assert type(named(given)).__name__ == name


def test_operators_and_methods_are_of_their_kind():
    assert all(issubclass(getattr(ipds.operators, name), Operator) for name, _, _ in rows("Operators"))
    assert all(issubclass(getattr(ipds.methods, name), Method) for name, _, _ in rows("Methods"))


@pytest.mark.parametrize(
    "page", sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]), ids=lambda p: p.name
)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        # the gallery is made of the examples when the site is built
        made = target.replace("gallery/index.rst", "../examples/README.rst")
        assert (page.parent / made).exists(), target


def test_the_version_is_the_same_everywhere():
    assert f"version: {ipds.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_table_of_sound_parameters():
    text = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| " + r"([\d.]+) \| " * 7 + r".*\|$", text, re.M)
    assert len(found) == 9
    for row in found:
        kappa, sigma, xi, *rest = map(float, row)
        for smooth_last, delta, theta2 in ((False, *rest[:2]), (True, *rest[2:])):
            sound = ipds.Parameters.sound("SU", kappa, sigma, xi, smooth_last)
            assert sound.delta == pytest.approx(delta, rel=0.01)
            assert sound.theta2 == pytest.approx(theta2, rel=2e-3)
