"""Linear maps A_i of the constraint Σ A_i x_i = b."""

from .base import Operator
from .maps import Flattened, Identity, Matrix, from_linear_operator

__all__ = ["Flattened", "Identity", "Matrix", "Operator", "from_linear_operator"]
