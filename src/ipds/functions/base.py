"""What a function must offer to take part in a problem.

Two kinds: `Nonsmooth` (the h_i, known by their prox) and `Smooth` (the f_i, known by their gradient).
Subclass them for your own functions, or pass any object with the same methods; verify it with
`check_prox` or `check_gradient`. Everything below but `__call__`, `prox` and `grad` is optional: the defaults here say
"not known" or compute it from these. The table in docs/own.md lists what is asked by whom.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from .._abstract import Abstract
from .._arrays import Array, Shape, dot, magnitude, scaled_difference, zeros
from .far import is_zero, receding_by_bounds, recession_by_slopes, support_by_bounds
from .hessians import Products, difference
from .kinks import Groups, Kinks
from .rescaling import Powers, in_units, one_unit, units

if TYPE_CHECKING:
    from .faces import Face


class OnExpressions:
    """A subclass's `__call__` answers arrays; an x with `__ipds_term__` is asked for x.__ipds_term__(self) instead.

    Its text is its name and public attributes, arrays by their shape.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__call__" in vars(cls):
            cls.__call__ = _value_or_term(vars(cls)["__call__"])  # type: ignore[method-assign]

    def _apart(self, *other: Any) -> NoReturn:
        raise TypeError(
            f"{self!r} is a function; call it on an expression before you add or multiply: {self!r}(x)"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __neg__ = _apart

    def __repr__(self) -> str:
        public = {k: v for k, v in vars(self).items() if not k.startswith(("_", "is_"))}
        return f"{type(self).__name__}({', '.join(f'{k}={_short(v)}' for k, v in public.items())})"


def _short(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"array{tuple(shape)}" if shape is not None and len(shape) else f"{value}"


def _value_or_term(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def __call__(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        if type(x) is not np.ndarray and hasattr(x, "__ipds_term__"):
            if args or kwargs:
                raise TypeError(f"{self!r} takes one expression; of several, write concatenate([...])")
            return x.__ipds_term__(self)
        return call(self, x, *args, **kwargs)

    return __call__


class Domain(NamedTuple):
    """The open set on which a function with logarithms is finite and smooth, for searches that must stay inside it.

    `contains(x)` tests a point; `inside(x)` is x itself where it lies inside, else a point inside, a start, that agrees
    with x as far as it can. `text` says it in words, for messages.
    """

    contains: Callable[[Array], bool]
    inside: Callable[[Array], Array]
    text: str


class Nonsmooth(OnExpressions, metaclass=Abstract):
    """A closed function h, possibly nonconvex or extended-valued, with an exact prox.

    prox_h(v, s) ∈ argmin_u h(u) + ‖u - v‖²/(2 s) for every step s > 0.
    """

    is_convex: bool = False
    is_set: bool = False
    """Whether h takes the values 0 and ∞ only."""
    is_entrywise: bool = False
    """Whether h is a sum over entries: then `step` may be an array like v, one for each, and the prox minimises
    h(u) + Σ (u_i - v_i)²/(2 step_i)."""
    is_manifold: bool = False
    """Whether h is the indicator of a smooth manifold, so that `tangent` is defined."""
    is_discrete: bool = False
    """Whether h is the indicator of isolated points: each of them is critical, whatever the other forces."""
    domain: Domain | None = None
    """The open set on which h is finite, for functions with logarithms."""
    unit_powers: Powers | None = None
    """(parameter, power) of all parameters that u ↦ h(d·u) has times d to the power, where nothing else changes."""
    has_faces: bool = False
    """Whether `face` may answer with free entries (`faces.Coordinates`)."""

    @abstractmethod
    def __call__(self, x: Array) -> float:
        """Value h(x): a float, `inf` outside the domain."""

    @abstractmethod
    def prox(self, v: Array, step: float) -> Array:
        """A global minimiser u of h(u) + ‖u - v‖²/(2 step); `v` is left as it is."""

    def takes(self, shape: Shape) -> bool:
        """Whether every block of this shape is known to have a prox of that shape; where not, a start is tried."""
        return False

    def prox_warm(self, v: Array, step: float, warm: Any = None) -> tuple[Array, Any]:
        """(prox(v, step), what the next call may start from), where `warm` came from such a call at a near-by v.

        The prox is the same; where it is found by iteration, it is found sooner. The first call is given `warm_start`.
        """
        return self.prox(v, step), None

    def warm_start(self, x: Array) -> Any:
        """What a first `prox_warm` of blocks like x is given: an array of the shape it will return, or None."""
        return None

    def prox_jacobian(self, v: Array, step: float) -> Any:
        """An element J of the generalised Jacobian of prox(·, step) at v, None where it is not known.

        An array where h is entrywise: the diagonal of J. Else a symmetric `Operator` on arrays like v. For convex h,
        0 ≼ J ≼ I. For nonconvex h it is the derivative of the branch that the prox takes.
        """
        return None

    def face(self, x: Array) -> Face | None:
        """What is decided at a point x of a nonconvex h (`ipds.functions.faces`); None where nothing is."""
        return None

    def is_idle(self, shape: Shape) -> bool:
        """Whether h is the indicator of a set that holds every block of this shape."""
        return False

    def rescaled(self, d: float | Array) -> Nonsmooth | None:
        """The function u ↦ h(d·u) for d > 0, a number or an array that broadcasts to the block and has as many axes.

        None where it is none of the functions known here. By `unit_powers`; unless h is a sum over entries, for one
        number d only.
        """
        powers = self.unit_powers
        unit = None if powers is None else units(d) if self.is_entrywise else one_unit(d)
        return None if unit is None or powers is None else in_units(self, unit, powers)

    def soften(self, u: Array, s: float) -> tuple[Any, Array]:
        """(value, gradient) at u of a smooth function near a convex h, the gradient Lipschitz with the constant 1/s.

        Here the Moreau envelope min_x h(x) + ‖x - u‖²/(2s), with the gradient (u - prox(u, s))/s. A smoothing that
        bends everywhere, not only near the kinks of h, leads to better minima where h competes with a nonconvex f.
        """
        x = self.prox(u, s)
        d = scaled_difference(u, x, 1 / s)
        return self(x) + 0.5 * s * dot(d, d), d

    def prox_size(self, v: Array) -> Any:
        """Norm of the largest arrays that `prox` computes with at v, whose rounding its result inherits.

        ‖v‖, unless h has constants that are added and taken away again. The certificate counts rounding by it.
        """
        return magnitude(v)

    def lipschitz(self, shape: Shape) -> float:
        """Lipschitz constant C_h with respect to the Euclidean norm, `inf` where there is none."""
        return math.inf

    def kinks(self, shape: Shape) -> Kinks | None:
        """The slopes, kink and bounds of every entry, where h is piecewise linear with one kink; else None."""
        return None

    def groups(self, shape: Shape) -> Groups | None:
        """The groups and their weights, where h is a sum of Euclidean norms; else None."""
        return None

    def support(self, y: Array) -> float:
        """sup ⟨y, x⟩ over the domain of a convex h, or an upper bound of it: `inf` where none is known.

        Here from the bounds in `kinks`; with an h that is finite everywhere, 0 for y = 0 alone.
        """
        kinks = self.kinks(tuple(y.shape))
        return support_by_bounds(kinks, y) if kinks is not None else 0.0 if is_zero(y) else math.inf

    def recession(self, d: Array) -> float:
        """lim h(x + t d)/t for t → ∞ of a convex h, or an upper bound of it: `inf` where none is known."""
        kinks = self.kinks(tuple(d.shape))
        return recession_by_slopes(kinks, d) if kinks is not None else 0.0 if is_zero(d) else math.inf

    def receding(self, d: Array) -> Array:
        """The direction nearest to d in which the domain of a convex h never ends.

        Here from the bounds in `kinks`; d itself where h is finite everywhere; else 0, which holds for every h.
        """
        kinks = self.kinks(tuple(d.shape))
        if kinks is not None:
            return receding_by_bounds(kinks, d)
        return d if math.isfinite(self.lipschitz(tuple(d.shape))) else 0.0 * d

    def width(self, shape: Shape) -> float | Array:
        """How far apart two points of the domain can be in every entry of a block: a number or an array, `inf` where
        there is no bound, or none is known."""
        kinks = self.kinks(shape)
        return math.inf if kinks is None else kinks.upper - kinks.lower

    def subgradient(self, x: Array) -> Array:
        """One element of the (limiting) subdifferential ∂h(x)."""
        raise NotImplementedError(f"{type(self).__name__} offers no subgradient")

    def tangent(self, x: Array, g: Array) -> Array:
        """Orthogonal projection of g on the tangent space at x, where `is_manifold`."""
        raise NotImplementedError(f"{type(self).__name__} is not a manifold")

    def steepest(self, x: Array, g: Array) -> Array:
        """The gradient on a manifold of a function whose gradient in the space around is g, in the metric in which to
        descend: one of the manifold's own where that serves better; here `tangent`."""
        return self.tangent(x, g)

    def mirror(self, x: Array, y: Array) -> Array:
        """The image of x nearest to y, of those under signs and orders that tell no solutions apart; here x itself.

        Annealing begins some cycles midway between two points of a manifold. What is no symmetry of the problem does no
        harm but to such a start.
        """
        return x


class Smooth(OnExpressions, metaclass=Abstract):
    """A differentiable function f, possibly nonconvex.

    `lipschitz` is the constant L of ‖∇f(x) - ∇f(y)‖ ≤ L‖x - y‖, or None where only a local one exists.
    """

    lipschitz: float | None = None
    is_convex: bool | None = None
    """Whether f is convex, None where that is not known."""
    is_quadratic: bool = False
    """Whether ∇²f is constant."""
    is_even: bool = False
    """Whether f(-x) = f(x) for all x, with minima away from 0: a descent cannot cross over."""
    domain: Domain | None = None
    """The open set on which f is finite, None for everywhere: outside f(x) = ∞, and ∇f(x) is any finite array. Starts
    lie inside, and searches turn back from infinite values."""

    @abstractmethod
    def __call__(self, x: Array) -> float:
        """Value f(x)."""

    @abstractmethod
    def grad(self, x: Array) -> Array:
        """Gradient ∇f(x), of the shape of x."""

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """(f(x), ∇f(x)), sharing work where the function can."""
        return self(x), self.grad(x)

    def grad_at_zero(self, x: Array) -> Array:
        """∇f(0), an array like x: without a product where the function knows it."""
        return self.grad(zeros(tuple(x.shape), x))

    @property
    def bounds_values(self) -> bool:
        """Whether a value costs more than the gradient alone, and `bound_and_grad` may stand for it."""
        costs_more = type(self).value_and_grad is Smooth.value_and_grad
        return costs_more and self.domain is None and self.lipschitz is not None

    def bound_and_grad(self, y: Array, x: Array, value: Any, slope: Array) -> tuple[Any, Array]:
        """(a bound of f(y) from above, ∇f(y)) from f(x), or a bound of it, and ∇f(x), by the gradient alone:

            f(y) ≤ f(x) + ½⟨∇f(x) + ∇f(y), y - x⟩ + L/4 ‖y - x‖²

        φ(t) = f(x + t(y - x)) has φ'(t) ≤ φ'(0) + Mt and φ'(t) ≤ φ'(1) + M(1 - t) with M = L‖y - x‖², and the integral
        of the smaller of both exceeds that of the straight line between φ'(0) and φ'(1) by M/4 at most.
        """
        assert self.lipschitz is not None
        gradient, move = self.grad(y), y - x
        along = 0.5 * (dot(slope, move) + dot(gradient, move))
        return value + along + (self.lipschitz / 4) * dot(move, move), gradient

    def curvature(self, x: Array, d: Array) -> Array:
        """∇²f(x) d, of the shape of x; here by a central difference of the gradient."""
        return difference(self.grad, x, d)

    @property
    def single(self) -> Smooth | None:
        """The same function with data in single precision; None where it has none that can be rounded, as here."""
        return None

    def rescaled(self, d: float | Array) -> Smooth | None:
        """The function x ↦ f(d·x) for d > 0, as for `Nonsmooth`; None where only `Composed` says it."""
        return None

    def recession(self, d: Array) -> float:
        """lim f(x + t d)/t for t → ∞ of a convex f, or an upper bound of it: `inf` where none is known, as here."""
        return 0.0 if is_zero(d) else math.inf

    def hessian(self, x: Array) -> Any:
        """∇²f(x): a 1-D array, the diagonal on the flattened block; a matrix (2-D array or SciPy sparse) on it; or, as
        here, a symmetric `Operator` on arrays like x."""
        return Products(lambda d: self.curvature(x, d), x.shape)
