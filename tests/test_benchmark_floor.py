"""The benchmarks of an iteration's cost run, and write their pages."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))
from benchmarks import floor, growth, problems, solves
from benchmarks.pages import write_section

TOYS = {
    "Gram matrix": lambda: floor.principal_components(60, 30, 3),
    "implicit": lambda: floor.principal_components(10, 60, 3),
    "sparse": lambda: floor.texts(300, 1100, 4000),
    "low rank": lambda: floor.low_rank(60, 2),
    "regression": lambda: floor.regression(40, 80, 3),
    "dual PCP": lambda: floor.dual_pcp(300, 6, 2),
}


@pytest.mark.parametrize("name", TOYS)
def test_every_problem_has_a_floor(name):
    found = floor.measure(floor.Case(name, TOYS[name], iterations=floor.SKIP + 5), repeats=1)
    assert found.times["trial"] >= 1
    assert {"product", "pass"} <= {operation.kind for operation in floor.operations(TOYS[name]()[0])}
    assert name in floor.summary([found])


def test_exponents_of_a_power_law():
    assert growth.exponent((1, 2, 4), [3.0, 12.0, 48.0]) == pytest.approx(2.0)


def test_sections_of_a_page_are_written_again_and_the_rest_stays(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nText.\n")
    write_section(page, "floor", "first")
    write_section(page, "growth", "other")
    write_section(page, "floor", "second")
    text = page.read_text()
    assert "first" not in text
    assert text.startswith("# Title\n\nText.\n\n<!-- floor: begin -->\nsecond\n<!-- floor: end -->")
    assert text.count("other") == 1


def test_products_of_a_solve_are_counted():
    name, _, products, needed, *_ = solves.row("toy", problems.regression(40, 20, 3, 0.1, 0))
    assert name == "toy"
    assert int(products) >= int(needed) > 0
