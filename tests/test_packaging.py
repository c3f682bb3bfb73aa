"""What goes with a release agrees with itself: recipe, citation, paper, links."""

import json
import re
import tomllib
from pathlib import Path

import ipds

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _requirement(text):
    return re.sub(r"\s", "", text.split("#")[0])


def test_the_conda_recipe_asks_for_what_the_package_needs():
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    listed = recipe.split("  run:\n")[1].split("\ntest:")[0].splitlines()
    run = {_requirement(line.replace("- ", "")) for line in listed if line.strip()}
    assert run == {
        "python" + PROJECT["requires-python"].replace(" ", ""),
        *map(_requirement, PROJECT["dependencies"]),
    }
    assert "ipds = " + PROJECT["scripts"]["ipds"] in recipe


def test_citation_and_archive_name_this_version():
    assert f"\nversion: {ipds.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    archive = json.loads((ROOT / ".zenodo.json").read_text())
    assert archive["license"] == PROJECT["license"]
    assert f"## {ipds.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_what_the_paper_cites_is_in_its_bibliography():
    text, entries = (ROOT / "paper/paper.md").read_text(), (ROOT / "paper/paper.bib").read_text()
    cited = set(re.findall(r"(?<=[\[; (])@([a-z]+\d{4})", text)) | set(
        re.findall(r"(?<=\s)@([a-z]+\d{4})", text)
    )
    assert cited == set(re.findall(r"^@\w+\{(\w+),", entries, flags=re.M))


def test_links_that_do_not_exist_yet_are_said_to_be_placeholders():
    placeholders = [url for url in PROJECT["urls"].values() if "example.invalid" in url]
    if placeholders:
        assert "# placeholders" in (ROOT / "pyproject.toml").read_text()
    assert {"Documentation", "Repository", "Issues"} <= set(PROJECT["urls"])
