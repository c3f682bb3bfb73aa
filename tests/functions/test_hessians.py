"""Second derivatives of every smooth function: against differences of the gradient, and what they say of convexity."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import ipds.functions
from ipds.functions import (
    L1,
    L2,
    Composed,
    Differentiable,
    Exponential,
    HuberLoss,
    LeastSquares,
    Linear,
    Logistic,
    LogisticLoss,
    MoreauEnvelope,
    NonNegative,
    Nuclear,
    PCAReconstruction,
    PCAVariance,
    PhaseRetrieval,
    Quadratic,
    Smooth,
    SmoothSum,
    SumSquares,
    Weighted,
    check_curvature,
    check_gradient,
    hessians,
    smooth,
)
from ipds.functions.adapters import as_smooth
from ipds.functions.hessians import add, as_map, semidefinite
from ipds.operators import DCT, Diagonal, FiniteDifference, Identity, Matrix, as_operator

rng = np.random.default_rng(5)
TALL, WIDE = rng.standard_normal((6, 4)), rng.standard_normal((3, 5))
SPARSE = sp.random_array((7, 5), density=0.5, rng=np.random.default_rng(1), format="csr")
SYMMETRIC = rng.standard_normal((4, 4))
SYMMETRIC = SYMMETRIC + SYMMETRIC.T
LABELS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
DATA = rng.standard_normal((6, 4)) + 1.0


class _Own:
    """½ Σ x⁴/6 with nothing optional."""

    def __call__(self, x: Any) -> float:
        return float(np.sum(x**4)) / 12

    def grad(self, x: Any) -> Any:
        return x**3 / 3


class _OwnWithHessian(_Own):
    is_convex = True

    def hessian(self, x: Any) -> Any:
        return (x**2).reshape(-1)


def quartic(x: Any) -> Any:
    return (x**4).sum() / 12 + (x[0] * x[1:]).sum()


CASES: dict[str, tuple[Smooth, tuple[int, ...]]] = {
    "exponential": (Differentiable(Exponential(np.array([0.3, 0.7, 1.0, 0.0]), -0.5)), (2, 4)),
    "logistic of entries": (Differentiable(LogisticLoss(-1.0, 0.7, 2.0)), (4,)),
    "squares of entries": (Differentiable(SumSquares(0.7, 0.3)), (2, 2)),
    "least squares": (LeastSquares(TALL, np.ones(6)), (4,)),
    "least squares, wide": (LeastSquares(WIDE, np.ones(3)), (5,)),
    "least squares, sparse": (LeastSquares(SPARSE, np.ones(7)), (5,)),
    "least squares, operator": (LeastSquares(DCT(), np.ones(5)), (5,)),
    "least squares, matrix block": (LeastSquares(TALL, np.ones((6, 2))), (4, 2)),
    "least squares, LinearOperator": (LeastSquares(spla.aslinearoperator(TALL), np.ones(6)), (4,)),
    "Huber": (HuberLoss(TALL, rng.standard_normal(6), 0.8), (4,)),
    "Huber, matrix block": (HuberLoss(TALL, rng.standard_normal((6, 2)), 0.8), (4, 2)),
    "logistic": (Logistic(TALL, LABELS), (4,)),
    "logistic, sparse": (Logistic(sp.csr_array(TALL), LABELS), (4,)),
    "phase": (PhaseRetrieval(TALL, np.ones(6)), (4,)),
    "phase, complex": (PhaseRetrieval(TALL[:3] + 1j * TALL[3:], np.ones(3)), (4,)),
    "quadratic": (Quadratic(SYMMETRIC, np.ones(4)), (4,)),
    "quadratic, matrix block": (Quadratic(SYMMETRIC), (4, 3)),
    "quadratic, convex": (Quadratic(SYMMETRIC @ SYMMETRIC), (4,)),
    "quadratic, sparse": (Quadratic(sp.csr_array(SYMMETRIC)), (4,)),
    "quadratic, identity": (Quadratic(-2.0), (2, 3)),
    "quadratic, diagonal": (Quadratic(Diagonal(np.arange(6.0).reshape(2, 3))), (2, 3)),
    "quadratic, operator": (Quadratic(FiniteDifference().T @ FiniteDifference()), (5,)),
    "linear": (Linear(np.ones((2, 3))), (2, 3)),
    "variance": (PCAVariance(DATA), (4, 2)),
    "variance, vector": (PCAVariance(DATA), (4,)),
    "variance, sparse centred": (PCAVariance(sp.csr_array(DATA), center=True), (4, 2)),
    "variance, wide": (PCAVariance(rng.standard_normal((2, 9))), (9, 2)),
    "reconstruction": (PCAReconstruction(DATA), (4, 2)),
    "reconstruction, wide": (PCAReconstruction(rng.standard_normal((2, 9))), (9, 2)),
    "envelope": (MoreauEnvelope(L1(0.7), 0.3), (2, 3)),
    "envelope, group": (MoreauEnvelope(L2(0.7), 0.3), (4,)),
    "envelope, nuclear": (MoreauEnvelope(Nuclear(0.7), 0.3), (2, 3)),
    "envelope, set": (MoreauEnvelope(NonNegative(), 2.0), (4,)),
    "composed": (Composed(Logistic(TALL, LABELS), rng.standard_normal((4, 3)), 0.3), (3,)),
    "composed, wide": (Composed(Quadratic(SYMMETRIC), rng.standard_normal((4, 6))), (6,)),
    "composed, sparse": (Composed(PhaseRetrieval(TALL, np.ones(6)), sp.csr_array(np.eye(4)[::-1])), (4,)),
    "composed, matrix block": (Composed(MoreauEnvelope(L1(1.0), 1.0), Matrix(TALL)), (4, 2)),
    "composed, twice": (Composed(Composed(Logistic(TALL, LABELS), 2.0), DCT()), (4,)),
    "sum": (SmoothSum([LeastSquares(TALL, np.ones(6)), Logistic(TALL, LABELS), Linear(np.ones(4))]), (4,)),
    "sum of diagonals": (SmoothSum([Quadratic(2.0), MoreauEnvelope(L1(1.0), 1.0)]), (2, 3)),
    "sum, mixed": (
        SmoothSum([Quadratic(2.0), LeastSquares(sp.csr_array(TALL), 1.0), PCAVariance(DATA)]),
        (4,),
    ),
    "sum, products": (SmoothSum([Quadratic(2.0), PCAReconstruction(DATA), Quadratic(SYMMETRIC)]), (4, 2)),
    "weighted": (Weighted(Logistic(TALL, LABELS), 2.5, 1.0), (4,)),
    "weighted, concave": (Weighted(LeastSquares(TALL, 1.0), -2.0), (4, 2)),
    "weighted, sparse": (Weighted(LeastSquares(SPARSE, 1.0), 0.3), (5,)),
    "own": (as_smooth(_Own(), "f"), (3, 2)),  # type: ignore[dict-item]
    "own with Hessian": (as_smooth(_OwnWithHessian(), "f"), (3, 2)),  # type: ignore[dict-item]
    "own in a sum": (SmoothSum([_Own(), Quadratic(1.0)]), (4,)),  # type: ignore[list-item]
    "own composed": (Composed(_Own(), TALL), (4,)),  # type: ignore[arg-type]
    "given": (smooth(lambda x: float(np.sum(np.cos(x))), lambda x: -np.sin(x)), (4,)),
}
if find_spec("torch") or find_spec("jax"):
    CASES |= {
        "automatic": (smooth(quartic), (4,)),
        "automatic, linear": (smooth(lambda x: (2 * x).sum()), (4,)),
    }
every = pytest.mark.parametrize(("f", "shape"), CASES.values(), ids=CASES.keys())


def quotient(f: Smooth, x: np.ndarray, d: np.ndarray) -> np.ndarray:
    """∇²f(x) d by differences of the gradient, Richardson-extrapolated."""
    width = 1e-4
    ends = [f.grad(x + k * width * d) for k in (-2, -1, 1, 2)]
    return (8.0 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / (12.0 * width)


def dense(f: Smooth, x: np.ndarray) -> np.ndarray:
    apply = as_map(f.hessian(x), x.shape).apply
    return np.stack([apply(e.reshape(x.shape)).reshape(-1) for e in np.eye(x.size)], axis=1)


@every
def test_against_differences(f: Smooth, shape: tuple[int, ...]) -> None:
    g = np.random.default_rng(0)
    check_curvature(f, shape, points=[size * g.standard_normal(shape) for size in (0.3, 1.0, 3.0)])


@every
def test_arguments_are_left_alone(f: Smooth, shape: tuple[int, ...]) -> None:
    x, d = np.random.default_rng(0).standard_normal((2, *shape))
    kept = x.copy(), d.copy()
    f.curvature(x, d), f.hessian(x)
    np.testing.assert_array_equal((x, d), kept)


@every
def test_the_hessian_is_what_the_products_are_of(f: Smooth, shape: tuple[int, ...]) -> None:
    g = np.random.default_rng(1)
    x = g.standard_normal(shape)
    H, size = f.hessian(x), math.prod(shape)
    if hasattr(H, "ndim"):  # a diagonal or a matrix, on the flattened block
        assert H.shape in ((size,), (size, size))
    full = dense(f, x)
    np.testing.assert_allclose(full, full.T, atol=1e-7 * (1.0 + np.abs(full).max()))
    d = g.standard_normal(shape)
    np.testing.assert_allclose((full @ d.reshape(-1)).reshape(shape), f.curvature(x, d), rtol=1e-6, atol=1e-7)
    assert as_map(H, shape).norm() >= np.linalg.norm(full, 2) * (1 - 1e-6)


@every
def test_convexity_and_constant_curvature_are_what_is_said(f: Smooth, shape: tuple[int, ...]) -> None:
    g = np.random.default_rng(2)
    hessians = [dense(f, size * g.standard_normal(shape)) for size in (0.0, 0.1, 0.3, 1.0, 3.0)]
    lowest = min(np.linalg.eigvalsh(0.5 * (H + H.T)).min() for H in hessians)
    assert f.is_convex in (True, False, None)
    if f.is_convex is not None:
        assert f.is_convex == (lowest >= -1e-7)
    spread = max(np.abs(H - hessians[0]).max() for H in hessians)
    if f.is_quadratic:
        assert spread <= 1e-10


def test_what_is_said() -> None:
    unknown = {
        "quadratic, operator",
        "composed, wide",
        "composed, sparse",
        "own",
        "own in a sum",
        "own composed",
    }
    unknown |= {"sum, mixed", "sum, products", "given", "automatic", "automatic, linear"}
    nonconvex = {"phase", "phase, complex", "quadratic", "quadratic, matrix block", "quadratic, sparse"}
    nonconvex |= {"quadratic, identity", "reconstruction", "reconstruction, wide", "weighted, concave"}
    nonconvex |= {name for name in CASES if name.startswith("variance")}
    for name, (f, _) in CASES.items():
        assert f.is_convex is (None if name in unknown else name not in nonconvex), name
    quadratic = {name for name, (f, _) in CASES.items() if f.is_quadratic}
    kinds = ("least squares", "squares", "quadratic", "linear", "variance")
    others = {"composed, wide", "sum, mixed", "weighted, concave", "weighted, sparse"}
    assert quadratic == {n for n in CASES if n.startswith(kinds)} | others


def test_forms() -> None:
    """Matrices where they are small or sparse, diagonals where they are, operators elsewhere."""
    x = np.ones(4)
    assert type(CASES["least squares"][0].hessian(x)) is np.ndarray
    assert sp.issparse(CASES["least squares, sparse"][0].hessian(np.ones(5)))
    assert not hasattr(CASES["least squares, wide"][0].hessian(np.ones(5)), "ndim")
    assert CASES["quadratic, diagonal"][0].hessian(np.ones((2, 3))).shape == (6,)
    assert CASES["sum of diagonals"][0].hessian(np.ones((2, 3))).shape == (6,)
    assert CASES["sum, mixed"][0].hessian(x).shape == (4, 4)
    n = 100_000
    band = LeastSquares(sp.diags_array([np.ones(n), -np.ones(n - 1)], offsets=[0, 1]), np.ones(n))
    assert band.hessian(np.ones(n)).nnz < 4 * n


def test_diagonals_are_added_to_dense_matrices_without_sparse_ones(monkeypatch) -> None:
    H, d = np.arange(9.0).reshape(3, 3), np.array([1.0, 2.0, 3.0])
    kept = H.copy()
    np.testing.assert_array_equal(add([d, sp.csr_array(H), d], (3,)).toarray(), H + 2 * np.diag(d))
    monkeypatch.setattr(sp, "diags_array", None)
    for whole in (H, np.asfortranarray(H)):
        for parts in ([whole, d], [d, whole], [d, d, whole], [whole, d, whole]):
            found = add(parts, (3,))
            assert type(found) is np.ndarray
            np.testing.assert_array_equal(found, sum(p if p.ndim == 2 else np.diag(p) for p in parts))
    np.testing.assert_array_equal(H, kept)


@pytest.mark.parametrize(
    "name",
    [
        "least squares",
        "Huber",
        "logistic",
        "phase",
        "quadratic",
        "linear",
        "envelope",
        "variance",
        "sum",
        "own",
    ],
)
def test_other_libraries(name: str) -> None:
    f, shape = CASES[name]
    data = strict.asarray(TALL)
    ours = {
        "least squares": LeastSquares(data, strict.ones(6)),
        "Huber": HuberLoss(data, strict.asarray(f.y) if name == "Huber" else 0.0, 0.8),  # type: ignore[attr-defined]
        "logistic": Logistic(data, strict.asarray(LABELS)),
        "phase": PhaseRetrieval(data, strict.ones(6)),
        "quadratic": Quadratic(strict.asarray(SYMMETRIC), strict.ones(4)),
        "linear": Linear(strict.ones((2, 3))),
        "variance": PCAVariance(strict.asarray(DATA)),
        "sum": SmoothSum(
            [LeastSquares(data, 1.0), Logistic(data, strict.asarray(LABELS)), Linear(strict.ones(4))]
        ),
    }.get(name, f)
    x, d = np.random.default_rng(0).standard_normal((2, *shape))
    if name == "own":
        ours = as_smooth(smooth(lambda x: float(strict.sum(x**4)) / 12, lambda x: x**3 / 3), "f")  # type: ignore[assignment]
    product = ours.curvature(strict.asarray(x), strict.asarray(d))
    assert type(product) is type(strict.asarray(x))
    np.testing.assert_allclose(np.asarray(product), f.curvature(x, d), atol=1e-7)
    H = ours.hessian(strict.asarray(x))
    product = as_map(H, shape).apply(strict.asarray(d))
    np.testing.assert_allclose(np.asarray(product), f.curvature(x, d), atol=1e-7)


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_automatic_differentiation_twice(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(backend)
    f = smooth(quartic)
    monkeypatch.setattr(f, "_numpy_backend", backend)
    x, d = np.random.default_rng(0).standard_normal((2, 4))
    np.testing.assert_allclose(f.curvature(x, d), quotient(f, x, d), atol=1e-8)
    assert type(f.curvature(x, d)) is np.ndarray
    straight = smooth(lambda x: (2 * x).sum())
    monkeypatch.setattr(straight, "_numpy_backend", backend)
    np.testing.assert_array_equal(straight.curvature(x, d), 0.0)


def test_automatic_differentiation_of_tensors() -> None:
    torch = pytest.importorskip("torch")
    x, d = np.random.default_rng(0).standard_normal((2, 4))
    product = smooth(quartic).curvature(torch.tensor(x), torch.tensor(d))
    assert isinstance(product, torch.Tensor)
    np.testing.assert_allclose(product.numpy(), quotient(smooth(quartic), x, d), atol=1e-8)


def test_differences_at_zero_and_along_nothing() -> None:
    f = as_smooth(_Own(), "f")
    assert f is not None
    np.testing.assert_allclose(f.curvature(np.zeros(3), np.ones(3)), 0.0, atol=1e-9)
    np.testing.assert_array_equal(f.curvature(np.ones(3), np.zeros(3)), 0.0)
    huge, tiny = 1e8 * np.ones(3), 1e-8 * np.ones(3)
    np.testing.assert_allclose(f.curvature(huge, np.ones(3)), 1e16, rtol=1e-8)
    np.testing.assert_allclose(f.curvature(tiny, np.ones(3)), 1e-16, rtol=1e-8)


class _Wrong(_Own):
    def __init__(self, factor: float, name: str) -> None:
        setattr(self, name, lambda x, *d: factor * (x**2 * d[0] if d else (x**2).reshape(-1)))


@pytest.mark.parametrize("name", ["curvature", "hessian"])
def test_the_check_sees_mistakes(name: str) -> None:
    check_curvature(_Wrong(1.0, name), (3,))
    check_gradient(_Wrong(1.0, name), (3,))  # nor does that need more than a value and a gradient
    with pytest.raises(AssertionError, match=r"(curvature|hessian) at x = .* differences of the gradient"):
        check_curvature(_Wrong(1.001, name), (3,))


def test_no_function_is_forgotten() -> None:
    classes = {getattr(ipds.functions, name) for name in ipds.functions.__all__}
    smooth_ones = {c for c in classes if isinstance(c, type) and issubclass(c, Smooth) and c is not Smooth}
    assert all(c.curvature is not Smooth.curvature for c in smooth_ones)
    assert {type(f) for f, _ in CASES.values()} >= smooth_ones


MATRICES = {
    "definite": (SYMMETRIC @ SYMMETRIC + np.eye(4), True),
    "of low rank": (WIDE.T @ WIDE, True),
    "indefinite": (SYMMETRIC, False),
    "indefinite, diagonal positive": (np.array([[1.0, 2.0], [2.0, 1.0]]), False),
    "barely indefinite": (np.diag([1.0, 1.0, -1e-9]), False),
    "rounding": (np.diag([1.0, 1.0, -1e-14]) + 0.0, False),
    "zero": (np.zeros((3, 3)), True),
    "a Laplacian": (np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]), True),
}


@pytest.mark.parametrize("limit", [3000, 1])
@pytest.mark.parametrize(("matrix", "expected"), MATRICES.values(), ids=MATRICES.keys())
def test_semidefinite(
    matrix: np.ndarray, expected: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hessians, "FACTORED", limit)
    assert semidefinite(Matrix(sp.csr_array(matrix))) is expected
    if limit > 1 or np.any(matrix.diagonal() < 0):
        assert semidefinite(Matrix(matrix)) is expected
    else:
        assert semidefinite(Matrix(matrix)) is None  # too large to try


def test_semidefinite_of_maps() -> None:
    assert semidefinite(Identity(2.0)) is True
    assert semidefinite(Identity(-2.0)) is False
    assert semidefinite(Diagonal(np.array([1.0, 0.0]))) is True
    assert semidefinite(Diagonal(np.array([1.0, -1.0]))) is False
    assert semidefinite(as_operator(spla.aslinearoperator(np.eye(3)))) is None


@pytest.mark.parametrize("n", [8, 9, 33])
def test_entries_that_are_tied_are_found_out(n):
    """Whichever two they are, however little, beside terms that are sums over entries."""
    x, steps = np.linspace(0.5, 2.0, n), np.full(n, 1e-5)
    np.testing.assert_allclose(hessians.of_entries(np.exp, x, steps), np.exp(x), rtol=1e-8)
    for i in range(n):
        for j in range(i):
            tie = 1e-4 * (np.eye(n)[i] - np.eye(n)[j])
            assert hessians.of_entries(lambda v, tie=tie: np.exp(v) + tie * (tie @ v), x, steps) is None
    assert hessians.of_entries(np.exp, x[:7], steps[:7]) is None


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("sides", [1, 2])
def test_a_second_derivative_is_still_what_it_was_where_f_is_quadratic(unit, sides):
    """In any units, near the minimum as well, where gradients cancel; not where one entry bends a little more."""
    own, n = np.random.default_rng(0), 20
    B = own.standard_normal((n + 5, n))
    least = own.standard_normal(n)

    def grad(x: np.ndarray) -> np.ndarray:
        return unit * (B.T @ (B @ (x - least)))

    def further(x: np.ndarray) -> np.ndarray:
        return grad(x) + unit * 1e-2 * np.eye(n)[3] * max(x[3] - 50.0, 0.0)

    def made(x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        return np.full(n, hessians.step_size(x, sides)), grad(x) if sides == 1 else None

    at = own.standard_normal(n)
    H = hessians.by_differences(grad, at, *made(at))
    for x in (at + 1e-3, least, 100 * at):
        assert hessians.is_still(H, grad, x, *made(x))
    x = 100 + at
    steps = made(x)[0]
    assert not hessians.is_still(H, further, x, steps, further(x) if sides == 1 else None)
    assert not hessians.is_still(H, lambda x: np.full(n, np.nan), x, steps, None)
