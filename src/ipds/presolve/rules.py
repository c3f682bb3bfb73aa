"""Rules that simplify a draft; each says what it did in `draft.notes`, and keeps every block recoverable.

The order matters: sets become rows, smooth terms move to the variables, then convex h do,
largest entries become rows (`largest`), and what is empty is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np
import scipy

from .._arrays import is_array, zeros
from ..functions import (
    Affine,
    Box,
    CappedSimplex,
    ColumnSimplex,
    Composed,
    HalfSpace,
    HuberLoss,
    LeastSquares,
    Linear,
    Linf,
    Logistic,
    NonNegative,
    Nonsmooth,
    Precomposed,
    Quadratic,
    RowSimplex,
    Simplex,
    Smooth,
    SmoothSum,
    Stacked,
    Weighted,
    Zero,
)
from ..functions.multiples import simplified
from ..operators import (
    Compose,
    Diagonal,
    FlatStack,
    Identity,
    Matrix,
    Operator,
    Reshape,
    Segment,
    Stack,
    TwoSided,
    ZeroMap,
)
from ..operators import Sum as SumOfMaps
from ..theory.structure import is_interior
from .compose import composed
from .draft import Draft, Group, Variable, owner_of
from .largest import largest_to_rows
from .recovery import FromGroup, FromHost, FromLevel, FromRows, FromVariable, Recovery, innermost
from .slack import as_map, is_nothing, multiple
from .thin import thin_smooth

LARGEST = 10_000
"""Entries of a simplex whose sum becomes a row, at most: beyond, projections take less than what sees the row."""
MANY = 1000
"""The same of a matrix whose rows or columns are on simplexes."""
EXPLICIT = 400
"""Entries of an only block up to which second derivatives of any function are matrices, by differences if need be."""


def simplify(draft: Draft) -> None:
    """Apply all rules."""
    thin_losses(draft)
    sets_to_rows(draft)
    smooth_to_variables(draft)
    nonsmooth_to_variables(draft)
    largest_to_rows(draft)
    drop(draft)


# ---------------------------------------------------------------- matrices with few entries


def thin_losses(draft: Draft) -> None:
    """Large dense matrices with few entries in smooth terms become sparse ones, where all is convex."""
    for variable in draft.variables:
        for k, f in enumerate(variable.smooth):
            if (found := thin_smooth(f)) is not f and draft.convex:
                variable.smooth[k] = found
                draft.notes.append(
                    f"a dense matrix with few entries in f of {variable.name!r} taken as sparse"
                )


# ---------------------------------------------------------------- sets that are rows


def sets_to_rows(draft: Draft) -> None:
    """{x : C x = d} and {x : ⟨a, x⟩ ≤ b} become rows, where all is convex: equations and inequalities like others.

    So does the sum of a simplex, where steps that factorise will see it: what is left of it are bounds.
    """
    explicit = any(_is_of_simplexes(v.h) for v in _owners(draft)) and _is_explicit(draft)
    for i, found in enumerate(draft.blocks):
        owner = owner_of(found)
        rows = None if owner is None else _as_rows(owner.h, owner.shape)
        if owner is None or rows is None or not draft.convex or (_is_of_simplexes(owner.h) and not explicit):
            continue
        of = "sum" if _is_simplex(owner.h) else "sums" if _is_of_simplexes(owner.h) else "set"
        C, right, h, left = rows
        output = tuple(C.output_shape(owner.shape))
        if isinstance(owner, Variable):
            group = Group(output, h, None, {owner: _minus(C)}, -right)
        else:  # C u - d with u = c - Σ N v
            c = np.broadcast_to(owner.c, owner.shape)
            group = Group(
                output, h, None, {v: _product(C, N) for v, N in owner.terms.items()}, C.apply(c) - right
            )
        owner.h = left
        draft.groups.append(group)
        draft.blocks[i] = FromRows(found, group, C, not isinstance(left, Zero))
        kind = "an inequality" if h.lo < 0.0 else "an equation" if of == "sum" else "equations"
        draft.notes.append(f"the {of} of block {draft.stated.names[i]!r} became {kind}")


def _as_rows(h: Nonsmooth, shape: Any) -> tuple[Operator, Any, Box, Nonsmooth] | None:
    """(C, d, K, g) with h(x) = g(x) + the indicator of C x - d ∈ K; None where h is no such set."""
    if isinstance(h, Affine):
        sparse = np.count_nonzero(h.A) < 0.2 * h.A.size
        return Matrix(scipy.sparse.csr_array(h.A) if sparse else h.A), h.b, Box(0.0, 0.0), Zero()
    if isinstance(h, HalfSpace):
        row = np.broadcast_to(h.a, shape).reshape(1, -1)
        return as_map(np.array(row), shape), np.array([h.b]), Box(-math.inf, 0.0), Zero()
    if _is_simplex(h) and math.prod(shape) <= LARGEST:
        left = Box(0.0, h.cap) if isinstance(h, CappedSimplex) else NonNegative()
        return as_map(np.ones((1, math.prod(shape))), shape), np.array([h.radius]), Box(0.0, 0.0), left
    if isinstance(h, RowSimplex) and len(shape) == 2 and math.prod(shape) <= MANY:
        m, n = shape
        of_columns = isinstance(h, ColumnSimplex)
        parts = (np.ones((1, m)), np.eye(n)) if of_columns else (np.eye(m), np.ones((1, n)))
        sums = scipy.sparse.csr_array(scipy.sparse.kron(*parts))
        radii = np.array(np.broadcast_to(np.ravel(h.radius), (sums.shape[0],)), float)
        return as_map(sums, shape), radii, Box(0.0, 0.0), NonNegative()
    return None


def _is_simplex(h: Nonsmooth) -> TypeGuard[Simplex | CappedSimplex]:
    return isinstance(h, Simplex | CappedSimplex)


def _is_of_simplexes(h: Nonsmooth) -> bool:
    return isinstance(h, Simplex | CappedSimplex | RowSimplex)


def _is_explicit(draft: Draft) -> bool:
    """Whether all maps are matrices, and interior-point steps can take all other functions."""
    functions = all(
        isinstance(v.h, Linf) or _is_of_simplexes(v.h) or is_interior(v.h, v.shape) for v in _owners(draft)
    )
    blocks = draft.stated.blocks
    alone = len(blocks) == 1 and math.prod(blocks[0].shape) <= EXPLICIT
    maps = [*draft.stated.operators, *(A for b in blocks for A in _maps_of(b.f, alone))]
    return functions and all(map(_is_matrix, maps))


def _owners(draft: Draft) -> list[Variable | Group]:
    return [*draft.variables, *draft.groups]


def _is_matrix(A: Any) -> bool:
    if isinstance(A, Stack | FlatStack):
        return all(map(_is_matrix, A.parts))
    if isinstance(A, Compose | TwoSided):
        return _is_matrix(A.left) and _is_matrix(A.right)
    return isinstance(A, Matrix | Identity | Diagonal | Reshape | ZeroMap)


def _maps_of(f: Smooth | None, alone: bool) -> Iterator[Any]:
    """The linear maps in f; None for a function of which none is known, unless it is `alone` and small."""
    if isinstance(f, SmoothSum):
        for term in f.terms:
            yield from _maps_of(term, alone)
    elif isinstance(f, Weighted):
        yield from _maps_of(f.f, alone)
    elif isinstance(f, LeastSquares | HuberLoss | Logistic):
        yield f.G
    elif isinstance(f, Quadratic):
        yield f.Q
    elif f is not None and not isinstance(f, Linear) and not alone:
        yield None


def _minus(A: Operator) -> Operator:
    return Matrix(-A.matrix) if isinstance(A, Matrix) else -A


def _product(C: Operator, N: Operator) -> Operator:
    a = multiple(N)
    if isinstance(C, Matrix):
        if a is not None:
            return Matrix(a * C.matrix)
        if isinstance(N, Matrix) and N.natural_shape() is not None:
            return Matrix(C.matrix @ N.matrix)
    return a * C if a is not None else Compose(C, N)


# ---------------------------------------------------------------- smooth terms


def smooth_to_variables(draft: Draft) -> None:
    """f_k(u_k) = f_k(c - Σ N v) becomes a term of its variable; of the joint one, where several have a part.

    Where something is not convex, only if the rows then vanish, or u is a copy of a variable whose h has faces with
    free entries, which are solved where f is: the method that takes other such problems does it itself.
    """
    for group in draft.groups:
        if group.f is None:
            continue
        if not group.terms:
            group.f = None  # u = c is fixed
            continue
        copied = _copied(group)
        moves = isinstance(group.h, Zero) or (
            copied is not None and (isinstance(copied[0].h, Zero) or copied[0].h.has_faces)
        )
        if len(group.terms) > 1:
            if not draft.convex or not draft.is_numpy:
                continue
            join(draft, list(group.terms))
        elif not moves and not draft.convex:
            continue
        ((variable, N),) = group.terms.items()
        variable.smooth.append(composed(group.f, N, group.c))
        group.f = None
        draft.notes.append(f"the smooth term of {_owner(draft, group)} moved to {variable.name!r}")


def _owner(draft: Draft, group: Group) -> str:
    """How the report calls a group."""
    for name, found in zip(draft.stated.names, draft.blocks, strict=True):
        inner = innermost(found)
        if isinstance(inner, FromGroup) and inner.group is group:
            return f"block {name!r}"
    return "the equation"


def join(draft: Draft, members: list[Variable]) -> None:
    """Several variables as one vector, for a smooth term that has a part of each."""
    sizes = [math.prod(v.shape) for v in members]
    ends = np.cumsum(sizes).tolist()
    size, starts = ends[-1], [end - n for end, n in zip(ends, sizes, strict=True)]
    cuts = [Segment(size, start, v.shape) for start, v in zip(starts, members, strict=True)]
    free = all(isinstance(v.h, Zero) for v in members)
    joint = Variable(
        (size,),
        Zero() if free else Stacked([(v.h, v.shape) for v in members]),
        [Composed(f, cut) for v, cut in zip(members, cuts, strict=True) for f in v.smooth],
        "(" + ", ".join(v.name for v in members) + ")",
    )
    for group in draft.groups:
        present = [
            (group.terms.pop(v), v, cut) for v, cut in zip(members, cuts, strict=True) if v in group.terms
        ]
        if present:
            group.terms[joint] = _joined(present, members, group.shape, size)
    places = {v: slice(s, e) for v, s, e in zip(members, starts, ends, strict=True)}

    def found(recovery: Any) -> Any:
        if isinstance(recovery, FromVariable) and recovery.variable in places:
            return FromVariable(joint, places[recovery.variable], recovery.variable.shape, recovery.free)
        return replace(recovery, inner=found(recovery.inner)) if isinstance(recovery, FromRows) else recovery

    draft.blocks[:] = map(found, draft.blocks)
    at = draft.variables.index(members[0])
    draft.variables[:] = [v for v in draft.variables if v not in places]
    draft.variables.insert(at, joint)
    draft.notes.append(f"{', '.join(repr(v.name) for v in members)} became one vector")


def _joined(
    present: list[tuple[Operator, Variable, Segment]], members: list[Variable], output: Any, size: int
) -> Operator:
    """[N_1 N_2 …] on the joint vector: a matrix where all are."""
    matrices = {v: N.as_matrix(v.shape) for N, v, _ in present}
    if any(m is None for m in matrices.values()):
        parts: list[Operator] = [Compose(N, cut) for N, _, cut in present]
        return parts[0] if len(parts) == 1 else SumOfMaps(parts)
    rows = math.prod(output)
    blocks = [matrices.get(v, scipy.sparse.csr_array((rows, math.prod(v.shape)))) for v in members]
    if any(scipy.sparse.issparse(m) for m in blocks):
        matrix: Any = scipy.sparse.hstack([scipy.sparse.csr_array(m) for m in blocks], format="csr")
    else:
        matrix = np.concatenate(blocks, axis=1)
    N = as_map(matrix, (size,))
    return N if len(output) == 1 else Compose(Reshape(rows, output), N)


# ---------------------------------------------------------------- nonsmooth terms


def nonsmooth_to_variables(draft: Draft) -> None:
    """h_k(c - a v) of a variable without h becomes the variable's own: sets first, they keep it where it must stay."""
    for group in sorted(draft.groups, key=lambda g: not g.h.is_set):
        host = _host(group)
        position = next(_positions(draft, group), None)
        if host is None or position is None or group.f is not None or isinstance(group.h, Zero):
            continue
        variable, a = host
        plain = a == -1.0 and not is_array(group.c) and group.c == 0.0
        variable.h = group.h if plain else simplified(Precomposed(group.h, -a, group.c))
        group.h = Zero()
        for i, found in enumerate(draft.blocks):
            if isinstance(found, FromVariable) and found.variable is variable:
                draft.blocks[i] = FromVariable(variable, found.place, found.shape, free=True)
        draft.blocks[position] = _hosted(draft.blocks[position], FromHost(variable, a, group.c))
        draft.notes.append(f"blocks {draft.stated.names[position]!r} and {variable.name!r} became one")


def _positions(draft: Draft, group: Group) -> Iterator[int]:
    """The block that is this group."""
    inner = enumerate(map(innermost, draft.blocks))
    return (i for i, r in inner if isinstance(r, FromGroup) and r.group is group)


def _hosted(found: Recovery, host: FromHost) -> Recovery:
    """The same rewritings of a block that is now its host's."""
    return (
        replace(found, inner=_hosted(found.inner, host)) if isinstance(found, FromRows | FromLevel) else host
    )


def _copied(group: Group) -> tuple[Variable, float] | None:
    """(v, a) where the rows are u + a v = c for one variable."""
    if len(group.terms) != 1:
        return None
    ((variable, N),) = group.terms.items()
    a = multiple(N)
    return (variable, a) if a and variable.shape == group.shape else None


def _host(group: Group) -> tuple[Variable, float] | None:
    """The same for a variable without h, so that h_k could be its h."""
    found = _copied(group)
    return found if found is not None and isinstance(found[0].h, Zero) else None


# ---------------------------------------------------------------- what says nothing


def drop(draft: Draft) -> None:
    """Leave out rows without a function, equations 0 = 0, and variables that nothing moves."""
    rest = draft.rest[0] if draft.rest is not None else None
    for group in list(draft.groups):
        if isinstance(group.h, Zero) and group.f is None:
            draft.groups.remove(group)
        elif group is rest and not group.terms and not np.any(np.asarray(group.c)):
            draft.groups.remove(group)
            draft.rest = None
            alone = draft.stated.unconstrained
            draft.notes.append("without an equation" if alone else "the equation 0 = 0 was left out")
    used = {
        v
        for g in draft.groups
        for v, N in g.terms.items()
        if not is_nothing(N) and not isinstance(N, ZeroMap)
    }
    for found in draft.blocks:
        if not isinstance(found, FromVariable) or len(draft.variables) == 1:
            continue
        v = found.variable
        if v in used or v.smooth or found.place is not None or v.h.is_manifold or v not in draft.variables:
            continue
        x = v.h.prox(zeros(v.shape, np.zeros(0)), 1.0)
        if np.array_equal(v.h.prox(x, 1.0), x):  # then 0 ∈ ∂h(x)
            draft.variables.remove(v)
            draft.fixed[v] = x
            draft.notes.append(f"block {v.name!r} stays where its own function is least")
