"""Expressions: what may stand beside a variable, and what an expression is."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from ipds import Block, Variable, minimize, solve
from ipds.functions import Cardinality, LeastSquares
from ipds.modelling import (
    Expression,
    concatenate,
    diff,
    norm1,
    norm2,
    norm_inf,
    quad_form,
    sum_squares,
    total_variation,
)
from ipds.operators import DCT, FiniteDifference, Matrix, Sampling, TwoSided

rng = np.random.default_rng(0)
M, at = rng.normal(size=(4, 6)), rng.normal(size=6)
v, V = Variable(6, name="v"), Variable((2, 3), name="V")


class Own:
    """An operator of SciPy's kind, without its base class."""

    shape = (4, 6)

    def matvec(self, x):
        return M @ x

    def rmatvec(self, y):
        return M.T @ y

    def __matmul__(self, other):
        return NotImplemented


LEFT = [
    M,
    M.tolist(),
    M.astype(np.float32),
    sp.csr_array(M),
    sp.csc_matrix(M),
    sp.coo_array(M),
    sp.dia_array(M),
    spl.aslinearoperator(M),
    spl.LinearOperator((4, 6), matvec=lambda x: M @ x, rmatvec=lambda y: M.T @ y),
    Matrix(M),
    Own(),
]


@pytest.mark.parametrize("left", LEFT, ids=lambda left: type(left).__name__)
def test_what_may_stand_on_the_left(left):
    e = left @ v if not isinstance(left, list) else v.__rmatmul__(left)
    assert e.shape == (4,)
    assert e.at({v: at}) == pytest.approx(M @ at, rel=1e-6)
    assert (2 * e - 1).at({v: at}) == pytest.approx(2 * (M @ at) - 1, rel=1e-5)


def test_linear_operators_multiply_arrays_as_before():
    A = spl.aslinearoperator(M)
    assert A @ at == pytest.approx(M @ at)
    assert isinstance(A @ spl.aslinearoperator(M.T), spl.LinearOperator)


def test_pylops():
    pylops = pytest.importorskip("pylops")
    x, X = Variable(6, name="x"), Variable((2, 3), name="X")
    D = pylops.FirstDerivative(6, kind="forward")
    assert (D @ x).at({x: at}) == pytest.approx(D @ at)
    E = pylops.FirstDerivative((2, 3), axis=1, kind="forward")
    assert (E @ X).shape == (2, 3)
    assert (E @ X).at({X: at.reshape(2, 3)}) == pytest.approx(E @ at.reshape(2, 3))


def test_other_libraries_data_are_taken_as_numpy():
    torch = pytest.importorskip("torch")
    e = torch.tensor(M) @ v - torch.ones(4)
    assert e.at({v: at}) == pytest.approx(M @ at - 1)


def test_dask_arrays_as_data():
    da = pytest.importorskip("dask.array")
    G = rng.normal(size=(60, 6))
    y = G[:, 0] - G[:, 3] + 0.1 * rng.normal(size=60)
    near = solve(minimize(norm1(G @ v - y) + Cardinality(2)(v)))
    rows, right = da.from_array(G, chunks=(20, 6)), da.from_array(y, chunks=20)
    far = solve(minimize(norm1(rows @ v - right) + Cardinality(2)(v)))
    assert far.success
    assert far.value(v) == pytest.approx(near.value(v), abs=1e-3)
    smooth = solve(minimize(0.5 * sum_squares(rows @ v - right) + norm1(v), [v.sum() == 0.5]))
    assert float(smooth.value(v.sum())) == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(ValueError, match=r"distributed .* cannot share the last block with `v.sum\(\) == 1`"):
        minimize(norm1(rows @ v - right), [v.sum() == 1])


def test_numbers_and_arrays_on_both_sides():
    for e, value in [
        (np.float64(2) * v, 2 * at),
        (at * v, at * at),
        (at - v, at - at),
        (1 + v, 1 + at),
        (v / at, at / at),
        (sum([v, v]), 2 * at),
        (v @ at, at @ at),
        (at @ v, at @ at),
        (-v[::-1], -at[::-1]),
        (+v, at),
        (sp.csr_array(at[None, :]) + v.reshape(1, 6), 2 * at[None, :]),
        (concatenate([v, np.ones(2)]), np.append(at, [1, 1])),
        (diff(v.reshape(3, 2), axis=1), np.diff(at.reshape(3, 2), axis=1)),
        (Sampling(at > 0) @ v, at[at > 0]),
        (DCT() @ v, DCT().apply(at)),
        (FiniteDifference(axis=1) @ v.reshape(2, 3), np.diff(at.reshape(2, 3), axis=1)),
    ]:
        assert e.at({v: at}) == pytest.approx(value), repr(e)


@pytest.mark.parametrize(
    ("e", "text"),
    [
        (M @ v - np.ones(4), "array(4, 6) @ v - array(4)"),
        (2 * (v - 1), "2 * (v - 1)"),
        (M @ (v + v), "array(4, 6) @ (v + v)"),
        (v - (v - 1), "v - (v - 1)"),
        (-(v + 1) / 3, "(-(v + 1)) / 3"),
        (V.T[0, :2].sum(), "V.T[0, :2].sum()"),
        (V @ np.ones((3, 2)), "V @ array(3, 2)"),
        (sp.eye_array(6) @ v, "dia_array(6, 6) @ v"),
        (np.ones(6) <= v, "v >= array(6)"),
        (3 * norm1(v) - sum_squares(v) + 1, "3 * norm1(v) - sum_squares(v) + 1"),
        (v[[0, 2]], "v[array(2)]"),
    ],
)
def test_text(e, text):
    assert repr(e) == text


def test_long_texts_are_cut():
    e = v
    for _ in range(100):
        e = e + v
    assert len(repr(e)) <= 200


def test_expressions_are_keys_and_compare_by_identity():
    assert {v: 1, V: 2}[V] == 2
    assert v in {v}
    assert v + 0 not in {v}


def test_iteration_is_over_the_first_axis():
    assert [row.shape for row in V] == [(3,), (3,)]


def test_large_models_are_written_in_milliseconds():
    x, y = Variable(100_000, name="x"), rng.normal(size=100_000)
    begin = time.process_time()
    problem = minimize(
        0.5 * sum_squares(x - y) + 2 * total_variation(x), [x >= 0, x.sum() == 1, x[1:] - x[:-1] <= 1]
    )
    assert time.process_time() - begin < 0.3  # about 0.02 on a quiet machine
    assert sp.issparse(problem.operators[0].matrix)


def test_nothing_dense_is_formed_of_operators():
    X = Variable((300, 200), name="X")
    R = rng.normal(size=(200, 5))
    problem = minimize(
        norm1(X @ R) + norm1(FiniteDifference() @ X), [(rng.normal(size=(3, 300)) @ X) @ R == 0]
    )
    stored = 0
    for part in problem.operators[0].parts:
        stored += sum(np.size(getattr(inner, "matrix", 0)) for inner in _inside(part))
    assert stored < 10_000


def _inside(operator):
    yield operator
    for name in ("inner", "left", "right"):
        if hasattr(operator, name):
            yield from _inside(getattr(operator, name))


def test_sums_of_operators_have_the_norm_of_their_blocks():
    """A matrix acts on blocks of any number of columns, and its sum with a map of one shape has its norm there."""
    g = np.random.default_rng(0)
    G, L, R = g.standard_normal((4, 4)), g.standard_normal((4, 4)), g.standard_normal((3, 3))
    X = Variable((4, 3))
    for e in (Matrix(G) @ X + TwoSided(L, R) @ X, TwoSided(L, R) @ X + Matrix(G) @ X):
        whole = np.kron(G, np.eye(3)) + np.kron(L, R.T)
        assert e.maps[X].operator.norm() == pytest.approx(np.linalg.norm(whole, 2))


def test_means():
    X = Variable((4, 3), name="X")
    value = np.arange(12.0).reshape(4, 3)
    for axis in (None, 0, 1, -1):
        mean = X.mean(axis)
        np.testing.assert_allclose(mean.at({X: value}), value.mean(axis))
    assert str(X.sum(axis=0).mean()) == "X.sum(axis=0).mean()"


def test_sums_over_several_axes():
    X = Variable((4, 3, 2), name="X")
    value = np.arange(24.0).reshape(4, 3, 2)
    for axis in ((0, 2), (2, 0), (-1, 1), (1,), (0, 1, 2), ()):
        np.testing.assert_allclose(X.sum(axis=axis).at({X: value}), value.sum(axis=axis))
        np.testing.assert_allclose(X.mean(axis).at({X: value}), value.mean(axis))
    with pytest.raises(ValueError, match="axis 3 does not exist"):
        X.sum(axis=(0, 3))
    with pytest.raises(ValueError, match="twice"):
        X.sum(axis=(0, -3))


def test_sums_that_keep_their_axes():
    W = Variable((2, 3, 4), name="W")
    point = rng.normal(size=(2, 3, 4))
    for axis in (None, 1, (0, 2), -1):
        for e, expected in (
            (W.sum(axis=axis, keepdims=True), point.sum(axis=axis, keepdims=True)),
            (W - W.mean(axis=axis, keepdims=True), point - point.mean(axis=axis, keepdims=True)),
        ):
            assert e.shape == expected.shape
            np.testing.assert_allclose(e.at({W: point}), expected, atol=1e-12)
    assert str(V.sum(axis=0, keepdims=True)) == "V.sum(axis=0, keepdims=True)"
    assert str(V.mean(keepdims=True)) == "V.mean(keepdims=True)"


def test_columns_of_data_frames_are_constants():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [0.5, 4.0]})
    x = Variable(2, name="x")
    for e in (x - frame["a"], frame["a"] - x):
        assert isinstance(e, Expression)
        assert np.array_equal(abs(e.at({x: np.zeros(2)})), [1.0, 2.0])
    value = {x: np.array([1.0, 3.0])}
    np.testing.assert_array_equal((frame @ x).at(value), [2.5, 14.0])
    np.testing.assert_array_equal((frame["a"] @ x).at(value), 7.0)
    assert str(frame @ x - 1) == "DataFrame(2, 2) @ x - 1"
    np.testing.assert_array_equal(frame @ value[x], [2.5, 14.0])  # all else as before
    with pytest.raises(ValueError, match="shape"):
        frame @ Variable(3)


def test_columns_of_several_kinds_are_numbers_and_text_is_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.5, 2.0], "city": ["Rome", "Oslo"]})
    flags = pandas.get_dummies(frame)
    whole = pandas.DataFrame({"a": pandas.array([1, 2], dtype="Int64"), "b": [0.5, 0.5]})
    x, y = Variable(3, name="x"), Variable(2, name="y")
    np.testing.assert_array_equal((flags @ x).at({x: np.ones(3)}), [2.5, 3.0])
    np.testing.assert_array_equal((whole @ y).at({y: np.ones(2)}), [1.5, 2.5])
    assert LeastSquares(flags, [2.5, 3.0])(np.ones(3)) == 0.0
    for refused in (lambda: frame @ y, lambda: Block(A=frame, shape=2)):
        with pytest.raises(TypeError, match=r"no numbers: city; .* pandas\.get_dummies"):
            refused()
    with pytest.raises(TypeError, match="the constant holds"):
        y - frame["city"]
    whole.loc[0, "a"] = pandas.NA
    with pytest.raises(ValueError, match="NaN"):
        whole @ y


def test_numbers_are_joined_as_vectors_of_one_entry():
    e = concatenate([v[0], 3.0, V[1]])
    assert e.shape == (5,)
    np.testing.assert_array_equal(e.at({v: at, V: np.arange(6.0).reshape(2, 3)}), [at[0], 3.0, 3.0, 4.0, 5.0])


def test_norms_along_an_axis_and_of_the_largest_entry():
    target = rng.normal(size=(2, 3))
    for axis in (0, 1, -1):
        result = solve(minimize(sum_squares(V - target) + norm2(V, axis=axis)), tol=1e-8)
        norms = np.linalg.norm(target, axis=axis, keepdims=True)  # of each, the half that shrinks
        expected = target * np.maximum(1 - 0.5 / norms, 0)
        np.testing.assert_allclose(result.value(V), expected, atol=1e-6)
    assert result.value(norm2(V, axis=0)) == pytest.approx(np.linalg.norm(result.value(V), axis=0).sum())
    assert result.value(norm_inf(V)) == np.abs(result.value(V)).max()


def test_lists_are_matrices_of_quadratics_and_constraints_may_be_none():
    model = minimize(quad_form(v, np.eye(6).tolist()) - at @ v, None)
    np.testing.assert_allclose(solve(model, tol=1e-8).value(v), at / 2, atol=1e-6)


def test_a_start_is_a_point_of_the_model():
    model = minimize(sum_squares(v - at) + norm1(V[0] - v[:3]))
    start = model.point({v: at, V: np.zeros((2, 3))})
    assert model.objective(start) == pytest.approx(np.abs(at[:3]).sum())
    assert solve(model, x0=start).success
