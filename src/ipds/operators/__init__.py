"""Linear maps A_i of the constraint Σ A_i x_i = b."""

from .base import Compose, Operator, Scaled, Stack, Sum, Transpose
from .checking import check_adjoint
from .differences import FiniteDifference
from .maps import Diagonal, Identity, Matrix
from .rows import RowMatrix
from .sampling import Grouping, Sampling
from .transforms import DCT, Convolution
from .wrapping import Flattened, as_operator, from_linear_operator

__all__ = [
    "DCT",
    "Compose",
    "Convolution",
    "Diagonal",
    "FiniteDifference",
    "Flattened",
    "Grouping",
    "Identity",
    "Matrix",
    "Operator",
    "RowMatrix",
    "Sampling",
    "Scaled",
    "Stack",
    "Sum",
    "Transpose",
    "as_operator",
    "check_adjoint",
    "from_linear_operator",
]
