"""Functions: nonsmooth h_i with a prox, smooth f_i with a gradient."""

from .base import Nonsmooth, Smooth

__all__ = ["Nonsmooth", "Smooth"]
