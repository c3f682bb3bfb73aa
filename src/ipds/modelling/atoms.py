"""Terms by their usual names; each is a function of `ipds.functions`, called on an expression."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..functions import (
    L1,
    L2,
    L21,
    Entropy,
    Hinge,
    Huber,
    KLDivergence,
    Linf,
    LogDet,
    LogisticLoss,
    Nonsmooth,
    Nuclear,
    Quadratic,
    Quantile,
    Smooth,
    SumSquares,
)
from ..operators import Gradient
from . import refusals
from .expressions import Expression
from .joining import diff, require_expression
from .shapes import require_axis
from .terms import Term
from .writing import shown


def _atom(name: str, function: Nonsmooth | Smooth, expression: Any, *more: Any) -> Term:
    e = require_expression(name, expression)
    inside = ", ".join([str(e.text), *(f"{value:g}" for value in more)])
    return Term(function, e, f"{name}({inside})")


def norm1(expression: Any) -> Term:
    """Σ |e_i|: `L1`."""
    return _atom("norm1", L1(1.0), expression)


def norm2(expression: Any, axis: int | None = None) -> Term:
    """√(Σ e_i²), not squared, over all entries: `L2`. With an axis of a matrix, the sum of the norms along it: `L21`.

    >>> from ipds import Variable
    >>> norm2(Variable((4, 3), name="X"), axis=1)
    norm2(X, axis=1)
    """
    e = require_expression("norm2", expression)
    if axis is None:
        return _atom("norm2", L2(1.0), e)
    require_axis(e, axis)
    if e.ndim != 2:
        raise ValueError(f"norm2: with an axis `{e}` must be a matrix, got shape {e.shape}")
    return Term(L21(1.0), e.T if axis % 2 == 0 else e, f"norm2({e.text}, axis={axis})")


def norm_inf(expression: Any) -> Term:
    """max |e_i| over all entries: `Linf`."""
    return _atom("norm_inf", Linf(1.0), expression)


def norm21(expression: Any) -> Term:
    """Σ ‖e_i‖₂ over the rows e_i of a matrix: `L21`."""
    return _atom("norm21", L21(1.0), expression)


def nuclear(expression: Any) -> Term:
    """The sum of the singular values of a matrix: `Nuclear`."""
    return _atom("nuclear", Nuclear(1.0), expression)


def sum_squares(expression: Any) -> Term:
    """Σ e_i², smooth: `LeastSquares` is ½ of it.

    >>> from ipds import Variable
    >>> 0.5 * sum_squares(np.ones((3, 2)) @ Variable(2, name="x") - np.ones(3))
    0.5 * sum_squares(array(3, 2) @ x - array(3))
    """
    return _atom("sum_squares", SumSquares(1.0), expression)


def quad_form(expression: Any, Q: Any) -> Term:
    """eᵀQe with a symmetric Q, indefinite ones too, smooth: 2·`Quadratic`. For a matrix e, the sum over its columns."""
    e = require_expression("quad_form", expression)
    Q = np.asarray(Q) if isinstance(Q, list | tuple) else Q
    try:
        f = Quadratic(2.0 * Q)
        f.Q.output_shape(e.shape)
    except ValueError as error:
        raise ValueError(
            f"quad_form: `{e}` of shape {e.shape} and Q of shape {np.shape(Q)}: {error}"
        ) from None
    return Term(f, e, f"quad_form({e.text}, array{np.shape(Q)})")


def huber(expression: Any, delta: float = 1.0) -> Term:
    """Σ H(e_i), H(a) = a²/2 up to |a| = delta, then delta·|a| - delta²/2, smooth: `Huber`. Half of CVXPY's."""
    return _atom("huber", Huber(1.0, delta), expression, delta)


def logistic(expression: Any) -> Term:
    """Σ log(1 + exp(e_i)), smooth; with labels y = ±1 the loss is logistic(-y * (G @ w)). `LogisticLoss`."""
    return _atom("logistic", LogisticLoss(-1.0), expression)


def hinge(expression: Any) -> Term:
    """Σ max(1 - e_i, 0); with labels y = ±1 the loss is hinge(y * (G @ w)). `Hinge`."""
    return _atom("hinge", Hinge(), expression)


def quantile(expression: Any, tau: float = 0.5) -> Term:
    """Σ max(τ e_i, (τ - 1) e_i); of y - G @ w it fits the τ-quantile of y. `Quantile`."""
    return _atom("quantile", Quantile(tau), expression, tau)


def entropy(expression: Any) -> Term:
    """-Σ e_i log e_i for e ≥ 0. It is concave: minimise `-entropy(e)`, which is `Entropy()(e)`."""
    e = require_expression("entropy", expression)
    return Term(Entropy(), e, f"entropy({e.text})", is_concave=True)


def kl_div(p: Any, q: Any) -> Any:
    """Σ p_i log(p_i/q_i) - p_i + q_i; one of both is an expression ≥ 0, the other data: `KLDivergence`, `Entropy`.

    With p = data it is the negative log-likelihood of Poisson counts of the mean q, up to a constant.
    """
    if isinstance(q, Expression):
        if isinstance(p, Expression):
            raise TypeError(refusals.joint_divergence(p, q))
        return Term(KLDivergence(p), q, f"kl_div({shown(p)}, {q.text})")
    e = require_expression("kl_div", p)
    q = np.asarray(q, dtype=float)
    if q.ndim and q.shape != e.shape:
        raise ValueError(f"kl_div: `{e}` of shape {e.shape} and data of shape {q.shape} do not fit")
    q = np.broadcast_to(q, e.shape)
    name = f"kl_div({e.text}, {shown(q)})"  # p log(p/(e·q)) = p log(p/q) - p
    return Term(Entropy(reference=np.e * q), e, name) + float(q.sum())


def log_det(expression: Any) -> Term:
    """log det E for symmetric positive definite E. It is concave: minimise `-log_det(E)`, which is `LogDet()(E)`."""
    e = require_expression("log_det", expression)
    return Term(LogDet(), e, f"log_det({e.text})", is_concave=True)


def total_variation(expression: Any) -> Term:
    """Σ |e_{i+1} - e_i| of a signal; of an image the isotropic Σ √(∂₁² + ∂₂²), with differences 0 at the far ends."""
    e = require_expression("total_variation", expression)
    name = f"total_variation({e.text})"
    if e.ndim == 1:
        return Term(L1(1.0), diff(e), name)
    if e.ndim != 2 or min(e.shape) < 2:
        raise ValueError(f"{name}: needs a signal or an image with at least 2x2 entries, got shape {e.shape}")
    return Term(L21(1.0), Gradient(e.shape) @ e, name)
