"""What is not in the grammar, in words: the piece as it was written, its shape, and what to write instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Shape
from .names import instead
from .writing import PRODUCT, WHOLE, Text, joined, shown


def _where(*expressions: Any) -> str:
    """The shapes of expressions, in a sentence."""
    told = [f"`{e}` has shape {e.shape}" for e in expressions if hasattr(e, "shape")]
    return "; ".join(told)


def product(left: Any, sign: str, right: Any) -> str:
    """Of two expressions, or of an expression and a term."""
    written = joined(left.text, sign, right.text)
    if not hasattr(right, "shape"):
        return f"`{written}`: a term cannot be multiplied by a variable; only by a number"
    return (
        f"`{written}` is a product of variables ({_where(left, right)}), and expressions must be affine. "
        "For xᵀQx write quad_form(x, Q), for ‖x‖² sum_squares(x), for a product X Y of two factors one variable Z "
        "with Rank(r)(Z), for XᵀX = I Stiefel()(X); a smooth function of your own is smooth(fun)(x)"
    )


def no_attribute(e: Any, name: str) -> str:
    """x.value, x.max() and the like, of an expression or a term."""
    if name == "value":
        return f"`{e}` has no value of its own; ask the result of the solve: result.value({e})"
    if not hasattr(e, "shape"):
        return f"`{e}` is one number, summed over all entries, and has no {name!r}"
    words = instead(name, str(e), e.text.within(WHOLE))
    return f"`{e}` has no {name!r}" + (f"; write {words}" if words else "")


def iterated(term: Any) -> str:
    """sum(logistic(x)) and the like."""
    return f"`{term}` is one number: terms are sums over all entries, there is nothing to go through or to add up"


def assigned(e: Any, name: str) -> str:
    """x.value = array, as in CVXPY."""
    start = f"; a start is solve(problem, x0=problem.point({{{e}: array}}))" if name == "value" else ""
    return f"expressions do not change; {e!r} cannot be given a new {name}{start}"


def power(e: Any, exponent: Any) -> str:
    """e ** 2 and the like."""
    if np.ndim(exponent) == 0 and exponent == 2:
        return (
            f"`{e.text.within(WHOLE)} ** 2` is not affine; for the sum of the squares write sum_squares({e})"
        )
    return nonaffine(e, f"{e.text.within(WHOLE)} ** {shown(exponent)}")


def absolute(e: Any) -> str:
    """abs(e)."""
    return f"`abs({e})` is not affine; write {instead('abs', str(e))}"


def nonaffine(e: Any, written: str) -> str:
    """A function of entries that is not linear."""
    return (
        f"`{written}` is not affine in `{e}` of shape {e.shape}. Write it as a term: norm1, norm2, sum_squares, huber, "
        "logistic, hinge, entropy, ... of ipds.modelling, a function of ipds.functions called on the expression, or "
        "smooth(fun)(expression)"
    )


def numpy_function(e: Any, name: str, inputs: list[str]) -> str:
    """numpy.name(e)."""
    written = f"numpy.{name}({', '.join(inputs)})"
    words = instead(name, str(e), e.text.within(WHOLE))
    if words is None:
        return nonaffine(e, written)
    return f"`{written}`: NumPy cannot act on expressions; write {words}"


def comparison(e: Any, sense: str, other: Any) -> str:
    """<, > and !=."""
    closed = {"<": "<=", ">": ">="}.get(sense)
    if closed is None:
        return f"`{e} != {shown(other)}`: constraints are ==, <= and >="
    return (
        f"`{e} {sense} {shown(other)}`: the set would not be closed; write {closed} "
        "(Python's max and min compare like this; for the largest entry minimise t subject to x <= t; "
        "a function of your own is term(h, x) with a prox, or smooth(fun)(x))"
    )


def semidefinite(e: Any, sense: str, other: Any) -> str:
    """X >> 0 and X << Y, as in CVXPY."""
    right = shown(other)
    larger, smaller = (str(e), right) if sense == ">>" else (right, str(e))
    inside = (
        larger if smaller == "0" else f"{larger} - ({smaller})" if " " in smaller else f"{larger} - {smaller}"
    )
    return f"`{e} {sense} {right}`: semidefinite matrices are a set; add the term PSD()({inside}) to the objective"


_ATTRIBUTES = {
    "nonneg": "the constraint `x >= 0`",
    "pos": "the constraint `x >= 0`",
    "nonpos": "the constraint `x <= 0`",
    "neg": "the constraint `x <= 0`",
    "bounds": "the constraints `x >= lo` and `x <= hi`",
    "boolean": "the term `Binary()(x)` of ipds.functions",
    "PSD": "the term `PSD()(X)` of ipds.functions",
    "NSD": "the term `PSD()(-X)` of ipds.functions",
    "integer": "the term `Binary()(x)` of ipds.functions where 0 and 1 will do; other integers are not supported",
    "complex": "two variables, for the real and the imaginary part",
    "symmetric": "the constraint `X == X.T`",
    "diag": "the expression `X * np.eye(n)`",
    "value": "`solve(problem, x0=problem.point({x: array}))`, a start",
}


def attribute(name: str) -> str:
    """Variable(5, nonneg=True), as in CVXPY."""
    instead = _ATTRIBUTES.get(name)
    if instead is None:
        return f"Variable: {name!r} is no argument; a variable has a shape and a name"
    return f"Variable: {name!r} is no argument; write {instead}"


def not_comparable(e: Any, sense: str, other: Any) -> str:
    """An expression against something that is neither expression nor array."""
    if hasattr(other, "text"):
        return (
            f"`{e} {sense} {other}`: only affine expressions can be compared; put the term in the objective, or a ball "
            "such as L2Ball(r)(...) for a bound on a norm"
        )
    return f"`{e} {sense} ...`: compare with a number, an array or an expression, got {type(other).__name__}"


def term_compared(term: Any) -> str:
    """norm(x) <= 1 and the like."""
    return (
        f"`{term}` is a term, not an affine expression, and cannot be compared. For a bound on it add the indicator of "
        "a set to the objective: L2Ball(r)(e) for norm2(e) ≤ r, L1Ball(r)(e) for norm1(e) ≤ r, LinfBall(r)(e), "
        "Cardinality(s)(e), Rank(r)(E)"
    )


def truth(e: Any) -> str:
    """if x: and the like."""
    return f"`{e}` is an expression and has no truth value"


def chained(constraint: Any) -> str:
    """0 <= x <= 1, or a constraint in an if."""
    return (
        f"the constraint `{constraint}` has no truth value; write both ends of a range as two constraints: "
        "[lo <= x, x <= hi]"
    )


def common_shape(left: Any, right: Any, sign: str) -> Shape:
    """The shape of a sum or comparison, which must be that of one of both sides; ValueError otherwise."""
    if left.shape == right.shape or not right.shape:  # most often, and NumPy takes longer to say so
        return left.shape
    try:
        shape = np.broadcast_shapes(left.shape, right.shape)
    except ValueError:
        shape = None
    if shape is None:
        raise ValueError(
            f"`{joined(left.text, sign, right.text)}`: the shapes do not fit: {_where(left, right)}"
        )
    if shape not in (left.shape, right.shape):
        raise ValueError(
            f"`{joined(left.text, sign, right.text)}`: both sides would be repeated to shape {shape}: "
            f"{_where(left, right)}; give one of them the shape of the other with .reshape"
        )
    return shape


def product_shape(e: Any, factor: Any, first: bool) -> Shape:
    """The shape of array * expression, which must be the expression's, unless that is a number."""
    pair = (factor, e) if first else (e, factor)
    written = joined(pair[0].text, "*", pair[1].text)
    try:
        shape = np.broadcast_shapes(e.shape, factor.shape)
    except ValueError:
        shape = None
    if shape is not None and (shape == e.shape or e.size == 1):
        return shape
    hint = ""
    if factor.ndim == 2 and e.ndim and factor.shape[1] == e.shape[0]:
        hint = f"; for the product with the matrix write {joined(factor.text, '@', e.text)}"
    raise ValueError(
        f"`{written}` multiplies entry by entry, but the shapes do not fit: {_where(e, factor)}{hint}"
    )


def matrix_sides(e: Any, matrix: Any, left: bool) -> str:
    """M @ x or x @ M whose shapes do not fit; says which other way would do."""
    M = Text(shown(matrix), WHOLE)
    shape = tuple(matrix.shape)
    written = joined(M, "@", e.text) if left else joined(e.text, "@", M)
    if e.ndim > 2:
        return f"`{written}`: `{e}` of shape {e.shape} has more than two axes; reshape it to a matrix first"
    if not e.ndim:
        return f"`{written}`: `{e}` is a number; write {joined(M, '*', e.text)}"
    fits = []
    for text, inner in (
        (joined(M, "@", e.text), (shape[-1], e.shape[0])),
        (joined(Text(f"{M}.T", WHOLE), "@", e.text), (shape[0], e.shape[0])),
        (joined(e.text, "@", M), (e.shape[-1], shape[0])),
        (joined(e.text, "@", Text(f"{M}.T", WHOLE)), (e.shape[-1], shape[-1])),
    ):
        if inner[0] == inner[1]:
            fits.append(f"`{text}`")
    hint = f"; {' or '.join(fits[:2])} would fit" if fits else ""
    return f"`{written}`: a matrix of shape {shape} does not act on `{e}` of shape {e.shape}{hint}"


def linear_operator(e: Any, linear: Any) -> str:
    """A LinearOperator of the wrong size."""
    return (
        f"`{joined(Text(shown(linear), WHOLE), '@', e.text)}`: a LinearOperator of shape {tuple(linear.shape)} acts on "
        f"the {linear.shape[1]} entries of a flattened array, but `{e}` of shape {e.shape} has {e.size}"
    )


def factor(term: Any, c: Any) -> str:
    """Something other than a number times a term."""
    what = f"`{c}`" if hasattr(c, "text") else type(c).__name__
    return (
        f"`{term}` can be multiplied or divided by numbers ≠ 0 only, got {what}; a weight for every entry goes into "
        "the function, e.g. L1(weights)(x)"
    )


def negated(term: Any, c: float) -> str:
    """A nonsmooth term with a negative weight."""
    written = f"-{term.text.within(PRODUCT)}" if c == -1.0 else f"{c:.6g} * {term.text.within(PRODUCT)}"
    return (
        f"`{written}`: only smooth terms may be negated (sum_squares, quad_form, huber, logistic, ...), and this one "
        f"is not; its expression has shape {term.expression.shape}. To reward large entries subtract a smooth "
        "term, or use a nonconvex penalty (MCP, SCAD, CappedL1, LogSum)"
    )


def concave(term: Any) -> str:
    """A concave quantity that would be minimised."""
    return (
        f"`{term}` is concave and cannot be minimised; to maximise it, subtract it: `-{term.name}`. Its expression "
        f"has shape {term.expression.shape}"
    )


def joint_divergence(p: Any, q: Any) -> str:
    """kl_div of two expressions."""
    return (
        f"`kl_div({p}, {q})`: one of both must be data, an array ≥ 0; both are expressions ({_where(p, q)}), and the "
        "prox of the joint function is not known"
    )


def power_of_term(term: Any, exponent: Any) -> str:
    """norm2(x) ** 2 and the like."""
    hint = ""
    if str(term).startswith(("norm2", "L2(")):
        hint = f"; for its square write sum_squares({term.expression})"
    elif str(term).startswith("sum_squares") and exponent == 0.5:
        hint = f"; for its root write norm2({term.expression})"
    return f"`{term.text.within(WHOLE)} ** {shown(exponent)}`: terms can be added, not raised to powers{hint}"


def not_finite(name: str, value: Any) -> str:
    """A constant with NaN or infinity in it."""
    if np.any(np.isnan(value)):
        return f"{name}: constants must be finite, this one contains NaN"
    return (
        f"{name}: constants must be finite, this one contains infinity; bounds of which some are infinite are the term "
        "Box(lo, hi)(x)"
    )


def listed(values: Any) -> str:
    """[x, y] where an expression is wanted."""
    return f"[{', '.join(map(shown, values))}] is a list of expressions; join them: concatenate([...])"


def not_affine(owner: str, value: Any) -> str:
    """A function of something that is not affine."""
    if hasattr(value, "text"):
        return (
            f"{owner} of `{value}`: the argument must be an affine expression of variables, and this is a term. Write "
            "the composition as one function, or introduce a variable for the inner part"
        )
    return f"{owner}: the argument must be an expression of variables, got {type(value).__name__}"


def not_scalar(e: Any) -> str:
    """An expression with several entries in an objective."""
    return (
        f"`{e}` has shape {e.shape}; an objective is one number: its sum, `{e.text.within(WHOLE)}.sum()`, or a "
        f"function of it, such as `sum_squares({e})` or `norm1({e})`"
    )


def distributed(note: str, shape: Shape, others: str) -> str:
    """A term of distributed rows beside others."""
    return (
        f"minimize: {note} of shape {shape} is distributed (Dask) and cannot share the last block with {others}. "
        "Use a smooth loss of the distributed rows (sum_squares, huber, logistic), or make the others sets of their "
        "variable: Simplex()(x), Affine(C, d)(x), bounds"
    )


def not_added(term: Any, other: Any) -> str:
    """norm1(x) + array and the like."""
    if callable(other):
        return f"`{term}` + ...: {_called(other)}"
    return (
        f"`{term}` can be added to terms, numbers and scalar expressions, got {type(other).__name__}; an objective is "
        "one number"
    )


def _called(function: Any) -> str:
    """How to make a term of a function, of the class of one, or of a plain one."""
    name = getattr(function, "__name__", None)
    if isinstance(function, type):
        example = f"{name}(...)(x)"
    else:
        example = "smooth(fun)(x)" if name == "<lambda>" else f"{name or function}(x)"
    return f"{name or function} is a function; call it on a variable or an expression, e.g. {example}"


def no_term(value: Any) -> str:
    """minimize of something else."""
    if isinstance(value, list | tuple):
        return "minimize: the objective must be one sum of terms, got a list; add them up: sum([...])"
    if callable(value) and not hasattr(value, "text"):
        return f"minimize: {_called(value)}"
    return (
        f"minimize: the objective must be a sum of terms and scalar expressions, got {type(value).__name__}"
    )


def no_point(variable: Any, value: Any) -> str:
    """A start without a value of the right size."""
    given = "none is given" if value is None else f"got shape {np.shape(value)}"
    return f"point: needs a value of shape {variable.shape} for {variable.name!r}, {given}"


def no_dual(constraint: Any, constraints: Any) -> str:
    """A multiplier of something else, or of a constraint written again."""
    same = [k for k, own in enumerate(constraints) if str(own) == str(constraint)]
    remedy = (
        f"; one that is written again is another one: pass problem.constraints[{same[0]}]" if same else ""
    )
    return (
        f"`{constraint}` is not a constraint of this problem; its constraints are {list(constraints)}{remedy}"
    )


def no_constraint(value: Any) -> str:
    """Something else among the constraints."""
    if isinstance(value, list | tuple):
        return "minimize: constraints go into one flat list; write [*first, *second] for two lists"
    if hasattr(value, "text") and not hasattr(value, "shape"):
        return f"minimize: `{value}` is a term; add it to the objective: sets are terms that are 0 or ∞"
    if isinstance(value, bool | np.bool_ | np.ndarray):
        return (
            "minimize: a constraint without variables: comparing numbers or arrays gave "
            f"{value if np.ndim(value) == 0 else 'an array of truth values'}; at least one side must be an expression. "
            "A term is no expression: for norm2(x) == r write Sphere(r)(x), for Rank or Cardinality the set itself"
        )
    return f"minimize: constraints must be written with ==, <= or >= between expressions, got {type(value).__name__}"
