"""Problems posed with the arrays of any library."""

import numpy as np

import problems
from ipds import Block, Problem
from ipds.functions import (
    L1,
    L21,
    Cardinality,
    LeastSquares,
    PCAVariance,
    PhaseRetrieval,
    Rank,
    Stiefel,
)
from ipds.methods import (
    IPDS,
    RADMM,
    SPGM,
    AcceleratedIPDS,
    FixedPenaltyADMM,
    ManPG,
    RiemannianALM,
    Subgradient,
)
from ipds.operators import FiniteDifference, Sampling


def pca(make, dtype="float64"):
    """Sparse PCA with f on the manifold: every method can treat it."""
    g = problems.rng(3)
    D = make(g.standard_normal((20, 8)).astype(dtype))
    start = make(Stiefel().prox(g.standard_normal((8, 2)), 1.0).astype(dtype))
    blocks = [
        Block(f=PCAVariance(D), h=Stiefel(), A=-1.0, shape=(8, 2), name="Y"),
        Block(h=L1(0.1), shape=(8, 2), name="V"),
    ]
    return Problem(blocks), [start, start]


def regression(make, dtype="float64"):
    """A convex problem with matrices and a right-hand side, fit for FixedPenaltyADMM too."""
    g = problems.rng(4)
    G, y = make(g.standard_normal((12, 5)).astype(dtype)), make(g.standard_normal(12).astype(dtype))
    blocks = [Block(h=L1(0.3), A=G, shape=5, name="x"), Block(h=L1(0.5), A=-1.0, shape=12, name="e")]
    return Problem(blocks, b=y), None


def sparse_regression(make):
    """The problem of RobustSparseRegressor: three blocks, one without h."""
    g = problems.rng(5)
    G, y, ones = make(g.standard_normal((15, 6))), make(g.standard_normal(15)), make(np.ones((15, 1)))
    blocks = [Block(h=Cardinality(2), A=-G, shape=6), Block(A=-ones, shape=1), Block(h=L1(1.0), shape=15)]
    return Problem(blocks, b=-y), None


def dual_pcp(make):
    """The problem of DualPCP, from a start of its own."""
    g = problems.rng(6)
    G, V = g.standard_normal((20, 4)), np.eye(4, 1)
    blocks = [Block(h=Stiefel(), A=-make(G), shape=(4, 1)), Block(h=L21(1.0), shape=(20, 1))]
    return Problem(blocks), [make(V), make(G @ V)]


def low_rank(make):
    """The problem of RobustLowRank with missing entries."""
    M = problems.rng(7).standard_normal((5, 4))
    seen = np.arange(20).reshape(5, 4) % 7 > 0
    blocks = [Block(h=Rank(1), A=-Sampling(seen), shape=(5, 4)), Block(h=L1(1.0), shape=int(seen.sum()))]
    return Problem(blocks, b=make(-M[seen])), None


def fused(make):
    """The problem of FusedLasso: a difference operator and two penalties."""
    g = problems.rng(8)
    f = LeastSquares(make(g.standard_normal((15, 6))), make(g.standard_normal(15)))
    blocks = [Block(f=f, h=L1(0.1), A=-FiniteDifference(), shape=6), Block(h=L1(0.3), shape=5)]
    return Problem(blocks), [make(np.ones(6)), make(np.zeros(5))]


def phases(make):
    """The problem of SparsePhaseRetrieval: f without a Lipschitz constant."""
    g = problems.rng(9)
    G, x = g.standard_normal((20, 5)), np.array([1.0, -1.0, 0.0, 0.0, 0.5])
    blocks = [
        Block(f=PhaseRetrieval(make(G), make((G @ x) ** 2)), A=-1.0, shape=5),
        Block(h=L1(0.1), shape=5),
    ]
    return Problem(blocks), [make(x + 0.1), make(x + 0.1)]


CASES = {
    "auto": (pca, "auto"),
    "sound": (pca, IPDS("sound")),
    "practical": (regression, IPDS("practical")),
    "scaled multiplier": (regression, IPDS("sound", scaled_multiplier=True)),
    "radmm": (pca, RADMM("tuned")),
    "spgm": (pca, SPGM("tuned")),
    "subgradient": (pca, Subgradient("published")),
    "fixed penalty": (regression, FixedPenaltyADMM("he-yuan-2012")),
    "manpg": (pca, ManPG()),
    "rialm": (pca, RiemannianALM()),
    # auto would start elsewhere and look for exact solutions in NumPy alone
    "sparse regression": (sparse_regression, AcceleratedIPDS()),
    "dual pcp": (dual_pcp, AcceleratedIPDS()),
    "low rank": (low_rank, "auto"),
    "fused": (fused, AcceleratedIPDS()),  # auto would take Newton steps in NumPy alone
    "phases": (phases, "auto"),
}
