"""Functions: nonsmooth h_i with a prox, smooth f_i with a gradient."""

from .base import Nonsmooth, Smooth
from .losses import HuberLoss, LeastSquares, Linear, Logistic, PhaseRetrieval, Quadratic
from .wrap import smooth

__all__ = [
    "HuberLoss",
    "LeastSquares",
    "Linear",
    "Logistic",
    "Nonsmooth",
    "PhaseRetrieval",
    "Quadratic",
    "Smooth",
    "smooth",
]
