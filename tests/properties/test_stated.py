"""No success is wrong in the terms of those who wrote the problem: a sample of what `judge.py --kind …` tries."""

import pytest

from properties.judge import STATED, judged_as_stated

SMALL = [kind for kind in STATED if kind not in ("cardinality", "frames")]
"""Kinds of which each problem takes some milliseconds."""
FALSE_ONCE = [
    ("weighted", 108),
    ("weighted", 118),
    ("weighted", 201),
    ("pair", 5),
    ("far", 44),
    ("far-blocks", 8),
    ("far-blocks", 51),
]
"""Penalties that are exact, whose terms are 0 but for rounding: the objective at x was up to ten times the optimum. A
column whose mean is far more than its spread: three times; the same block by block, where bounds hold coefficients."""


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", SMALL)
def test_a_success_is_right(kind, seed):
    end, wrong = judged_as_stated(seed, 2.0, "auto", STATED[kind])
    assert not wrong, (end, wrong)


@pytest.mark.parametrize(("kind", "seed"), FALSE_ONCE)
def test_what_was_wrong_once_is_solved(kind, seed):
    assert judged_as_stated(seed, 5.0, "auto", STATED[kind]) == ("CONVERGED", [])
