"""Problems, methods and iterations of the recorded oracle `oracle.npz`.

The iterates were recorded once, with the version of the package before its methods were rewritten; run as a program,
this file records them anew (`python tests/methods/oracle_cases.py`). Only what a start moved by its last bits leaves
as it is to ten digits is kept: of the rest no rewriting could be told from rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

import problems
from ipds import AssumptionError, Block, Parameters, Problem, iterate
from ipds.functions import (
    L1,
    L21,
    Box,
    Cardinality,
    LeastSquares,
    NonNegative,
    PCAVariance,
    PhaseRetrieval,
    Rank,
    Stiefel,
    smooth,
)
from ipds.methods import (
    IPDS,
    RADMM,
    SPGM,
    AcceleratedIPDS,
    FixedPenaltyADMM,
    ManPG,
    Method,
    RiemannianALM,
    Subgradient,
)
from ipds.methods.reordered import Reordered
from ipds.operators import DCT, FiniteDifference

FILE = Path(__file__).with_name("oracle.npz")
ITERATIONS = (1, 2, 5, 25)
LATER = (130, 320)
"""Iterations at which accelerated IPDS has weighed, annealed and sharpened."""


def first_on_stiefel() -> Problem:
    D = problems.rng(3).standard_normal((12, 7))
    return Problem(
        [
            Block(f=PCAVariance(D), h=Stiefel(), A=-1.0, shape=(7, 2)),
            Block(h=L1(0.4), shape=(7, 2)),
        ]
    )


def callables() -> Problem:
    M = problems.rng(4).standard_normal((9, 6))
    M = M.T @ M
    f = smooth(lambda X: -0.5 * float(np.vdot(X, M @ X)), lambda X: -(M @ X), lipschitz=np.linalg.norm(M, 2))
    return Problem(
        [Block(f=f, h=Stiefel(), A=-1.0, shape=(6, 2)), Block(h=L1(0.7), A=2.0, shape=(6, 2))], b=0.1
    )


def lasso() -> Problem:
    g = problems.rng(5)
    f = LeastSquares(g.standard_normal((12, 7)), g.standard_normal(12))
    return Problem([Block(f=f, A=-1.0, shape=7), Block(h=L1(0.5), A=2.0, shape=7)], b=0.3)


def low_rank() -> Problem:
    M = problems.rng(6).standard_normal((5, 4))
    return Problem([Block(h=Rank(1), A=-1.0, shape=(5, 4)), Block(h=L1(1.0), shape=(5, 4))], b=-M)


def phases() -> Problem:
    g = problems.rng(7)
    G, D = g.standard_normal((14, 5)), g.standard_normal((6, 5))
    f = PhaseRetrieval(G, (G @ g.standard_normal(5)) ** 2)
    return Problem([Block(h=NonNegative(), shape=6), Block(f=f, h=L1(0.1), A=-D, shape=5)])


def jumps() -> Problem:
    y = np.repeat([1.0, -2.0, 0.5], 4) + 0.1 * problems.rng(8).standard_normal(12)
    f = LeastSquares(np.eye(12), y)
    return Problem([Block(f=f, A=-FiniteDifference(), shape=12), Block(h=L1(0.3), shape=11)])


def normals() -> Problem:
    G = problems.subspace_data(4, 1, 8, 4, 0)[0]
    return Problem([Block(h=Stiefel(), A=-G, shape=(4, 1)), Block(h=L21(1.0), shape=(12, 1))])


def spectrum() -> Problem:
    g = problems.rng(9)
    f = LeastSquares(g.standard_normal((8, 8)), g.standard_normal(8))
    return Problem([Block(f=f, h=Box(-1.0, 1.0), A=-1.0, shape=8), Block(h=L1(0.4), A=DCT(), shape=8)])


def nonconvex_last() -> Problem:
    g = problems.rng(10)
    return Problem(
        [Block(h=L1(1.0), shape=9), Block(h=Cardinality(2), A=-g.standard_normal((9, 5)), shape=5)],
        b=g.standard_normal(9),
    )


def heavy() -> Problem:
    """An f without a global Lipschitz constant on a block with a Lipschitz h: the weights ω play a part."""
    g = problems.rng(11)
    G = g.standard_normal((20, 6))
    f = PhaseRetrieval(G, (G @ np.array([2.0, 0, 0, -1.0, 0, 0])) ** 2)
    return Problem([Block(f=f, h=L1(0.2), A=-1.0, shape=6), Block(h=NonNegative(), shape=6)])


CASES = {
    "sparse_pca": lambda: problems.sparse_pca(7, 2),
    "first_on_stiefel": first_on_stiefel,
    "callables": callables,
    "robust_regression": lambda: problems.robust_regression(12, 6, 2),
    "surjective": lambda: problems.surjective(3.0, 4, 8),
    "three_blocks": problems.three_blocks,
    "five_blocks": problems.five_blocks,
    "lasso": lasso,
    "low_rank": low_rank,
    "phases": phases,
    "jumps": jumps,
    "normals": normals,
    "spectrum": spectrum,
    "nonconvex_last": nonconvex_last,
    "heavy": heavy,
}
FIXED = Parameters(p=1 / 3, xi=0.2, delta=0.2, sigma=0.8, theta1=1.05, theta2=1.1)
"""Those of "sound" and "paper" follow from theorems, which may become sharper."""
METHODS: dict[str, Method] = {
    "IPDS practical": IPDS(),
    "IPDS parameters": IPDS(FIXED),
    "IPDS long dual steps": IPDS(Parameters(xi=0.05, delta=0.1, sigma=1.5, theta1=1.2, theta2=1.3)),
    "IPDS scaled": IPDS(FIXED, scaled_multiplier=True),
    "accelerated fast": AcceleratedIPDS("fast"),
    "accelerated balanced": AcceleratedIPDS(),
    "accelerated thorough": AcceleratedIPDS("thorough"),
    "accelerated beta0": AcceleratedIPDS("fast", beta0=0.3),
    "RADMM": RADMM(),
    "RADMM tuned": RADMM("tuned"),
    "RADMM euclidean": RADMM(gradient="euclidean"),
    "SPGM": SPGM(),
    "SPGM tuned": SPGM("tuned"),
    "subgradient": Subgradient(),
    "subgradient tuned": Subgradient("tuned"),
    "subgradient diminishing": Subgradient(decay="diminishing"),
    "ManPG": ManPG(),
    "ManPG published": ManPG(adaptive=False, rule="published"),
    "rialm": RiemannianALM(),
    "reordered": Reordered(IPDS(), 0),
}
PRESETS = {
    f"preset {key}": FixedPenaltyADMM(key, force=True)
    for key in ("he-yuan-2012", "li-pong-2015", "yang-2017", "yashtini-2020", "yashtini-2021", "wang-2019")
} | {f"preset {key}": FixedPenaltyADMM(key, force=True) for key in ("bot-2020", "bot-2019", "huang-2019")}
ROUNDED = [(case, "accelerated thorough") for case in ("sparse_pca", "first_on_stiefel")]
"""Runs that cool in single precision after the first iterations: last bits of that are those of a machine."""
NUDGES = (4e-16, -4e-16, 9e-16, -9e-16, 2e-15, -2e-15)
"""Relative changes of a start that a recorded iterate must not feel."""
FEW = ("lasso", "three_blocks")
"""The problems on which every preset is run; the others see the first one."""


def pairs() -> Iterator[tuple[str, str, Method]]:
    for case in CASES:
        for name, method in (METHODS | PRESETS).items():
            if name in METHODS or case in FEW or name == "preset he-yuan-2012":
                yield case, name, method


def iterates(case: str, method: Method, count: int, nudge: float = 0.0) -> Iterator[np.ndarray]:
    """(x, z, β, μ) after every iteration, as one vector."""
    problem = CASES[case]()
    x0, z0 = problems.start_of(problem)
    x0 = [x * (1 + nudge) for x in x0]
    z0 = 0.0 * z0 if case in ("callables", "first_on_stiefel", "low_rank", "normals") else z0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for state in islice(iterate(problem, x0, z0, method), count):
            blocks = [np.ravel(x) for x in (*state.q, state.z)]
            yield np.concatenate([*blocks, [state.beta, state.mu]])


def recorded(case: str, name: str, method: Method) -> dict[str, np.ndarray]:
    """The iterates of a run that starts moved by rounding (`NUDGES`) lead to as well: no choice hangs on last bits."""
    later = name.startswith("accelerated") and (case, name) not in ROUNDED
    wanted = (*ITERATIONS, *(LATER if later else ()))
    try:
        plain = list(iterates(case, method, max(wanted)))
    except AssumptionError:
        return {}
    moved = [list(iterates(case, method, max(wanted), nudge)) for nudge in NUDGES]
    return {
        f"{case}/{name}/{t}": plain[t - 1]
        for t in wanted
        if np.all(np.isfinite(plain[t - 1]))
        and all(
            np.linalg.norm(plain[t - 1] - run[t - 1]) <= 1e-10 * np.linalg.norm(plain[t - 1]) for run in moved
        )
    }


def oracle() -> dict[str, np.ndarray]:
    """The recorded iterates by "case/method/iteration"."""
    with np.load(FILE) as file:
        parts = np.split(file["values"], np.cumsum(file["sizes"])[:-1])
        return dict(zip(file["names"].tolist(), parts, strict=True))


if __name__ == "__main__":
    found: dict[str, np.ndarray] = {}
    for case, name, method in pairs():
        found |= recorded(case, name, method)
    sizes = [len(values) for values in found.values()]
    np.savez_compressed(FILE, names=list(found), sizes=sizes, values=np.concatenate(list(found.values())))
    print(f"{len(found)} iterates, {FILE.stat().st_size} bytes")
