"""One instance of sparse PCA: data, statements of the problem, start and score."""

from __future__ import annotations

import functools
import hashlib
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..functions import L1, PCAReconstruction, PCAVariance, Stiefel
from ..problem import Block, Problem
from .datasets import load, trade_off


@dataclass(frozen=True)
class Instance:
    """min F(V) = constant - ‖DV‖²/(2m) + weight·‖V‖₁ over VᵀV = I, and a start that all entrants share."""

    D: np.ndarray
    f: PCAVariance
    weight: float
    constant: float
    start: np.ndarray
    digest: str
    """Of the data."""

    def problem(self) -> Problem:
        """The concave f on the orthonormal block, ρ‖·‖₁ on the last one."""
        shape = self.start.shape
        return Problem(
            [
                Block(f=self.f, h=Stiefel(), A=-1.0, shape=shape, name="Y"),
                Block(h=L1(self.weight), shape=shape, name="V"),
            ]
        )

    def printed_problem(self) -> Problem:
        """The paper's statement: the quartic f = ‖D - DVVᵀ‖²/(2m) on the last block."""
        shape = self.start.shape
        return Problem(
            [
                Block(h=Stiefel(), A=-1.0, shape=shape, name="Y"),
                Block(f=_quartic(self), h=L1(self.weight), shape=shape, name="V"),
            ]
        )

    def score(self, Y: np.ndarray) -> float:
        """F at the orthonormal matrix nearest to Y (solvers keep Y orthonormal to rounding); inf where none is."""
        if not np.isfinite(Y).all():
            return math.inf
        V = nearest(Y)
        return self.constant + self.f(V) + self.weight * float(np.abs(V).sum())


def nearest(Y: np.ndarray) -> np.ndarray:
    """The polar factor of Y."""
    U, _, W = np.linalg.svd(Y, full_matrices=False)
    return U @ W


@functools.lru_cache(maxsize=4)
def instance(
    family: str, dataset: str, weight: float, components: int, seed: int, data_dir: Path | None
) -> Instance:
    """The instance of a cell. Gram matrix and Lipschitz constant are made here, before any clock, for everybody."""
    D, f, digest = _data(family, dataset, seed, data_dir)
    rng = np.random.default_rng([3, seed])
    start = nearest(rng.standard_normal((D.shape[1], components)))
    # with B scaled by √(2m), -‖DX‖²/(2m) is -‖BX‖²
    constant = float(np.sum(D * D)) / (2 * len(D)) if family == "paper" else 0.0
    return Instance(D, f, weight, constant, start, digest)


@functools.lru_cache(maxsize=2)
def _data(family: str, dataset: str, seed: int, data_dir: Path | None) -> tuple[np.ndarray, PCAVariance, str]:
    if family == "paper":
        D = load(dataset, seed, data_dir)
    else:
        B = trade_off(dataset, seed, data_dir)
        D = math.sqrt(2 * len(B)) * B
    f = PCAVariance(D)
    f.lipschitz  # noqa: B018  (kept by f once computed)
    return D, f, hashlib.sha256(D.tobytes()).hexdigest()[:12]


def _quartic(instance: Instance) -> PCAReconstruction:
    f = PCAReconstruction(instance.D)
    f.local_lipschitz(instance.start, 1.0)  # its constants are made before the clock too
    return f
