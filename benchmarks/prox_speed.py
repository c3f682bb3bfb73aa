"""How fast the proxes are: entrywise ones on 1e6 entries against `numpy.clip`, then the matrix sets.

    OMP_NUM_THREADS=1 python benchmarks/prox_speed.py

An entrywise prox reads its input and writes its result in a number of passes over memory. "passes" is how
many it needs at least (a comparison, a selection, a root each count as one); "ratio" is its time over that
many clips, and a star marks those above 3.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ipds.functions import (
    L0,
    L1,
    L21,
    MCP,
    PSD,
    SCAD,
    Binary,
    Box,
    CappedL1,
    Cardinality,
    ElasticNet,
    Huber,
    L1Ball,
    L2Ball,
    LHalf,
    Linf,
    LogSum,
    LTwoThirds,
    NonNegative,
    Rank,
    Simplex,
    Stiefel,
    TotalVariation1D,
)

# The prox, and the passes over memory it needs at least.
ENTRYWISE: list[tuple[str, Any, float, int]] = [
    ("L1: clip, subtract", L1(0.5), 1.0, 2),
    ("L0: abs, compare, select", L0(0.5), 1.0, 3),
    ("ElasticNet: soft, scale", ElasticNet(0.5, 0.1), 1.0, 3),
    ("Huber: scale, clip, subtract", Huber(0.5, 0.5), 1.0, 3),
    ("CappedL1: clip, abs, compare, mask, subtract", CappedL1(0.5, 1.0), 1.0, 5),
    ("MCP, s < γ: soft, scale, abs, clip", MCP(0.5, 3.0), 1.0, 5),
    ("MCP, s ≥ γ: abs, compare, select", MCP(0.5, 3.0), 4.0, 3),
    ("SCAD, s < a-1: abs, 2 lines, max, min, clip, sign", SCAD(0.5, 3.7), 1.0, 8),
    ("SCAD, s ≥ a-1: as CappedL1", SCAD(0.5, 3.7), 3.0, 5),
    ("LogSum: abs, 2 roots, quotient, clip, sign, mask", LogSum(0.5, 0.1), 1.0, 10),
    ("LHalf, 30% kept: abs, compare, gather, root, 5 Newton", LHalf(0.5), 1.0, 15),
    ("LTwoThirds, 30% kept: the same", LTwoThirds(0.5), 1.0, 15),
    ("Box: clip", Box(-0.5, 0.5), 1.0, 1),
    ("NonNegative: max", NonNegative(), 1.0, 1),
    ("Binary: compare, select", Binary(), 1.0, 2),
    ("Cardinality(1e5): abs, partition, compare, count, select", Cardinality(100_000), 1.0, 8),
    ("L2Ball: norm, scale", L2Ball(), 1.0, 2),
    ("L1Ball: abs, sum, Newton, soft", L1Ball(1e4), 1.0, 8),
    ("Simplex: shift, Newton, clip", Simplex(1e3), 1.0, 8),
    ("Linf: abs, sum, Newton, clip", Linf(1e3), 1.0, 8),
]


def best(run: Callable[[], object], budget: float = 0.3) -> float:
    """Shortest time of one run, in seconds."""
    run()
    times, stop = [], time.perf_counter() + budget
    while time.perf_counter() < stop or len(times) < 3:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def entrywise(size: int = 1_000_000) -> None:
    v = np.random.default_rng(0).standard_normal(size)
    clip = best(lambda: np.clip(v, -0.5, 0.5))
    print(f"{size:,} entries; one numpy.clip takes {1e3 * clip:.2f} ms\n")
    print(f"{'prox':60s}{'ms':>8s}{'passes':>8s}{'ratio':>8s}")
    for name, h, step, passes in ENTRYWISE:
        seconds = best(lambda h=h, step=step: h.prox(v, step))  # type: ignore[misc]
        ratio = seconds / (passes * clip)
        print(f"{name:60s}{1e3 * seconds:8.2f}{passes:8d}{ratio:8.2f}{'  *' if ratio > 3 else ''}")
    rows = v.reshape(-1, 20)
    print(f"{'L21 on rows of 20':60s}{1e3 * best(lambda: L21(0.5).prox(rows, 1.0)):8.2f}")
    short = v[:10_000]
    print(
        f"{'TotalVariation1D, 10,000 entries':60s}{1e3 * best(lambda: TotalVariation1D(0.5).prox(short, 1.0)):8.2f}"
    )


def small() -> None:
    """What a call costs when the block is small: the overhead per iteration of a solver."""
    v = np.random.default_rng(0).standard_normal((10, 2))
    print("\n10 x 2 block, microseconds per call")
    for h in (L1(0.5), L0(0.5), L21(0.5), Cardinality(5), NonNegative(), Stiefel(), Rank(1)):
        print(f"  {h!r:24s}{1e6 * best(lambda h=h: h.prox(v, 1.0)):8.1f}")  # type: ignore[misc]


def stiefel() -> None:
    print("\nStiefel: time, the two products and the eigendecomposition alone, full SVD (microseconds)")
    for n, r in ((500, 20), (1000, 20), (780, 50), (5000, 10)):
        v = np.random.default_rng(0).standard_normal((n, r))
        gram = v.T @ v
        parts = (
            best(lambda v=v: v.T @ v)  # type: ignore[misc]
            + best(lambda v=v, gram=gram: v @ gram)  # type: ignore[misc]
            + best(lambda gram=gram: np.linalg.eigh(gram))  # type: ignore[misc]
        )
        whole = best(lambda v=v: Stiefel().prox(v, 1.0))  # type: ignore[misc]
        svd = best(lambda v=v: np.linalg.svd(v, full_matrices=False))  # type: ignore[misc]
        shown = "".join(f"{1e6 * t:10.1f}" for t in (whole, parts, svd))
        print(f"  {n:5d} x {r:<4d}{shown}  ratio {whole / parts:.2f}")


def rank() -> None:
    print("\nRank: cold, warm from the last basis, full SVD (milliseconds), error of cold")
    rng = np.random.default_rng(0)
    for m, n, s in ((150, 150, 5), (1000, 1000, 10), (199, 20800, 1), (199, 20800, 2)):
        low = rng.standard_normal((m, s)) @ rng.standard_normal((s, n))
        for kind, v in (
            ("low rank + noise", low + rng.standard_normal((m, n))),
            ("noise", rng.standard_normal((m, n))),
        ):
            h = Rank(s)
            _, basis = h.prox_warm(v, 1.0)
            _, basis = h.prox_warm(v, 1.0, basis)
            near = v + 1e-3 * rng.standard_normal((m, n))
            start = time.perf_counter()
            u, sigma, wt = np.linalg.svd(near, full_matrices=False)
            full = time.perf_counter() - start
            exact = (u[:, :s] * sigma[:s]) @ wt[:s]
            cold = best(lambda h=h, near=near: h.prox(near, 1.0))  # type: ignore[misc]
            warm = best(lambda h=h, near=near, basis=basis: h.prox_warm(near, 1.0, basis))  # type: ignore[misc]
            error = np.linalg.norm(h.prox(near, 1.0) - exact) / np.linalg.norm(exact)
            shown = "".join(f"{1e3 * t:9.2f}" for t in (cold, warm, full))
            print(f"  {m:4d} x {n:<6d} s={s:<3d}{kind:18s}{shown}   {error:.0e}")
    v = rng.standard_normal((200, 200))
    print(f"\nPSD 200 x 200: {1e3 * best(lambda: PSD().prox(v, 1.0)):.1f} ms")


if __name__ == "__main__":
    entrywise()
    small()
    stiefel()
    rank()
