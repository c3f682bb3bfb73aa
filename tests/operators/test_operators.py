"""Every operator: adjoint, shapes, norm and extreme eigenvalues against its matrix, algebra, libraries."""

from __future__ import annotations

import copy

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

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
    base,
    check_adjoint,
    from_linear_operator,
)
from ipds.operators.one_shape import FEW
from ipds.operators.wrapping import UserOperator
from ipds.solving.fingerprint import digest
from problems import matrix_of

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


@every
def test_adjoint(op, shape):
    assert check_adjoint(op, shape) <= 1e-10


@every
def test_norm_is_an_upper_bound_and_close(op, shape):
    matrix = matrix_of(op, shape)
    true = np.linalg.norm(matrix, 2) if matrix.size else 0.0
    assert op.norm() >= true * (1 - 1e-12)
    # maps that know no shape bound the norm over all shapes: loose on the tiny blocks here
    if op.natural_shape() is not None:
        assert op.norm() == pytest.approx(true, rel=1e-10, abs=1e-14)


@every
def test_extremes(op, shape):
    matrix = matrix_of(op, shape)
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
        matrix = matrix_of(op, shape)
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
    np.testing.assert_allclose(plain, matrix_of(op, shape), rtol=1e-12, atol=1e-14)


@every
def test_transpose_twice_and_shapes(op, shape):
    matrix, output = matrix_of(op, shape), op.output_shape(shape)
    transposed = op.T
    assert transposed.output_shape(output) == shape
    np.testing.assert_allclose(matrix_of(transposed, output), matrix.T, atol=1e-12)
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


@pytest.mark.parametrize(
    "A", [FiniteDifference(), SumOver((3, 4), axis=0), Matrix(np.ones((2, 3)))], ids=repr
)
def test_small_matrices_are_made_once(A, monkeypatch):
    """They belong to a shape, are no part of what identifies the map, and long ones are not kept."""
    shape, twin = (3, 4), copy.deepcopy(A)
    found = A.as_matrix(shape)
    assert A.as_matrix(shape) is found
    assert digest(A) == digest(twin)
    monkeypatch.setattr(base, "KEPT", found.nnz - 1)
    assert twin.as_matrix(shape) is not twin.as_matrix(shape)
    x = np.arange(12.0).reshape(shape)
    np.testing.assert_allclose(found @ x.reshape(-1), np.ravel(A.apply(x)))
    if not isinstance(A, SumOver):
        assert A.as_matrix((3, 2)).shape[1] == 6


def test_small_maps_known_by_their_products_have_a_matrix():
    class Own:
        def __init__(self, matrix):
            self.matrix = matrix

        def apply(self, x):
            return (self.matrix @ x.reshape(-1)).reshape(2, -1)

        def adjoint(self, y):
            return (self.matrix.T @ y.reshape(-1)).reshape(3, -1)

    g = np.random.default_rng(0)
    small, large = g.standard_normal((8, 6)), g.standard_normal((8, 3 * FEW))
    linear = from_linear_operator(spla.aslinearoperator(small), (3, 2), (2, 4))
    for op in (UserOperator(Own(small), (3, 2)), linear):
        np.testing.assert_array_equal(op.as_matrix((3, 2)), small)
    assert UserOperator(Own(large), (3, FEW)).as_matrix((3, FEW)) is None


def test_products_of_matrices_with_what_acts_on_more_axes_have_no_shape_of_their_own():
    """M takes vectors by nature; between D, of one shape, it takes the columns of a matrix, however deep D is."""
    rng = np.random.default_rng(0)
    M, D = Matrix(rng.standard_normal((4, 3))), Diagonal(rng.standard_normal((4, 2)))
    whole = M.T @ D @ (Identity(2.0) @ M)
    again = whole @ Identity(1.0) @ Matrix(rng.standard_normal((3, 5)))
    assert again.natural_shape() is None
    assert again.apply(np.ones((5, 2))).shape == (3, 2)


def test_instances_of_operators_and_functions_are_those_of_their_subclasses():
    """What `register` calls a subclass is none: whatever stands for an operator has its methods."""

    class Looks:
        pass

    Operator.register(Looks)
    assert not isinstance(Looks(), Operator)
    assert not issubclass(Looks, Operator)
    assert isinstance(Identity(2.0), Operator)
    with pytest.raises(TypeError, match="abstract"):
        Operator()
