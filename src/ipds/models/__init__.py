"""Applications as scikit-learn estimators, one per file: data -> `Problem` -> fitted attributes.

`_base` holds what all of them share: the parameters of the solve, warnings, summaries. `_path` and `_linear` serve
those with a weight alpha to choose; the other files that begin with an underscore serve one or two models each.
`saving` writes fitted models to files.
"""

from ._base import Estimator
from ._path import Path
from ._pca_path import SparsePCAPath
from ._summary import Summary
from .dual_pcp import DualPCP
from .fused_lasso import FusedLasso
from .group_lasso import OverlappingGroupLasso
from .phase_retrieval import SparsePhaseRetrieval
from .quantile import SparseQuantileRegressor
from .robust_low_rank import RobustLowRank
from .robust_regression import RobustSparseRegressor
from .saving import load_model, save_model
from .sparse_pca import SparsePCA
from .trend_filter import TrendFilter
from .video import Separation, separate_video

__all__ = [
    "DualPCP",
    "Estimator",
    "FusedLasso",
    "OverlappingGroupLasso",
    "Path",
    "RobustLowRank",
    "RobustSparseRegressor",
    "Separation",
    "SparsePCA",
    "SparsePCAPath",
    "SparsePhaseRetrieval",
    "SparseQuantileRegressor",
    "Summary",
    "TrendFilter",
    "load_model",
    "save_model",
    "separate_video",
]
