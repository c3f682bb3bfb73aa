"""`minimize`: what becomes of each term and constraint."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L0,
    L1,
    MCP,
    SCAD,
    Affine,
    Box,
    CappedL1,
    CappedSimplex,
    Cardinality,
    ElasticNet,
    HalfSpace,
    HuberLoss,
    IsotropicTotalVariation,
    Jumps,
    LeastSquares,
    LHalf,
    Linear,
    Logistic,
    NonNegative,
    NonzeroRows,
    PCAVariance,
    Precomposed,
    Quadratic,
    Rank,
    SecondOrderCone,
    Simplex,
    SmoothSum,
    SquaredHinge,
    Stiefel,
    Sum,
    TotalVariation1D,
    Weighted,
    Zero,
    smooth,
)
from ipds.modelling import (
    concatenate,
    diff,
    huber,
    logistic,
    norm1,
    norm2,
    nuclear,
    quad_form,
    sum_squares,
    term,
    total_variation,
)
from ipds.operators import FiniteDifference, FlatStack, Identity, Matrix

rng = np.random.default_rng(0)
G, y = rng.normal(size=(20, 6)), rng.normal(size=20)
x = Variable(6, name="x")
w = Variable(6, name="w")
X = Variable((5, 2), name="X")


def blocks(*model):
    """name: (f, h, A) of the blocks."""
    problem = minimize(*model)
    return {b.name: (b.f, b.h, op) for b, op in zip(problem.blocks, problem.operators, strict=True)}


@pytest.mark.parametrize(
    ("objective", "kind"),
    [
        (0.5 * sum_squares(G @ x - y), LeastSquares),
        (2.0 * sum_squares(G @ x - y), Weighted),
        (-sum_squares(x), Weighted),
        (logistic(-np.sign(y) * (G @ x)), Logistic),
        (quad_form(x, G.T @ G), Quadratic),
        (y @ (G @ x), Linear),
        (quad_form(x, G.T @ G) - x.sum(), SmoothSum),
        (LeastSquares(G, y)(x), LeastSquares),
    ],
)
def test_smooth_terms_are_the_f_of_their_variable(objective, kind):
    f, h, _ = blocks(objective + norm1(x) + norm2(x))["x"]
    assert isinstance(f, kind)
    assert type(h).__name__ == "Zero"


def test_losses_that_are_linear_far_out_are_rows_of_convex_models_of_moderate_size():
    for loss in (huber(G @ x - y, 0.3), SquaredHinge()(G @ x)):
        assert blocks(loss, [x >= 0])["x"][0] is None
        assert blocks(loss + Cardinality(2)(x))["x"][0] is not None
        assert blocks(loss - sum_squares(x))["x"][0] is not None
    large = Variable(20_000, name="x")
    tall = FiniteDifference() @ large
    assert isinstance(blocks(huber(tall), [large >= 0])["x"][0], HuberLoss)
    assert blocks(huber(2 * large - 1), [large >= 0, large.sum() == 1])["x"][0] is None


def test_convex_terms_of_several_kinds_are_taken_apart():
    parts = blocks(norm1(G @ x - y) + 2 * ElasticNet(1.0, 3.0)(x))
    assert isinstance(parts["x"][0], Weighted)  # the squares
    assert [type(h).__name__ for h, _ in parts["u"][1].parts] == ["L1", "L1"]
    for h, kind in ((Simplex(2.0), "NonNegative"), (CappedSimplex(2.0, 0.5), "Box")):
        rows = blocks(sum_squares(x) + h(G @ x))["u"][1]
        assert [type(own).__name__ for own, _ in rows.parts] == [kind, "Box"]
        assert type(blocks(norm1(G @ x - y) + h(x))["x"][1]) is type(h)  # a variable's own stays
    assert "ElasticNet" in repr(blocks(ElasticNet()(x) + Cardinality(2)(x) + norm1(G @ x))["x"][1])
    signal = TotalVariation1D(2.0)(G @ x)
    found = blocks(sum_squares(x) + signal)["u"]
    assert isinstance(found[1], L1)
    assert solve(minimize(sum_squares(x - 1) + signal), tol=1e-6).fun == pytest.approx(
        solve(minimize(sum_squares(x - 1) + 2 * norm1(diff(G @ x))), tol=1e-6).fun
    )


@pytest.mark.parametrize(
    ("h", "row", "own"),
    [
        (HalfSpace(y, 2.0), y @ (G @ x) <= 2, HalfSpace(np.ones(6), 2.0)),
        (Affine(np.ones((1, 20)), [1.0]), (G @ x).sum() == 1, Affine(np.ones((1, 6)), [1.0])),
    ],
)
def test_half_spaces_and_planes_of_expressions_are_rows(h, row, own):
    rows = blocks(sum_squares(x) + norm1(x) + h(G @ x - y))["u"][1]
    assert [type(part).__name__ for part, _ in rows.parts] == ["Box", "L1"]
    assert type(blocks(norm1(G @ x - y) + own(x))["x"][1]) is type(h)  # a variable's own stays
    found, wanted = (
        solve(minimize(sum_squares(x - 1) + term, rows), tol=1e-6)
        for term, rows in ((h(G @ x), []), (0.0, [row]))
    )
    assert found.fun == pytest.approx(wanted.fun, rel=1e-5)


def test_one_convex_term_keeps_its_own_shape_and_matrix():
    found = blocks(norm1(G @ x - y) + Cardinality(2)(x))
    assert isinstance(found["x"][1], Cardinality)
    assert isinstance(found["x"][2], Matrix)
    assert found["x"][2].matrix == pytest.approx(-G)
    assert isinstance(found["u"][1], L1)
    assert isinstance(found["u"][2], Identity)


def test_sparse_rows_make_one_sparse_matrix():
    x = Variable(60, name="x")
    D = sp.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(59, 60), format="csr")
    A = blocks(norm1(D @ x) + norm2(x), [x[:2].sum() == 1, D @ x <= 3])["x"][2]
    assert isinstance(A, Matrix)
    assert sp.issparse(A.matrix)
    assert A.matrix.shape == (59 + 60 + 1 + 59, 60)


def test_maps_of_several_kinds_make_one_sparse_matrix():
    """Dynamics of a path, its start and its end: a stack of products and slices is asked for its matrix many times."""
    x, u = Variable((40, 2), name="x"), Variable((39, 1), name="u")
    A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.0, 0.1]])
    found = blocks(sum_squares(u), [x[0] == [1.0, 0.0], x[1:] == x[:-1] @ A.T + u @ B, x[39] == [0.0, 0.0]])
    operator, path = found["x"][2], np.random.default_rng(0).standard_normal((40, 2))
    assert sp.issparse(operator.as_matrix((40, 2)))
    assert not isinstance(operator, FlatStack)
    rows = np.concatenate([path[0], (path[1:] - path[:-1] @ A.T).ravel(), path[39]])
    np.testing.assert_allclose(np.abs(operator.apply(path)), np.abs(rows), atol=1e-14)


def test_dense_matrices_stay_dense_beside_sparse_rows():
    x, G = Variable(60, name="x"), np.ones((100, 60))
    A = blocks(norm1(G @ x - 1), [x.sum() == 1])["x"][2]
    assert [type(part).__name__ for part in A.parts] == ["Matrix", "Matrix"]
    assert not sp.issparse(A.parts[0].matrix)


def test_small_rows_make_one_dense_matrix():
    X = Variable((3, 2), name="X")
    left, right = np.arange(9.0).reshape(3, 3), np.array([[1.0, 2.0], [0.0, 3.0]])
    A = blocks(norm1(left @ X - X @ right) + norm2(X[1:]), [X.sum(axis=0) == 1])["X"][2]
    point = np.arange(6.0).reshape(3, 2)
    parts = [left @ point - point @ right, point[1:], point.sum(axis=0)]
    assert isinstance(A.left, Matrix)
    assert not sp.issparse(A.left.matrix)
    np.testing.assert_array_equal(A.apply(point), -np.concatenate([part.ravel() for part in parts]))


def test_sets_and_bounds_keep_the_variable():
    assert isinstance(blocks(norm1(G @ x - y), [x >= 0])["x"][1], NonNegative)
    box = blocks(norm1(G @ x - y), [x >= -1, 2 * x <= y[:6] ** 2, -x >= -5])["x"][1]
    assert isinstance(box, Box)
    assert box.hi == pytest.approx(y[:6] ** 2 / 2)
    assert isinstance(blocks(norm1(G @ x - y) + Simplex()(x))["x"][1], Simplex)


def test_nonconvex_functions_take_the_block_and_joint_proxes_are_used():
    found = blocks(norm1(G @ x - y) + 0.3 * norm1(x) + Cardinality(2)(x))
    assert isinstance(found["x"][1], Sum)
    assert isinstance(found["u"][1], L1)  # of G x - y alone
    assert isinstance(blocks(norm1(G @ x - y) + L0(1.0)(x), [x >= 0, x <= 1])["x"][1], Sum)


def test_a_nonconvex_function_of_a_shifted_variable_needs_no_other_block():
    h = blocks(norm1(G @ x - y) + Cardinality(2)(3 * x - 1))["x"][1]
    assert isinstance(h, Precomposed)
    assert h(np.array([1 / 3] * 4 + [2.0, 5.0])) == 0.0


@pytest.mark.parametrize("nonconvex", [Cardinality(3)(G @ x), L0(1.0)(x + w), L0(0.5)(G[:6] @ x)])
def test_a_nonconvex_function_of_an_expression_gets_a_variable(nonconvex):
    problem = minimize(sum_squares(x) + sum_squares(w) + nonconvex)
    assert "w1" in problem.names
    assert not problem.blocks[problem.names.index("w1")].h.is_convex
    assert "w1 =" in str(problem.splitting)


def test_the_variable_of_the_only_equation_is_the_last_block():
    b, h = Variable(name="b"), CappedL1(1.0, 0.5)
    problem = minimize(h(G @ x + b - y))
    assert problem.names == ("x", "b", "w1")
    values = {x: np.ones(6), b: 2.0}
    point = problem.point(values)
    assert np.abs(problem.residual(point)).max() < 1e-12
    result = solve(problem, seed=0)
    assert result.success
    assert result.value(h(G @ x + b - y)) == pytest.approx(result.fun)
    assert problem.solve(warm_start=result).success
    assert minimize(h(G @ x + b - y), [x >= 0]).names == ("x", "b", "w1")
    for other in ([x.sum() == 1], [G[:2] @ x <= 1]):
        assert minimize(h(G @ x + b - y), other).names == ("x", "b", "w1", "u")
    assert minimize(h(G @ x + b - y) + Cardinality(2)(x)).names == ("x", "b", "w1", "u")  # u alone is convex


def test_two_nonconvex_functions_of_one_variable():
    problem = minimize(sum_squares(G @ x - y) + Cardinality(3)(x) + L0(1.0)(x) + Rank(1)(x.reshape(2, 3)))
    assert problem.names[:2] == ("x", "w1")


def test_smooth_functions_of_several_variables_go_to_the_last_block_or_get_a_variable():
    joint = blocks(sum_squares(x - w) + norm1(x))
    assert set(joint) == {"x", "w", "u"}
    negative = blocks(-sum_squares(x - w) + norm1(x))
    assert isinstance(negative["w1"][0], Weighted)
    general = blocks(smooth(lambda v: (v**4).sum(), lambda v: 4 * v**3)(x - w) + norm1(x))
    assert general["w1"][0] is not None


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ((0.5 * sum_squares(G @ x - y) + Simplex()(x),), Simplex),
        ((0.5 * sum_squares(G @ x - y) + 2 * norm1(x),), L1),
        ((0.5 * sum_squares(G @ x - y) + norm1(2 * x - 1),), Precomposed),
        ((0.5 * sum_squares(G @ x - y), [x >= 0, x <= 1]), Box),
        ((PCAVariance(rng.normal(size=(8, 5)))(X) + Stiefel()(X),), Stiefel),
        ((sum_squares(G @ x - y),), Zero),
    ],
)
def test_one_variable_with_one_function_needs_no_equation(model, kind):
    problem = minimize(*model)
    assert problem.unconstrained
    assert isinstance(problem.blocks[0].h, kind)
    assert "without an equation" in str(problem.splitting)


def test_several_variables_without_equations():
    found = blocks(0.5 * sum_squares(x - 1.0) + Simplex()(x) + sum_squares(w))
    assert isinstance(found["u"][1], Simplex)
    assert type(blocks(sum_squares(x) + sum_squares(w))["u"][1]).__name__ == "Zero"


def test_constants_are_kept():
    problem = minimize(
        norm1(x) + 3.0 + (x.sum() - 1.0) + norm2(Variable(2, name="v") * 0 + np.array([3.0, 4.0]))
    )
    result = problem.solve()
    assert result.fun == pytest.approx(3.0 - 1.0 + 5.0, abs=6.0)
    zero = problem.point({v: np.zeros(v.shape) for v in problem.variables})
    assert problem.objective(zero) == pytest.approx(7.0)


def test_scalar_variables():
    t, b = Variable(name="t"), Variable(1, name="b")
    problem = minimize(sum_squares(y - t - b[0]) + sum_squares(t - b), [t >= 0.1])
    result = solve(problem, tol=1e-8)
    assert result.value(t).shape == ()
    assert float(result.value(t)) == pytest.approx(max(y.mean() / 2, 0.1), abs=1e-4)


def test_what_was_made_of_a_term_is_kept_for_the_next_problem():
    fit = sum_squares(G @ x - y)
    first, second = (minimize(c * fit + norm1(x)).blocks[0].f for c in (0.5, 3.0))
    assert second.f is first


def test_a_function_of_ones_own():
    class Cap:
        is_convex = True

        def __call__(self, v):
            return 0.0 if np.all(v <= 1 + 1e-9) else np.inf

        def prox(self, v, step):
            return np.minimum(v, 1.0)

    result = solve(minimize(0.5 * sum_squares(x - 2.0 * np.arange(6)) + term(Cap(), 2 * x)), tol=1e-7)
    assert result.value(x) == pytest.approx([0, 0.5, 0.5, 0.5, 0.5, 0.5], abs=1e-5)


def test_models_can_be_pickled_and_data_are_not_changed():
    before = G.copy(), y.copy()
    problem = minimize(norm1(G @ x - y) + nuclear(X), [X[0] == y[:2], x >= 0])
    solve(problem, max_iter=20)
    assert (before[0] == G).all()
    assert (y == before[1]).all()
    assert pickle.loads(pickle.dumps(problem)).names == problem.names


def test_newton_steps_keep_entries_that_an_equation_fixes():
    problem = minimize(sum_squares(x) + norm1(G @ x - y), [x[:2] == [1.0, -2.0], x[2:4] <= 0.3])
    result = solve(problem, method="newton", tol=1e-6)
    assert result.success
    assert result.nit < 40
    assert result.value(x[:2]) == pytest.approx([1.0, -2.0], abs=1e-5)


def jumps_of(problem):
    return [block.h for block in problem.blocks if isinstance(block.h, Jumps)]


def test_l0_of_differences_needs_no_equation():
    x, X, y = Variable(7, name="x"), Variable((5, 3), name="X"), np.random.default_rng(1).standard_normal(7)
    fit = 0.5 * sum_squares(x - y)
    for e in (diff(x), 3 * diff(x), -diff(x), x[1:] - x[:-1], FiniteDifference() @ x):
        problem = minimize(fit + 2 * L0(0.25)(e))
        assert [h.lam for h in jumps_of(problem)] == [0.5]
        result = problem.solve()
        v = result.value(x)
        best = Jumps(0.5).prox(y, 1.0)
        assert result.success
        assert result.fun == pytest.approx(0.5 * np.sum((v - y) ** 2) + 0.5 * np.count_nonzero(np.diff(v)))
        assert result.fun == pytest.approx(0.5 * np.sum((best - y) ** 2) + Jumps(0.5)(best))
    assert jumps_of(minimize(sum_squares(X) + L0(1.0)(diff(X))))


def test_other_counts_keep_their_equation():
    x, X = Variable(7, name="x"), Variable((5, 3), name="X")
    others = [
        diff(x) - 1.0,
        diff(diff(x)),
        x[2:] - x[:-2],
        np.arange(1.0, 7.0) * diff(x),
        diff(X, axis=1),
        diff(X)[1:],
    ]
    for e in others:
        assert not jumps_of(minimize(sum_squares(x) + sum_squares(X) + L0(1.0)(e)))
    both = minimize(sum_squares(x - 1) + Cardinality(3)(x) + L0(1.0)(diff(x)))  # no joint prox
    values = {x: np.array([0.0, 1, 1, 0, 0, 2, 0])}
    assert sum(b.h(v) for b, v in zip(both.blocks, both.point(values), strict=True)) == 4.0


@pytest.mark.parametrize("h", [MCP(0.5, 2.0), LHalf(0.5), Cardinality(2), NonzeroRows(2)])
def test_units_of_entries_need_no_equation(h):
    """h(d·x) is a function of x; where it is none that is known, d·x keeps its equation."""
    x, d = Variable((4, 1), name="x"), np.array([[0.1], [1.0], [10.0], [100.0]])
    data = np.array([[30.0], [2.0], [0.01], [-1.0]])
    for e in (d * x, x * d, x / (1 / d), 0.5 * (d * (2 * x))):
        problem = minimize(sum_squares(x - data) + h(e))
        assert len(problem.blocks) == 1
        assert problem.blocks[0].h(data) == pytest.approx(h(d * data))
        result = problem.solve()
        assert result.success
        v = result.value(x)
        assert result.fun == pytest.approx(np.sum((v - data) ** 2) + h(np.where(v, d * v, 0.0)))
    for e in (-d * x, d * x - 1.0, x[::-1] * d):
        assert len(minimize(sum_squares(x) + h(e)).blocks) > 1
    assert len(minimize(sum_squares(x) + SCAD(1.0, 3.7)(d * x)).blocks) > 1


def test_isotropic_total_variation_is_split_by_pixels():
    """The class and the atom are one function: norms of the rows of a gradient, which have a prox."""
    V = np.random.default_rng(0).standard_normal((5, 4))
    X = Variable((5, 4), name="X")
    named = minimize(0.5 * sum_squares(X - V) + 2.0 * IsotropicTotalVariation(0.15)(X))
    atom = minimize(0.5 * sum_squares(X - V) + 0.3 * total_variation(X))
    assert named.blocks[-1].shape == atom.blocks[-1].shape
    a, b = named.solve(tol=1e-7), atom.solve(tol=1e-7)
    np.testing.assert_allclose(a.value(X), b.value(X), atol=1e-6)
    np.testing.assert_allclose(a.value(X), IsotropicTotalVariation(0.3).prox(V, 1.0), atol=1e-5)
    assert a.fun == pytest.approx(
        0.5 * np.sum((a.value(X) - V) ** 2) + IsotropicTotalVariation(0.3)(a.value(X))
    )


def test_isotropic_total_variation_of_a_block():
    V = np.random.default_rng(1).standard_normal((4, 3))
    h = IsotropicTotalVariation(0.2)
    stated = Problem([Block(f=LeastSquares(1.0, V), A=-1.0, shape=(4, 3)), Block(h=h, shape=(4, 3))])
    result = solve(stated, method="accelerated")
    assert result.success
    np.testing.assert_allclose(result.x[0], h.prox(V, 1.0), atol=1e-4)


def test_cones_of_one_size_are_one_array_of_them():
    rng = np.random.default_rng(0)
    x, cone = Variable(3, name="x"), SecondOrderCone()
    maps = [rng.standard_normal((3, 3)) for _ in range(3)] + [rng.standard_normal((2, 3)) for _ in range(2)]
    terms = [cone(concatenate([np.ones(1) + 0 * x[:1], M @ x])) for M in maps]
    problem = minimize(x.sum() + sum(terms[1:], terms[0]))
    h = problem.blocks[-1].h
    assert [shape for part, shape in h.parts if isinstance(part, SecondOrderCone)] == [(3, 4), (2, 3)]
    result = solve(problem, tol=1e-6)
    assert result.success
    assert max(np.linalg.norm(M @ result.value(x)) for M in maps) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("n", [5, 300])
@pytest.mark.parametrize("sense", ["==", "<="])
@pytest.mark.parametrize("off", [0.0, 3e-15, -3e-15])
def test_rows_of_rounding_do_not_bind(n, sense, off):
    """What is left of coefficients that cancel is no equation in small units, nor are constants a contradiction."""
    rng = np.random.default_rng(0)
    a, t, x = rng.standard_normal(n) + 3, rng.standard_normal(n), Variable(n, name="x")
    centred, right = (x - x.mean() - t).sum(), -t.sum() - off * n
    rows = [centred == right] if sense == "==" else [centred <= right]
    result = solve(minimize(sum_squares(x - a), rows), tol=1e-6)
    assert result.success
    assert np.allclose(result.value(x), a, atol=1e-6)
    result = solve(minimize(sum_squares(x - a), [*rows, x.sum() == 1.0]), tol=1e-6)
    assert result.success
    assert np.allclose(result.value(x), a - (a.sum() - 1) / n, atol=1e-6)


def test_multiples_that_cancel_leave_no_variable():
    x = Variable(3, name="x")
    assert solve(minimize(sum_squares(x - 1.0), [0.1 * x + 0.2 * x == 0.3 * x])).value(x) == pytest.approx(
        np.ones(3)
    )
    with pytest.raises(ValueError, match="no variable in it"):
        minimize(sum_squares(x), [0.1 * x + 0.2 * x == 0.3 * x + 1.0])
