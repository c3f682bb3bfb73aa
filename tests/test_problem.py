"""Blocks, the constraint, and the report on the assumptions."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import problems
from ipds import AssumptionError, Block, Problem, solve
from ipds.functions import (
    L0,
    L1,
    Box,
    LeastSquares,
    Quadratic,
    Stiefel,
    smooth,
)
from ipds.operators import Identity, Matrix


@pytest.mark.parametrize(
    "build", [problems.sparse_pca, problems.robust_regression, problems.three_blocks, problems.five_blocks]
)
def test_residual_and_objective_are_their_formulas(build):
    problem = build()
    x, _ = problems.start_of(problem)
    total = sum(
        problems.dense(block.A, block.shape) @ xi.ravel() for block, xi in zip(problem.blocks, x, strict=True)
    )
    expected = total.reshape(problem.shape) - problem.b
    np.testing.assert_allclose(problem.residual(x), expected, atol=1e-12)
    assert problem.infeasibility(x) == pytest.approx(np.linalg.norm(expected))
    smooth_part = sum(float(b.f(xi)) for b, xi in zip(problem.blocks, x, strict=True) if b.f is not None)
    assert problem.objective(x) == pytest.approx(
        smooth_part + sum(b.h(xi) for b, xi in zip(problem.blocks, x, strict=True))
    )


def test_every_kind_of_A_becomes_an_operator_of_the_same_map():
    M = problems.rng().standard_normal((4, 4))

    class Mine:
        def apply(self, x):
            return M @ x

        def adjoint(self, y):
            return M.T @ y

    kinds = [M, sp.csr_array(M), problems.matrix_free(M), Matrix(M), Mine()]
    problem = Problem([Block(A=A, shape=4) for A in kinds], b=0.0)
    x, y = problems.rng(1).standard_normal((2, 4))
    for op in problem.operators:
        np.testing.assert_allclose(op.apply(x), M @ x)
        np.testing.assert_allclose(op.adjoint(y), M.T @ y)
        assert np.linalg.norm(M, 2) * (1 - 1e-12) <= op.norm() <= np.linalg.norm(M, 2) * 1.01


def test_b_may_be_a_number():
    blocks = [Block(A=2.0, shape=(2, 3)), Block(shape=(2, 3))]
    x = [np.ones((2, 3))] * 2
    np.testing.assert_array_equal(Problem(blocks, b=5.0).residual(x), np.full((2, 3), -2.0))
    np.testing.assert_array_equal(Problem(blocks, b=np.full((2, 3), 5.0)).residual(x), np.full((2, 3), -2.0))


@pytest.mark.parametrize("b", [0.0, 2.0, np.arange(3.0)])
def test_restore_solves_the_constraint_for_a_block(b):
    problem = Problem([Block(h=L1(1.0), A=2.0, shape=3), Block(h=Box(), A=-1.0, shape=3)], b=b)
    assert problem.restorable == 0  # a box would become infeasible
    x = [np.zeros(3), np.array([0.1, 0.5, 0.9])]
    restored = problem.restore(x)
    np.testing.assert_allclose(restored[0], (b + x[1]) / 2)
    assert restored[1] is x[1]
    assert np.all(x[0] == 0)
    products = [op.apply(xi) for op, xi in zip(problem.operators, x, strict=True)]
    np.testing.assert_array_equal(problem.restore(x, products)[0], restored[0])


@pytest.mark.parametrize("b", [0.0, np.arange(2.0)])
def test_restore_makes_no_product_of_zeros(b, monkeypatch):
    problem = Problem([Block(A=np.ones((2, 3)), shape=3), Block(h=L1(1.0), A=-2.0, shape=2)], b=b)
    monkeypatch.setattr(Matrix, "apply", None)
    restored = problem.restore([np.zeros(3), np.ones(2)])
    np.testing.assert_array_equal(restored[1], np.broadcast_to(b / -2.0, 2))
    assert restored[1] is not problem.b


def test_restore_is_none_where_no_block_can_move():
    problem = Problem([Block(h=Box(), shape=3), Block(h=L1(1.0), A=np.eye(3) + 0.1, shape=3)])
    assert problem.restorable is None
    assert problem.restore([np.zeros(3)] * 2) is None


def test_names_and_repr():
    problem = Problem([Block(shape=3), Block(shape=3, name="v")])
    assert problem.names == ("x1", "v")
    assert repr(problem) == "Problem(2 blocks: x1 (3,), v (3,); constraint (3,))"


# --- the report on the assumptions ------------------------------------------------------------------------------------


def last(A, shape=4, h=None, f=None):
    rows = A.shape[0] if hasattr(A, "shape") else shape
    return Problem(
        [Block(h=Box(), shape=rows, name="u"), Block(f=f, h=h or L1(0.5), A=A, shape=shape, name="v")]
    )


@pytest.mark.parametrize(
    ("A", "shape", "condition", "lower", "upper"),
    [
        (-3.0, 4, "BI", 9.0, 9.0),
        (problems.conditioned(4, 4, 1.9), 4, "BI", 1.0, 1.9),
        (problems.conditioned(4, 4, 2.5), 4, "SU", 1.0, 2.5),
        (problems.conditioned(4, 9, 1.0), 9, "SU", 1.0, 1.0),
        (problems.conditioned(4, 9, 61.0), 9, "SU", 1.0, 61.0),
        (problems.conditioned(4, 6, 3.0).T, 4, None, 0.0, 3.0),
        (np.diag([1.0, 2.0, 3.0, 0.0]), 4, None, 0.0, 9.0),
    ],
)
def test_condition_and_eigenvalues(A, shape, condition, lower, upper):
    check = last(A, shape).check()
    assert check.condition == condition
    assert check.lambda_max == pytest.approx(upper)
    assert check.lambda_min == pytest.approx(lower, abs=1e-12)
    assert check.kappa == (pytest.approx(upper / lower) if lower else math.inf)
    assert check.holds == (condition is not None) == bool(check.methods)


def test_the_report_holds_the_constants():
    f = Quadratic(np.diag([1.0, 3.0, 0.0, 2.0]))
    check = last(1.0, 4, h=L1(0.5), f=f).check()
    assert check.holds
    assert check.lipschitz == {"u": 0.0, "v": pytest.approx(3.0)}
    assert check.C_h == pytest.approx(0.5 * 2)
    assert (check.h_convex, check.h_lipschitz, check.last) == (True, True, "v")
    data = check.as_dict()
    assert data["condition"] == "BI"
    assert data["kappa"] == 1.0
    assert data["failures"] == ()
    assert data["methods"] == ("IPDS('sound')",)


def test_a_failure_names_the_block_and_the_remedy():
    problem = Problem(
        [Block(h=L1(0.1), shape=(5, 2), name="v"), Block(h=Stiefel(), A=-1.0, shape=(5, 2), name="y")]
    )
    check = problem.check()
    assert not check.holds
    assert [f.assumption for f in check.failures] == [
        "h of the last block 'y' is not convex",
        "h of the last block 'y' is not Lipschitz (C_h = inf)",
    ]
    assert {f.remedy for f in check.failures} == {"move block 'v' last"}
    assert check.as_dict()["failures"][0]["remedy"] == "move block 'v' last"


def test_only_a_block_that_qualifies_is_proposed():
    G = problems.rng().standard_normal((5, 2))
    blocks = [
        Block(h=L1(0.1), A=G, shape=2, name="narrow"),
        Block(h=Box(), shape=5, name="box"),
        Block(h=L1(0.1), A=2.0, shape=5, name="fine"),
        Block(h=L0(1.0), shape=5, name="last"),
    ]
    assert {failure.remedy for failure in Problem(blocks).check().failures} == {"move block 'fine' last"}


def test_a_failure_without_a_block_to_move_says_what_would_do_and_that_answers_are_certified():
    check = Problem([Block(h=L0(0.1), shape=3), Block(h=L0(1.0), shape=3)]).check()
    assert [failure.remedy.split(" last, or leave it: ")[0] for failure in check.failures] == [
        "state the problem with a block with a convex h",
        "state the problem with a norm, not a set,",
    ]


def test_a_problem_without_an_equation_is_said_to_have_none():
    (failure,) = Problem([Block(h=L0(0.1), shape=3)]).check().failures
    assert "there is no equation" in failure.assumption
    assert "certified without this theorem" in failure.remedy


def test_a_local_constant_is_reported_as_such():
    f = smooth(lambda x: float(np.sum(x**4)), lambda x: 4 * x**3)
    check = last(1.0, 4, f=f).check()
    assert check.lipschitz["v"] is None
    assert "backtracking" in check.failures[0].remedy
    assert "local" in str(check)


def test_the_printed_report_can_be_read():
    text = str(problems.sparse_pca().check())
    for part in (
        "last block",
        "V",
        "BI (bijective",
        "kappa",
        "its h convex",
        "yes",
        "C_h = 1.8",
        "theorem applies",
    ):
        assert part in text
    values = [line for line in text.splitlines() if not line.startswith(("fails", "   do"))]
    columns = {len(line) - len(line.split("  ", 1)[1].lstrip()) for line in values}
    assert len(columns) == 1  # aligned
    assert "\nRADMM() " in text
    assert "no theorem for this problem: SPGM, " in text
    assert "FixedPenaltyADMM('" not in text
    failing = str(Problem([Block(h=L1(0.1), shape=3, name="v"), Block(h=L0(1.0), shape=3, name="y")]).check())
    assert "fails: h of the last block 'y' is not convex\n   do: move block 'v' last" in failing


def test_identity_is_recognised_for_restoring():
    assert isinstance(Problem([Block(A=np.float64(2.0), shape=2)]).operators[0], Identity)


def test_a_single_block_without_an_equation_is_unconstrained():
    alone = Problem([Block(h=L1(1.0), shape=3)])
    assert alone.unconstrained
    assert alone.shape == (1,)
    assert alone.infeasibility([np.ones(3)]) == 0
    for given in (Problem([Block(h=L1(1.0), A=1.0, shape=3)]), Problem([Block(h=L1(1.0), shape=3)], b=2.0)):
        assert not given.unconstrained
        assert given.shape == (3,)
    assert not Problem([Block(h=L1(1.0), A=-1.0, shape=3), Block(shape=3)]).unconstrained


@pytest.mark.parametrize(
    "build",
    [
        lambda: Problem([Block(A=1e200, shape=3), Block(shape=3)]),
        lambda: Problem([Block(A=-1e-200, shape=3), Block(shape=3)]),
        lambda: Quadratic(1e300),
        lambda: LeastSquares(1e200 * np.eye(3), np.ones(3)),
    ],
)
def test_squares_out_of_range_are_refused_with_a_remedy(build):
    with pytest.raises(ValueError, match=r"whose square (overflows|vanishes); use other units"):
        build()


@pytest.mark.parametrize("shape", [0, (0,), (3, 0), (0, 0)])
def test_empty_blocks_are_refused(shape):
    with pytest.raises(ValueError, match="at least 1"):
        Block(shape=shape)


def test_an_empty_constraint_is_refused():
    with pytest.raises(AssumptionError, match="A = 0: leave it out"):
        solve(Problem([Block(A=np.zeros((0, 3)), shape=3)]), method="ipds")


def test_data_frames_stand_for_their_numbers():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y, top = rng.standard_normal(9), np.array([0.1, 0.2])
    frame, column = pandas.DataFrame(rng.standard_normal((9, 2))), pandas.Series(y)
    G = frame.to_numpy()  # as it lies in memory: sums are rounded alike
    expected = solve(Problem([Block(f=LeastSquares(G, y), h=Box(-top, top), shape=2)])).x[0]
    f, h = LeastSquares(frame, column), Box(-pandas.Series(top), pandas.Series(top))
    np.testing.assert_array_equal(solve(Problem([Block(f=f, h=h, shape=2)])).x[0], expected)
    split = solve(Problem([Block(h=Box(-top, top), A=G, shape=2), Block(h=L1(1.0), A=-1.0, shape=9)], b=y))
    problem = Problem(
        [Block(h=Box(-top, top), A=frame, shape=2), Block(h=L1(1.0), A=-1.0, shape=9)], b=column
    )
    np.testing.assert_array_equal(solve(problem).x[0], split.x[0])
    with pytest.raises(TypeError, match="b holds"):
        Problem([Block(A=G, shape=2), Block(h=L1(1.0), shape=9)], b=pandas.Series(list("abcdefghi")))


def test_blocks_in_another_order_are_the_same_problem_under_the_same_names():
    problem = problems.three_blocks()
    order = [2, 0, 1]
    other = problem.in_order(order)
    rng = np.random.default_rng(0)
    x = [rng.standard_normal(block.shape) for block in problem.blocks]
    moved = [x[i] for i in order]
    assert other.names == tuple(problem.names[i] for i in order)
    assert other.shape == problem.shape
    assert other.objective(moved) == pytest.approx(problem.objective(x))
    np.testing.assert_allclose(other.residual(moved), problem.residual(x))


@pytest.mark.parametrize("shape", [(2, 0), (2.5,), "3", (2, "3")])
def test_shapes_are_sizes(shape):
    with pytest.raises((TypeError, ValueError), match="shape"):
        Block(h=L1(1.0), shape=shape)


@pytest.mark.parametrize("shape", [3, (3,), [3], np.array([3]), (np.int64(3),), (3.0,)])
def test_a_shape_may_be_written_in_several_ways(shape):
    assert Block(h=L1(1.0), shape=shape).shape == (3,)
