"""The largest entry as rows: λ max_i |u_i| becomes λt with -t ≤ u_i ≤ t, rows like those of any linear program.

    u - t ≤ 0  and  -u - t ≤ 0,   with multipliers z⁺, z⁻ ≤ 0 of them, and s = z⁻ - z⁺ ∈ ∂(λ max|·|)(u)

The prox of the norm is known, but its faces are not single entries: interior-point steps need these rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy

from ..functions import Box, Linear, Linf, Nonsmooth, Stacked, Zero
from ..operators import Matrix
from ..theory.structure import is_described, is_loss
from .draft import Draft, Group, Variable, owner_of
from .recovery import FromLevel, FromVariable, Recovery
from .slack import as_map

MOST = 10**6
"""Entries of the rows of a norm, at most: beyond, steps that factorise them are slow, and a prox is not."""


def largest_to_rows(draft: Draft) -> None:
    """Rewrite the largest entries of rows, where all other functions have kinks, bounds, norms of groups, or are
    losses: beside cones and balls in units far apart a prox takes fewer steps."""
    owners: list[Variable | Group] = [*draft.variables, *draft.groups]
    parts = [(h, shape) for owner in owners for h, shape, _ in _parts(owner)]
    if not any(isinstance(h, Linf) for h, _ in parts) or not draft.convex or not draft.is_numpy:
        return
    if not all(isinstance(h, Linf) or is_described(h, shape) or is_loss(h) for h, shape in parts):
        return
    for i, found in enumerate(draft.blocks):
        owner = _owner(draft, found)
        if owner is None:
            continue
        first = found.place.start if isinstance(found, FromVariable) and found.place is not None else 0
        for k, (h, shape, place) in enumerate(_parts(owner)):
            if not isinstance(h, Linf) or not _is_of(found, place):
                continue
            if (matrices := _rows(owner, place)) is None:
                continue
            name = draft.stated.names[i]
            level = Variable((1,), Zero(), [Linear(np.array([h.lam]))], f"largest of {name}{k or ''}")
            draft.variables.append(level)
            rows = _both_signs(owner, matrices, place, level)
            draft.groups.append(rows)
            owner.h = _without(owner.h, k)
            own = slice(place.start - first, place.stop - first)
            draft.blocks[i] = FromLevel(draft.blocks[i], rows, h, own, shape)
            draft.levels[level] = i, own
            draft.notes.append(f"the largest entry of block {name!r} became a variable with bounds")


def _owner(draft: Draft, found: Recovery) -> Variable | Group | None:
    """Whose h is that of a block; None where it has moved, or has an f beside it that has not."""
    owner = owner_of(found)
    if isinstance(owner, Group):
        return owner if owner in draft.groups and owner.f is None else None
    free = isinstance(found, FromVariable) and found.free
    return owner if owner in draft.variables and not free else None


def _is_of(found: Recovery, place: slice) -> bool:
    """Whether the entries `place` of its owner are of the block."""
    if not isinstance(found, FromVariable) or found.place is None:
        return True
    return found.place.start <= place.start and place.stop <= found.place.stop


def _parts(owner: Variable | Group) -> Iterator[tuple[Nonsmooth, Any, slice]]:
    """The functions of a variable or a group, their shapes, and their places in the flat array."""
    if isinstance(owner.h, Stacked):
        for (h, shape), place in zip(owner.h.parts, owner.h.slices, strict=True):
            yield h, shape, place
    else:
        yield owner.h, owner.shape, slice(0, math.prod(owner.shape))


def _without(h: Nonsmooth, k: int) -> Nonsmooth:
    """h with 0 for its part k."""
    if not isinstance(h, Stacked):
        return Zero()
    return Stacked([(Zero() if j == k else own, shape) for j, (own, shape) in enumerate(h.parts)])


def _rows(owner: Variable | Group, place: slice) -> dict[Variable, Any] | None:
    """The rows `place` of every N_j as matrices, u = c - Σ N v; None where some are not, or are too many."""
    if isinstance(owner, Variable):  # u = v
        identity = scipy.sparse.eye_array(math.prod(owner.shape), format="csr")
        return {owner: -identity[place]}
    found, entries = {}, 0
    for v, N in owner.terms.items():
        matrix = N.as_matrix(v.shape)
        if matrix is None:
            return None
        found[v] = matrix[place]
        entries += found[v].nnz if scipy.sparse.issparse(matrix) else found[v].size
    return found if 0 < entries <= MOST else None


def _both_signs(
    owner: Variable | Group, matrices: dict[Variable, Any], place: slice, level: Variable
) -> Group:
    """(u - t, -u - t) ≤ 0 as rows, u = c - Σ N v."""
    m = place.stop - place.start
    c = 0.0 if isinstance(owner, Variable) else owner.c
    c = np.broadcast_to(c, owner.shape).reshape(-1)[place]
    sparse = all(scipy.sparse.issparse(N) for N in matrices.values())
    ones = np.ones((2 * m, 1))
    terms = {
        v: as_map(
            scipy.sparse.vstack([N, -N], format="csr") if scipy.sparse.issparse(N) else np.vstack([N, -N]),
            v.shape,
        )
        for v, N in matrices.items()
    }
    terms[level] = Matrix(scipy.sparse.csr_array(ones) if sparse else ones)
    return Group((2 * m,), Box(-math.inf, 0.0), None, terms, np.concatenate([c, -c]))
