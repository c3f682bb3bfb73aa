"""Problems with data in memory, or cut by rows as Dask arrays."""

import dask.array as da
import numpy as np

from ipds import Block, Problem
from ipds.functions import L1, L21, Cardinality, Stiefel


def cut(array, size=70):
    return da.from_array(array, chunks=(size, *array.shape[1:]))


def regression(seed=0, m=400, d=30):
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((m, d)) * rng.uniform(0.5, 2.0, d)
    y = G[:, :4] @ [3.0, -2.0, 1.0, 4.0] + 2.0
    y[: m // 8] += 40.0
    return G, y


def robust(G, y, distributed=False):
    m, d = G.shape
    ones = np.full((m, 1), -1.0)
    if distributed:
        G, y, ones = cut(G), cut(y), cut(ones)
    return Problem(
        [
            Block(h=Cardinality(4), A=-G, shape=d, name="v"),
            Block(A=ones, shape=1, name="t"),
            Block(h=L1(1.0), shape=m, name="u"),
        ],
        b=-y,
    )


def pursuit(distributed=False):
    """A normal of the plane that most rows lie on; the equation has b = 0."""
    rng = np.random.default_rng(1)
    G = np.concatenate([rng.standard_normal((200, 5)) * [1, 1, 1, 1, 0], rng.standard_normal((50, 5))])
    blocks = [
        Block(h=Stiefel(), A=-(cut(G) if distributed else G), shape=(5, 1), name="V"),
        Block(h=L21(1.0), shape=(250, 1), name="Y"),
    ]
    return Problem(blocks)
