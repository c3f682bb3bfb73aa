"""Norms and extreme eigenvalues of large maps: never below the truth, and close to it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from hypothesis import given, settings
from hypothesis import strategies as st

from ipds.operators import DCT, FiniteDifference, Identity, Matrix, Stack, from_linear_operator, spectrum

BIG = 640
"""Just beyond the sizes that are decomposed exactly."""


def orthogonal(n: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]


SPECTRA = {
    "clustered at the top": 1 - 1e-3 * np.linspace(0, 1, BIG) ** 2,
    "one apart": np.concatenate([[1.0], np.full(BIG - 1, 0.3)]),
    "hidden by a hair": np.concatenate([[1.001], np.linspace(0.5, 1, BIG - 1)]),
    "geometric": np.logspace(0, -8, BIG),
    "linear": np.linspace(0.1, 1, BIG),
    "two values": np.repeat([1.0, 0.25], BIG // 2),
    "rank one": np.concatenate([[3.0], np.zeros(BIG - 1)]),
    "huge": 1e12 * np.linspace(0.5, 1, BIG),
    "tiny": 1e-12 * np.linspace(0.5, 1, BIG),
}


@pytest.mark.parametrize("values", SPECTRA.values(), ids=SPECTRA.keys())
@pytest.mark.parametrize("seed", [0, 1])
def test_norm_of_known_spectra(values, seed):
    matrix = (orthogonal(BIG, seed) * values) @ orthogonal(BIG, seed + 10)
    true = values.max()
    for op in (Matrix(matrix), from_linear_operator(spla.aslinearoperator(matrix))):
        assert true * (1 - 1e-12) <= op.norm() <= 1.01 * true


@pytest.mark.parametrize("shape", [(700, 1500), (1500, 700), (650, 650)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_norm_of_gaussian_matrices(shape, dtype):
    for seed in range(2):
        matrix = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
        true = np.linalg.norm(matrix.astype(float), 2)
        assert true <= Matrix(matrix).norm() <= 1.01 * true


def test_norm_of_large_sparse_matrices():
    for seed in range(3):
        matrix = sp.random_array((2000, 1800), density=0.003, rng=np.random.default_rng(seed), format="csr")
        true = spla.svds(matrix, k=1, return_singular_vectors=False, random_state=0)[0]
        assert true * (1 - 1e-12) <= Matrix(matrix).norm() <= 1.01 * true


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 10**6), st.floats(-6, 6))
def test_bounds_hold_for_small_matrices_too(rows, columns, seed, exponent):
    # Lanczos itself, not the exact decomposition that small maps get
    matrix = 10**exponent * np.random.default_rng(seed).standard_normal((rows, columns))
    bounds = spectrum.lanczos_bounds(lambda v: matrix @ (matrix.T @ v), rows, both_ends=True)
    eigenvalues = np.linalg.eigvalsh(matrix @ matrix.T)
    assert bounds.lower <= max(eigenvalues[0], 0.0) + 1e-10 * eigenvalues[-1]
    assert eigenvalues[-1] * (1 - 1e-13) <= bounds.upper <= 1.01 * eigenvalues[-1]


@settings(max_examples=25, deadline=None)
@given(st.integers(20, 120), st.integers(0, 10**6), st.sampled_from(["normal", "beta", "cluster", "heavy"]))
def test_bounds_hold_before_convergence(size, seed, kind):
    # with a handful of steps the bound is loose; below the truth it must never be
    draw = np.random.default_rng(seed)
    values = {
        "normal": np.abs(draw.standard_normal(size)),
        "beta": draw.beta(5, 0.5, size),
        "cluster": np.concatenate([1 + 1e-6 * draw.random(size - 1), [1.01]]),
        "heavy": np.abs(draw.standard_cauchy(size)),
    }[kind]
    Q = orthogonal(size, seed)
    for steps in (2, 5, 9, 15):
        bounds = spectrum.lanczos_bounds(
            lambda v: Q @ (values * (Q.T @ v)), size, steps=steps, both_ends=True
        )
        assert bounds.upper >= values.max() * (1 - 1e-13)
        assert bounds.lower <= values.min() + 1e-13 * values.max()


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((3, 4)),
        np.zeros((700, 800)),
        np.array([[-3.0]]),
        np.diag([1.0, -5.0, 0.0]),
        np.outer(np.arange(700.0), np.arange(900.0)),
        sp.diags_array(np.arange(2000.0)),
        sp.eye_array(1800),
        sp.csr_array((1900, 2000)),
        np.ones((1, 900)),
        np.ones((900, 1)),
    ],
    ids=lambda m: f"{type(m).__name__}{m.shape}",
)
def test_special_matrices(matrix):
    # the sparse ones are diagonal
    diagonal = np.sort(np.abs(matrix.diagonal()))[::-1]
    singular = diagonal if sp.issparse(matrix) else np.linalg.svd(matrix, compute_uv=False)
    assert singular[0] * (1 - 1e-13) <= Matrix(matrix).norm() <= 1.01 * singular[0]
    lower, upper = Matrix(matrix).extremes((matrix.shape[1],))
    assert singular[0] ** 2 * (1 - 1e-13) <= upper <= 1.01 * singular[0] ** 2
    smallest = singular[-1] ** 2 if matrix.shape[0] <= matrix.shape[1] else 0.0
    assert 0.0 <= lower <= smallest * (1 + 1e-10)


def test_empty_matrices():
    assert Matrix(np.zeros((0, 3))).norm() == 0.0
    assert Matrix(np.zeros((3, 0))).extremes((0,)) == (0.0, 0.0)


def test_extremes_of_small_matrices_are_exact():
    for seed in range(5):
        Q, values = orthogonal(50, seed), np.logspace(0, -5, 50)
        matrix = (Q * values) @ orthogonal(50, seed + 1)
        lower, upper = Matrix(matrix).extremes((50,))
        assert upper == pytest.approx(1.0, rel=1e-12)
        assert lower == pytest.approx(1e-10, rel=1e-10)
        same = from_linear_operator(spla.aslinearoperator(matrix)).extremes((50,))
        assert same == pytest.approx((lower, upper), rel=1e-9)


def test_extremes_of_large_maps_enclose_the_spectrum():
    values = np.linspace(0.5, 1.0, 700)
    matrix = (orthogonal(700, 3) * values) @ orthogonal(700, 4)
    for op in (Matrix(matrix), from_linear_operator(spla.aslinearoperator(matrix))):
        lower, upper = op.extremes((700,))
        assert 0.23 <= lower <= 0.25 * (1 + 1e-10)
        assert 1.0 - 1e-12 <= upper <= 1.02


def test_smallest_eigenvalue_of_large_sparse_matrices():
    n = 3000
    path = FiniteDifference.graph(np.stack([np.arange(n - 1), np.arange(1, n)], axis=1), n)
    lower, upper = path.extremes((n,))
    true = FiniteDifference().extremes((n,))
    assert true[0] * 0.99 <= lower <= true[0] * (1 + 1e-8)
    assert true[1] * (1 - 1e-12) <= upper <= true[1] * 1.01
    # a cycle has one edge more than independent differences
    cycle = FiniteDifference.graph(np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1), n)
    assert cycle.extremes((n,))[0] == 0.0
    repeated = Matrix(sp.vstack([sp.eye_array(1800, 4000)] * 2))
    assert repeated.extremes((4000,)) == pytest.approx((0.0, 2.0))


def test_more_rows_than_columns_is_never_surjective():
    assert Matrix(np.random.default_rng(0).standard_normal((900, 700))).extremes((700,))[0] == 0.0
    assert from_linear_operator(spla.aslinearoperator(np.ones((900, 2)))).extremes((2,))[0] == 0.0


def test_large_norm_takes_few_products():
    matrix = np.random.default_rng(0).standard_normal((700, 1500))
    calls = 0

    def gram(v):
        nonlocal calls
        calls += 1
        return matrix @ (matrix.T @ v)

    upper = spectrum.lanczos_upper(gram, 700)
    assert calls <= 100
    assert math.sqrt(upper) <= 1.005 * np.linalg.norm(matrix, 2)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 90),
    st.integers(1, 90),
    st.integers(0, 10**6),
    st.sampled_from(["f4", "f8", "sparse", "0/1"]),
)
def test_norm_by_lanczos_on_any_matrix(rows, columns, seed, kind):
    draw = np.random.default_rng(seed)
    matrix = draw.standard_normal((rows, columns)) * 10.0 ** draw.uniform(-3, 0, columns)
    given_matrix = {
        "f4": matrix.astype(np.float32),
        "f8": matrix,
        "sparse": sp.csr_array(np.where(draw.random(matrix.shape) < 0.1, matrix, 0.0)),
        "0/1": (draw.random(matrix.shape) < 0.1).astype(float),
    }[kind]
    dense = given_matrix.toarray() if sp.issparse(given_matrix) else given_matrix.astype(float)
    true = np.linalg.norm(dense, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spectrum, "NORM_LIMIT", 0)
        assert true * (1 - 1e-13) <= Matrix(given_matrix).norm() <= 1.01 * true


def test_holder_bound_is_rigorous():
    for seed in range(20):
        matrix = np.random.default_rng(seed).standard_normal((8, 5))
        for form in (matrix, sp.csr_array(matrix)):
            assert spectrum.holder_bound(form) >= np.linalg.norm(matrix, 2) ** 2


def test_extremes_are_exact_where_the_gram_matrix_is_a_multiple_of_the_identity():
    stack = Stack([Identity(), 2.0 * DCT()], shape=BIG)
    assert stack.extremes((BIG,)) == (0.0, 5.0)  # more rows than columns
    assert (DCT() @ Identity(3.0)).extremes((BIG,)) == (9.0, 9.0)
    assert Identity(3.0).extremes((0,)) == DCT().extremes((0,)) == (0.0, 0.0)
    assert DCT().norm() == 1.0
