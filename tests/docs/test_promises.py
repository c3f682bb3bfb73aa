"""Every promise of docs/robustness.md names a test that exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "robustness.md").read_text(encoding="utf-8")
PROMISES = re.findall(r"^\| .* \| `([\w/]+\.py)::(\w+)`(?: \((?:`slow`|`fuzz`)\))? \|$", TEXT, re.MULTILINE)


def test_every_row_is_seen():
    rows = TEXT.split("## Promises")[1].split("## Attacks")[0].count("\n| ")
    assert len(PROMISES) == rows - 1 >= 20  # less the head


@pytest.mark.parametrize(("file", "name"), PROMISES)
def test_the_test_of_a_promise_exists(file, name):
    assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")
