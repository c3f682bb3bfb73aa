"""`smooth`: plain callables as a smooth function, differentiated automatically where no gradient is given."""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy as np

from .._arrays import Array, dot, is_traced, precision, scalar, to_numpy
from .._arrays.compiling import pure
from .adapters import returned_number
from .base import Smooth

_BACKENDS = ("torch", "jax")


def smooth(
    fun: Callable[[Array], Any],
    grad: Callable[[Array], Array] | None = None,
    lipschitz: float | None = None,
    *,
    value_and_grad: Callable[[Array], tuple[Any, Array]] | None = None,
    quadratic: bool = False,
    convex: bool | None = None,
) -> Smooth:
    """The function x ↦ fun(x) with gradient `grad`.

    Without `grad` the gradient comes from automatic differentiation: PyTorch for tensors, JAX for JAX arrays.
    NumPy blocks are handed to `fun` as tensors of PyTorch, or, where it is not installed or `fun` fails on them, as
    arrays of JAX, of the same dtype: `fun` must be written with operators, methods (`(x**2).sum()`) or their functions.

    Parameters
    ----------
    fun, grad : x ↦ f(x), x ↦ ∇f(x).
    lipschitz : the constant of the gradient; leave it out where there is none or it is not known.
    value_and_grad : x ↦ (f(x), ∇f(x)), where both together take less work than one after the other.
    convex : whether f is convex, where it is known: a convex problem may be solved by Newton steps, and its certificate
        has a gap.
    quadratic : whether f is a quadratic: then f(x) = f(0) + ½⟨x, ∇f(x) + ∇f(0)⟩, and a gradient gives the value too.

    >>> f = smooth(lambda x: 0.5 * (x**2).sum(), grad=lambda x: x, lipschitz=1.0)
    >>> f(np.ones(4)), f.grad(np.ones(2))
    (2.0, array([1., 1.]))
    >>> smooth(lambda x: 0.5 * (x**2).sum(), lambda x: x, quadratic=True).value_and_grad(np.ones(4))[0]
    2.0
    """
    for name, given in (("fun", fun), ("grad", grad), ("value_and_grad", value_and_grad)):
        if not callable(given) and not (given is None and name != "fun"):
            raise TypeError(
                f"smooth: {name} must be callable{'' if name == 'fun' else ' or None'}, got {type(given).__name__}"
            )
    if lipschitz is not None:
        if isinstance(lipschitz, str) or not math.isfinite(lipschitz) or lipschitz < 0:
            raise ValueError(f"smooth: lipschitz must be a finite number ≥ 0 or None, got {lipschitz!r}")
        lipschitz = float(lipschitz)
    if convex not in (None, True, False):
        raise TypeError(f"smooth: convex must be True, False or None, got {convex!r}")
    f: _Given | _Automatic
    if value_and_grad is not None:
        both = value_and_grad
        f = _Together(fun, grad or (lambda x: both(x)[1]), lipschitz, both)
    elif grad is None:
        if quadratic:
            raise ValueError("smooth: quadratic=True needs grad, whose one product then serves the value too")
        f = _Automatic(fun, lipschitz)
    else:
        f = _Quadratic(fun, grad, lipschitz) if quadratic else _Given(fun, grad, lipschitz)
    f.is_convex = convex
    return f


class _Wrapped(Smooth):
    """A function that was given as a callable."""

    def __init__(self, fun: Callable[[Array], Any], lipschitz: float | None):
        self.fun = fun
        self.lipschitz = lipschitz

    def __repr__(self) -> str:
        return f"smooth({getattr(self.fun, '__name__', type(self.fun).__name__)})"


class _Given(_Wrapped):
    """A value and a gradient, as given."""

    def __init__(self, fun: Callable[[Array], Any], grad: Callable[[Array], Array], lipschitz: float | None):
        super().__init__(fun, lipschitz)
        self._grad = grad

    def __call__(self, x: Array) -> float:
        return returned_number("smooth: fun", self.fun(x))

    def grad(self, x: Array) -> Array:
        return self._grad(x)


class _Together(_Given):
    """A value, a gradient, and both at once, as given."""

    def __init__(self, fun: Any, grad: Any, lipschitz: float | None, value_and_grad: Any):
        super().__init__(fun, grad, lipschitz)
        self._value_and_grad = value_and_grad

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        value, gradient = self._value_and_grad(x)
        return scalar(value), gradient


class _Quadratic(_Given):
    """A value and a gradient of a quadratic: f(x) = f(0) + ½⟨x, ∇f(x) + ∇f(0)⟩."""

    is_quadratic = True

    def __init__(self, fun: Any, grad: Any, lipschitz: float | None):
        super().__init__(fun, grad, lipschitz)
        self._at_zero: dict[Any, tuple[float, Array]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_at_zero": {}}  # what it is, not what it has found out

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        gradient, key = self._grad(x), (type(x), tuple(x.shape), x.dtype)
        constant, slope = self._at_zero.get(key) or (self(0.0 * x), self._grad(0.0 * x))
        value = constant + 0.5 * dot(x, gradient + slope)
        if key not in self._at_zero and not is_traced(value):
            self._require_quadratic(x, float(value), float(constant))
            self._at_zero[key] = constant, slope
        return value, gradient

    def _require_quadratic(self, x: Array, value: float, constant: float) -> None:
        actual, tolerance = float(self(x)), max(1e-9, 1e4 * precision(x))
        if not abs(value - actual) <= tolerance * (abs(actual) + abs(constant)):
            raise ValueError(
                f"smooth: quadratic=True, but f(0) + ½⟨x, ∇f(x) + ∇f(0)⟩ = {value:.6g} is not fun(x) = {actual:.6g}; "
                "leave quadratic out, or see check_gradient"
            )


class _Automatic(_Wrapped):
    """A value whose gradient another library derives."""

    def __init__(self, fun: Callable[[Array], Any], lipschitz: float | None):
        super().__init__(fun, lipschitz)
        self._numpy_backend: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_numpy_backend": None}  # what it is, not what it has found out

    def __call__(self, x: Array) -> float:
        return self._differentiate(x, False)[0]

    def grad(self, x: Array) -> Array:
        return self._differentiate(x, True)[1]

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        return self._differentiate(x, True)

    def curvature(self, x: Array, d: Array) -> Array:
        """∇²f(x) d, by differentiating the slope ⟨∇f(x), d⟩ once more."""
        library, given = self._backend(x)
        along = d if given is x else to_numpy(d).astype(given.dtype)
        if library == "torch":
            product = _torch_product(self.fun, given, along)
        else:
            product = _jax_product(self, given, along)
        return product if given is x else array_api_compat.array_namespace(x).asarray(product)

    def _differentiate(self, x: Array, need_grad: bool) -> tuple[float, Array]:
        library, given = self._backend(x)
        if library == "torch":
            value, gradient = _torch(self.fun, given, need_grad)
        else:
            value, gradient = _jax(self, given, need_grad)
        if need_grad and given is not x and not isinstance(x, np.ndarray):
            gradient = array_api_compat.array_namespace(x).asarray(gradient)
        return value, gradient

    def _backend(self, x: Array) -> tuple[str, Array]:
        """The library that differentiates at x, and x as it takes it: its own array, or a floating NumPy one."""
        if array_api_compat.is_torch_array(x):
            return "torch", x
        if array_api_compat.is_jax_array(x):
            return "jax", x
        given = to_numpy(x)
        given = given if np.issubdtype(given.dtype, np.floating) else given.astype(float)
        if self._numpy_backend is None:
            self._numpy_backend = _working_backend(self, given)
        return self._numpy_backend, given


def _working_backend(f: _Automatic, x: np.ndarray) -> str:
    """The first library that is installed and takes f at x, those first that are imported; where none does, the first.

    Who has written f for one of them has imported it, and the import of another would take longer than most solves.
    """
    installed = [name for name in _BACKENDS if importlib.util.find_spec(name) is not None]
    if not installed:
        raise ImportError(
            "smooth: without `grad` the gradient needs PyTorch or JAX; "
            "install one (pip install 'ipds-admm[torch]' or 'ipds-admm[jax]') or pass grad="
        )
    order = sorted(installed, key=lambda name: name not in sys.modules)
    takers = (name for name in order if len(installed) == 1 or _takes(f, x, name))
    return next(takers, installed[0])


def _takes(f: _Automatic, x: np.ndarray, library: str) -> bool:
    """Whether f has a value at a tensor of PyTorch, or a gradient by JAX."""
    try:
        if library == "torch":
            f.fun(importlib.import_module("torch").tensor(x).requires_grad_(True))
        else:
            _jax(f, x, True)
    except Exception:  # of the caller's function: what PyTorch says of it is said
        return False
    return True


def _torch(fun: Callable[[Array], Any], x: Array, need_grad: bool) -> tuple[float, Array]:
    torch = importlib.import_module("torch")
    # a copy: `fun` can neither change the caller's array nor meet a read-only one
    variable = torch.tensor(x) if isinstance(x, np.ndarray) else x.detach().clone()
    variable.requires_grad_(need_grad)
    try:
        value = fun(variable)
    except (TypeError, RuntimeError) as error:
        arrays = "numpy" in str(error).lower() or "ndarray" in str(error)
        remedy = "data in it must be tensors too, G = torch.as_tensor(G); else " if arrays else ""
        raise TypeError(
            f"smooth: fun failed on a PyTorch tensor ({error}); {remedy}write it with operators, methods or torch "
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


def _torch_product(fun: Callable[[Array], Any], x: Array, d: Array) -> Array:
    """∇²f(x) d."""
    torch = importlib.import_module("torch")
    plain = isinstance(x, np.ndarray)
    variable = (torch.tensor(x) if plain else x.detach().clone()).requires_grad_(True)
    (gradient,) = torch.autograd.grad(fun(variable).reshape(()), variable, create_graph=True)
    if not gradient.requires_grad:  # a linear function
        return np.zeros_like(x) if plain else torch.zeros_like(x)
    slope = (gradient * (torch.tensor(d) if plain else d)).sum()
    (product,) = torch.autograd.grad(slope, variable)
    return product.numpy() if plain else product


def _jax_product(f: _Automatic, x: Array, d: Array) -> Array:
    """∇²f(x) d, compiled where x is NumPy's: thousands of products may be asked for."""
    jax = importlib.import_module("jax")
    if not isinstance(x, np.ndarray):
        return _second(f, x, d)
    with _float64(jax):
        variable = jax.numpy.asarray(x)
        return np.array(pure(_second, f, variable, jax.numpy.asarray(d), like=variable))


def _second(f: _Automatic, x: Array, d: Array) -> Array:
    jax = importlib.import_module("jax")
    return jax.jvp(jax.grad(f.fun), (x,), (d,))[1]


def _jax(f: _Automatic, x: Array, need_grad: bool) -> tuple[float, Array]:
    """The value and the gradient, which is compiled where x is NumPy's."""
    jax = importlib.import_module("jax")
    if not isinstance(x, np.ndarray):
        return _first(f, x) if need_grad else (scalar(f.fun(x)), None)
    with _float64(jax):
        variable = jax.numpy.asarray(x)
        if not need_grad:
            return float(f.fun(variable)), None
        value, gradient = pure(_first, f, variable, like=variable)
        return float(value), np.array(gradient)


def _first(f: _Automatic, x: Array) -> tuple[Any, Array]:
    return importlib.import_module("jax").value_and_grad(f.fun)(x)


def _float64(jax: Any) -> Any:
    """Context in which JAX keeps float64 blocks in float64; the name moved in JAX 0.8."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return importlib.import_module("jax.experimental").enable_x64()


def _describe(value: object) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"{type(value).__name__} of shape {tuple(shape)}"
