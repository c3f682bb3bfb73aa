"""What is left of the forces in the basis where it is most.

In which basis entries are written that no bound and no kink holds says nothing of the problem: X w + b·1 with columns
of mean 10⁵ is the same as (X - 1x̄ᵀ) w + b'·1, where forces add up a part in 10⁵ of what they add up in X, and where
what is left of them in X may be all there is. What acts on such entries bends with f, and gives way with the
multiplier. So two things say how much is left, ρ = ∇f + s + Aᵀz, in any basis and in any units:

    by how much must z change, as a share of ẑ, so that nothing is left?    min rms(δ) with Aᵀ diag(ẑ) δ = -ρ
    how much would a Newton step gain, in units of the energy E?            ½⟨ρ, H⁻¹ρ⟩/E with H = ∇²f

Here a row counts in rms by its work ẑR, with R what it adds up, of that of all rows, W = ẑᵀR. Where both may give way,
d = (K + 2E H)⁻¹ρ with K = W Aᵀ diag(ẑ/R) A says what each takes: √⟨d, K d⟩ and 2E⟨d, H d⟩, the latter a bound on the
gap of a quadratic f with a convex h, whichever s ∈ ∂h it was found with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from .._arrays import Array, as_csr, held_arrays, row_counts, to_dense
from ..functions import Linear, Zero
from ..operators import Identity, Operator
from ..problem import Block, Problem
from .entries import Forces
from .slopes import Slopes, nearest

ENTRIES, NUMBERS = 150, 200_000
"""Entries, and numbers in their columns and in f, at most: beyond, this would take as long as a Newton step."""
NEAR = 1e-2
"""Where what is left of forces in the basis as written is more, no other needs to be looked at."""
FLAT = 1e-13
"""Added to K + 2E H with a diagonal of ones: directions in which less than 3e-7 is left of columns are rounding."""


class Core(NamedTuple):
    """The blocks whose entries are looked at."""

    blocks: tuple[int, ...]
    columns: np.ndarray | None
    """Those of A; None where the equation acts on none of them."""
    constant: dict[int, np.ndarray | None]
    """∇²f of quadratic f, once it was asked for."""


def core(
    problem: Problem, q: Sequence[Array], slopes: Sequence[Slopes | None], priced: Sequence[bool]
) -> Core | None:
    """The blocks on which a curved f acts, or the equation alone, and an h with known `slopes`; None where they are
    none, or too many.

    With an h, what acts straight counts where a block that is `priced` takes what is left of rows: a vertex of a linear
    program is one whatever its multiplier. Blocks that stand for rows themselves, u = M x - y, follow the others.
    """
    if any(type(qi) is not np.ndarray for qi in q):
        return None
    found, straight = [], []
    for i, (block, op, kinks) in enumerate(zip(problem.blocks, problem.operators, slopes, strict=True)):
        if kinks is None or math.prod(block.shape) > ENTRIES:
            continue
        f = block.f
        if f is not None and not isinstance(f, Linear):
            if f.is_convex is True:
                found.append(i)
        elif f is None and isinstance(block.h, Zero):
            found.extend([] if op.is_zero else [i])
        elif not (op.is_zero or _is_row_by_row(op, block)):
            straight.append(i)
    if straight and _has_slack(problem, priced):
        found = sorted(found + straight)
    bound = any(not problem.operators[i].is_zero for i in found)
    count = sum(math.prod(problem.blocks[i].shape) for i in found)
    numbers = count * math.prod(problem.shape) if bound else 0
    numbers += sum(x.size for i in found for x in held_arrays(problem.blocks[i].f) if type(x) is np.ndarray)
    if not 0 < count <= ENTRIES or numbers > NUMBERS:
        return None
    if not bound:
        return Core(tuple(found), None, {})
    matrices = [problem.operators[i].as_matrix(problem.blocks[i].shape) for i in found]
    if any(M is None for M in matrices):
        return None
    return Core(tuple(found), np.hstack([np.asarray(to_dense(M), float) for M in matrices]), {})


def _has_slack(problem: Problem, priced: Sequence[bool]) -> bool:
    """Whether a block that costs something takes what is left of every row."""
    each = zip(priced, problem.operators, problem.blocks, strict=True)
    return any(price and _is_row_by_row(op, block) for price, op, block in each)


def _is_row_by_row(op: Operator, block: Block) -> bool:
    """Whether A has one entry in every row."""
    if isinstance(op, Identity) or op.is_zero:
        return not op.is_zero
    small = math.prod(block.shape) * math.prod(op.output_shape(block.shape)) <= NUMBERS
    M = op.as_matrix(block.shape) if small else None
    return M is not None and bool((row_counts(as_csr(M)) == 1).all())


def leaning(
    core: Core,
    acting: Sequence[Forces],
    slopes: Sequence[Slopes | None],
    energies: Sequence[tuple[float, float]],
    rows: np.ndarray,
    felt: np.ndarray,
) -> float:
    """The larger of both answers over the entries of the core, from R and ẑ.

    `energies` are E of every block and how much of its objective is rounding, which nothing can gain. A multiplier that
    no block feels need not change much.
    """
    masks, left = zip(*[_pushed(acting[i], slopes[i]) for i in core.blocks], strict=True)
    keep, rho = np.concatenate(masks), np.concatenate(left)
    rho = rho[keep]
    top = float(felt.max(initial=0.0) if core.columns is not None else abs(rho).max(initial=0.0))
    if top == 0.0 or not rho.any():
        return 0.0
    bent, lost, begin = np.zeros((rho.size, rho.size)), 0.0, 0
    for i, mask in zip(core.blocks, masks, strict=True):
        end, H = begin + int(mask.sum()), _hessian(core, i, acting[i])
        if H is not None:
            energy, noise = energies[i]
            energy = max(energy, noise) or 1.0
            lost += noise / energy
            part = bent[begin:end, begin:end]
            part += H[mask][:, mask] if H.ndim == 2 else np.diag(H[mask])
            part *= 2 * energy / top
            part /= top
        begin = end
    K = np.zeros_like(bent)
    if core.columns is not None:
        R, share, C = rows.ravel(), felt.ravel() / top, core.columns[:, keep]
        stiff = share / np.where(R > 0, R, math.inf)
        K = (C.T * (float(share @ R) * stiff)) @ C
    length = np.sqrt(K.diagonal() + bent.diagonal())
    unit = 1 / np.where(length > 0, length, math.inf)  # 0 where nothing is known to bend
    units = unit[:, None] * unit
    K, bent = K * units, bent * units
    whole, rho = K + bent, unit * (rho / top)
    whole.flat[:: rho.size + 1] = 1 + FLAT
    _, d, failed = scipy.linalg.lapack.dposv(whole, rho)
    d = np.linalg.solve(whole, rho) if failed else d
    return max(math.sqrt(max(float(d @ K @ d), 0.0)), float(d @ bent @ d) - lost)


def _pushed(forces: Forces, kink: Slopes | None) -> tuple[np.ndarray, np.ndarray]:
    """The entries that neither a bound nor a kink holds, and what is left of the forces on all."""
    assert kink is not None
    q, rho = forces.q, forces.rest
    if rho is None:
        y = forces.pull.scale * forces.pull.array
        y = -y if forces.gradient is None else -y - forces.gradient
        rho = nearest(kink, q, y) - y
    held = (kink.left != kink.right) & (q >= kink.below) & (q <= kink.above)
    held |= (q <= kink.lower) | (q >= kink.upper)
    return (~held | (rho != 0)).ravel(), rho.ravel()


def _hessian(core: Core, i: int, forces: Forces) -> np.ndarray | None:
    """∇²f or its diagonal, None where it is 0, or known by its products alone."""
    f = forces.block.f
    if f is None or isinstance(f, Linear):
        return None
    if i in core.constant:
        return core.constant[i]
    H = f.hessian(forces.q)
    H = H.as_matrix(forces.block.shape) if isinstance(H, Operator) else H
    H = None if H is None else np.asarray(to_dense(H), float)
    if f.is_quadratic:
        core.constant[i] = H
    return H
