"""What operators are: values by hand, against NumPy and SciPy, and their algebra."""

from __future__ import annotations

import math
import pickle

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import toeplitz
from scipy.signal import convolve2d

from ipds.functions import L21
from ipds.operators import (
    DCT,
    Convolution,
    FiniteDifference,
    FlatStack,
    Gradient,
    Grouping,
    Identity,
    Kronecker,
    Matrix,
    Reshape,
    Sampling,
    Stack,
    SumOver,
    Toeplitz,
    TwoSided,
    Wavelet,
    ZeroMap,
)
from ipds.operators.absolute import absolute, is_exact
from problems import matrix_of

rng = np.random.default_rng(7)


M = rng.standard_normal((4, 6))


N = rng.standard_normal((6, 3))


SPARSE = sp.random_array((5, 6), density=0.4, rng=np.random.default_rng(1), format="coo")


RING = sp.csr_array(([1.0, 1, 2, 2, 3, 3], ([0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2])), shape=(3, 3))


def test_a_stack_of_sparse_maps_is_sparse():
    A = FlatStack([Identity(), FiniteDifference(), ZeroMap(50, 7)], shape=50)
    assert sp.issparse(A.as_matrix((50,)))
    assert A.as_matrix((50,)).nnz == 50 + 2 * 49
    assert type(FlatStack([Matrix(M), Matrix(M)], shape=6).as_matrix((6,))) is np.ndarray
    assert Matrix(strict.asarray(M)).as_matrix((6,)) is None


def test_flat_stack_says_where_the_parts_lie():
    A = FlatStack([Identity(), FiniteDifference(axis=(0, 1))], shape=(2, 3))
    assert A.size == 18
    assert A.slices == [slice(0, 6), slice(6, 18)]
    assert A.outputs == [(2, 3), (2, 2, 3)]


def test_stacks_take_matrices_and_numbers_as_blocks_do():
    x = rng.standard_normal(6)
    np.testing.assert_array_equal(Stack([M, 2.0]).apply(x), Stack([Matrix(M), Identity(2.0)]).apply(x))
    np.testing.assert_array_equal(FlatStack([SPARSE, 1.0], shape=6).apply(x), np.append(SPARSE @ x, x))


def test_what_the_structured_products_are():
    X = rng.standard_normal((6, 3))
    np.testing.assert_allclose(TwoSided(M, N.T).apply(X), M @ X @ N.T, atol=1e-13)
    np.testing.assert_allclose(TwoSided(SPARSE, N.T).apply(X), SPARSE @ X @ N.T, atol=1e-13)
    column, row = rng.standard_normal(300), rng.standard_normal(200)
    row[0] = column[0]
    T, x = Toeplitz(column, row), rng.standard_normal((200, 2))
    np.testing.assert_allclose(T.apply(x), toeplitz(column, row) @ x, atol=1e-12)
    assert T.norm() == pytest.approx(np.linalg.norm(toeplitz(column, row), 2), rel=1e-9)
    assert Toeplitz(np.ones(2000)).as_matrix((2000,)) is None
    np.testing.assert_array_equal(SumOver((2, 3), 1).apply(np.arange(6.0).reshape(2, 3)), [3.0, 12.0])


def test_row_norms_of_the_gradient_are_the_isotropic_total_variation():
    image = rng.standard_normal((5, 7))
    down, right = np.zeros((5, 7)), np.zeros((5, 7))
    down[:-1], right[:, :-1] = np.diff(image, axis=0), np.diff(image, axis=1)
    assert L21(1.0)(Gradient((5, 7)).apply(image)) == pytest.approx(np.hypot(down, right).sum())
    colours = rng.standard_normal((5, 7, 3))
    rows = Gradient((5, 7, 3), (0, 1)).apply(colours)
    assert rows.shape == (35, 6)
    pixel = np.concatenate([colours[3, 4] - colours[2, 4], colours[2, 5] - colours[2, 4]])
    np.testing.assert_allclose(rows[2 * 7 + 4], pixel)


def test_wavelets_split_coarse_from_fine():
    x = np.array([1.0, 1.0, 3.0, 5.0])
    np.testing.assert_allclose(Wavelet(4, "haar", level=1).apply(x) * math.sqrt(2), [2, 8, 0, -2], atol=1e-13)
    assert Wavelet(64, "db4").level == 4
    smooth = Wavelet((64, 64), "db4").apply(np.outer(np.sin(np.arange(64) / 32 * np.pi), np.ones(64)))
    assert np.sum(smooth[:16, :16] ** 2) > 0.999 * np.sum(smooth**2)


def test_values_by_hand():
    np.testing.assert_array_equal(Sampling([4, 1], shape=(2, 3)).apply(np.arange(6.0).reshape(2, 3)), [4, 1])
    two = FiniteDifference(axis=(0, 1)).apply(np.array([[1.0, 2.0], [4.0, 8.0]]))
    np.testing.assert_array_equal(two, [[[3, 6], [0, 0]], [[1, 0], [4, 0]]])
    np.testing.assert_array_equal(
        FiniteDifference.from_adjacency(RING).apply(np.array([1.0, 2, 4])), [1, 9, 4]
    )
    for mode in ("full", "same", "valid"):
        kernel, x = rng.standard_normal((3, 2)), rng.standard_normal((5, 4))
        np.testing.assert_allclose(
            Convolution(kernel, mode).apply(x), convolve2d(x, kernel, mode), atol=1e-12
        )
    groups = Grouping([[0, 1], [1, 2]], 3)
    assert [groups.apply(np.arange(3.0))[s].tolist() for s in groups.slices] == [[0.0, 1.0], [1.0, 2.0]]


def test_algebra_spells_the_mathematics():
    A, B, x = Matrix(M), Matrix(N), rng.standard_normal(3)
    np.testing.assert_allclose((A @ B).apply(x), M @ N @ x)
    np.testing.assert_allclose((np.float64(2.0) * B - B * 3).apply(x), -N @ x)
    np.testing.assert_allclose((-(A @ B).T).apply(np.ones(4)), -(M @ N).T @ np.ones(4))
    assert Identity(3.0).T.norm() == 3.0
    assert (2.0 * DCT()).gram == 4.0
    assert Stack([DCT(), Identity(2.0)], shape=3).gram == 5.0
    assert FlatStack([DCT(), Identity(2.0), Reshape(3, (3, 1))], shape=3).gram == 6.0
    with pytest.raises(TypeError, match="unsupported operand"):
        A @ 3
    with pytest.raises(TypeError, match="expected an operator, got float"):
        A + 1.0


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(
    ("shape", "kernel"), [((60,), (2,)), ((7,), (4,)), ((3,), (5,)), ((9, 8), (3, 2)), ((3, 4, 5), (2, 2, 3))]
)
def test_convolutions_are_matrices_of_few_entries_where_these_are_few(shape, kernel, mode):
    """Without one, sharp signals of 3,000 entries took 5,000 first-order steps for 250."""
    op = Convolution(np.random.default_rng(0).standard_normal(kernel), mode)
    if mode == "valid" and shape == (3,):
        pytest.skip("the kernel is longer")
    matrix, x = op.as_matrix(shape), np.random.default_rng(1).standard_normal(shape)
    np.testing.assert_allclose(matrix @ x.ravel(), op.apply(x).ravel(), atol=1e-12)
    assert sp.issparse(matrix) == (shape == (60,))
    assert op.as_matrix((100_000,) * len(shape)) is None


def test_convolution_norm_is_close_on_long_signals():
    kernel = rng.standard_normal(7)
    op = Convolution(kernel)
    true = np.linalg.norm(matrix_of(op, (500,)), 2)
    assert true <= op.norm() <= 1.005 * true
    plane = Convolution(rng.standard_normal((3, 3)), mode="same")
    true = math.sqrt(plane.extremes((24, 24))[1])
    assert true <= plane.norm() <= 1.03 * true


def test_matrix_uses_only_the_columns_of_the_support():
    generator = np.random.default_rng(3)
    for matrix in (
        generator.standard_normal((30, 80)),
        sp.random_array((30, 80), density=0.2, rng=generator),
    ):
        A = Matrix(matrix)
        for tail in ((), (4,)):
            for count in (0, 1, 7, 60):
                support = generator.choice(80, count, replace=False)
                x = np.zeros((80, *tail))
                x[support] = generator.standard_normal((count, *tail))
                np.testing.assert_allclose(A.apply_sparse(x, support), A.apply(x), atol=1e-12)


def test_kronecker_is_that_of_numpy():
    whole = np.kron(M, N)
    np.testing.assert_allclose(matrix_of(Kronecker(M, N), (18,)), whole, atol=1e-14)
    np.testing.assert_allclose(matrix_of(Kronecker(M, N), (6, 3)), whole, atol=1e-14)
    assert Kronecker(M, N).natural_shape() == (18,)
    with pytest.raises(ValueError, match="as A and B have columns together, 6 x 3, got 7"):
        Kronecker(M, N).output_shape((7,))
    with pytest.raises(ValueError, match="nothing is mapped"):
        Kronecker(M, N).adjoint(np.ones(5))


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 2)])
def test_sizes_of_gradients_are_exact(shape):
    """In flat regions the differences vanish, what they are differences of does not."""
    gradient = Gradient(shape, axes=(0, 1))
    x = np.abs(np.random.default_rng(0).standard_normal(shape)) + 1.0
    found = absolute(gradient).apply(x)
    np.testing.assert_allclose(found.ravel(), abs(gradient.as_matrix(shape)) @ x.ravel())


@pytest.mark.parametrize(
    ("op", "shape"),
    [
        (TwoSided(-1.0, N), (2, 6)),
        (TwoSided(M, SPARSE.T), (6, 6)),
        (Kronecker(M, N), (18,)),
        (Kronecker(M, N), (6, 3)),
        (SumOver((4, 5), axis=1), (4, 5)),
        (FlatStack([Identity(), -1.0 * TwoSided(1.0, np.array([[1.0, -1.0], [2.0, -3.0]]))], (3, 2)), (3, 2)),
    ],
)
def test_absolute_values_of_products_and_sums(op, shape):
    found = absolute(op)
    assert is_exact(found)
    np.testing.assert_allclose(matrix_of(found, shape), abs(matrix_of(op, shape)), atol=1e-14)


def test_what_is_made_of_estimates_is_one():
    assert is_exact(absolute(FlatStack([Identity(), FiniteDifference()], 6)))
    assert not is_exact(absolute(FlatStack([Identity(), Matrix(M) @ DCT()], 6)))
    assert not is_exact(absolute(TwoSided(DCT(), 1.0) + Identity()))


@pytest.mark.parametrize("shape", [(40,), (40, 3)])
@pytest.mark.parametrize("few", [False, True])
def test_absolute_values_piece_by_piece(shape, few, monkeypatch):
    A, x, y = rng.standard_normal((70, 40)), rng.random(shape), rng.random((70, *shape[1:]))
    if few:
        x[3:] = 0.0
    monkeypatch.setattr("ipds.operators.absolute.SMALL", 0)
    monkeypatch.setattr("ipds.operators.absolute.PIECE", 400)
    found = absolute(Matrix(A))
    np.testing.assert_allclose(found.apply(x), np.abs(A) @ x, rtol=1e-13)
    np.testing.assert_allclose(found.adjoint(y), np.abs(A).T @ y, rtol=1e-13)


def test_zero_is_seen_without_a_norm(monkeypatch):
    none, some = Matrix(np.zeros((4, 6))), Matrix(M)
    monkeypatch.setattr(Matrix, "norm", lambda self: pytest.fail("a norm was asked for"))
    for A, is_zero in ((none, True), (some, False)):
        assert (A @ Reshape((2, 3))).is_zero is is_zero
        assert (Reshape(4, (2, 2)) @ A).is_zero is is_zero
        assert (2.0 * A).is_zero is is_zero
    assert (0.0 * some).is_zero


@pytest.mark.parametrize("matrix", [M, SPARSE], ids=["dense", "sparse"])
def test_a_matrix_along_the_first_axis_is_a_kronecker_product(matrix):
    found = Matrix(matrix).as_matrix((6, 3))
    assert (found != sp.kron(matrix, sp.eye_array(3), format="csr")).nnz == 0
    assert found.has_canonical_format


def test_products_with_a_sparse_matrix_are_those_of_scipy():
    """Of vectors that lie apart in memory, of other precisions, of several columns; what does not fit is refused."""
    rng = np.random.default_rng(0)
    A = sp.csr_array(rng.standard_normal((4, 3)) * (rng.random((4, 3)) < 0.7))
    long = rng.standard_normal((12, 2))
    for x in (long[:3, 0], long[::4, 1], long[2::-1, 0], long[:3], long[:3, 0].astype(np.float32)):
        np.testing.assert_array_equal(Matrix(A).apply(x), A @ x)
    for y in (long[:4, 0], long[::3, 1], long[:4], long[:4, 0].astype(np.float32)):
        np.testing.assert_array_equal(Matrix(A).adjoint(y), A.T @ y)
    for wrong in (np.ones(2), np.ones(4), np.ones(0)):
        with pytest.raises(ValueError, match="mismatch"):
            Matrix(A).apply(wrong)


def test_a_sparse_matrix_that_was_used_can_be_sent_to_another_process():
    A = Matrix(SPARSE)
    v = np.arange(1.0, 1.0 + A.matrix.shape[1])
    u = A.apply(v)
    other = pickle.loads(pickle.dumps((A, A.adjoint(u))))
    np.testing.assert_array_equal(other[0].apply(v), u)
    np.testing.assert_array_equal(other[0].adjoint(u), other[1])
