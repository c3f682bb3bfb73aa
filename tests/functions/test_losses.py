"""Smooth functions: gradients by differences, Lipschitz constants, fused evaluation, data of every kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from ipds.functions import (
    Composed,
    HuberLoss,
    LeastSquares,
    Linear,
    Logistic,
    PCAReconstruction,
    PCAVariance,
    PhaseRetrieval,
    Quadratic,
    Smooth,
    SmoothSum,
    check_gradient,
)
from ipds.functions.covariance import Covariance
from ipds.operators import FiniteDifference, Matrix, Operator, Sampling

rng = np.random.default_rng(11)
G = rng.standard_normal((9, 5))
Y = rng.standard_normal(9)
Y2 = rng.standard_normal((9, 3))
LABELS = np.where(Y > 0, 1.0, -1.0)
H = rng.standard_normal((9, 5))
Q = rng.standard_normal((5, 5))
Q = Q + Q.T
TALL = rng.standard_normal((12, 5)) + 3.0
WIDE = rng.standard_normal((4, 9)) + 3.0
MASK = np.arange(12).reshape(3, 4) % 2 == 0

Maker = Callable[[Callable[[np.ndarray], Any]], Smooth]

# each takes the array library's `asarray`, so that one table serves all libraries
DENSE: dict[str, tuple[Maker, tuple[int, ...]]] = {
    "least squares": (lambda a: LeastSquares(a(G), a(Y)), (5,)),
    "least squares, matrix block": (lambda a: LeastSquares(a(G), a(Y2)), (5, 3)),
    "Huber": (lambda a: HuberLoss(a(G), a(Y), 0.7), (5,)),
    "logistic": (lambda a: Logistic(a(G), a(LABELS)), (5,)),
    "logistic, matrix block": (lambda a: Logistic(a(G), a(np.sign(Y2))), (5, 3)),
    "phase retrieval": (lambda a: PhaseRetrieval(a(G), a(Y**2)), (5,)),
    "phase retrieval, complex": (lambda a: PhaseRetrieval(a(G + 1j * H), a(Y**2)), (5,)),
    "phase retrieval, matrix block": (lambda a: PhaseRetrieval(a(G + 1j * H), a(Y2**2)), (5, 3)),
    "quadratic": (lambda a: Quadratic(a(Q), a(Y[:5])), (5,)),
    "quadratic without c": (lambda a: Quadratic(a(Q)), (5, 2)),
    "scaled square": (lambda a: Quadratic(-2.0, a(Y)), (9,)),
    "linear": (lambda a: Linear(a(Y2)), (9, 3)),
    "linear, number": (lambda a: Linear(0.5), (4,)),
    "composed": (lambda a: Composed(Logistic(a(np.eye(9)), a(LABELS)), a(G), a(Y)), (5,)),
    "composed, matrix block": (lambda a: Composed(Quadratic(2.0), a(G), -0.5), (5, 3)),
    "sum": (lambda a: SmoothSum([LeastSquares(a(G), a(Y)), Linear(0.5), Quadratic(a(Q))]), (5,)),
    "reconstruction through C": (lambda a: PCAReconstruction(a(TALL)), (5, 2)),
    "reconstruction through D": (lambda a: PCAReconstruction(a(WIDE)), (9, 2)),
    "reconstruction, centred": (lambda a: PCAReconstruction(a(TALL), center=True), (5, 2)),
    "variance through C": (lambda a: PCAVariance(a(TALL)), (5, 2)),
    "variance through D": (lambda a: PCAVariance(a(WIDE), center=True), (9, 2)),
}
OTHER: dict[str, tuple[Maker, tuple[int, ...]]] = {
    "least squares, sparse": (lambda a: LeastSquares(sp.csc_array(G), Y), (5,)),
    "least squares, LinearOperator": (lambda a: LeastSquares(spla.aslinearoperator(G), Y), (5,)),
    "least squares, operator": (lambda a: LeastSquares(Sampling(MASK), np.arange(6.0)), (3, 4)),
    "Huber, operator": (lambda a: HuberLoss(FiniteDifference(), 0.1, 0.5), (6,)),
    "logistic, sparse": (lambda a: Logistic(sp.coo_array(G), LABELS), (5,)),
    "phase retrieval, sparse": (lambda a: PhaseRetrieval(sp.csr_array(G), Y**2), (5,)),
    "phase retrieval, sparse complex": (lambda a: PhaseRetrieval(sp.csr_array(G + 1j * H), Y**2), (5,)),
    "quadratic, sparse": (lambda a: Quadratic(sp.csr_array(Q), Y[:5]), (5,)),
    "reconstruction, sparse": (lambda a: PCAReconstruction(sp.csr_array(WIDE)), (9, 2)),
    "reconstruction, sparse centred": (lambda a: PCAReconstruction(sp.csr_array(WIDE), center=True), (9, 2)),
    "variance, sparse through C": (lambda a: PCAVariance(sp.csr_array(TALL), center=True), (5, 2)),
    "variance of a vector": (lambda a: PCAVariance(sp.csr_array(WIDE), center=True), (9,)),
}
ALL = DENSE | OTHER
every = pytest.mark.parametrize(("make", "shape"), ALL.values(), ids=ALL.keys())
every_dense = pytest.mark.parametrize(("make", "shape"), DENSE.values(), ids=DENSE.keys())


def differences(f: Smooth, x: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """Gradient by central differences of fourth order."""
    out = np.empty(x.size)
    for i, e in enumerate(np.eye(x.size)):
        h = step * e.reshape(x.shape)
        out[i] = (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * step)
    return out.reshape(x.shape)


@every
def test_gradient_by_differences(make, shape):
    f = make(np.asarray)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal(shape)
        # Huber's second derivative jumps: there the differences are less accurate
        tolerance = 1e-3 if isinstance(f, HuberLoss) else 1e-7
        np.testing.assert_allclose(f.grad(x), differences(f, x), rtol=tolerance, atol=tolerance)
    check_gradient(f, shape)


@every
def test_fused_evaluation_equals_separate(make, shape):
    f = make(np.asarray)
    x = np.random.default_rng(5).standard_normal(shape)
    x.setflags(write=False)
    value, gradient = f.value_and_grad(x)
    assert type(value) is type(f(x)) is float
    assert value == pytest.approx(f(x), rel=1e-14)
    np.testing.assert_allclose(gradient, f.grad(x), rtol=1e-14)
    assert gradient.shape == shape


@every
def test_lipschitz_constant_on_random_pairs(make, shape):
    f = make(np.asarray)
    if f.lipschitz is None:
        assert isinstance(f, PhaseRetrieval | PCAReconstruction)
        return
    for seed in range(50):
        draw = np.random.default_rng(seed)
        x, y = draw.standard_normal(shape), draw.standard_normal(shape) * 10.0 ** draw.integers(-3, 3)
        assert np.linalg.norm(f.grad(x) - f.grad(y)) <= f.lipschitz * np.linalg.norm(x - y) * (1 + 1e-9)


@pytest.mark.parametrize("name", [k for k in ALL if k.startswith(("phase", "reconstruction"))])
@pytest.mark.parametrize("radius", [0.0, 1e-2, 1.0, 10.0])
def test_local_lipschitz_constant(name, radius):
    make, shape = ALL[name]
    f = make(np.asarray)
    for seed in range(30):
        draw = np.random.default_rng(seed)
        centre = draw.standard_normal(shape) * 10.0 ** draw.integers(-2, 2)
        L = f.local_lipschitz(centre, radius)

        def inside():
            step = draw.standard_normal(shape)  # noqa: B023
            return centre + max(radius, 1e-5) * step / np.linalg.norm(step)  # noqa: B023

        x, y = inside(), inside()
        gap = np.linalg.norm(f.grad(x) - f.grad(y))
        assert gap <= L * np.linalg.norm(x - y) * (1 + 1e-3) + 1e-9


def test_local_lipschitz_constant_is_not_wasteful():
    # at a Stiefel point, within 10x of the largest eigenvalue of the Hessian found by differences
    f = PCAReconstruction(TALL)
    V = np.linalg.qr(rng.standard_normal((5, 2)))[0]
    columns = [(f.grad(V + 1e-5 * e) - f.grad(V - 1e-5 * e)) / 2e-5 for e in np.eye(10).reshape(10, 5, 2)]
    true = np.linalg.norm(np.stack([c.reshape(-1) for c in columns]), 2)
    assert true <= f.local_lipschitz(V, 0.0) <= 10 * true


@every_dense
def test_other_array_libraries_agree(make, shape):
    ours, theirs = make(np.asarray), make(strict.asarray)
    x = rng.standard_normal(shape)
    value, gradient = theirs.value_and_grad(strict.asarray(x))
    assert type(gradient) is type(strict.asarray(x))
    assert float(value) == pytest.approx(ours(x), rel=1e-12)
    np.testing.assert_allclose(np.asarray(gradient), ours.grad(x), rtol=1e-11, atol=1e-12)
    if ours.lipschitz is not None:
        assert theirs.lipschitz == pytest.approx(ours.lipschitz)
    else:
        assert theirs.local_lipschitz(strict.asarray(x), 0.5) == pytest.approx(ours.local_lipschitz(x, 0.5))


@every_dense
def test_float32_stays_float32(make, shape):
    f = make(lambda a: a.astype(np.complex64 if np.iscomplexobj(a) else np.float32))
    x = np.ones(shape, dtype=np.float32)
    assert f.grad(x).dtype == np.float32
    assert f.value_and_grad(x)[1].dtype == np.float32


def test_lists_and_integers_take_the_precision_of_the_matrix():
    small, x = G.astype(np.float32), np.ones(5, dtype=np.float32)
    for f in (LeastSquares(small, list(range(9))), Logistic(small, (Y > 0).astype(int))):
        assert f.grad(x).dtype == np.float32


def test_sparse_data_in_float32_stays_float32():
    D = sp.csr_array(WIDE.astype(np.float32))
    for kind in (PCAReconstruction, PCAVariance):
        assert kind(D, center=True).grad(np.ones((9, 2), dtype=np.float32)).dtype == np.float32


def test_values_by_definition():
    x, V = rng.standard_normal(5), rng.standard_normal((5, 2))
    residual = G @ x - Y
    assert LeastSquares(G, Y)(x) == pytest.approx(0.5 * np.sum(residual**2))
    small = np.abs(residual) <= 0.7
    huber = np.where(small, 0.5 * residual**2, 0.7 * np.abs(residual) - 0.5 * 0.7**2)
    assert HuberLoss(G, Y, 0.7)(x) == pytest.approx(huber.sum())
    assert Logistic(G, LABELS)(x) == pytest.approx(np.sum(np.log1p(np.exp(-LABELS * (G @ x)))))
    assert PhaseRetrieval(G, Y**2)(x) == pytest.approx(0.5 * np.sum(((G @ x) ** 2 - Y**2) ** 2))
    complex_value = 0.5 * np.sum((np.abs((G + 1j * H) @ x) ** 2 - Y**2) ** 2)
    assert PhaseRetrieval(G + 1j * H, Y**2)(x) == pytest.approx(complex_value)
    assert Quadratic(Q, x)(Y[:5]) == pytest.approx(0.5 * Y[:5] @ Q @ Y[:5] + x @ Y[:5])
    assert Linear(x)(Y[:5]) == pytest.approx(x @ Y[:5])
    centred = TALL - TALL.mean(axis=0)
    assert PCAReconstruction(TALL)(V) == pytest.approx(np.sum((TALL - TALL @ V @ V.T) ** 2) / 24)
    assert PCAReconstruction(TALL, center=True)(V) == pytest.approx(
        np.sum((centred - centred @ V @ V.T) ** 2) / 24
    )
    assert PCAVariance(TALL)(V) == pytest.approx(-np.sum((TALL @ V) ** 2) / 24)


def test_reconstruction_and_variance_agree_on_the_stiefel_manifold():
    V = np.linalg.qr(rng.standard_normal((5, 3)))[0]
    gap = PCAReconstruction(TALL)(V) - PCAVariance(TALL)(V)
    assert gap == pytest.approx(np.sum(TALL**2) / 24)


def test_logistic_survives_extreme_margins():
    f = Logistic(np.array([[1000.0], [-1000.0]]), [0, 1])
    value, gradient = f.value_and_grad(np.array([5.0]))
    assert value == 10000.0
    np.testing.assert_array_equal(gradient, [2000.0])
    assert f.value_and_grad(np.array([-5.0])) == (0.0, np.array([0.0]))


def test_labels_zero_and_one_are_minus_one_and_one():
    x = rng.standard_normal(5)
    assert Logistic(G, (LABELS + 1) / 2)(x) == Logistic(G, LABELS)(x)


class Counting(Operator):
    """A matrix that counts its products and refuses to give its norm."""

    def __init__(self, matrix: np.ndarray):
        self.inner, self.applied, self.adjoined = Matrix(matrix), 0, 0

    def output_shape(self, shape):
        return self.inner.output_shape(shape)

    def apply(self, x):
        self.applied += 1
        return self.inner.apply(x)

    def adjoint(self, y):
        self.adjoined += 1
        return self.inner.adjoint(y)

    def norm(self):
        raise AssertionError("nobody asked for the Lipschitz constant")


@pytest.mark.parametrize(
    "make",
    [
        lambda A: LeastSquares(A, Y),
        lambda A: HuberLoss(A, Y),
        lambda A: Logistic(A, LABELS),
        lambda A: PhaseRetrieval(A, Y**2),
    ],
)
def test_fused_evaluation_applies_each_map_once(make):
    A = Counting(G)
    f = make(A)
    f.value_and_grad(np.ones(5))
    assert (A.applied, A.adjoined) == (1, 1)
    f(np.ones(5))
    assert (A.applied, A.adjoined) == (2, 1)
    f.grad(np.ones(5))
    assert (A.applied, A.adjoined) == (3, 2)


def test_sparse_centring_is_implicit_and_exact(monkeypatch):
    draw = np.random.default_rng(0)
    D = sp.random_array((60, 400), density=0.05, rng=draw, format="csr")
    centred = D.toarray() - D.toarray().mean(axis=0)
    V = draw.standard_normal((400, 3))

    def refuse(*_args, **_kwargs):
        raise AssertionError("the data were made dense")

    for kind in (sp.csr_array, sp.csc_array, sp.coo_array):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    for kind in (PCAReconstruction, PCAVariance):
        sparse, dense = kind(D, center=True), kind(centred)
        value, gradient = sparse.value_and_grad(V)
        assert value == pytest.approx(dense(V), rel=1e-12)
        np.testing.assert_allclose(gradient, dense.grad(V), atol=1e-12 * np.abs(gradient).max())
    constant = PCAVariance(D, center=True).lipschitz
    true = np.linalg.norm(centred, 2) ** 2 / 60
    assert true * (1 - 1e-12) <= constant <= 1.02 * true


def test_tall_sparse_data_go_through_the_small_gram_matrix():
    D = sp.random_array((3000, 20), density=0.1, rng=np.random.default_rng(0), format="csr")
    dense = D.toarray()
    for center in (False, True):
        f, g = PCAReconstruction(D, center=center), PCAReconstruction(dense, center=center)
        assert f._data.C is not None
        V = rng.standard_normal((20, 2))
        assert f(V) == pytest.approx(g(V), rel=1e-12)
        np.testing.assert_allclose(f.grad(V), g.grad(V), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("shape", [(400, 20), (900, 350), (50, 400)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lipschitz_constant_of_the_variance_is_safe_and_close(shape, dtype):
    D = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    true = np.linalg.norm(D.astype(float), 2) ** 2 / shape[0]
    slack = 1e-12 if dtype is np.float64 else 1e-6
    for data in (D, sp.csr_array(D)):
        assert true * (1 - slack) <= PCAVariance(data).lipschitz <= 1.02 * true


def test_sparse_centring_with_a_large_mean():
    D = sp.csr_array(WIDE + 1e6)
    exact = PCAVariance(WIDE - WIDE.mean(axis=0))
    V = rng.standard_normal((9, 2))
    # the data themselves are known to 1e-10 only
    np.testing.assert_allclose(PCAVariance(D, center=True).grad(V), exact.grad(V), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "error", "fragment"),
    [
        (lambda: LeastSquares(G, np.ones(4)), ValueError, "LeastSquares: y of shape (4,) does not fit"),
        (lambda: LeastSquares(G, [math.nan] * 9), ValueError, "LeastSquares: y contains NaN"),
        (lambda: LeastSquares(G, math.inf), ValueError, "LeastSquares: y must be finite"),
        (lambda: LeastSquares(np.ones(3), Y), ValueError, "2-D array, got shape (3,)"),
        (lambda: LeastSquares("G", Y), TypeError, "got str"),
        (lambda: LeastSquares(G, sp.csr_array(Y2)), TypeError, "toarray"),
        (lambda: HuberLoss(G, Y, 0.0), ValueError, "HuberLoss: delta"),
        (lambda: HuberLoss(G, Y, math.nan), ValueError, "HuberLoss: delta"),
        (lambda: Logistic(G, Y), ValueError, "Logistic: labels must all be -1 or 1"),
        (lambda: Logistic(G, [1, -1, 0] * 3), ValueError, "Logistic: labels"),
        (lambda: Logistic(G, [1, -1]), ValueError, "(2,)"),
        (lambda: PhaseRetrieval(G, np.ones(4)), ValueError, "PhaseRetrieval: z of shape (4,)"),
        (lambda: PhaseRetrieval(G + 1j * H, np.ones(18)), ValueError, "9 rows"),
        (lambda: Quadratic(G), ValueError, "Quadratic: Q must be square, got shape (9, 5)"),
        (lambda: Quadratic(np.triu(Q)), ValueError, "symmetric"),
        (lambda: Quadratic(sp.csr_array(np.triu(Q))), ValueError, "symmetric"),
        (lambda: Quadratic(Q, np.ones(4)), ValueError, "Quadratic: c of shape (4,)"),
        (lambda: Linear([math.nan]), ValueError, "Linear: c contains NaN"),
        (lambda: PCAVariance(np.ones(3)), ValueError, "PCAVariance: D must be"),
        (lambda: PCAReconstruction(np.ones((0, 3))), ValueError, "(0, 3)"),
        (lambda: PCAReconstruction([[math.nan]]), ValueError, "PCAReconstruction: D contains NaN"),
    ],
)
def test_invalid_arguments(call, error, fragment):
    with pytest.raises(error) as caught:
        call()
    assert fragment in str(caught.value)


def test_representations_are_short():
    for make, _shape in ALL.values():
        assert len(repr(make(np.asarray))) < 120


@pytest.mark.parametrize("rows", [4, 40])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_covariance_of_some_features(sparse: bool, center: bool, rows: int) -> None:
    """Through D (4 rows) and through C (40 rows): products and numbers of the block of C."""
    D = np.random.default_rng(1).standard_normal((rows, 9)) + 2.0
    columns = np.array([1, 4, 7])
    whole = Covariance("test", sp.csr_array(D) if sparse else D, center)
    centred = D - D.mean(axis=0) if center else D
    C = centred.T @ centred
    part, block = whole.features(columns), C[np.ix_(columns, columns)]
    V = np.arange(6.0).reshape(3, 2)
    assert np.allclose(part.apply(V), block @ V)
    assert np.allclose(whole.diagonal, np.diagonal(C))
    assert part.total == pytest.approx(np.trace(block))
    assert part.largest == pytest.approx(np.linalg.eigvalsh(block)[-1], rel=1e-6)
    assert np.allclose(whole.scores(np.eye(9)), centred)
    assert PCAVariance(part)(V) == pytest.approx(-np.vdot(V, block @ V) / (2 * rows))
    assert repr(PCAReconstruction(part)) == f"PCAReconstruction({rows}x3)"
