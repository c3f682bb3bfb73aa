"""Problems that need no file, the methods set beside each other on them, and the table of their results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..methods import IPDS, RADMM, SPGM, Method, Subgradient
from ..problem import Block, Problem

if TYPE_CHECKING:
    from rich.table import Table

    from ..result import Result


def contenders() -> dict[str, str | Method]:
    """The default, Algorithm 1 with practical and with proved parameters, and the baselines, each as well tuned."""
    return {
        "auto (the default)": "auto",
        "IPDS, practical": IPDS("practical"),
        "IPDS, sound": IPDS("sound"),
        "RADMM": RADMM("tuned"),
        "SPGM": SPGM("tuned"),
        "subgradient": Subgradient("tuned"),
    }


def digits() -> np.ndarray:
    """1797 handwritten digits of 64 pixels, between 0 and 1: they come with scikit-learn."""
    from sklearn.datasets import load_digits

    return np.asarray(load_digits().data / 16.0)


def sparse_pca(components: int = 8, rho: float = 0.03) -> Problem:
    """min -‖DY‖²/(2m) + ρ‖V‖₁ subject to Y = V, YᵀY = I, for the centred digits D."""
    from ..functions import L1, PCAVariance, Stiefel

    data = digits()
    shape = (data.shape[1], components)
    return Problem(
        [
            Block(f=PCAVariance(data, center=True), h=Stiefel(), A=-1.0, shape=shape, name="Y"),
            Block(h=L1(rho), shape=shape, name="V"),
        ]
    )


def robust_regression(m: int = 300, d: int = 150, s: int = 10) -> Problem:
    """min ‖u‖₁ subject to u = G v - y, ‖v‖₀ ≤ s, a fifth of y ruined."""
    from ..functions import L1, Cardinality

    rng = np.random.default_rng(0)
    G, v = rng.standard_normal((m, d)), np.zeros(d)
    v[:s] = rng.choice([-1.0, 1.0], s)
    y = G @ v + 0.01 * rng.standard_normal(m)
    y[: m // 5] += 20 * rng.standard_normal(m // 5)
    return Problem(
        [Block(h=Cardinality(s), A=-G, shape=d, name="v"), Block(h=L1(1.0), shape=m, name="u")], b=-y
    )


def robust_low_rank(size: int = 100, rank: int = 3) -> Problem:
    """min ‖u‖₁ subject to u = V - M, rank V ≤ s, a tenth of M ruined."""
    from ..functions import L1, Rank

    rng = np.random.default_rng(0)
    M = rng.standard_normal((size, rank)) @ rng.standard_normal((rank, size))
    M += 20 * rng.standard_normal(M.shape) * (rng.random(M.shape) < 0.1)
    shape = (size, size)
    return Problem(
        [Block(h=Rank(rank), A=-1.0, shape=shape, name="V"), Block(h=L1(1.0), shape=shape, name="u")], b=-M
    )


def comparison(results: Mapping[str, Result | None]) -> Table:
    """A row per method; None is a method whose assumptions the problem does not meet."""
    from rich.table import Table

    table = Table("method", "objective", "certificate", "steps", "time", "ended")
    for i, column in enumerate(table.columns):
        column.no_wrap = i < 5
        column.justify = "right" if 1 <= i <= 4 else "left"
    for name, result in results.items():
        if result is None:
            table.add_row(name, "", "", "", "", "does not apply here", style="dim")
            continue
        table.add_row(
            name,
            f"{result.fun:.6g}",
            f"{result.certificate.relative:.1e}",
            str(result.nit),
            f"{result.seconds:.2f} s",
            "certified"
            if result.success
            else result.status.name.replace("_FEASIBLE", "").replace("_", " ").lower(),
            style="bold" if result.success else None,
        )
    return table
