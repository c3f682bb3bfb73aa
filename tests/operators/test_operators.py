"""Every operator: adjoint, shapes, norm and extreme eigenvalues against its matrix, algebra, libraries."""

from __future__ import annotations

import math

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.linalg import toeplitz
from scipy.signal import convolve2d

from ipds.functions import L21
from ipds.operators import (
    DCT,
    Convolution,
    Diagonal,
    FiniteDifference,
    FlatStack,
    Gradient,
    Grouping,
    Identity,
    Kronecker,
    Matrix,
    Operator,
    Permute,
    Reshape,
    Sampling,
    Segment,
    Stack,
    SumOver,
    Toeplitz,
    TwoSided,
    Wavelet,
    ZeroMap,
    as_operator,
    check_adjoint,
    from_linear_operator,
)
from ipds.operators.absolute import absolute

rng = np.random.default_rng(7)
M = rng.standard_normal((4, 6))
N = rng.standard_normal((6, 3))
SPARSE = sp.random_array((5, 6), density=0.4, rng=np.random.default_rng(1), format="coo")
MASK = rng.random((3, 4)) < 0.5
RING = sp.csr_array(([1.0, 1, 2, 2, 3, 3], ([0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2])), shape=(3, 3))

CASES = {
    "identity": (Identity(-2.5), (3, 2)),
    "dense": (Matrix(M), (6,)),
    "dense on 2-D": (Matrix(M), (6, 2)),
    "dense on 3-D": (Matrix(M), (6, 2, 3)),
    "tall": (Matrix(N), (3,)),
    "sparse": (Matrix(SPARSE), (6,)),
    "sparse on 3-D": (Matrix(SPARSE), (6, 2, 2)),
    "diagonal": (Diagonal(rng.standard_normal((2, 3))), (2, 3)),
    "mask": (Sampling(MASK), (3, 4)),
    "indices": (Sampling([5, 0, 3], shape=(2, 3)), (2, 3)),
    "nothing sampled": (Sampling(np.zeros(4, dtype=bool)), (4,)),
    "difference": (FiniteDifference(), (7,)),
    "difference of length 1": (FiniteDifference(), (1,)),
    "difference along axis 1": (FiniteDifference(axis=1), (3, 5, 2)),
    "2-D difference": (FiniteDifference(axis=(0, 1)), (4, 5)),
    "3-D difference": (FiniteDifference(axis=(0, 2)), (3, 1, 4)),
    "graph": (FiniteDifference.graph([(0, 1), (3, 1), (2, 0)], 4, [1.0, 2.0, -1.0]), (4, 2)),
    "adjacency": (FiniteDifference.from_adjacency(RING), (3,)),
    "groups": (Grouping([[0, 1, 4], [1, 2], [5, 1]], shape=(2, 3)), (2, 3)),
    "full": (Convolution([1.0, -2.0, 0.5]), (6,)),
    "same": (Convolution([1.0, -2.0, 0.5, 3.0], mode="same"), (6,)),
    "valid": (Convolution([1.0, -2.0, 0.5], mode="valid"), (6,)),
    "kernel longer than x": (Convolution([1.0, -2.0, 0.5, 3.0, 1.0], mode="same"), (3,)),
    "2-D same": (Convolution(rng.standard_normal((3, 2)), mode="same"), (5, 4)),
    "2-D valid": (Convolution(rng.standard_normal((3, 2)), mode="valid"), (5, 4)),
    "DCT": (DCT(), (4, 3)),
    "DCT along axis 1": (DCT(axes=1), (4, 3)),
    "LinearOperator": (
        from_linear_operator(spla.aslinearoperator(M), shape=(2, 3), output_shape=(2, 2)),
        (2, 3),
    ),
    "compose": (Matrix(M) @ Matrix(N), (3, 2)),
    "a diagonal after a matrix, on 2-D": (Diagonal(rng.standard_normal((4, 3))) @ Matrix(M), (6, 3)),
    "a mask after a matrix, on 2-D": (Sampling(MASK) @ Matrix(N[:, :3].T @ N), (3, 4)),
    "both sides, on 2-D": (Matrix(M).T @ Diagonal(rng.standard_normal((4, 3))) @ Matrix(M), (6, 3)),
    "compose shape-free": (DCT() @ FiniteDifference(axis=1), (3, 5)),
    "sum": (Matrix(M) + 2.0 * Matrix(M[::-1]) - Matrix(M), (6,)),
    "scaled": (-3.0 * Sampling(MASK), (3, 4)),
    "negative": (-Matrix(M), (6,)),
    "transpose": (Matrix(M).T, (4, 2)),
    "transposed mask": (Sampling(MASK).T, (int(MASK.sum()),)),
    "transposed difference": (FiniteDifference().T, (5,)),
    "transposed convolution": (Convolution([1.0, 2.0], mode="valid").T, (5,)),
    "transposed composition": ((Matrix(M) @ Matrix(N)).T, (4,)),
    "stack": (Stack([Matrix(M), Identity(2.0), FiniteDifference()], shape=(6, 2)), (6, 2)),
    "stack of matrices": (Stack([Matrix(M), Matrix(SPARSE)]), (6,)),
    "reshape": (Reshape((2, 6), (3, 4)), (2, 6)),
    "flatten": (Reshape((2, 3)), (2, 3)),
    "transposed reshape": (Reshape((2, 3)).T, (6,)),
    "segment": (Segment(9, 2, (2, 3)), (9,)),
    "whole segment": (Segment(6, 0, (2, 3)), (6,)),
    "empty segment": (Segment(6, 3, 0), (6,)),
    "zero": (ZeroMap((2, 3), 4), (2, 3)),
    "flat stack": (
        FlatStack([Matrix(M), Identity(2.0), FiniteDifference(axis=(0, 1))], shape=(6, 2)),
        (6, 2),
    ),
    "flat stack of shapes": (
        FlatStack(
            [Sampling(MASK), ZeroMap((3, 4), (2, 2)), Identity(), Grouping([[0, 1], [1, 2]], (3, 4))], (3, 4)
        ),
        (3, 4),
    ),
    "flat stack of isometries": (FlatStack([DCT(), Identity(2.0), Reshape((2, 3))], shape=(2, 3)), (2, 3)),
    "flat stack of zeros": (FlatStack([ZeroMap(3, 2), ZeroMap(3, (1, 2))], shape=3), (3,)),
    "transposed flat stack": (FlatStack([Matrix(SPARSE), Reshape(6, (2, 3))], shape=6).T, (11,)),
    "axes reversed": (Permute(), (2, 3, 4)),
    "axes permuted": (Permute((1, 2, 0)), (2, 3, 4)),
    "transposed permutation": (Permute((1, 2, 0)).T, (3, 4, 2)),
    "sum over an axis": (SumOver((2, 3, 4), 1), (2, 3, 4)),
    "sum over two axes": (SumOver((2, 3, 4), (-1, 0)), (2, 3, 4)),
    "sum over all": (SumOver((2, 3)), (2, 3)),
    "sum over an axis of length 1": (SumOver((3, 1), 1), (3, 1)),
    "sum of nothing": (SumOver((0, 2), 1), (0, 2)),
    "transposed sum": (SumOver((2, 3), 0).T, (3,)),
    "gradient": (Gradient((3, 4)), (3, 4)),
    "gradient of a signal": (Gradient(5), (5,)),
    "gradient in colours": (Gradient((3, 2, 2), axes=(0, 1)), (3, 2, 2)),
    "gradient along axes": (Gradient((3, 2, 4), axes=(2, 0)), (3, 2, 4)),
    "two-sided": (TwoSided(M, N.T), (6, 3)),
    "two-sided sparse": (TwoSided(SPARSE, M.T), (6, 6)),
    "left only": (TwoSided(M, 2.0), (6, 3)),
    "right only": (TwoSided(1.0, SPARSE.T), (2, 6)),
    "two-sided isometry": (TwoSided(DCT(), -2.0), (3, 4)),
    "transposed two-sided": (TwoSided(M, N.T).T, (4, 6)),
    "Kronecker": (Kronecker(M, N), (18,)),
    "Kronecker of a matrix": (Kronecker(M, N), (6, 3)),
    "sparse Kronecker": (Kronecker(SPARSE, M), (36,)),
    "transposed Kronecker": (Kronecker(M, N).T, (4 * N.shape[0],)),
    "Toeplitz": (Toeplitz([1.0, 2.0, -3.0]), (3,)),
    "wide Toeplitz": (Toeplitz([1.0, 2.0], [1.0, 5.0, 6.0, -7.0]), (4, 2)),
    "tall Toeplitz": (Toeplitz([3.0, 1.0, -1.0, 2.0], [3.0]), (1,)),
    "transposed Toeplitz": (Toeplitz([1.0, 2.0], [1.0, 5.0, 6.0]).T, (2,)),
    "Haar": (Wavelet(8, "haar"), (8,)),
    "wavelets": (Wavelet((16, 8), "db2"), (16, 8)),
    "short wavelets": (Wavelet((4, 3), "db4", level=2, axes=0), (4, 3)),
    "wavelets at level 0": (Wavelet(5, "sym4"), (5,)),
    "transposed stack": (Stack([Matrix(M), Matrix(SPARSE)]).T, (9,)),
}
every = pytest.mark.parametrize(("op", "shape"), CASES.values(), ids=CASES.keys())


def dense(op: Operator, shape: tuple[int, ...]) -> np.ndarray:
    if math.prod(shape) == 0:
        return np.zeros((math.prod(op.output_shape(shape)), 0))
    columns = [op.apply(e.reshape(shape)).reshape(-1) for e in np.eye(math.prod(shape))]
    return np.stack(columns, axis=1)


@every
def test_adjoint(op, shape):
    assert check_adjoint(op, shape) <= 1e-10


@every
def test_norm_is_an_upper_bound_and_close(op, shape):
    matrix = dense(op, shape)
    true = np.linalg.norm(matrix, 2) if matrix.size else 0.0
    assert op.norm() >= true * (1 - 1e-12)
    # maps that know no shape bound the norm over all shapes: loose on the tiny blocks here
    if op.natural_shape() is not None:
        assert op.norm() == pytest.approx(true, rel=1e-10, abs=1e-14)


@every
def test_extremes(op, shape):
    matrix = dense(op, shape)
    lower, upper = op.extremes(shape)
    if not matrix.size:
        assert (lower, upper) == (0.0, 0.0)
        return
    eigenvalues = np.linalg.eigvalsh(matrix @ matrix.T)
    assert upper == pytest.approx(eigenvalues[-1], rel=1e-10)
    assert lower == pytest.approx(max(eigenvalues[0], 0.0), rel=1e-10, abs=1e-12 * upper)


@every
def test_gram_where_stated(op, shape):
    if op.gram is not None:
        matrix = dense(op, shape)
        np.testing.assert_allclose(matrix.T @ matrix, op.gram * np.eye(matrix.shape[1]), atol=1e-12)


@every
def test_matrix_where_explicit(op, shape):
    matrix = op.as_matrix(shape)
    if matrix is None:  # known by its products only
        assert any(
            kind in repr(op)
            for kind in ("DCT", "Convolution", "Flattened", "Wavelet", "TwoSided", "Kronecker")
        )
        return
    assert sp.issparse(matrix) or type(matrix) is np.ndarray
    plain = matrix.toarray() if sp.issparse(matrix) else matrix
    np.testing.assert_allclose(plain, dense(op, shape), rtol=1e-12, atol=1e-14)


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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FlatStack([], shape=3), "at least one operator"),
        (lambda: FlatStack([np.eye(3)], shape=3), "as_operator"),
        (lambda: FlatStack([Matrix(M)], shape=3), "must have length 6"),
        (lambda: FlatStack([Identity()], shape=3).output_shape((4,)), r"acts on shape \(3,\), not \(4,\)"),
        (lambda: Reshape((2, 3), (4,)), "number of entries"),
        (lambda: Reshape((2, 3)).output_shape((3, 2)), r"acts on shape \(2, 3\)"),
        (lambda: Segment(5, 3, (2, 2)), "entries 3..6 do not lie in a vector of length 5"),
        (lambda: Segment(5, -1, 2), "do not lie"),
        (lambda: Segment(5, 0, 2).output_shape((4,)), "vectors of length 5"),
        (lambda: ZeroMap(2, 3).output_shape((3,)), r"acts on shape \(2,\)"),
    ],
)
def test_stacks_refuse_what_does_not_fit(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


@every
def test_transpose_twice_and_shapes(op, shape):
    matrix, output = dense(op, shape), op.output_shape(shape)
    transposed = op.T
    assert transposed.output_shape(output) == shape
    np.testing.assert_allclose(dense(transposed, output), matrix.T, atol=1e-12)
    x = np.random.default_rng(0).standard_normal(shape)
    np.testing.assert_array_equal(transposed.T.apply(x), op.apply(x))


@every
def test_inputs_are_left_alone(op, shape):
    x = np.random.default_rng(0).standard_normal(shape)
    y = np.random.default_rng(1).standard_normal(op.output_shape(shape))
    kept = x.copy(), y.copy()
    x.setflags(write=False)
    y.setflags(write=False)
    op.apply(x), op.adjoint(y)
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(y, kept[1])


@pytest.mark.parametrize(
    ("op", "shape"),
    [
        (Identity(0.5), (4,)),
        (Matrix(M.astype(np.float32)), (6, 2)),
        (Matrix(SPARSE.astype(np.float32)), (6,)),
        (Diagonal(np.ones(3, dtype=np.float32)), (3,)),
        (Sampling(MASK), (3, 4)),
        (Grouping([[0, 1], [1, 2]], 3), (3,)),
        (FiniteDifference(), (5,)),
        (FiniteDifference(axis=(0, 1)), (3, 4)),
        (Convolution(np.ones(3, dtype=np.float32), mode="same"), (5,)),
        (DCT(), (4,)),
        (FlatStack([DCT(), ZeroMap(4, 2), Segment(4, 1, 2)], shape=4), (4,)),
        (Permute(), (3, 4)),
        (SumOver((3, 4)), (3, 4)),
        (Gradient((3, 4)), (3, 4)),
        (TwoSided(M.astype(np.float32), 2.0), (6, 2)),
        (Kronecker(M.astype(np.float32), N.astype(np.float32)), (18,)),
        (Toeplitz(np.ones(3, dtype=np.float32)), (3,)),
        (Wavelet(8, "db2"), (8,)),
        (2.0 * DCT() @ FiniteDifference(), (5,)),
    ],
    ids=repr,
)
def test_float32_stays_float32(op, shape):
    assert op.apply(np.ones(shape, dtype=np.float32)).dtype == np.float32
    assert op.adjoint(np.ones(op.output_shape(shape), dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda xp: Identity(-1.0), (3, 2)),
        (lambda xp: Matrix(xp.asarray(M)), (6, 2)),
        (lambda xp: Matrix(xp.asarray(M)), (6, 2, 2)),
        (lambda xp: Matrix(SPARSE), (6, 2)),
        (lambda xp: Diagonal(xp.asarray(M)), (4, 6)),
        (lambda xp: Sampling(MASK), (3, 4)),
        (lambda xp: Grouping([[0, 1, 4], [1, 2], [5, 1]], (2, 3)), (2, 3)),
        (lambda xp: FiniteDifference(1), (3, 4)),
        (lambda xp: FiniteDifference((0, 1)), (3, 4)),
        (lambda xp: Convolution([1.0, 2.0], mode="same"), (5,)),
        (lambda xp: DCT(), (5,)),
        (lambda xp: from_linear_operator(spla.aslinearoperator(M), (2, 3)), (2, 3)),
        (lambda xp: Stack([Matrix(xp.asarray(M)), Identity(2.0)], shape=6), (6,)),
        (
            lambda xp: FlatStack(
                [Matrix(xp.asarray(M)), Reshape((6, 2), (3, 4)), ZeroMap((6, 2), 3)], (6, 2)
            ),
            (6, 2),
        ),
        (lambda xp: Segment(7, 1, (2, 3)), (7,)),
        (lambda xp: Permute((1, 2, 0)), (2, 3, 4)),
        (lambda xp: SumOver((2, 3), 1), (2, 3)),
        (lambda xp: SumOver((2, 3)), (2, 3)),
        (lambda xp: Gradient((3, 4, 2), (0, 1)), (3, 4, 2)),
        (lambda xp: TwoSided(xp.asarray(M), SPARSE.T), (6, 6)),
        (lambda xp: Kronecker(xp.asarray(M), xp.asarray(N)), (18,)),
        (lambda xp: Toeplitz([1.0, 2.0], [1.0, 3.0, 4.0]), (3, 2)),
        (lambda xp: Wavelet((4, 8), "haar"), (4, 8)),
        (lambda xp: (Matrix(xp.asarray(M)) + Matrix(xp.asarray(M))) @ (2.0 * Matrix(xp.asarray(N))), (3,)),
        (lambda xp: Matrix(xp.asarray(M)).T, (4,)),
    ],
)
def test_other_array_libraries_agree_with_numpy(make, shape):
    ours, theirs = make(np), make(strict)
    x = rng.standard_normal(shape)
    y = rng.standard_normal(ours.output_shape(shape))
    forward, back = theirs.apply(strict.asarray(x)), theirs.adjoint(strict.asarray(y))
    assert type(forward) is type(back) is type(strict.asarray(x))
    np.testing.assert_allclose(np.asarray(forward), ours.apply(x), atol=1e-13)
    np.testing.assert_allclose(np.asarray(back), ours.adjoint(y), atol=1e-13)
    assert theirs.norm() >= ours.norm() * (1 - 1e-12)


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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Permute((0, 0)), "Permute: order must name every axis once"),
        (lambda: Permute((1, 0)).output_shape((2, 3, 4)), "one of 2 axes, not of 3"),
        (lambda: SumOver((2, 3), 2), "SumOver: axis"),
        (lambda: SumOver((2, 3), (0, -2)), "SumOver: axis must name different"),
        (lambda: SumOver((2, 3), 0).output_shape((3, 3)), r"acts on shape \(2, 3\)"),
        (lambda: Gradient((2, 3), (2,)), "FiniteDifference along axis"),
        (lambda: Gradient((2, 3)).output_shape((3, 2)), r"Gradient acts on shape \(2, 3\)"),
        (lambda: TwoSided(M, N).output_shape((6,)), "TwoSided acts on matrices"),
        (lambda: TwoSided(M, N).output_shape((6, 4)), "must have length 6"),
        (lambda: Toeplitz([1.0], [2.0, 3.0]), "begin with 1 and 2"),
        (lambda: Toeplitz([]), "column must be a vector"),
        (lambda: Toeplitz([1.0, 2.0]).output_shape((3,)), "must have length 2"),
        (lambda: Wavelet(12, "haar", level=3), "lengths \\[12\\] cannot be halved 3 times"),
        (lambda: Wavelet(8, "bior2.2"), "no orthogonal wavelet"),
        (lambda: Wavelet(8, "dog"), "no orthogonal wavelet"),
        (lambda: Wavelet((8, 8), axes=(0, 2)), "Wavelet: axes"),
        (lambda: Wavelet(8).output_shape((4,)), "Wavelet acts on shape"),
    ],
)
def test_structured_maps_refuse_what_does_not_fit(make, message):
    with pytest.raises(ValueError, match=message):
        make()


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
    with pytest.raises(TypeError, match="unsupported operand"):
        A + 1.0


def test_convolution_norm_is_close_on_long_signals():
    kernel = rng.standard_normal(7)
    op = Convolution(kernel)
    true = np.linalg.norm(dense(op, (500,)), 2)
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


def test_linear_operators_by_duck_typing():
    class Pylops:
        """What PyLops offers beyond SciPy: the shapes of model and data."""

        shape, dims, dimsd = (4, 6), (2, 3), (4, 1)

        def matvec(self, x):
            return M @ x

        def rmatvec(self, y):
            return M.T @ y

    op = from_linear_operator(Pylops())
    assert op.output_shape((2, 3)) == (4, 1)
    check_adjoint(op, (2, 3))
    assert as_operator(Pylops()).norm() == pytest.approx(np.linalg.norm(M, 2))
    assert isinstance(as_operator(spla.aslinearoperator(M)), type(op))


def test_check_adjoint_finds_faults():
    class Wrong(Matrix):
        def adjoint(self, y):
            return 1.0001 * super().adjoint(y)

    class Affine(Matrix):
        def apply(self, x):
            return super().apply(x) + 1.0

    class Misshapen(Matrix):
        def output_shape(self, shape):
            return (self.matrix.shape[0], 1)

    with pytest.raises(AssertionError, match="but ⟨x, Aᵀ y⟩"):
        check_adjoint(Wrong(M), 6)
    with pytest.raises(AssertionError):
        check_adjoint(Affine(M), 6)
    with pytest.raises(AssertionError, match=r"output_shape says \(4, 1\).*\(4,\)"):
        check_adjoint(Misshapen(M), 6)


@pytest.mark.parametrize(
    ("op", "shape", "fragments"),
    [
        (Matrix(M), (5,), ["4x6", "(5,)"]),
        (Matrix(M), (), ["4x6", "()"]),
        (Diagonal(np.ones((2, 3))), (3, 2), ["(2, 3)", "(3, 2)"]),
        (Sampling(MASK), (4, 3), ["(3, 4)", "(4, 3)"]),
        (Grouping([[0, 1]], 3), (4,), ["(3,)", "(4,)"]),
        (FiniteDifference(axis=1), (4,), ["axis (1,)", "(4,)"]),
        (FiniteDifference(), (0,), ["(0,)"]),
        (Convolution(np.ones(3), mode="valid"), (2,), ["(3,)", "(2,)"]),
        (Convolution(np.ones((3, 3))), (5,), ["(3, 3)", "(5,)"]),
        (DCT(axes=1), (4,), ["1", "(4,)"]),
        (from_linear_operator(spla.aslinearoperator(M), (2, 3)), (6,), ["(2, 3)", "(6,)"]),
        (Matrix(M) + Matrix(M[:2]), (6,), ["(4,)", "(2,)"]),
        (Stack([Matrix(M), Identity()]), (7,), ["6", "(7,)"]),
        (Stack([Identity(), FiniteDifference()], shape=6), (7,), ["(6,)", "(7,)"]),
        (Sampling(MASK).T, (11,), ["(11,)"]),
        (Matrix(M).T, (6,), ["6x4", "(6,)"]),
    ],
    ids=lambda v: repr(v) if isinstance(v, Operator) else None,
)
def test_wrong_shapes_name_both(op, shape, fragments):
    with pytest.raises(ValueError, match=r".") as error:
        op.output_shape(shape)
    for fragment in fragments:
        assert fragment in str(error.value)


@pytest.mark.parametrize(
    ("call", "error", "fragment"),
    [
        (lambda: Identity(math.inf), ValueError, "Identity: scale must be finite"),
        (lambda: Matrix(np.ones(3)), ValueError, "2-D array, got shape (3,)"),
        (lambda: Matrix([[1.0, math.nan]]), ValueError, "Matrix: contains NaN"),
        (lambda: Matrix(sp.csr_array([[math.inf]])), ValueError, "Matrix: contains NaN"),
        (lambda: Matrix(np.eye(2) * 1j), TypeError, "must hold real numbers"),
        (lambda: Diagonal(2.0), ValueError, "Identity"),
        (lambda: Diagonal([math.nan]), ValueError, "Diagonal: contains NaN"),
        (lambda: Sampling([0, 1]), ValueError, "shape="),
        (lambda: Sampling([0, 0], shape=3), ValueError, "distinct"),
        (lambda: Sampling([3], shape=3), ValueError, "0..2"),
        (lambda: Sampling([-1], shape=3), ValueError, "0..2"),
        (lambda: Sampling([0.5], shape=3), TypeError, "integers"),
        (lambda: Sampling(MASK, shape=(4, 3)), ValueError, "(3, 4) does not fit shape (4, 3)"),
        (lambda: FiniteDifference(axis=-1), ValueError, "axis"),
        (lambda: FiniteDifference(axis=()), ValueError, "axis"),
        (lambda: FiniteDifference(axis=(0, 0)), ValueError, "differ"),
        (lambda: FiniteDifference.graph([(0, 1, 2)], 3), ValueError, "(edges, 2)"),
        (lambda: FiniteDifference.graph([(0, 3)], 3), ValueError, "0..2"),
        (lambda: FiniteDifference.graph([(1, 1)], 3), ValueError, "itself"),
        (lambda: FiniteDifference.graph([(0, 1)], 3, [1.0, 2.0]), ValueError, "(2,) do not fit 1 edges"),
        (lambda: FiniteDifference.from_adjacency(np.ones((2, 3))), ValueError, "square"),
        (lambda: FiniteDifference.from_adjacency(np.triu(np.ones((2, 2)))), ValueError, "symmetric"),
        (lambda: Grouping([], 3), ValueError, "at least one group"),
        (lambda: Grouping([[0, 0]], 3), ValueError, "repetition"),
        (lambda: Grouping([[]], 3), ValueError, "non-empty"),
        (lambda: Grouping([[5]], 3), ValueError, "0..2"),
        (lambda: Convolution([]), ValueError, "non-empty"),
        (lambda: Convolution([1.0], mode="wrap"), ValueError, "full, same, valid"),
        (lambda: Stack([]), ValueError, "at least one"),
        (lambda: Stack([Identity()]), ValueError, "shape="),
        (lambda: Stack([Matrix(M), np.eye(6)]), TypeError, "as_operator"),
        (lambda: Stack([Identity(), FiniteDifference(axis=1)], shape=(3, 4)), ValueError, "first axis"),
        (lambda: Matrix(M) @ Matrix(M), ValueError, "4x6"),
        (lambda: Matrix(M) * math.nan, ValueError, "finite"),
        (lambda: from_linear_operator(np.eye(3)), TypeError, "Matrix"),
        (lambda: from_linear_operator(spla.aslinearoperator(M), shape=(5,)), ValueError, "(4, 6)"),
        (lambda: from_linear_operator(spla.aslinearoperator(1j * M)), TypeError, "must be real"),
        (lambda: as_operator("A"), TypeError, "got str"),
        (lambda: as_operator(True), TypeError, "got bool"),
    ],
)
def test_invalid_arguments(call, error, fragment):
    with pytest.raises(error) as caught:
        call()
    assert fragment in str(caught.value)


def test_kronecker_is_that_of_numpy():
    whole = np.kron(M, N)
    np.testing.assert_allclose(dense(Kronecker(M, N), (18,)), whole, atol=1e-14)
    np.testing.assert_allclose(dense(Kronecker(M, N), (6, 3)), whole, atol=1e-14)
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
