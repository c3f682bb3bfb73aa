"""Sparse PCA with a real trade-off: the generator, and gene expression data in the same form."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ...io import DataError
from ...io.limits import check_size
from .recorded import GENES, gene


def trade_off(name: str, seed: int = 0, data_dir: str | Path | None = None) -> np.ndarray:
    """The matrix B of min -‖BX‖² + λ‖X‖₁, XᵀX = I: columns centred, then of unit norm.

    `name` is "tradeoff-m-n" for a standard normal m x n matrix seeded by `seed`, or "Leukemia", "Arabidopsis", "Lymph"
    for gene expression data, which do not depend on the seed. The paper's own problem is solved by r coordinate
    vectors; here variance and sparsity compete.

    >>> trade_off("tradeoff-50-500").shape
    (50, 500)

    Reference: Chen, Ma, So & Zhang, SIOPT 30 (2020), for the generator.
    """
    if name in GENES:
        B = gene(name, data_dir)
    else:
        match = re.fullmatch(r"tradeoff-([0-9]{1,9})-([0-9]{1,9})", name)
        if match is None or 0 in (int(match[1]), int(match[2])):
            raise DataError(f"trade-off data are named tradeoff-m-n or one of {list(GENES)}, got {name!r}")
        check_size(int(match[1]) * int(match[2]), 8, name)
        B = np.random.default_rng([2, seed]).standard_normal((int(match[1]), int(match[2])))
    B = B - B.mean(axis=0)
    lengths = np.linalg.norm(B, axis=0)
    return B / np.where(lengths > 0, lengths, 1.0)
