"""Data that ships inside scikit-learn: no file, no network."""

from __future__ import annotations

import numpy as np

from ...io import DataError

LOADERS = {
    "digits": "load_digits",
    "cancer": "load_breast_cancer",
    "wine": "load_wine",
    "diabetes": "load_diabetes",
}
"""Functions of `sklearn.datasets`."""


def embedded(name: str) -> np.ndarray:
    """The samples of a small data set: "digits" 1797x64, "cancer" 569x30, "wine" 178x13, "diabetes" 442x10.

    >>> embedded("digits").shape
    (1797, 64)
    """
    from sklearn import datasets

    if name not in LOADERS:
        raise DataError(f"embedded data are {list(LOADERS)}, got {name!r}")
    return np.asarray(getattr(datasets, LOADERS[name])().data, dtype=float)
