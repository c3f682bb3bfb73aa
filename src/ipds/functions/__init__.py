"""Functions: nonsmooth h_i, known by their prox, and smooth f_i, known by their gradient. Which file holds what:

- what functions must offer and may offer: `base`; users' own objects are brought to that by `adapters`, and
  `recognising` tells by its prox what such an h is; `_arguments` checks what constructors are given;
- bases: `scalar` and `entrywise` of sums over entries, even ones and others, `norms` of norms with one weight;
- penalties: `penalties`, `thresholding`, `folded`, `groups`, `structured`, `isotropic`, `jumps`, `ratio`;
- losses with a prox: `squares`, `piecewise_linear`, `exponential`, `logarithmic`, `log_det`;
- sets: `sets`, `simplexes`, `sparse_sets`, `matrix_sets`, `cones`, `exponential_cone`, `affine`;
- smooth functions: `losses`, `quadratic`, `pca`, `phase`, losses with a prox as f in `differentiable`, and `smooth`
  in `wrap`;
- new ones from old ones: `calculus`, `multiples`, `separable`, `composed`, and `sums`, which asks `joint` for the
  rules of `joint_entrywise` and `joint_sets`;
- second-order information: `jacobians`, `hessians`; what is decided at a point of a nonconvex h: `faces`,
  `fixed_rank`, `rank_manifold`; what interior-point steps and proofs ask: `kinks`, `far`; other units: `rescaling`;
- numerical tools of several functions: `levels`, `omega`, `truncation`, `covariance`, `row_covariance`;
- checks of all of it: `checking`, `derivatives`.
"""

from .affine import Affine, DiagonalEquals, HalfSpace
from .base import Domain, Nonsmooth, Smooth
from .calculus import MoreauEnvelope, Precomposed, Scaled, Translated
from .checking import CheckReport, check_prox
from .composed import Composed, SmoothSum, Weighted
from .cones import SecondOrderCone
from .derivatives import check_curvature, check_gradient, check_jacobian
from .differentiable import Differentiable
from .exponential import Exponential, LogisticLoss
from .exponential_cone import ExponentialCone
from .folded import MCP, SCAD
from .groups import L2, L21, GroupL2
from .isotropic import IsotropicTotalVariation
from .jumps import Jumps
from .kinks import Groups, Kinks
from .log_det import LogDet
from .logarithmic import Entropy, KLDivergence, NegativeLog, Poisson
from .losses import HuberLoss, LeastSquares, Logistic
from .matrix_sets import PSD, Rank, Stiefel
from .pca import PCAReconstruction, PCAVariance
from .penalties import L1, ElasticNet, Huber, Zero
from .phase import PhaseRetrieval
from .piecewise_linear import Hinge, Quantile
from .quadratic import Linear, Quadratic
from .ratio import L1OverL2
from .separable import Separable, Stacked
from .sets import Box, L1Ball, L2Ball, LinfBall, NonNegative, Simplex, Sphere
from .simplexes import CappedSimplex, ColumnSimplex, RowSimplex
from .sparse_sets import (
    Binary,
    Cardinality,
    KBinary,
    NonzeroColumns,
    NonzeroRows,
    RowCardinality,
    TrimmedSquares,
)
from .squares import SquaredHinge, SumSquares
from .structured import Linf, Nuclear, TotalVariation1D
from .sums import Sum
from .thresholding import L0, CappedL1, LHalf, LogSum, LTwoThirds
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
    "CappedSimplex",
    "Cardinality",
    "CheckReport",
    "ColumnSimplex",
    "Composed",
    "DiagonalEquals",
    "Differentiable",
    "Domain",
    "ElasticNet",
    "Entropy",
    "Exponential",
    "ExponentialCone",
    "GroupL2",
    "Groups",
    "HalfSpace",
    "Hinge",
    "Huber",
    "HuberLoss",
    "IsotropicTotalVariation",
    "Jumps",
    "KBinary",
    "KLDivergence",
    "Kinks",
    "L1Ball",
    "L1OverL2",
    "L2Ball",
    "LHalf",
    "LTwoThirds",
    "LeastSquares",
    "Linear",
    "Linf",
    "LinfBall",
    "LogDet",
    "LogSum",
    "Logistic",
    "LogisticLoss",
    "MoreauEnvelope",
    "NegativeLog",
    "NonNegative",
    "Nonsmooth",
    "NonzeroColumns",
    "NonzeroRows",
    "Nuclear",
    "PCAReconstruction",
    "PCAVariance",
    "PhaseRetrieval",
    "Poisson",
    "Precomposed",
    "Quadratic",
    "Quantile",
    "Rank",
    "RowCardinality",
    "RowSimplex",
    "Scaled",
    "SecondOrderCone",
    "Separable",
    "Simplex",
    "Smooth",
    "SmoothSum",
    "Sphere",
    "SquaredHinge",
    "Stacked",
    "Stiefel",
    "Sum",
    "SumSquares",
    "TotalVariation1D",
    "Translated",
    "TrimmedSquares",
    "Weighted",
    "Zero",
    "check_curvature",
    "check_gradient",
    "check_jacobian",
    "check_prox",
    "smooth",
]
