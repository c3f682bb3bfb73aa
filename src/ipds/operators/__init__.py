"""Linear maps A_i of the constraint Σ A_i x_i = b.

`base` says what a map offers (`apply`, `adjoint`, `norm`, the extreme eigenvalues of A Aᵀ) and holds the algebra A @
B, A + B, c·A, A.T; `one_shape` is the base of maps of blocks of one shape. One family per file:
`maps` (numbers, matrices, diagonals), `arranging` (axes permuted or summed), `differences`, `sampling`, `stacking`,
`products` (L X R, Kronecker, Toeplitz), `transforms` (convolutions, cosines), `wavelets`, `rows` (distributed
matrices). `wrapping` takes maps of other libraries and of users, `spectrum` finds norms and eigenvalues,
`absolute` is |A|, `checking` verifies adjoints.
"""

from .arranging import Permute, SumOver
from .base import Compose, Operator, Scaled, Sum, Transpose
from .checking import check_adjoint
from .differences import FiniteDifference, Gradient
from .maps import Diagonal, Identity, Matrix
from .products import Kronecker, Toeplitz, TwoSided
from .rows import RowMatrix
from .sampling import Grouping, Sampling
from .stacking import FlatStack, Reshape, Segment, Stack, ZeroMap
from .transforms import DCT, Convolution
from .wavelets import Wavelet
from .wrapping import Flattened, as_operator, from_linear_operator

__all__ = [
    "DCT",
    "Compose",
    "Convolution",
    "Diagonal",
    "FiniteDifference",
    "FlatStack",
    "Flattened",
    "Gradient",
    "Grouping",
    "Identity",
    "Kronecker",
    "Matrix",
    "Operator",
    "Permute",
    "Reshape",
    "RowMatrix",
    "Sampling",
    "Scaled",
    "Segment",
    "Stack",
    "Sum",
    "SumOver",
    "Toeplitz",
    "Transpose",
    "TwoSided",
    "Wavelet",
    "ZeroMap",
    "as_operator",
    "check_adjoint",
    "from_linear_operator",
]
