"""The data matrices of the paper by their names: randn-m-d, mnist-m-d, TDT2-m-d, sector-m-d."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from ...io import DataError, read_idx, read_libsvm, read_mat
from ...io.limits import check_size
from .cache import MNIST, SECTOR, TDT2, locate
from .embedded import LOADERS, embedded

PAPER = tuple(
    f"{source}-{m}-{d}"
    for source, sizes, d in (
        ("randn", (1500, 2500), 500),
        ("mnist", (1500, 2500), 780),
        ("TDT2", (1500, 3000), 500),
        ("sector", (1500, 2500), 500),
    )
    for m in sizes
)
"""The eight data sets of the paper."""
FILES = {"mnist": MNIST, "TDT2": TDT2, "sector": SECTOR}
SOURCES = ("randn", *FILES, *LOADERS)


def load(name: str, seed: int = 0, data_dir: str | Path | None = None, download: bool = False) -> np.ndarray:
    """The matrix D of shape (m, d) named "source-m-d", as the paper makes it.

    m rows and d columns are drawn at random from the source, seeded by `seed`; every column is divided by its norm,
    then its mean is subtracted. Columns of texts are drawn among those in which a row drawn has an entry; a column of
    zeros (the border of images) stays zero. Sources: "randn" (standard normal), "mnist" (the 10000 test images),
    "TDT2", "sector", and those inside scikit-learn: "digits", "cancer", "wine", "diabetes".

    Files are looked for in `data_dir`, the folder IPDS_DATA and the cache; download=True fetches what is missing.
    `DataMissing` where a file is not at hand, `DataError` where it is damaged or too small; nothing stands in for it.

    >>> D = load("randn-30-4", seed=1)
    >>> D.shape, bool(abs(D.mean(axis=0)).max() < 1e-15)
    ((30, 4), True)
    """
    source, m, d = parse(name)
    rng = np.random.default_rng([1, seed])
    check_size(m * d, 8, name)
    if source == "randn":
        return unit_then_centre(rng.standard_normal((m, d)))
    samples = (
        _embedded(source) if source in LOADERS else _file(source, locate(FILES[source], data_dir, download))
    )
    return unit_then_centre(_drawn(samples, m, d, rng, name))


def parse(name: str) -> tuple[str, int, int]:
    """(source, m, d) of a name; `DataError` with the form expected."""
    match = re.fullmatch(r"([A-Za-z0-9]+)-([0-9]{1,9})-([0-9]{1,9})", name)
    if match is None or match[1] not in SOURCES or 0 in (int(match[2]), int(match[3])):
        raise DataError(f"data sets are named source-m-d with source in {list(SOURCES)}, got {name!r}")
    return match[1], int(match[2]), int(match[3])


def unit_then_centre(D: np.ndarray) -> np.ndarray:
    """Columns divided by their norms (a zero column stays), then their means subtracted."""
    lengths = np.linalg.norm(D, axis=0)
    D = D / np.where(lengths > 0, lengths, 1.0)
    return D - D.mean(axis=0)


def _drawn(samples: Any, m: int, d: int, rng: np.random.Generator, name: str) -> np.ndarray:
    """m random rows, d random columns, dense."""
    if samples.shape[0] < m:
        raise DataError(f"{name}: the source has {samples.shape[0]} rows only")
    rows = samples[rng.choice(samples.shape[0], m, replace=False)]
    sparse = scipy.sparse.issparse(rows)
    candidates = np.unique(rows.nonzero()[1]) if sparse else np.arange(rows.shape[1])
    if len(candidates) < d:
        raise DataError(f"{name}: the source has {len(candidates)} columns only")
    columns = np.sort(rng.choice(candidates, d, replace=False))
    return (rows[:, columns].toarray() if sparse else rows[:, columns]).astype(float)


_embedded = functools.cache(embedded)


@functools.cache
def _file(source: str, path: Path) -> Any:
    """The whole source, read once per process."""
    if source == "mnist":
        images = read_idx(path)
        if images.ndim != 3:
            raise DataError(f"{path}: images expected, got an array of shape {images.shape}")
        return images.reshape(len(images), -1)
    if source == "TDT2":
        texts = read_mat(path, "fea")
        if texts.ndim != 2:
            raise DataError(f"{path}: a matrix expected, got an array of shape {texts.shape}")
        return texts
    return read_libsvm(path)[0]
