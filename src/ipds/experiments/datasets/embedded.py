"""Data that ships inside scikit-learn: no file, no network."""

from __future__ import annotations

import numpy as np

from ...io import DataError

NAMES = ("digits", "cancer", "wine", "diabetes")


def embedded(name: str) -> np.ndarray:
    """The samples of a small data set: "digits" 1797x64, "cancer" 569x30, "wine" 178x13, "diabetes" 442x10.

    >>> embedded("digits").shape
    (1797, 64)
    """
    from sklearn import datasets

    loaders = {
        "digits": datasets.load_digits,
        "cancer": datasets.load_breast_cancer,
        "wine": datasets.load_wine,
        "diabetes": datasets.load_diabetes,
    }
    if name not in loaders:
        raise DataError(f"embedded data are {list(NAMES)}, got {name!r}")
    return np.asarray(loaders[name]().data, dtype=float)
