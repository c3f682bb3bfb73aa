"""Applications as scikit-learn estimators, one per file: data -> `Problem` -> fitted attributes.

Files that begin with an underscore serve several of them, or one whose file would be too long:

- all models: `_base` (the parameters of the solve, warnings), `_summary`, `_pictures`, `_scaling` (units of columns),
  `_dask`; `saving` writes fitted models to files;
- those with a weight alpha to choose, `quantile`, `trend_filter`, `fused_lasso` and `group_lasso`: `_path`; the last
  two share `_linear`, and trends take differences at unequal positions from `_divided`;
- `sparse_pca`: `_moments` (variances and covariances), `_pca_path` (the choice of alpha), `_few_features` (a working
  set), `_orthonormal`;
- `robust_regression`: `_support` (how many coefficients), by the coarse fits of `_trials`;
- `robust_low_rank`: `_rank` (which rank); `video` splits films by it. Both robust models fit exactly by `_lad`;
- `dual_pcp` and `phase_retrieval` need no others.
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
