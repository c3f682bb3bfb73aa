"""Write the objective; the splitting is found: variables, affine expressions, terms, constraints, `minimize`.

`expressions` (with `shapes`, `maps`, `joining`, `constants`) is the algebra of affine expressions, `terms` and
`atoms` make terms of them, `constraints` comparisons. `model` holds `minimize`: `compiling` decides what goes to
which block, as `parts`, `assembling` makes a `Problem` of that, and `splitting` says it in words. `combining`,
`bounds` and `faces` say what functions become on the way, `defining` finds variables that others define,
`two_values` what is discrete, `consistency` constraints that cannot hold, `deferring` keeps other libraries from
doing the arithmetic themselves, `writing` writes expressions as text, and `refusals` has the words for all that is
not in the grammar, `names` for what CVXPY and NumPy call otherwise.
"""

from typing import TYPE_CHECKING, Any

from .atoms import (
    entropy,
    hinge,
    huber,
    kl_div,
    log_det,
    logistic,
    norm1,
    norm2,
    norm21,
    norm_inf,
    nuclear,
    quad_form,
    quantile,
    sum_squares,
    total_variation,
)
from .constraints import Constraint
from .expressions import Expression, Variable
from .joining import concatenate, diff
from .model import Model, minimize
from .names import instead
from .splitting import Splitting
from .terms import Objective, Term, term

__all__ = [
    "Constraint",
    "Expression",
    "Model",
    "Objective",
    "Splitting",
    "Term",
    "Variable",
    "concatenate",
    "diff",
    "entropy",
    "hinge",
    "huber",
    "kl_div",
    "log_det",
    "logistic",
    "minimize",
    "norm1",
    "norm2",
    "norm21",
    "norm_inf",
    "nuclear",
    "quad_form",
    "quantile",
    "sum_squares",
    "term",
    "total_variation",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        words = instead(name)
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}{f'; write {words}' if words else ''}"
        )
