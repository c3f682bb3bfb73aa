"""Moved to `ipds.experiments.datasets`: names are forwarded, with a warning."""

import warnings
from typing import Any

from .experiments import datasets


def __getattr__(name: str) -> Any:
    if name not in datasets.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__} is now {datasets.__name__}", DeprecationWarning, stacklevel=2)
    return getattr(datasets, name)
