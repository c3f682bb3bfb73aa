"""Names that users of CVXPY and NumPy look for, and what is written for them here."""

from __future__ import annotations

_INSTEAD = {
    "Minimize": "minimize(objective)",
    "Maximize": "minimize(-objective)",
    "maximize": "minimize(-objective)",
    "maximise": "minimize(-objective)",
    "minimise": "minimize(objective)",
    "Parameter": "the number or array itself, and minimize(...).solve(warm_start=result) for the next one",
    "Constant": "the number or array itself",
    "abs": "norm1({e}) for the sum, norm_inf({e}) for the largest; for a bound r, {e} <= r and {e} >= -r",
    "square": "sum_squares({e})",
    "sqrt": "smooth(fun)({e}) with a function of your own",
    "power": "sum_squares({e}), or smooth(fun)({e}) with a function of your own",
    "norm": "norm2({e}), norm1({e}) or norm_inf({e}); of matrices norm21({e}) or nuclear({e}) too",
    "normNuc": "nuclear({e})",
    "mixed_norm": "norm21({e})",
    "tv": "total_variation({e})",
    "entr": "entropy({e})",
    "pos": "hinge(1 - {w})",
    "neg": "hinge(1 + {w})",
    "maximum": "hinge or quantile",
    "log": "NegativeLog()({e}), which is its negative",
    "exp": "Exponential()({e})",
    "log1p": "logistic({e})",
    "max": "a variable t with the constraint {e} <= t",
    "min": "a variable t with the constraint {e} >= t",
    "sum": "{w}.sum()",
    "mean": "{w}.mean()",
    "trace": "{w}[range(n), range(n)].sum()",
    "diag": "{w}[range(n), range(n)]",
    "cumsum": "np.tri(n) @ {w}",
    "dot": "a @ {w}",
    "multiply": "a * {w}",
    "negative": "-{w}",
    "diff": "ipds.modelling.diff({e})",
    "concatenate": "ipds.modelling.concatenate([...])",
    "reshape": "{w}.reshape(...)",
    "transpose": "{w}.T",
    "ravel": "{w}.ravel()",
    "vec": "{w}.T.ravel(), column by column as in CVXPY, or {w}.ravel()",
}
"""`{e}` is the argument, `{w}` the same in brackets where it needs them."""
_SAME = {
    "absolute": "abs",
    "fabs": "abs",
    "amax": "max",
    "amin": "min",
    "logaddexp": "log1p",
    "diagonal": "diag",
    "inner": "dot",
    "vdot": "dot",
    "hstack": "concatenate",
    "vstack": "concatenate",
    "stack": "concatenate",
    "bmat": "concatenate",
}
"""Other names of those."""


def instead(name: str, argument: str = "e", whole: str = "e") -> str | None:
    """What to write for a name of CVXPY or NumPy; None where nothing is known.

    >>> instead("normNuc"), instead("hstack"), instead("sinh")
    ('nuclear(e)', 'ipds.modelling.concatenate([...])', None)
    """
    words = _INSTEAD.get(_SAME.get(name, name))
    return None if words is None else words.format(e=argument, w=whole)
