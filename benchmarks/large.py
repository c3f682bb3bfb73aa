"""Whole fits of large data with default arguments: seconds of one core, and memory.

python -m benchmarks.large                            # dense 20,000 x 1,000
python -m benchmarks.large --shape 50000 2000         # larger: 0.8 GB of data, 13 GB of memory for the low rank
python -m benchmarks.large TDT2.mat                   # and sparse text, 9,394 x 36,771
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from benchmarks.report import table

from ipds.models import RobustLowRank, RobustSparseRegressor, SparsePCA

SHAPE, FACTORS = (20_000, 1_000), 10


def factors(samples: int, features: int) -> tuple[np.ndarray]:
    """Ten factors of 30 features each, and noise."""
    rng = np.random.default_rng(0)
    loadings = np.zeros((FACTORS, features))
    for row in loadings:
        row[rng.choice(features, 30, replace=False)] = rng.standard_normal(30)
    scores = rng.standard_normal((samples, FACTORS)) * np.linspace(3, 1, FACTORS)
    return (scores @ loadings + rng.standard_normal((samples, features)),)


def outliers(samples: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten features that matter, noise, and a tenth of the targets grossly wrong."""
    rng = np.random.default_rng(0)
    X, v = rng.standard_normal((samples, features)), np.zeros(features)
    v[rng.choice(features, FACTORS, replace=False)] = 3.0 * rng.standard_normal(FACTORS)
    y = X @ v + 0.1 * rng.standard_normal(samples) + 1.0
    wrong = rng.random(samples) < 0.1
    y[wrong] += 20.0 * rng.standard_normal(wrong.sum())
    return X, y


def gross_errors(samples: int, features: int) -> tuple[np.ndarray]:
    """A matrix of rank ten with a tenth of its entries grossly wrong."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((samples, FACTORS)) @ rng.standard_normal((FACTORS, features))
    X[rng.random(X.shape) < 0.1] += 20.0
    return (X,)


def words(path: str) -> tuple[Any]:
    """Counts of terms in documents, sparse."""
    return (sp.csr_array(scipy.io.loadmat(path)["fea"]).astype(float),)


def measured(name: str, model: Any, make: Callable[[], tuple[Any, ...]]) -> list[str]:
    """A row: the fit in seconds of the processor, gigabytes of the process at most, certificate."""
    data = make()
    begun = time.process_time()
    model.fit(*data)
    seconds, peak = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shape = "x".join(map(str, data[0].shape))
    found = model.result_.certificate.relative
    return [name, shape, f"{seconds:.1f}", f"{peak / 1e6:.2f}", f"{found:.0e}"]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", help="TDT2.mat, with the matrix `fea`")
    parser.add_argument("--shape", nargs=2, type=int, default=SHAPE, metavar=("SAMPLES", "FEATURES"))
    options = parser.parse_args(argv)
    cases: list[tuple[str, Any, Callable[[], tuple[Any, ...]]]] = [
        ("RobustSparseRegressor()", RobustSparseRegressor(), partial(outliers, *options.shape)),
        ("RobustSparseRegressor(10)", RobustSparseRegressor(10), partial(outliers, *options.shape)),
        ("SparsePCA(10)", SparsePCA(10), partial(factors, *options.shape)),
        ("RobustLowRank(10)", RobustLowRank(10), partial(gross_errors, *options.shape)),
    ]
    if options.text is not None:
        cases.append(("SparsePCA(10)", SparsePCA(10), partial(words, options.text)))
    # a process each: the most memory a process has had is all that the system tells
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, max_tasks_per_child=1) as pool:
        rows = list(pool.map(measured, *zip(*cases, strict=True)))
    print(table(["model", "data", "seconds", "GB", "certificate"], rows))


if __name__ == "__main__":
    main()
