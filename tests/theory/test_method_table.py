"""The table of methods in `problem.check()`."""

import numpy as np
import pytest

import problems
from ipds import Block, Problem
from ipds.functions import (
    L0,
    L1,
    MCP,
    Box,
    Differentiable,
    NegativeLog,
    NonNegative,
    PCAVariance,
    Quadratic,
    Rank,
    Sphere,
    Stiefel,
    smooth,
)
from ipds.functions.rank_manifold import RankManifold
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
        "AcceleratedIPDS()",
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
    row = table.named("IPDS('practical')")
    assert not row.guarantee
    assert not row.lacks
    assert "certificate" in str(row)


def accelerated(*blocks, b=0.0):
    row = Problem(list(blocks), b=b).check().methods.named("AcceleratedIPDS()")
    assert row.guarantee == (not row.lacks)
    return [text.split(" (")[0] for text in row.lacks]


def test_what_the_theorem_of_accelerated_ipds_asks():
    """Lipschitz h of the block that goes, gradients and a floor unless the others are bounded, tame manifolds."""
    concave, quartic = Quadratic(-1.0), smooth(lambda x: float(np.sum(x**4)), lambda x: 4 * x**3)
    last = Block(h=L1(1.0), shape=4)
    assert accelerated(Block(h=L0(1.0), A=-1.0, shape=4), last) == []
    assert accelerated(Block(h=Rank(1), A=-1.0, shape=(4, 4)), Block(h=L1(1.0), shape=(4, 4))) == []
    assert accelerated(Block(h=L0(1.0), A=-1.0, shape=4), Block(h=NonNegative(), shape=4)) == [
        "its h Lipschitz"
    ]
    assert accelerated(Block(f=quartic, A=-1.0, shape=4), last) == ["∇f_i Lipschitz or other blocks bounded"]
    assert accelerated(Block(f=quartic, h=Box(-1.0, 1.0), A=-1.0, shape=4), last) == []
    assert accelerated(Block(f=concave, A=-1.0, shape=4), last) == [
        "objective bounded below or other blocks bounded"
    ]
    # with block 2 bounded by the equation alone its f may fall: the reduced problem has it on a bounded set
    assert accelerated(Block(h=Sphere(), A=-1.0, shape=4), Block(f=concave, h=L1(1.0), shape=4)) == []
    tame = "no manifolds but Stiefel and spheres, forces bounded"
    columns = Block(h=Stiefel(), A=-1.0, shape=(4, 2)), Block(h=L1(1.0), shape=(4, 2))
    free = Block(f=Quadratic(1.0), A=-1.0, shape=(4, 2))
    assert accelerated(columns[0], free, columns[1]) == []  # f stays where it is
    moved = Block(f=Quadratic(1.0), h=L1(1.0), shape=(4, 2))
    assert accelerated(columns[0], Block(h=L0(1.0), A=np.eye(4), shape=(4, 2)), moved) == [tame]
    assert accelerated(Block(h=RankManifold(1), A=-1.0, shape=(4, 2)), columns[1]) == [tame]
    G = problems.rng().standard_normal((4, 4))
    assert "a block with A = c·I or an isometry, h convex" in accelerated(
        Block(h=L0(1.0), A=G, shape=4), Block(h=L1(1.0), A=G, shape=4)
    )


def test_positive_functions_on_a_bounded_set_need_more_than_bounds():
    """-log has no Lipschitz gradient on a box either."""
    barrier = Block(f=Differentiable(NegativeLog()), h=Box(0.0, 1.0), A=-1.0, shape=4)
    assert accelerated(barrier, Block(h=L1(1.0), shape=4)) == ["∇f_i Lipschitz or other blocks bounded"]


def test_the_table_is_printed_and_is_data():
    check = pca().check()
    lines = str(check).splitlines()
    row = next(line for line in lines if line.startswith("RADMM()"))
    assert "yes O(ε⁻⁴)" in row
    assert "other h_i manifolds" in row
    refused = next(line for line in str(check.methods).splitlines() if "bot-2020" in line)
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
