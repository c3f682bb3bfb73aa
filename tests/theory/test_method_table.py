"""The table of methods in `problem.check()`."""

import pytest

import problems
from ipds import Block, Problem
from ipds.functions import L1, PCAVariance, Stiefel
from ipds.theory.theorems import THEOREMS


def pca():
    D = problems.rng().standard_normal((20, 10))
    f = PCAVariance(D)
    return Problem(
        [Block(f=f, h=Stiefel(), A=-1.0, shape=(10, 2), name="Y"), Block(h=L1(0.1), shape=(10, 2), name="V")]
    )


def test_the_table_lists_every_method_with_its_assumptions():
    table = pca().check().methods
    assert [row.name for row in table] == [theorem.name for theorem in THEOREMS]
    for row in table:
        assert set(row.meets) | set(row.lacks) == set(row.needs)
        assert not set(row.meets) & set(row.lacks)
        assert row.complexity
        assert row.reference
        assert not (row.guarantee and row.lacks)


def test_who_is_guaranteed_on_sparse_pca():
    assert pca().check().methods.guaranteed == (
        "IPDS('sound')",
        "RADMM()",
        "Subgradient(decay='diminishing')",
        "ManPG()",
    )


@pytest.mark.parametrize(
    "build", [problems.sparse_pca, problems.surjective, problems.three_blocks, problems.five_blocks]
)
def test_the_rows_of_ipds_agree_with_the_report(build):
    check = build().check()
    assert check.proved == tuple(name for name in check.methods.guaranteed if name.startswith("IPDS"))
    assert bool(check.methods) == check.holds


def test_methods_without_a_theorem_are_never_guaranteed():
    table = pca().check().methods
    for name in ("IPDS('practical')", "AcceleratedIPDS()"):
        row = table.named(name)
        assert not row.guarantee
        assert not row.lacks
        assert "certificate" in str(row)


def test_the_table_is_printed_and_is_data():
    check = pca().check()
    lines = str(check).splitlines()
    row = next(line for line in lines if line.startswith("RADMM()"))
    assert "yes O(ε⁻⁴)" in row
    assert "other h_i manifolds" in row
    refused = next(line for line in lines if "bot-2020" in line)
    assert "no  O(ε⁻²)  lacks: f_i = 0 for i < n; h_n = 0" in refused
    assert str(check.methods).splitlines()[0].startswith("method")
    rows = check.as_dict()["table"]
    assert rows[0]["name"] == "IPDS('sound')"
    assert rows[0]["guarantee"] is True


def test_checking_is_lazy(monkeypatch):
    import ipds.theory.methods as theory

    monkeypatch.setattr(theory, "method_table", lambda problem: pytest.fail("built without being asked for"))
    assert pca().check().holds
