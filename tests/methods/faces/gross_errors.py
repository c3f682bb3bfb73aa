"""Matrices of low rank under gross errors, and the problem of finding them again."""

import numpy as np

from ipds import Block, Problem
from ipds.functions import L1, Rank
from ipds.operators import Sampling


def matrix(seed=0, shape=(40, 50), r=3, gross=0.1, noise=0.0):
    """Low rank, gross errors, and noise where asked for."""
    rng = np.random.default_rng([11, seed])
    truth = rng.standard_normal((shape[0], r)) @ rng.standard_normal((r, shape[1]))
    M = truth + noise * rng.standard_normal(shape)
    return M + (rng.random(shape) < gross) * rng.uniform(-10, 10, shape), truth


def stated(M, r=3, mask=None, a=-1.0, c=1.0, lam=1.0, swapped=False):
    """min λ‖x̆‖₁ with a X + c x̆ = a M, on the entries of the mask."""
    if mask is None:
        blocks, b = [Block(h=Rank(r), A=a, shape=M.shape), Block(h=L1(lam), A=c, shape=M.shape)], a * M
    else:
        blocks = [
            Block(h=Rank(r), A=Sampling(mask), shape=M.shape),
            Block(h=L1(lam), A=c, shape=int(mask.sum())),
        ]
        b = M[mask]
    return Problem(blocks[::-1] if swapped else blocks, b=b)
