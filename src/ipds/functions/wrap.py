"""`smooth`: plain callables as a smooth function, differentiated automatically where no gradient is given."""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy as np

from .._arrays import Array, scalar, to_numpy
from .base import Smooth

_BACKENDS = ("torch", "jax")


def smooth(
    fun: Callable[[Array], Any], grad: Callable[[Array], Array] | None = None, lipschitz: float | None = None
) -> Smooth:
    """The function x ↦ fun(x) with gradient `grad`.

    Without `grad` the gradient comes from automatic differentiation: PyTorch for tensors, JAX for JAX arrays.
    NumPy blocks are handed to `fun` as tensors of PyTorch (or JAX, where PyTorch is not installed) of the
    same dtype, so `fun` must be written with operators, methods (`(x**2).sum()`) or that library's functions.
    `lipschitz` is the constant of the gradient; leave it out where there is none or it is not known.

    >>> f = smooth(lambda x: 0.5 * (x**2).sum(), grad=lambda x: x, lipschitz=1.0)
    >>> f(np.ones(4)), f.grad(np.ones(2))
    (2.0, array([1., 1.]))
    """
    if not callable(fun):
        raise TypeError(f"smooth: fun must be callable, got {type(fun).__name__}")
    if grad is not None and not callable(grad):
        raise TypeError(f"smooth: grad must be callable or None, got {type(grad).__name__}")
    if lipschitz is not None:
        if isinstance(lipschitz, str) or not math.isfinite(lipschitz) or lipschitz < 0:
            raise ValueError(f"smooth: lipschitz must be a finite number ≥ 0 or None, got {lipschitz!r}")
        lipschitz = float(lipschitz)
    return _Automatic(fun, lipschitz) if grad is None else _Given(fun, grad, lipschitz)


class _Given(Smooth):
    """A value and a gradient, as given."""

    def __init__(self, fun: Callable[[Array], Any], grad: Callable[[Array], Array], lipschitz: float | None):
        self.fun = fun
        self._grad = grad
        self.lipschitz = lipschitz

    def __call__(self, x: Array) -> float:
        return scalar(self.fun(x))

    def grad(self, x: Array) -> Array:
        return self._grad(x)


class _Automatic(Smooth):
    """A value whose gradient another library derives."""

    def __init__(self, fun: Callable[[Array], Any], lipschitz: float | None):
        self.fun = fun
        self.lipschitz = lipschitz
        self._numpy_backend: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_numpy_backend": None}  # what it is, not what it has found out

    def __call__(self, x: Array) -> float:
        return self._differentiate(x, False)[0]

    def grad(self, x: Array) -> Array:
        return self._differentiate(x, True)[1]

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        return self._differentiate(x, True)

    def _differentiate(self, x: Array, need_grad: bool) -> tuple[float, Array]:
        if array_api_compat.is_torch_array(x):
            return _torch(self.fun, x, need_grad)
        if array_api_compat.is_jax_array(x):
            return _jax(self.fun, x, need_grad)
        if self._numpy_backend is None:
            self._numpy_backend = _installed_backend()
        given = to_numpy(x)
        if not np.issubdtype(given.dtype, np.floating):
            given = given.astype(float)
        value, gradient = (_torch if self._numpy_backend == "torch" else _jax)(self.fun, given, need_grad)
        if need_grad and not isinstance(x, np.ndarray):
            gradient = array_api_compat.array_namespace(x).asarray(gradient)
        return value, gradient


def _installed_backend() -> str:
    for name in _BACKENDS:
        if importlib.util.find_spec(name) is not None:
            return name
    raise ImportError(
        "smooth: without `grad` the gradient needs PyTorch or JAX; "
        "install one (pip install 'ipds-admm[torch]' or 'ipds-admm[jax]') or pass grad="
    )


def _torch(fun: Callable[[Array], Any], x: Array, need_grad: bool) -> tuple[float, Array]:
    torch = importlib.import_module("torch")
    # a copy: `fun` can neither change the caller's array nor meet a read-only one
    variable = torch.tensor(x) if isinstance(x, np.ndarray) else x.detach().clone()
    variable.requires_grad_(need_grad)
    try:
        value = fun(variable)
    except (TypeError, RuntimeError) as error:
        raise TypeError(
            f"smooth: fun failed on a PyTorch tensor ({error}); write it with operators, methods or torch "
            "functions, or pass grad="
        ) from error
    if not isinstance(value, torch.Tensor) or value.numel() != 1:
        if need_grad or isinstance(value, torch.Tensor):
            raise TypeError(f"smooth: fun must return a scalar computed from x, got {_describe(value)}")
        return float(value), None
    plain = value.detach().reshape(())
    if isinstance(x, np.ndarray):
        plain = float(plain)
    if not need_grad:
        return plain, None
    if not value.requires_grad:
        raise TypeError(
            "smooth: the value of fun does not depend on x through PyTorch operations; pass grad="
        )
    (gradient,) = torch.autograd.grad(value.reshape(()), variable)
    return plain, gradient.numpy() if isinstance(x, np.ndarray) else gradient


def _jax(fun: Callable[[Array], Any], x: Array, need_grad: bool) -> tuple[float, Array]:
    jax = importlib.import_module("jax")
    if not isinstance(x, np.ndarray):
        if not need_grad:
            return scalar(fun(x)), None
        return jax.value_and_grad(fun)(x)
    with _float64(jax):
        variable = jax.numpy.asarray(x)
        if not need_grad:
            return float(fun(variable)), None
        value, gradient = jax.value_and_grad(fun)(variable)
        return float(value), np.array(gradient)


def _float64(jax: Any) -> Any:
    """Context in which JAX keeps float64 blocks in float64; the name moved in JAX 0.8."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return importlib.import_module("jax.experimental").enable_x64()


def _describe(value: object) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"{type(value).__name__} of shape {tuple(shape)}"
