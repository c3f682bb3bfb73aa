"""Terms, c·h(expression), and objectives: sums of them and of scalar expressions."""

from __future__ import annotations

import copy
import math
import numbers
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..functions import PSD, Nonsmooth, Nuclear, Rank, Smooth, Stiefel
from ..functions.adapters import require_nonsmooth, require_smooth
from . import refusals
from .faces import is_smooth
from .writing import PRODUCT, SUM, WHOLE, Text, joined, shown

if TYPE_CHECKING:
    from .expressions import Expression

OF_MATRICES = (Nuclear, PSD, Rank, Stiefel)
"""Functions of matrices."""
TRIAL = 10_000
"""Expressions with at most so many entries are tried at 0 when a term of them is written."""


ASKED = ("value", "sum", "mean", "max")
"""What is asked of terms in vain, as if they were expressions or had values."""


class _Summand:
    """What terms and objectives have in common: they add, and numbers multiply them."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy scalars leave `2 * term` to us

    @property
    def objective(self) -> Objective:
        """This as an objective."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Objective:
        return self.objective.plus(self._other(other))

    def __radd__(self, other: Any) -> Objective:
        return self._other(other).plus(self.objective)

    def __sub__(self, other: Any) -> Objective:
        return self.objective.plus(-1.0 * self._other(other))

    def __rsub__(self, other: Any) -> Objective:
        return self._other(other).plus(-1.0 * self.objective)

    def _other(self, other: Any) -> Objective:
        """What is added to this, as an objective."""
        objective = as_objective(other)
        if objective is None:
            raise TypeError(refusals.not_added(self, other))
        return objective

    def __mul__(self, c: Any) -> Any:
        if not isinstance(c, numbers.Real) or isinstance(c, bool):
            raise TypeError(refusals.factor(self, c))
        return self.scaled(float(c))

    __rmul__ = __mul__

    def __truediv__(self, c: Any) -> Any:
        if not isinstance(c, numbers.Real) or isinstance(c, bool) or c == 0:
            raise TypeError(refusals.factor(self, c))
        return self.scaled(1.0 / float(c))

    def __neg__(self) -> Any:
        return self.scaled(-1.0)

    def __pow__(self, other: Any) -> Any:
        raise TypeError(refusals.power_of_term(self, other))

    def scaled(self, c: float) -> Any:
        """c times this."""
        raise NotImplementedError

    def _compared(self, other: Any) -> Any:
        raise TypeError(refusals.term_compared(self))

    def __iter__(self) -> NoReturn:
        raise TypeError(refusals.iterated(self))

    __le__ = __ge__ = __lt__ = __gt__ = _compared

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Refused: values belong to results, and a term is a sum already."""
            if name not in ASKED:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise AttributeError(refusals.no_attribute(self, name))

    def __ipds_term__(self, function: Any) -> Any:
        raise TypeError(refusals.not_affine(shown(function), self))


class Term(_Summand):
    """weight · function(expression), as `L1(1.0)(G @ x - y)` or `3.0 * norm1(x)` write it.

    `function` is a `Nonsmooth` or `Smooth` of `ipds.functions`; weights are ≥ 0, for smooth functions any number.
    A concave quantity such as log_det is minus a function that is convex; it enters an objective with a weight ≤ 0.
    """

    __slots__ = ("expression", "function", "is_concave", "made", "name", "weight")

    def __init__(
        self, function: Nonsmooth | Smooth, expression: Expression, name: str = "", is_concave: bool = False
    ):
        self.function, self.expression, self.weight = function, expression, 1.0
        self.is_concave = is_concave
        self.name = name or f"{function!r}({expression.text})"
        self.made: dict[Any, Any] = {}
        """What was made of function and expression, kept for the next problem with this term, whatever its weight."""
        self._try()

    def _try(self) -> None:
        """Refuse now what the function cannot act on."""
        shape = self.expression.shape or (1,)
        linear = next((getattr(self.function, name) for name in "GQ" if hasattr(self.function, name)), None)
        if isinstance(self.function, OF_MATRICES) and len(shape) != 2:
            raise ValueError(f"`{self.name}`: needs a matrix, got shape {shape}; use .reshape")
        if isinstance(self.function, PSD) and shape[0] != shape[1]:
            raise ValueError(f"`{self.name}`: needs a square matrix, got shape {shape}")
        if isinstance(self.function, Stiefel) and shape[0] < shape[1]:
            raise ValueError(f"`{self.name}`: needs no more columns than rows, got shape {shape}; use .T")
        try:
            if isinstance(self.function, Smooth):
                if linear is not None:
                    linear.output_shape(shape)
            elif math.prod(shape) <= TRIAL:
                with np.errstate(all="ignore"):
                    self.function(np.zeros(shape))
        except (TypeError, ValueError, IndexError, np.linalg.LinAlgError) as error:
            raise ValueError(f"`{self.name}`: cannot act on shape {shape}: {error}") from error

    @property
    def coefficient(self) -> float:
        """What multiplies the function."""
        return -self.weight if self.is_concave else self.weight

    @property
    def text(self) -> Text:
        """As it was written."""
        if self.weight == 1.0:
            return Text(self.name, WHOLE)
        factor = "-" if self.weight == -1.0 else f"{self.weight:.6g} * "
        return Text(factor + self.name, PRODUCT if self.weight > 0 else SUM)

    def __repr__(self) -> str:
        return str(self.text)

    @property
    def objective(self) -> Objective:
        return Objective((self,))

    def scaled(self, c: float) -> Term:
        weight = c * self.weight
        if not math.isfinite(weight):
            raise ValueError(f"{c} * `{self}`: the weight of a term must be finite")
        if weight < 0 and not is_smooth(self.function) and not self.is_concave:
            raise ValueError(refusals.negated(self, c))
        if weight == 0 and getattr(self.function, "is_set", False):
            raise ValueError(f"0 * `{self}`: a set cannot be weighted away; leave it out")
        scaled = copy.copy(self)
        scaled.weight = weight
        return scaled


class Objective(_Summand):
    """A sum of terms, of a scalar affine expression and of a number."""

    __slots__ = ("affine", "constant", "terms")

    def __init__(self, terms: tuple[Term, ...], affine: Expression | None = None, constant: float = 0.0):
        self.terms, self.affine, self.constant = terms, affine, constant

    @property
    def objective(self) -> Objective:
        return self

    def plus(self, other: Objective) -> Objective:
        """The sum of both."""
        parts = [e for e in (self.affine, other.affine) if e is not None]
        affine = None if not parts else parts[0] if len(parts) == 1 else parts[0] + parts[1]
        return Objective(self.terms + other.terms, affine, self.constant + other.constant)

    def scaled(self, c: float) -> Objective:
        affine = None if self.affine is None else -self.affine if c == -1.0 else c * self.affine
        return Objective(tuple(term.scaled(c) for term in self.terms), affine, c * self.constant)

    @property
    def text(self) -> Text:
        """As it was written."""
        pieces = [term.text for term in self.terms]
        if self.affine is not None:
            pieces.append(self.affine.text)
        if self.constant or not pieces:
            pieces.append(Text(shown(self.constant), SUM if self.constant < 0 else WHOLE))
        total = pieces[0]
        for piece in pieces[1:]:
            negative = piece.words.startswith("-") and piece.level == SUM
            total = (
                joined(total, "-", Text(piece.words[1:], PRODUCT)) if negative else joined(total, "+", piece)
            )
        return total

    def __repr__(self) -> str:
        return str(self.text)


def term(h: Any, expression: Any) -> Term:
    """The term h(expression) of a function of your own.

    `h` is any object with `h(x)` and `h.prox(v, step)`, or with `f(x)` and `f.grad(x)`; what else it may offer is as
    for a `Block`. The library's own functions need only be called: `L1(1.0)(x)`.

    >>> from ipds import Variable
    >>> class Half:
    ...     is_convex = True
    ...     def __call__(self, x): return 0.5 * float((x**2).sum())
    ...     def prox(self, v, step): return v / (1 + step)
    >>> term(Half(), Variable(3, name="x") - 1.0)
    Half(x - 1)
    """
    if not hasattr(expression, "__ipds_term__") or isinstance(expression, _Summand):
        raise TypeError(refusals.not_affine(f"term({shown(h)}, ...)", expression))
    if isinstance(h, Nonsmooth | Smooth):
        return Term(h, expression)
    name = h.__name__ if isinstance(h, type) else type(h).__name__
    label = f"term: {name}"
    smooth = not hasattr(h, "prox") and hasattr(h, "grad")
    function = require_smooth(h, label) if smooth else require_nonsmooth(h, label)
    return Term(function, expression, f"{name}({expression.text})")


def as_objective(value: Any) -> Objective | None:
    """Terms, objectives, numbers and scalar expressions as an objective; None for anything else."""
    if isinstance(value, _Summand):
        return value.objective
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return Objective((), None, float(value))
    if hasattr(value, "__ipds_term__"):
        if value.size != 1:
            raise ValueError(refusals.not_scalar(value))
        return Objective((), value.reshape(()) if value.shape else value)
    return None
