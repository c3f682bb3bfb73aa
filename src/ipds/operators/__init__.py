"""Linear maps A_i of the constraint Σ A_i x_i = b."""

from .base import Operator
from .maps import Flattened, Identity, Matrix, as_operator, from_linear_operator
from .sampling import Grouping, Sampling

__all__ = [
    "Flattened",
    "Grouping",
    "Identity",
    "Matrix",
    "Operator",
    "Sampling",
    "as_operator",
    "from_linear_operator",
]
