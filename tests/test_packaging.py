"""What goes with a release agrees with itself: recipe, citation, paper, links."""

import importlib
import json
import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ipds
from ipds.cli import app

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, BUILD = PYPROJECT["project"], PYPROJECT["build-system"]


def _requirements(texts):
    return {re.sub(r"\s", "", text) for text in texts}


@pytest.fixture(scope="module")
def recipe():
    """The conda recipe as conda-build reads it: rendered by Jinja with its one function, then YAML."""
    jinja2, yaml = pytest.importorskip("jinja2"), pytest.importorskip("yaml")

    def load_file_regex(load_file, regex_pattern, from_recipe_dir):
        assert from_recipe_dir
        return re.search(regex_pattern, (ROOT / "conda" / load_file).read_text())

    template = jinja2.Template((ROOT / "conda" / "meta.yaml").read_text())
    return yaml.safe_load(template.render(load_file_regex=load_file_regex, PYTHON="python"))


def test_the_conda_recipe_asks_for_what_the_package_needs(recipe):
    assert recipe["package"] == {"name": PROJECT["name"], "version": ipds.__version__}
    python = "python" + PROJECT["requires-python"]
    assert _requirements(recipe["requirements"]["run"]) == _requirements([python, *PROJECT["dependencies"]])
    assert _requirements(recipe["requirements"]["host"]) == _requirements([python, "pip", *BUILD["requires"]])
    assert recipe["build"]["entry_points"] == [f"ipds = {PROJECT['scripts']['ipds']}"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert (ROOT / recipe["about"]["license_file"]).is_file()
    assert (ROOT / "conda" / recipe["source"]["path"] / "pyproject.toml").is_file()


def test_what_the_conda_recipe_tries_works(recipe):
    for module in recipe["test"]["imports"]:
        importlib.import_module(module)
    assert recipe["test"]["commands"] == ["pip check", "ipds --version"]
    assert ipds.__version__ in CliRunner().invoke(app, ["--version"]).output


def test_citation_and_archive_name_this_version():
    citation = pytest.importorskip("yaml").safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (ipds.__version__, PROJECT["license"])
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    archive = json.loads((ROOT / ".zenodo.json").read_text())
    assert archive["license"] == PROJECT["license"]
    assert archive["title"] == citation["title"]
    date = citation["date-released"].isoformat()
    assert f"## {ipds.__version__} - {date}" in (ROOT / "CHANGELOG.md").read_text()


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
