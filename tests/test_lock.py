"""The lock of the CI fits pyproject.toml, and names no place to get packages from."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements-ci.lock").read_text()
LOCKED = dict(re.findall(r"^(\S+?)==(\S+)", LOCK, re.MULTILINE))
EXTRAS = PROJECT["optional-dependencies"]
WANTED = [*PROJECT["dependencies"], *(line for extra in ("test", "lint", "plot") for line in EXTRAS[extra])]


@pytest.mark.parametrize("line", WANTED)
def test_what_is_wanted_is_locked(line):
    """`make lock` renews it."""
    requirement = Requirement(line)
    assert LOCKED[canonicalize_name(requirement.name)] in requirement.specifier


def test_every_file_has_a_hash_and_no_source():
    entries = re.split(r"^(?=\S+==)", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) == len(LOCKED) > 20
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"https?:|index-url|find-links|file:", LOCK)
