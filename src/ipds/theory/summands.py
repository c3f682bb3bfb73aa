"""What a gradient adds up, before anything cancels: at rest the sum is zero, and its terms are not."""

from __future__ import annotations

from collections.abc import Callable

from .._arrays import Array
from ..functions import Composed, LeastSquares, Quadratic, Smooth, SmoothSum, Weighted
from ..functions.losses import LinearModel
from ..operators.absolute import absolute


def summands(f: Smooth) -> Callable[[Array], Array] | None:
    """x ↦ Σ_k |G_k|ᵀ|∇φ_k(G_k x)| for f = Σ_k φ_k(G_k x); None where f is not known to be of this kind.

    The tension of a string, ½‖D x‖² of differences D, pulls at every point from both sides:

    >>> import numpy as np
    >>> from ipds.functions import LeastSquares
    >>> f = LeastSquares(np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]), 0.0)
    >>> x = np.array([0.0, 2.0, 4.0])
    >>> f.grad(x), summands(f)(x)
    (array([-2.,  0.,  2.]), array([2., 4., 2.]))
    """
    if isinstance(f, Weighted):
        inner, weight = summands(f.f), abs(f.weight)
        return None if inner is None else lambda x: weight * inner(x)
    if isinstance(f, SmoothSum):
        found = [summands(term) for term in f.terms]
        first, *others = [own or _magnitude(term) for own, term in zip(found, f.terms, strict=True)]
        return (lambda x: sum((term(x) for term in others), first(x))) if any(found) else None
    if isinstance(f, LinearModel):
        rows, of_columns = f, absolute(f.G)
        return lambda x: of_columns.adjoint(abs(rows.row_slope(rows.G.apply(x))))
    if isinstance(f, Composed):
        own, of_entries = f, absolute(f.A)
        return lambda x: of_entries.adjoint(abs(own.f.grad(own.inner(x))))
    return None


def computed_with(f: Smooth) -> Callable[[Array], Array] | None:
    """x ↦ Γ with Γ = Σ_k |G_k|ᵀ|G_k||x| for f = Σ_k ½‖G_k x‖²; None where f is not known to be of this kind.

    A gradient of no more than rounding of Γ is none: the string below is straight, whatever its slope.

    >>> import numpy as np
    >>> from ipds.functions import LeastSquares
    >>> f = LeastSquares(np.array([[1.0, -2.0, 1.0]]), 0.0)
    >>> f.grad(np.array([0.1, 0.2, 0.3])) < 1e-15, computed_with(f)(np.array([0.1, 0.2, 0.3])).round(6)
    (array([ True,  True,  True]), array([0.8, 1.6, 0.8]))
    """
    if isinstance(f, Weighted):
        inner, weight = computed_with(f.f), abs(f.weight)
        return None if inner is None else lambda x: weight * inner(x)
    if isinstance(f, SmoothSum):
        found = [computed_with(term) for term in f.terms]
        known = [own for own in found if own is not None]
        return (
            None if len(known) < len(found) else lambda x: sum((term(x) for term in known[1:]), known[0](x))
        )
    if isinstance(f, LeastSquares):
        rows = absolute(f.G)
        return lambda x: rows.adjoint(rows.apply(abs(x)))
    if isinstance(f, Quadratic):
        bends = absolute(f.Q)
        return lambda x: bends.apply(abs(x))
    if isinstance(f, Composed):
        own, entries = computed_with(f.f), absolute(f.A)
        return None if own is None else lambda x: entries.adjoint(own(entries.apply(abs(x))))
    return None


def _magnitude(f: Smooth) -> Callable[[Array], Array]:
    """x ↦ |∇f(x)|."""
    return lambda x: abs(f.grad(x))
