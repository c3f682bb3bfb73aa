"""`smooth`: callables with and without a gradient."""

from __future__ import annotations

import importlib.util
import math
import sys

import array_api_strict as strict
import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import (
    L1,
    LeastSquares,
    Linear,
    PCAVariance,
    Stiefel,
    check_gradient,
    smooth,
    wrap,
)
from ipds.functions.composed import SmoothSum, Weighted
from ipds.theory.fixed import fixed_of

HAS_TORCH = importlib.util.find_spec("torch") is not None
HAS_JAX = importlib.util.find_spec("jax") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")
needs_jax = pytest.mark.skipif(not HAS_JAX, reason="JAX is not installed")
needs_either = pytest.mark.skipif(not (HAS_TORCH or HAS_JAX), reason="neither PyTorch nor JAX is installed")


def quartic(x):
    return 0.25 * (x**4).sum() + (x * x).sum()


def quartic_gradient(x):
    return x**3 + 2 * x


def test_given_gradient():
    f = smooth(quartic, quartic_gradient, lipschitz=3)
    x = np.array([[1.0, -2.0]])
    assert f(x) == 9.25
    assert type(f(x)) is float
    assert f.lipschitz == 3.0
    np.testing.assert_array_equal(f.grad(x), [[3.0, -12.0]])
    value, gradient = f.value_and_grad(x)
    assert value == 9.25
    np.testing.assert_array_equal(gradient, f.grad(x))
    assert smooth(quartic, quartic_gradient).lipschitz is None


@needs_either
@pytest.mark.parametrize("shape", [(), (4,), (3, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_automatic_gradient_of_numpy_blocks(shape, dtype):
    x = np.asarray(np.random.default_rng(0).standard_normal(shape), dtype=dtype)
    x.setflags(write=False)
    f = smooth(quartic)
    value, gradient = f.value_and_grad(x)
    assert isinstance(gradient, np.ndarray)
    assert gradient.dtype == dtype
    assert gradient.shape == shape
    tolerance = 1e-14 if dtype == np.float64 else 1e-6
    np.testing.assert_allclose(gradient, quartic_gradient(x), rtol=tolerance)
    np.testing.assert_array_equal(f.grad(x), gradient)
    assert f(x) == value == pytest.approx(float(quartic(x)), rel=tolerance)


@needs_either
def test_automatic_gradient_in_other_arrays():
    x = strict.asarray([1.0, -2.0])
    gradient = smooth(quartic).grad(x)
    assert type(gradient) is type(x)
    np.testing.assert_array_equal(np.asarray(gradient), [3.0, -12.0])
    np.testing.assert_array_equal(smooth(quartic).grad(np.array([1, -2])), [3.0, -12.0])


@needs_torch
@needs_jax
def test_what_pytorch_does_not_take_jax_may():
    """NumPy data beside x, and functions of jax.numpy."""
    jnp = importlib.import_module("jax.numpy")
    G = np.arange(6.0).reshape(3, 2)
    f = smooth(lambda x: jnp.sum(jnp.log(jnp.cosh(G @ x))))
    x = np.array([0.3, -0.2])
    np.testing.assert_allclose(f.grad(x), G.T @ np.tanh(G @ x))
    assert check_gradient(f, (2,)).worst < 1e-6


@needs_torch
@needs_jax
def test_a_library_that_is_imported_is_asked_before_one_that_is_not(monkeypatch):
    importlib.import_module("jax")
    asked, takes = [], wrap._takes
    monkeypatch.setattr(wrap, "_takes", lambda f, x, name: asked.append(name) or takes(f, x, name))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    np.testing.assert_allclose(smooth(lambda v: (v**4).sum()).grad(np.array([1.0, -2.0])), [4.0, -32.0])
    assert asked == ["jax"]


@needs_torch
def test_torch_tensors_stay_torch_tensors():
    import torch

    x = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    value, gradient = smooth(lambda v: torch.logsumexp(v, dim=0)).value_and_grad(x)
    assert isinstance(gradient, torch.Tensor)
    assert not gradient.requires_grad
    assert value == pytest.approx(math.log(math.e + math.exp(-2)))
    torch.testing.assert_close(gradient, torch.softmax(x.detach(), dim=0))
    assert x.grad is None


@needs_jax
def test_jax_arrays_and_numpy_through_jax(monkeypatch):
    import jax.numpy as jnp

    gradient = smooth(quartic).grad(jnp.asarray([1.0, -2.0]))
    np.testing.assert_allclose(np.asarray(gradient), [3.0, -12.0])
    monkeypatch.setattr(wrap, "_BACKENDS", ("jax",))
    through = smooth(quartic).grad(np.array([1.0, -2.0]))
    assert through.dtype == np.float64
    np.testing.assert_array_equal(through, [3.0, -12.0])


def test_nothing_is_imported_before_the_first_call_and_the_error_names_the_extras(monkeypatch):
    monkeypatch.setattr(wrap, "_BACKENDS", ("no_such_library",))
    f = smooth(quartic)
    with pytest.raises(ImportError, match=r"ipds-admm\[torch\].*ipds-admm\[jax\]"):
        f.grad(np.ones(2))


@needs_torch
@pytest.mark.parametrize(
    ("fun", "fragment"),
    [
        (lambda x: x, "must return a scalar computed from x, got Tensor of shape (3,)"),
        (lambda x: 1.0, "must return a scalar computed from x, got float"),
        (lambda x: x.detach().sum(), "does not depend on x"),
        (lambda x: np.sum(np.exp(x)), "pass grad="),
    ],
)
def test_functions_that_cannot_be_differentiated(fun, fragment):
    with pytest.raises(TypeError) as caught:
        smooth(fun).grad(np.ones(3))
    assert fragment in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "error", "fragment"),
    [
        ((3.0,), TypeError, "fun must be callable, got float"),
        ((None,), TypeError, "fun must be callable, got NoneType"),
        ((quartic, np.ones(2)), TypeError, "grad must be callable or None, got ndarray"),
        ((quartic, None, -1.0), ValueError, "lipschitz must be a finite number ≥ 0"),
        ((quartic, None, math.inf), ValueError, "lipschitz"),
        ((quartic, None, "1"), ValueError, "lipschitz"),
    ],
)
def test_invalid_arguments(arguments, error, fragment):
    with pytest.raises(error) as caught:
        smooth(*arguments)
    assert fragment in str(caught.value)


def squared_hinge(n: int):
    """½‖(1 - x)₊‖²: quadratic for x ≤ 1, zero beyond."""
    return smooth(
        lambda x: 0.5 * float((np.maximum(0, 1 - x) ** 2).sum()),
        lambda x: -np.maximum(0, 1 - x),
        lipschitz=1.0,
    )


def huber(n: int):
    """Quadratic in [-1, 1], linear beyond."""
    return smooth(
        lambda x: float(np.where(abs(x) <= 1, 0.5 * x**2, abs(x) - 0.5).sum()),
        lambda x: np.clip(x, -1, 1),
        lipschitz=1.0,
    )


@pytest.mark.parametrize("loss", [squared_hinge, huber])
@pytest.mark.parametrize("tol", [1e-4, 1e-12])
def test_a_piecewise_quadratic_given_as_two_callables_is_not_taken_for_a_quadratic(loss, tol):
    G = np.random.default_rng(0).standard_normal((40, 6))
    pull = LeastSquares(G, G @ np.full(6, 4.0))
    problem = Problem([Block(f=loss(6), A=-1.0, shape=6), Block(f=pull, h=L1(0.01), shape=6)])
    result = solve(problem, [np.full(6, 0.1)] * 2, tol=tol, max_iter=500)
    at_restored = problem.objective(problem.restore(result.x))
    assert result.fun == pytest.approx(at_restored, rel=1e-12)
    assert result.history["objective"][-1] == result.fun
    reference = solve(problem, method="ipds", tol=1e-9)
    assert result.fun == pytest.approx(reference.fun, rel=1e-4)


def indefinite(n=5):
    """(M, g) of the quadratic ½⟨x, Mx⟩ + ⟨g, x⟩ + 3."""
    rng = np.random.default_rng(3)
    M = rng.standard_normal((n, n))
    return M + M.T, rng.standard_normal(n)


def test_the_gradient_of_a_stated_quadratic_gives_its_value():
    M, g = indefinite()
    calls = {"fun": 0, "grad": 0}

    def fun(x):
        calls["fun"] += 1
        return 0.5 * x @ M @ x + g @ x + 3.0

    def grad(x):
        calls["grad"] += 1
        return M @ x + g

    f = smooth(fun, grad, quadratic=True)
    check_gradient(f, (5,))
    x = np.random.default_rng(0).standard_normal(5)
    f.value_and_grad(x)
    before = dict(calls)
    value, gradient = f.value_and_grad(2 * x)
    assert value == pytest.approx(float(fun(2 * x)), rel=1e-13)
    np.testing.assert_array_equal(gradient, grad(2 * x))
    assert (calls["fun"] - before["fun"], calls["grad"] - before["grad"]) == (
        1,
        2,
    )  # those of this test but one


def test_a_quadratic_that_is_none_is_refused():
    f = smooth(quartic, quartic_gradient, quadratic=True)
    with pytest.raises(ValueError, match="quadratic=True, but"):
        f.value_and_grad(np.ones(3))
    with pytest.raises(ValueError, match="quadratic=True needs grad"):
        smooth(quartic, quadratic=True)


def test_value_and_gradient_together():
    calls = []

    def both(x):
        calls.append(1)
        return quartic(x), quartic_gradient(x)

    f = smooth(quartic, value_and_grad=both)
    check_gradient(f, (3,))
    before = len(calls)
    value, gradient = f.value_and_grad(np.ones(3))
    assert (type(value), len(calls)) == (float, before + 1)
    np.testing.assert_array_equal(f.grad(np.ones(3)), gradient)
    with pytest.raises(TypeError, match="value_and_grad must be callable or None"):
        smooth(quartic, value_and_grad=3)


def test_about_one_product_serves_value_and_gradient_in_a_solve_whether_stated_or_bounded():
    M, _ = indefinite()
    products = []

    def product(V):
        products.append(1)
        return M @ V

    def problem(quadratic):
        f = smooth(
            lambda V: 0.5 * float(np.vdot(V, product(V))),
            product,
            lipschitz=np.linalg.norm(M, 2),
            quadratic=quadratic,
        )
        return Problem([Block(f=f, h=Stiefel(), A=-1.0, shape=(5, 2)), Block(h=L1(0.2), shape=(5, 2))])

    found, counts = [], []
    for quadratic in (False, True):
        products.clear()
        found.append(solve(problem(quadratic), seed=0, max_iter=60, tol=0.0))
        counts.append(len(products))
    assert found[0].fun == pytest.approx(found[1].fun, rel=1e-4)
    assert counts[1] < counts[0] <= 1.6 * counts[1]


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1.0, 30.0])
def test_a_gradient_bounds_the_value_nearby_and_tells_that_of_a_quadratic_but_for_the_curvature(scale):
    rng = np.random.default_rng(0)
    Q = rng.standard_normal((5, 5))
    Q = Q + Q.T
    L = float(np.abs(np.linalg.eigvalsh(Q)).max())
    bent = smooth(lambda x: 0.5 * float(x @ Q @ x), lambda x: Q @ x, lipschitz=L)
    kinked = smooth(
        lambda x: float(np.where(abs(x) < 1, x * x / 2, abs(x) - 0.5).sum()), lambda x: np.clip(x, -1, 1), 1.0
    )
    for f in (bent, kinked):
        assert f.bounds_values
        for _ in range(20):
            x, move = rng.standard_normal(5), scale * rng.standard_normal(5)
            bound, gradient = f.bound_and_grad(x + move, x, f(x), f.grad(x))
            slack = f.lipschitz / 4 * move @ move
            assert -1e-12 * abs(f(x)) <= bound - f(x + move) <= 2 * slack + 1e-12 * abs(f(x))
            np.testing.assert_array_equal(gradient, f.grad(x + move))
            if f is bent:
                assert bound - f(x + move) == pytest.approx(slack, rel=1e-6, abs=1e-12 * abs(f(x)))


def test_the_bound_is_reached_by_a_function_that_bends_there_and_back():
    f = smooth(
        lambda x: float(np.where(x < 0.5, x * x / 2, x - x * x / 2 - 0.25)),
        lambda x: np.minimum(x, 1 - x),
        1.0,
    )
    bound, _ = f.bound_and_grad(np.array(1.0), np.array(0.0), 0.0, np.array(0.0))
    assert bound == pytest.approx(f(np.array(1.0)))


def test_the_gradient_at_zero_of_pca_takes_no_product(monkeypatch):
    rng = np.random.default_rng(0)
    f = PCAVariance(rng.standard_normal((30, 6)))
    both = SmoothSum([Weighted(f, -2.0), Linear(rng.standard_normal((6, 2)))])
    x = rng.standard_normal((6, 2))
    at_zero = both.grad(np.zeros((6, 2)))
    monkeypatch.setattr(f._data, "apply", None)
    np.testing.assert_array_equal(both.grad_at_zero(x), at_zero)
    blocks = [Block(f=f, h=Stiefel(), A=-1.0, shape=(6, 2)), Block(h=L1(1.0), shape=(6, 2))]
    np.testing.assert_array_equal(fixed_of(Problem(blocks), [x, x]).at_zero[0], np.zeros((6, 2)))


def test_values_are_bounded_only_where_they_cost_extra_and_exist_everywhere():
    square, slope = (lambda x: 0.5 * float(x @ x)), (lambda x: 1.0 * x)
    assert smooth(square, slope, 1.0).bounds_values
    assert not smooth(square, slope).bounds_values
    assert not smooth(square, slope, 1.0, quadratic=True).bounds_values
    assert not smooth(square, slope, 1.0, value_and_grad=lambda x: (square(x), slope(x))).bounds_values


@needs_jax
def test_gradients_by_jax_are_compiled_once():
    jnp = importlib.import_module("jax.numpy")
    seen = []

    def fun(x):
        seen.append(x)
        return jnp.sum(jnp.sqrt(1 + x**2))

    f = smooth(fun)
    for k in range(30):
        x = np.arange(4.0) + k
        np.testing.assert_allclose(f.grad(x), x / np.sqrt(1 + x**2), rtol=1e-12)
        np.testing.assert_allclose(f.curvature(x, x), x / (1 + x**2) ** 1.5, rtol=1e-12)
    assert len(seen) <= 5
