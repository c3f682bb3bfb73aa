"""Operators refuse what does not fit, naming both shapes; foreign linear operators are taken, faulty ones found."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from ipds import Block, Problem
from ipds.operators import (
    DCT,
    Convolution,
    Diagonal,
    FiniteDifference,
    FlatStack,
    Gradient,
    Grouping,
    Identity,
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

rng = np.random.default_rng(7)


M = rng.standard_normal((4, 6))


N = rng.standard_normal((6, 3))


MASK = rng.random((3, 4)) < 0.5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FlatStack([], shape=3), "at least one operator"),
        (lambda: FlatStack(["A"], shape=3), "expected a number, a 2-D array"),
        (lambda: FlatStack([Matrix(M)], shape=3), "must have length 6"),
        (lambda: FlatStack([Identity()], shape=3).output_shape((4,)), r"acts on shape \(3,\), not \(4,\)"),
        (lambda: Reshape((2, 3), (4,)), "number of entries"),
        (lambda: Reshape((2, 3)).output_shape((3, 2)), r"acts on shape \(2, 3\)"),
        (lambda: Segment(5, 3, (2, 2)), "entries 3..6 do not lie in a vector of length 5"),
        (lambda: Segment(5, -1, 2), "do not lie"),
        (lambda: Segment(5, 0, 2).output_shape((4,)), r"acts on shape \(5,\)"),
        (lambda: ZeroMap(2, 3).output_shape((3,)), r"acts on shape \(2,\)"),
    ],
)
def test_stacks_refuse_what_does_not_fit(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


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
    problem = Problem([Block(A=Pylops(), shape=(2, 3)), Block(A=-1.0, shape=(2, 2))], b=np.ones((2, 2)))
    np.testing.assert_allclose(problem.operators[0].apply(np.ones((2, 3))), (M @ np.ones(6)).reshape(2, 2))


def test_maps_without_a_base_class_are_checked_and_maps_multiply_arrays():
    class Own:
        def __init__(self, factor):
            self.factor = factor

        def apply(self, x):
            return M @ x

        def adjoint(self, y):
            return self.factor * (M.T @ y)

    assert check_adjoint(Own(1.0), 6) < 1e-10
    assert check_adjoint(M, 6) < 1e-10
    with pytest.raises(AssertionError, match="but ⟨x, Aᵀ y⟩"):
        check_adjoint(Own(1.0001), 6)
    with pytest.raises(TypeError, match="got NoneType"):
        check_adjoint(None, 6)
    np.testing.assert_array_equal(Matrix(M) @ np.ones(6), M @ np.ones(6))
    with pytest.raises(TypeError):
        Matrix(M) @ "x"
    for wrong in (lambda: Matrix(M) + M, lambda: Matrix(M) - M):
        with pytest.raises(
            TypeError, match=r"Matrix\(4x6 dense\) . \.\.\.: expected an operator, got ndarray"
        ):
            wrong()


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
        (lambda: Stack([Matrix(M), None]), TypeError, "expected a number, a 2-D array"),
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


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e160, -1e160])
def test_one_entry_among_many_is_enough_for_a_matrix_to_be_refused(bad, order):
    entries = np.full((50, 40), 1e151, order=order)
    assert Matrix(entries).matrix is entries  # though the sum of squares is large
    entries[17, 3] = bad
    with pytest.raises(ValueError, match="overflows" if math.isfinite(bad) else "NaN or infinity"):
        Matrix(entries)


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_small_entries_are_refused_where_the_largest_is_small(dtype):
    least = 1e-160 if dtype is float else 1e-40
    assert Matrix(np.array([[least, 1.0]], dtype)).matrix.dtype == dtype
    assert Matrix(np.zeros((2, 2), dtype)).is_zero
    with pytest.raises(ValueError, match="vanishes"):
        Matrix(np.array([[1e-160, 1e-170]]))
