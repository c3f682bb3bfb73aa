"""What one iteration of accelerated IPDS needs, as a list of operations that can be timed.

Every operation of the mathematics on two blocks, x and the eliminated y with A_y = 1 (see
`ipds.methods.accelerated.reduced`), spelled as fast as NumPy, BLAS and SciPy allow and written into buffers made
beforehand. No bookkeeping, no checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dasum, dgemm, dsyrk
from scipy.linalg.lapack import dsyevd

from ipds import Problem
from ipds._arrays import products_of_differences
from ipds.functions import L1, L21, Cardinality, Rank, Stiefel
from ipds.operators import Identity


class Operation(NamedTuple):
    """`run` does it once; `per` says how often it is needed."""

    what: str
    kind: str
    """product, decomposition or pass."""
    per: str
    """trial, sweep, iteration, stage or check."""
    run: Callable[[], object]


def operations(problem: Problem) -> Iterator[Operation]:
    """What accelerated IPDS does to a problem of two blocks, x and the eliminated y with A_y = 1."""
    rng = np.random.default_rng(1)
    x_shape, y_shape = (block.shape for block in problem.blocks)
    x, x_new, v, g, g_new, df, dx, sx = (rng.standard_normal(x_shape) for _ in range(8))
    ax, u, y, z, target, rest = (rng.standard_normal(y_shape) for _ in range(6))
    same = isinstance(problem.operators[0], Identity)
    smooth = problem.blocks[0].f is not None
    manifold = problem.blocks[0].h.is_manifold

    def passes(per: str, *listed: tuple[str, Callable[[], object]]) -> Iterator[Operation]:
        return (Operation(what, "pass", per, run) for what, run in listed)

    def towards(out: np.ndarray, start: np.ndarray, direction: np.ndarray) -> None:
        np.multiply(direction, -0.1, out=out)
        np.add(out, start, out=out)

    def smoothing(per: str) -> Iterator[Operation]:
        """The eliminated block, the multiplier and the value of the reduced function."""
        yield from passes(per, ("u = b - z/β - A x", lambda: np.subtract(target, ax, out=u)))
        yield from (op._replace(per=per) for op in own_prox(problem.blocks[1].h, u, y))
        yield from passes(
            per,
            ("z⁺ = (y - u)/s", lambda: np.multiply(np.subtract(y, u, out=z), 2.0, out=z)),
            ("‖z⁺‖²", lambda: np.vdot(z, z)),
        )

    def gradient(per: str) -> Iterator[Operation]:
        """The gradient of the reduced function."""
        if not same:
            transpose = problem.operators[0].matrix.T
            yield Operation("Aᵀz", "product", per, lambda: np.matmul(transpose, z, out=g_new))
        if smooth:
            yield from passes(per, ("∇f + Aᵀz", lambda: np.subtract(df, z if same else g, out=g_new)))
        if manifold:
            yield from tangent(per)

    def tangent(per: str) -> Iterator[Operation]:
        cross = np.eye(x_shape[1])
        small = np.empty_like(cross)
        yield Operation("xᵀg", "product", per, lambda: np.matmul(x.T, g_new, out=small))
        yield Operation(
            "g - x sym(xᵀg)",
            "product",
            per,
            lambda: dgemm(-0.1, cross, x.T, 1.0, g_new.T, overwrite_c=1),
        )

    yield from passes("trial", ("v = x - αg", lambda: towards(v, x, g)))
    yield from prox(problem.blocks[0].h, v, x_new)
    yield from product(problem, x, ax)
    yield from value_and_gradient(problem, x, df)
    yield from smoothing("trial")
    yield from gradient("iteration")
    yield from passes(
        "iteration", ("‖Δx‖², ⟨Δx, Δg⟩, ‖Δg‖²", lambda: products_of_differences(x_new, x, g_new, g))
    )
    if manifold:
        yield from passes("iteration", ("‖g‖²", lambda: np.vdot(g, g)))
    # a dual step: the residual, its scales, the new target; then the reduced function at the same x
    yield from passes(
        "stage",
        ("‖Ax + y - b‖", lambda: np.vdot(np.add(ax, y, out=rest), rest)),
        ("‖Ax‖, ‖y‖, ‖Aᵀz‖", lambda: (np.vdot(ax, ax), np.vdot(y, y), np.vdot(g, g))),
        ("b - z/β", lambda: np.add(np.multiply(z, -0.1, out=target), u, out=target)),
    )
    yield from [*smoothing("stage"), *gradient("stage")]
    # the certificate and the objective at the feasible point
    yield from passes(
        "check",
        ("‖Ax + y - b‖", lambda: np.vdot(np.add(ax, y, out=rest), rest)),
        ("s_x = (v - x)/α", lambda: np.multiply(np.subtract(v, x, out=sx), 2.0, out=sx)),
        ("∇f + s_x + Aᵀz", lambda: np.add(sx, g, out=dx)),
        ("norms in x", lambda: [np.vdot(a, a) for a in (dx, sx, g, df if smooth else x, x)]),
        ("s_y + z", lambda: np.add(y, z, out=rest)),
        ("norms in y", lambda: [np.vdot(a, a) for a in (rest, z, y, ax, u)]),
        ("y = b - Ax", lambda: np.subtract(target, ax, out=rest)),
    )
    yield from [op._replace(per="check") for op in own_value(problem.blocks[1].h, rest)]


def product(problem: Problem, x: np.ndarray, ax: np.ndarray) -> list[Operation]:
    """A x, from the nonzero entries alone where x has few."""
    operator, h = problem.operators[0], problem.blocks[0].h
    if isinstance(operator, Identity):
        return []
    if isinstance(h, Cardinality):
        support = np.sort(np.random.default_rng(2).choice(x.size, h.s, replace=False))
        return [Operation("A x", "product", "trial", lambda: operator.matrix[:, support] @ x[support])]
    return [Operation("A x", "product", "trial", lambda: np.matmul(operator.matrix, x, out=ax))]


def value_and_gradient(problem: Problem, x: np.ndarray, df: np.ndarray) -> list[Operation]:
    """f = -‖DX‖²/(2m) and its gradient -DᵀDX/m, the factor 1/m in D."""
    f = problem.blocks[0].f
    if f is None:
        return []
    data = f._data
    value = Operation("f = ½⟨x, ∇f⟩", "pass", "trial", lambda: np.vdot(x, df))
    if data.C is not None:
        return [Operation("C X", "product", "trial", lambda: np.matmul(data.C, x, out=df)), value]
    images = np.empty((data.samples, x.shape[1]))
    if not sp.issparse(data.D):
        return [
            Operation("D X", "product", "trial", lambda: np.matmul(data.D, x, out=images)),
            Operation("Dᵀ(DX)", "product", "trial", lambda: np.matmul(data.D.T, images, out=df)),
            value,
        ]
    transpose, mean = sp.csr_array(data.D.T), data.mean
    return [
        Operation("D X", "product", "trial", lambda: data.D @ x),
        Operation("mean", "pass", "trial", lambda: np.subtract(images, mean @ x, out=images)),
        Operation("Dᵀ(DX)", "product", "trial", lambda: transpose @ images),
        value,
    ]


def prox(h: Any, v: np.ndarray, out: np.ndarray) -> list[Operation]:
    """The prox of the block that stays."""
    if isinstance(h, Stiefel):
        gram = np.asfortranarray(v.T @ v)
        root = np.empty_like(gram)

        def square_root() -> None:
            w, q, _ = dsyevd(gram, lower=0)
            np.matmul(q / np.sqrt(w), q.T, out=root)

        return [
            Operation("vᵀv", "product", "trial", lambda: dsyrk(1.0, v.T)),
            Operation("(vᵀv)^-½", "decomposition", "trial", square_root),
            Operation("v (vᵀv)^-½", "product", "trial", lambda: np.matmul(v, root, out=out)),
        ]
    if isinstance(h, Cardinality):
        score = np.abs(v)

        def keep() -> None:
            np.abs(v, out=score)
            level = np.partition(score, v.size - h.s)[v.size - h.s]
            np.multiply(v, score >= level, out=out)

        return [Operation("the largest entries", "decomposition", "trial", keep)]
    assert isinstance(h, Rank)
    # a sweep of the Krylov space: one product with vᵀ, one with v, which also says how good the vectors are
    n, k = v.shape[0], h.s + 6
    basis = np.linalg.qr(np.random.default_rng(3).standard_normal((n, 2 * k)))[0]
    fresh, images = basis[:, :k].copy(), v.T @ basis
    left, right = basis[:, : h.s].copy(), images[:, : h.s].copy()

    def orthonormal() -> None:
        for _ in range(2):
            np.subtract(fresh, basis @ (basis.T @ fresh), out=fresh)
        np.linalg.qr(fresh)
        fresh[:] = left[:, :1]

    def ritz() -> None:
        vectors = np.linalg.eigh(images.T @ images)[1][:, -k:]
        basis @ vectors, images @ vectors

    return [
        Operation("new directions", "decomposition", "sweep", orthonormal),
        Operation("vᵀq", "product", "sweep", lambda: (fresh.T @ v).T),
        Operation("Ritz vectors", "decomposition", "sweep", ritz),
        Operation("v vᵀq", "product", "sweep", lambda: v @ images[:, :k]),
        Operation("Σ σ u wᵀ", "product", "trial", lambda: np.matmul(left, right.T, out=out)),
    ]


def own_prox(h: Any, u: np.ndarray, y: np.ndarray) -> list[Operation]:
    """The prox of the eliminated block, and its value there."""
    if isinstance(h, L1):

        def threshold() -> None:
            np.clip(u, -0.5, 0.5, out=y)
            np.subtract(u, y, out=y)

        return [Operation("y = prox(u)", "pass", "trial", threshold), *own_value(h, y)]
    assert isinstance(h, L21)

    def shrink() -> None:
        norms = np.sqrt(np.einsum("ij,ij->i", u, u))
        np.multiply(u, (1 - 0.5 / np.maximum(norms, 0.5))[:, None], out=y)

    return [Operation("y = prox(u)", "pass", "trial", shrink), *own_value(h, y)]


def own_value(h: Any, y: np.ndarray) -> list[Operation]:
    """h of the eliminated block."""
    if isinstance(h, L1):
        return [Operation("h(y)", "pass", "trial", lambda: dasum(y.reshape(-1)))]
    return [Operation("h(y)", "pass", "trial", lambda: np.sqrt(np.einsum("ij,ij->i", y, y)).sum())]
