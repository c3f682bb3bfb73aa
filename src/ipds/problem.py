"""The problem: min Σ f_i(x_i) + h_i(x_i) subject to Σ A_i x_i = b.

Shapes are checked once, here; nothing later repeats the checks.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ._arrays import (
    Array,
    Shape,
    add_in_place,
    add_scaled,
    adopted,
    all_finite,
    divide_in_place,
    is_array,
    norm,
    require_dense,
    require_real,
    subtract_in_place,
    to_caller,
    unlabelled,
)
from .functions import Nonsmooth, Smooth, Zero
from .functions.adapters import as_nonsmooth, as_smooth
from .functions.multiples import simplified
from .operators import Identity, Matrix, Operator, ZeroMap, from_linear_operator
from .operators.wrapping import acts_linearly, operator_on

if TYPE_CHECKING:
    from .result import Result
    from .theory.assumptions import Assumptions


class Unsaid(float):
    """The number a block's A is where nothing was said of it."""


UNSAID = Unsaid(1.0)


MOST = 2**60
"""Entries of a block at most: their bytes are a 64-bit integer."""


@dataclass(frozen=True, eq=False)
class Block:
    """One block of variables: f(x) + h(x) in the objective and A x in the constraint.

    Parameters
    ----------
    f : smooth function (`f(x)`, `f.grad(x)`), or None for zero.
    h : nonsmooth function (`h(x)`, `h.prox(v, step)`), or None for zero.
    A : number (scaled identity), 2-D array, data frame or SciPy sparse matrix (acts on the first axis of the block),
        SciPy LinearOperator or an object with its shape, matvec and rmatvec (acts on the flattened block), or an object
        of `ipds.operators`. Default: the identity, or no part in any equation where the block is the only one of a
        problem without b.
    shape : shape of the block; an int means a vector.
    name : how messages call the block.

    >>> from ipds.functions import L1
    >>> Block(h=L1(0.5), shape=3, name="v").shape
    (3,)
    """

    f: Smooth | None = None
    h: Nonsmooth = field(default_factory=Zero)
    A: Any = UNSAID
    shape: Any = None
    name: str | None = None

    def __post_init__(self) -> None:
        if self.name is not None and not isinstance(self.name, str):
            raise TypeError(f"block: name must be a string, got {type(self.name).__name__}")
        label = f"block {self.name!r}" if self.name else "block"
        object.__setattr__(self, "shape", _as_shape(self.shape, label))
        object.__setattr__(self, "f", as_smooth(self.f, label))
        object.__setattr__(self, "h", simplified(as_nonsmooth(self.h, label)))
        if isinstance(self.A, type):
            raise TypeError(
                f"{label}: A is the class {self.A.__name__}; pass an object, e.g. {self.A.__name__}(...)"
            )
        object.__setattr__(self, "A", unlabelled(self.A))
        if isinstance(self.A, bool) or not (
            (is_array(self.A) and self.A.ndim in (0, 2))
            or isinstance(self.A, numbers.Real)
            or scipy.sparse.issparse(self.A)
            or acts_linearly(self.A)
            or _acts_on_vectors(self.A)
        ):
            shape = getattr(self.A, "shape", None)
            raise TypeError(
                f"{label}: A must be a number, a 2-D array, a sparse matrix, a LinearOperator or an object with apply "
                f"and adjoint, got {type(self.A).__name__}"
                + (f" of shape {tuple(shape)}" if shape is not None else "")
                + ("; pass numpy.asarray(A, dtype=float)" if isinstance(self.A, list | tuple) else "")
            )


def _acts_on_vectors(A: Any) -> bool:
    """Whether A is a LinearOperator of SciPy, or has its `shape`, `matvec` and `rmatvec`, as those of PyLops."""
    if acts_linearly(A):
        return False
    return isinstance(A, scipy.sparse.linalg.LinearOperator) or (
        len(getattr(A, "shape", ())) == 2
        and callable(getattr(A, "matvec", None))
        and callable(getattr(A, "rmatvec", None))
    )


def _as_shape(shape: Any, label: str) -> Shape:
    if type(shape) is not tuple and isinstance(shape, numbers.Integral) and not isinstance(shape, bool):
        shape = (shape,)
    try:
        sizes = tuple(map(int, shape))
        if isinstance(shape, str) or sizes != tuple(shape):
            raise ValueError
    except (TypeError, ValueError):
        raise TypeError(f"{label}: shape must be an int or a tuple of ints, got {shape!r}") from None
    if min(sizes, default=1) < 1:
        raise ValueError(f"{label}: every entry of shape must be at least 1, got {sizes}")
    if math.prod(sizes) > MOST:
        raise ValueError(
            f"{label}: shape {sizes} has {math.prod(sizes):.3g} entries, more than any array can have"
        )
    return sizes


class Problem:
    """Blocks and the constraint that ties them together.

        min Σ_i f_i(x_i) + h_i(x_i)   subject to   Σ_i A_i x_i = b

    A single block without A, in a problem without b, is the problem without an equation: min f(x) + h(x).

    Parameters
    ----------
    blocks : the blocks, in the order in which Algorithm 1 takes them; the last one is the one it smooths.
    b : right-hand side, an array of the shape of the A_i x_i, or a number for all its entries; default 0.

    Attributes
    ----------
    blocks, b : as given, b as a NumPy array or an array of its library.
    names : of the blocks; x1, x2, ... where none was given.
    operators : the A_i as objects of `ipds.operators`.
    shape : of the constraint.
    unconstrained : whether there is none; then `operators` and `shape` are those of an equation 0 = 0 of one row.

    >>> from ipds.functions import L1, Stiefel
    >>> problem = Problem([Block(h=Stiefel(), A=-1.0, shape=(5, 2), name="Y"),
    ...                    Block(h=L1(0.1), A=1.0, shape=(5, 2), name="V")], b=0.0)
    >>> problem
    Problem(2 blocks: Y (5, 2), V (5, 2); constraint (5, 2))
    >>> Problem([Block(h=L1(0.1), shape=5)])
    Problem(1 block: x1 (5,); no constraint)
    """

    def __init__(self, blocks: Sequence[Block], b: Any = None):
        if isinstance(blocks, Block):
            raise TypeError("blocks must be a list of ipds.Block objects, got a single Block; write [block]")
        if not isinstance(blocks, Iterable) or hasattr(blocks, "__ipds_term__"):
            raise TypeError(
                f"blocks must be a list of ipds.Block objects, got {type(blocks).__name__}; a problem of terms and "
                "constraints is minimize(objective, constraints)"
            )
        self.blocks: tuple[Block, ...] = tuple(blocks)
        if not self.blocks:
            raise ValueError("a problem needs at least one block")
        for block in self.blocks:
            if not isinstance(block, Block):
                raise TypeError(f"blocks must be ipds.Block objects, got {type(block).__name__}")
        self.names = tuple(block.name or f"x{i + 1}" for i, block in enumerate(self.blocks))
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"block names must differ, got {list(self.names)}")
        self.unconstrained = len(self.blocks) == 1 and isinstance(self.blocks[0].A, Unsaid) and b is None
        self.b, given = _as_right_hand_side(0.0 if b is None else b)
        self.operators: tuple[Operator, ...]
        self.operators, self.shape = self._resolve_operators(given)

    def _resolve_operators(self, given: Shape | None) -> tuple[tuple[Operator, ...], Shape]:
        """Turn every A into an operator and settle the shape of the constraint."""
        if self.unconstrained:
            return (ZeroMap(self.blocks[0].shape, 1),), (1,)
        resolved: list[Operator | None] = []
        outputs: list[tuple[str, Shape]] = [("b", given)] if given is not None else []
        for name, block in zip(self.names, self.blocks, strict=True):
            if _acts_on_vectors(block.A):
                if block.A.shape[1] != math.prod(block.shape):
                    raise ValueError(
                        f"block {name!r}: a LinearOperator of shape {block.A.shape} acts on the flattened block, which "
                        f"has {math.prod(block.shape)} entries (shape {block.shape})"
                    )
                resolved.append(None)  # its output takes the constraint's shape, known only after the others
                continue
            try:
                operator = operator_on(block.A, block.shape)
                output = tuple(operator.output_shape(block.shape))
            except (TypeError, ValueError) as error:
                raise type(error)(f"block {name!r} of shape {block.shape}, A: {error}") from None
            resolved.append(operator)
            outputs.append((f"block {name!r}", output))
        if not outputs:
            first = self.blocks[0]
            outputs = [(f"block {self.names[0]!r}", (first.A.shape[0],))]
        reference, shape = outputs[0]
        for label, output in outputs[1:]:
            if output != shape:
                raise ValueError(
                    f"{label}: A x has shape {output}, but the constraint has shape {shape} (from {reference}); "
                    "all A_i x_i and b must have one shape"
                )
        for i, (name, block) in enumerate(zip(self.names, self.blocks, strict=True)):
            if resolved[i] is None:
                if block.A.shape[0] != math.prod(shape):
                    raise ValueError(
                        f"block {name!r}: a LinearOperator of shape {block.A.shape} cannot produce the "
                        f"constraint's shape {shape} (from {reference})"
                    )
                resolved[i] = from_linear_operator(block.A, block.shape, shape)
        return tuple(op for op in resolved if op is not None), shape

    def in_order(self, order: Sequence[int]) -> Problem:
        """The same problem with block order[k] in place k, under the names they have here."""
        new = Problem.__new__(Problem)
        new.blocks = tuple([self.blocks[i] for i in order])
        new.names = tuple([self.names[i] for i in order])
        new.operators = tuple([self.operators[i] for i in order])
        new.b, new.shape, new.unconstrained = self.b, self.shape, self.unconstrained
        return new

    @cached_property
    def b_norm(self) -> float:
        """‖b‖ over the constraint's shape."""
        return norm(self.b) if is_array(self.b) else abs(self.b) * math.sqrt(math.prod(self.shape))

    def objective(self, x: Sequence[Array]) -> float:
        """Σ f_i(x_i) + h_i(x_i) at the blocks as they are."""
        return float(
            sum(
                (block.f(xi) if block.f is not None else 0.0) + block.h(xi)
                for block, xi in zip(self.blocks, x, strict=True)
            )
        )

    def residual(self, x: Sequence[Array]) -> Array:
        """Σ A_i x_i - b."""
        return to_caller(self._gap(x))

    def infeasibility(self, x: Sequence[Array]) -> float:
        """‖Σ A_i x_i - b‖."""
        return norm(self._gap(x))

    def _gap(self, x: Sequence[Array]) -> Array:
        x = [adopted(xi, name) for xi, name in zip(x, self.names, strict=True)]
        return sum_products([op.apply(xi) for op, xi in zip(self.operators, x, strict=True)], self.b)

    @cached_property
    def restorable(self) -> int | None:
        """Index of a block that can be moved to satisfy the constraint exactly at a finite objective.

        The last block with A = c·I, c ≠ 0, and h finite everywhere (Lipschitz); None where there is none.
        """
        for i in reversed(range(len(self.blocks))):
            op, block = self.operators[i], self.blocks[i]
            if isinstance(op, Identity) and op.scale != 0 and math.isfinite(block.h.lipschitz(block.shape)):
                return i
        return None

    def restore(
        self, x: Sequence[Array], products: Sequence[Array | None] | None = None, at: int | None = None
    ) -> tuple[Array, ...] | None:
        """The feasible point obtained by solving the constraint for block `at` with A = c·I.

        By default the `restorable` one; None where there is none. `products` are A_i x_i, None where not at hand.
        """
        j = self.restorable if at is None else at
        if j is None:
            return None
        op = self.operators[j]
        assert isinstance(op, Identity)
        rest = self.b
        for i, (other, xi) in enumerate(zip(self.operators, x, strict=True)):
            if i == j:
                continue
            known = None if products is None else products[i]
            if known is None and _is_nothing(other, xi):
                continue
            if known is None and isinstance(other, Identity):
                rest = add_scaled(rest, -other.scale, xi)
            else:
                term = other.apply(xi) if known is None else known
                rest = rest - term if rest is self.b else subtract_in_place(rest, term)
        if rest is self.b:
            rest = rest - 0.0 * x[j]
        if op.scale != 1.0:
            rest = divide_in_place(rest, op.scale)
        return tuple(rest if i == j else xi for i, xi in enumerate(x))

    def answer(self, result: Result) -> Result:
        """What a solve of this problem returns: the result; a model adds the way back to its variables."""
        return result

    def check(self, epsilon: float = 1e-3) -> Assumptions:
        """Which assumptions of the theory hold here, with remedies for those that do not.

        Where the theorem applies and all its constants are known, the report says how many iterations of
        `IPDS("sound")` it promises to bring the criticality below `epsilon`.
        """
        return _examiners[-1](self, epsilon)

    def __repr__(self) -> str:
        blocks = ", ".join(
            f"{name} {block.shape}" for name, block in zip(self.names, self.blocks, strict=True)
        )
        count = "1 block" if len(self.blocks) == 1 else f"{len(self.blocks)} blocks"
        return f"Problem({count}: {blocks}; {'no constraint' if self.unconstrained else f'constraint {self.shape}'})"

    def _repr_html_(self) -> str:
        from ._html import problem_html

        return problem_html(self)


def _is_nothing(op: Operator, x: Array) -> bool:
    """Whether A x is 0 as x is, seen without a product: of a matrix whose entries were seen to be finite."""
    return isinstance(op, Matrix) and op.natural_shape() is not None and type(x) is np.ndarray and not x.any()


_examiners: list[Callable[[Problem, float], Assumptions]] = []


def examines(examine: Callable[[Problem, float], Assumptions]) -> Callable[[Problem, float], Assumptions]:
    """Let `Problem.check` call this function: what it knows of theorems and methods stands above problems."""
    _examiners.append(examine)
    return examine


def split_blocks(y: np.ndarray, shapes: Sequence[Shape]) -> list[np.ndarray]:
    """The blocks of these shapes that one vector holds, one after the other."""
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(y, ends), shapes, strict=True)]


def sum_products(products: Sequence[Array], b: Any) -> Array:
    """Σ products - b."""
    first, *rest = products
    if type(b) is not float or b != 0.0:
        total = first - b
    elif rest:
        total = first + rest.pop(0)
    else:
        return first
    for product in rest:
        total = add_in_place(total, product)
    return total


def _as_right_hand_side(b: Any) -> tuple[Any, Shape | None]:
    if isinstance(b, numbers.Real):
        if not math.isfinite(b):
            raise ValueError(f"b must be finite, got {b}")
        return float(b), None
    require_dense("b", b)
    b = adopted(b, "b")
    require_real("b", b)
    if not is_array(b):
        remedy = "; pass numpy.asarray(b, dtype=float)" if isinstance(b, list | tuple) else ""
        raise TypeError(f"b must be a number or an array, got {type(b).__name__}{remedy}")
    if not all_finite(b):
        raise ValueError("b contains NaN or infinity")
    return (float(b), None) if b.ndim == 0 else (b, tuple(b.shape))
