"""The table of methods in `problem.check()`."""

import pytest

import problems
from ipds import Block, Problem
from ipds.functions import L0, L1, MCP, PCAVariance, Quadratic, Stiefel
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


def test_theorems_of_methods_that_are_not_here():
    G = problems.rng().standard_normal((8, 5))
    tall = Problem(
        [Block(h=MCP(1.0, 3.0), A=-1.0, shape=8), Block(f=Quadratic(1.0), h=L1(1.0), A=G, shape=5)]
    )
    report = tall.check()  # A_n is not surjective
    assert not report.holds
    assert [name.split()[0] for name in report.elsewhere] == ["PPG-ADMM"]
    assert "theorems elsewhere" in report.summary()
    assert [name.split()[0] for name in pca().check().elsewhere] == ["ARADMM"]
    assert "theorems elsewhere" not in pca().check().summary()  # one of ours applies
    counted = Problem([Block(h=L0(1.0), A=-1.0, shape=8), Block(h=L1(1.0), A=G, shape=5)])
    assert counted.check().elsewhere == ()
