"""`smooth`: callables with and without a gradient."""

from __future__ import annotations

import importlib.util
import math

import array_api_strict as strict
import numpy as np
import pytest

from ipds.functions import smooth, wrap

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
