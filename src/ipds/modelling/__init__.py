"""Write the objective; the splitting is found: variables, affine expressions, terms, constraints, `minimize`."""

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
    "nuclear",
    "quad_form",
    "quantile",
    "sum_squares",
    "term",
    "total_variation",
]
