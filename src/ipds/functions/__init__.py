"""Functions: nonsmooth h_i with a prox, smooth f_i with a gradient."""

from .base import Nonsmooth, Smooth
from .calculus import MoreauEnvelope, Precomposed, Scaled, Translated
from .checking import CheckReport, check_gradient, check_prox
from .composed import Composed, SmoothSum
from .losses import HuberLoss, LeastSquares, Linear, Logistic, PhaseRetrieval, Quadratic
from .matrix_sets import PSD, Rank, Stiefel
from .pca import PCAReconstruction, PCAVariance
from .penalties import L1, L2, L21, ElasticNet, GroupL2, Huber, Zero
from .separable import Separable, Stacked
from .sets import Affine, Box, HalfSpace, L1Ball, L2Ball, LinfBall, NonNegative, Simplex, Sphere
from .sparse_sets import Binary, Cardinality, NonzeroColumns, NonzeroRows, RowCardinality
from .structured import Linf, Nuclear, TotalVariation1D
from .sums import Sum
from .thresholding import L0, MCP, SCAD, CappedL1, LHalf, LogSum, LTwoThirds
from .wrap import smooth

__all__ = [
    "L0",
    "L1",
    "L2",
    "L21",
    "MCP",
    "PSD",
    "SCAD",
    "Affine",
    "Binary",
    "Box",
    "CappedL1",
    "Cardinality",
    "CheckReport",
    "Composed",
    "ElasticNet",
    "GroupL2",
    "HalfSpace",
    "Huber",
    "HuberLoss",
    "L1Ball",
    "L2Ball",
    "LHalf",
    "LTwoThirds",
    "LeastSquares",
    "Linear",
    "Linf",
    "LinfBall",
    "LogSum",
    "Logistic",
    "MoreauEnvelope",
    "NonNegative",
    "Nonsmooth",
    "NonzeroColumns",
    "NonzeroRows",
    "Nuclear",
    "PCAReconstruction",
    "PCAVariance",
    "PhaseRetrieval",
    "Precomposed",
    "Quadratic",
    "Rank",
    "RowCardinality",
    "Scaled",
    "Separable",
    "Simplex",
    "Smooth",
    "SmoothSum",
    "Sphere",
    "Stacked",
    "Stiefel",
    "Sum",
    "TotalVariation1D",
    "Translated",
    "Zero",
    "check_gradient",
    "check_prox",
    "smooth",
]
