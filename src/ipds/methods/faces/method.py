"""OnFaces: a first-order method, and once it has found the face of the solution, the solution on that face.

    pursued      before all others, where all else is deviations: what is near the solution on the support that a
                 pursuit from the start ends at is shown (`pursuit`)
    first        steps of the method it was given; every `LOOK` of them, h_i.face(x_i) of the nonconvex h_i
    shown        at some early looks the solution on the face at hand, where exchanges find it and it is lower, at the
                 first of them what is near it: no answer yet, but long before there is one
    settled      unchanged at `PATIENCE` looks in a row:
                     solve what is left there to the end (`restricted`: exchanges or Newton steps),
                     try the neighbouring faces (`swaps`), solve there
    accepted     where the certificate falls to rounding and the objective does not rise: the answer from then on
    refused      else the first-order steps go on, and the next attempt takes `PATIENCE` looks more
    known        a face from which an earlier run, from another start, has come to its answer: that answer

A face is never held on to before it is solved: the steps of the first method do not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._arrays import Array
from ...functions import Zero
from ...functions.faces import Coordinates, Support
from ...operators import Identity
from ...problem import Block, Problem
from ...theory.certificate import certify, subgradients
from ...theory.objective import objective
from ...theory.state import State, residual_of
from ..base import Method
from .active import applies, settle
from .pursuit import may_pursue, pursued
from .restricted import Restricted, assembled
from .swaps import column_norms, eliminated, first_entry, improve, shaken

LOOK = 5
"""Iterations between looks at the faces."""
PATIENCE = 4
"""Looks in a row at which the faces agree; with 2, most supports of correlated designs were solved too soon."""
PURSUED = 2
"""Looks that it counts for that a pursuit has ended at a support; with 3, some were taken that did not last."""
SURE = 2
"""The same for a face that is known."""
SHOWN, EXACTLY = (1, 2, 4), 2
"""Looks at which the solution on the face at hand is shown, and the first of them that is exact; before, it is near."""
EARLY = 10
"""Iterations before which a point that is 0 does not end a run: entries may still appear."""
AWAITED = 2 * LOOK * PATIENCE
"""Iterations for which an answer waits for its face to be tried."""
EXACT = 1e-9
"""Relative certificate up to which an answer is held on to."""
RISE = 1e-9
"""Relative rise of the objective that counts as none."""

Known = dict[tuple[bytes, ...], State]
Solved = dict[bytes, State | None]
"""Labels of faces, and the solutions that were found from there."""


class Carry(NamedTuple):
    """Where the next step starts."""

    t: int
    first: Any
    """Of the first-order method; None before it has begun, which is after a pursuit where nothing is saved."""
    labels: tuple[np.ndarray, ...]
    """Of the faces at the last look."""
    seen: int
    """Looks in a row with these labels; -1 where all entries are 0 and none was worth its price."""
    wait: int
    """Looks that an attempt takes."""
    holds: int
    """1 where a face was solved, and x, slopes and z are the answer."""
    x: tuple[Array, ...]
    """The answer, or the solution on a face that was shown: the next attempt starts from it if that face settles."""
    lowest: float
    """The objective there; inf where there is none."""
    slopes: tuple[Array, ...]
    """s_i ∈ ∂h_i(x_i)."""
    z: Array


@dataclass(frozen=True, eq=False)
class Setup:
    """What stays fixed during a run."""

    problem: Problem
    method: Method
    """The first-order one."""
    start: tuple[tuple[Array, ...], Array]
    """x0 and z0."""
    at: tuple[int, ...]
    """The blocks whose faces are looked at; none where the problem is not of the form that can be solved there."""
    pursues: bool
    """Whether a pursuit comes before all steps."""
    solved: Solved | None
    """Solutions on single faces, of this run and of earlier ones; None where each attempt begins anew."""

    @cached_property
    def begun(self) -> tuple[Any, Any]:
        """(setup, carry) of the first-order method at its start."""
        return self.method.init(self.problem, *self.start)

    @cached_property
    def norms(self) -> dict[int, np.ndarray]:
        """‖A_i e_j‖ of the blocks whose faces are looked at."""
        return {i: column_norms(self.problem, i) for i in self.at}


class OnFaces(Method):
    """A method that finds a face, and the exact solution on it; see the module for the steps.

    Its first State is not worth a check: the solution on a face is shown soon after it.

    Parameters
    ----------
    first : the method that finds it.
    known : what earlier runs on the same problem have found, by the labels of the faces; a run adds to it, and what is
        solved on single faces is shared as well. None where a run shall not depend on earlier ones.
    """

    announces = True

    def __init__(self, first: Method, known: Known | None = None):
        self.first, self.known = first, known
        self.solved: Solved | None = None if known is None else {}
        self.presolves = first.presolves
        self.name = f"{first.name}, finished on its face"

    def init(self, problem: Problem, x0: tuple[Array, ...], z0: Array) -> tuple[Setup, Carry]:
        """What the looks compare, and the carry of the first method, unless a pursuit comes before it."""
        numeric = all(type(x) is np.ndarray and x.dtype == np.float64 for x in (*x0, z0))
        at = tuple(i for i, block in enumerate(problem.blocks) if _is_watched(block))
        if not (numeric and has_flat_faces(problem, len(x0) - 1)):
            at = ()
        labels = tuple(np.zeros(problem.blocks[i].shape, np.int8) for i in at)
        room = tuple(np.zeros(x.shape) for x in x0) if at else ()
        z = np.zeros(z0.shape) if at else np.zeros(0)
        setup = Setup(problem, self.first, (x0, z0), at, may_pursue(problem, at), self.solved)
        first = None if setup.pursues and self.known is not None else setup.begun[1]
        t = 0 if first is None else first.t
        return setup, Carry(t, first, labels, 0, PATIENCE, 0, room, math.inf, room, z)

    def step(self, setup: Setup, carry: Carry) -> tuple[Carry, State]:
        """One step of the first method, and where the faces have settled the solution there."""
        return self.steps(setup, [carry], carry.t + 1)

    def steps(self, setup: Setup, held: list[Carry], until: int) -> tuple[Carry, State]:
        """Steps of the first method, to the next look at most."""
        carry = held.pop()
        if carry.holds:
            state = assembled(setup.problem, carry.t + 1, carry.x, carry.slopes, carry.z)
            assert state is not None
            return carry._replace(t=state.t), state
        if setup.pursues and not carry.t:
            carry, shown = _pursued(setup, carry)
            if shown is not None:
                return carry, shown
        inner, look = [carry.first or setup.begun[1]], LOOK * (carry.t // LOOK + 1)
        carry = carry._replace(first=None)  # so that nobody else holds it while the steps run
        first, state = self.first.steps(setup.begun[0], inner, min(until, look) if setup.at else until)
        t = first.t
        carry = carry._replace(t=t, first=first)
        if not setup.at or (t % LOOK and t > 1) or state.transient or not state.settled:
            return carry, replace(state, settled=state.settled and not is_awaited(carry))
        found = [setup.problem.blocks[i].h.face(state.q[i]) for i in setup.at]
        faces = {i: face for i, face in zip(setup.at, found, strict=True) if isinstance(face, Coordinates)}
        if len(faces) < len(setup.at):
            return carry._replace(seen=0), state
        empty = not any(face.dimension for face in faces.values())
        if t == 1 and not empty:
            return carry, state
        if empty and carry.seen >= 0 and t < EARLY:
            return carry, replace(state, settled=False)
        if empty and carry.seen >= 0:  # all is 0, a minimum as soon as entries have a price: is one worth it?
            faces = first_entry(setup.problem, state, faces, setup.norms) or {}
            solved = finish(setup, state, faces) if faces else None
            if solved is not None:
                return self.held(setup, carry, solved)
        if empty:
            return carry._replace(seen=-1), state
        labels = tuple(face.label.astype(np.int8) for face in faces.values())
        same = all(map(np.array_equal, labels, carry.labels))
        carry = carry._replace(labels=labels, seen=carry.seen + 1 if same else 1)
        if self.known and carry.seen >= SURE and _key(labels) in self.known:
            return self.held(setup, carry, replace(self.known[_key(labels)], t=t, due=True))
        if carry.seen < carry.wait:
            return _shown(setup, carry, replace(state, settled=not is_awaited(carry)), faces)
        solved = finish(setup, state, faces, carry.x if carry.lowest < math.inf else None)
        if solved is None:
            return carry._replace(seen=0, wait=carry.wait + PATIENCE), state
        if self.known is not None:
            self.known[_key(labels)] = solved
        return self.held(setup, carry, replace(solved, due=True))

    def held(self, setup: Setup, carry: Carry, solved: State) -> tuple[Carry, State]:
        """The answer from then on."""
        ended = [setup.problem.blocks[i].h.face(solved.q[i]) for i in setup.at]
        if self.known is not None and all(face is not None for face in ended):
            self.known[_key([face.label.astype(np.int8) for face in ended if face is not None])] = solved
        slopes = subgradients(setup.problem, solved)
        return carry._replace(holds=1, x=solved.x, slopes=slopes, z=solved.z), solved

    def may_smooth(self, setup: Setup) -> bool:
        """Whether the first method may."""
        return not setup.pursues and self.first.may_smooth(setup.begun[0])

    def parameters_of(self, setup: Setup) -> Any:
        """Those of the first method."""
        return self.first.parameters_of(setup.begun[0])


def _key(labels: Sequence[np.ndarray]) -> tuple[bytes, ...]:
    return tuple(label.tobytes() for label in labels)


def _shown(setup: Setup, carry: Carry, state: State, faces: dict[int, Coordinates]) -> tuple[Carry, State]:
    """The carry, and in the place of a state the solution on its faces: at times, where that is lower."""
    look, is_on = state.t // LOOK, _is_on(faces, carry.x)
    if look not in SHOWN or (is_on and look != EXACTLY):
        return carry, state
    restricted = Restricted(setup.problem, faces)
    start = restricted.start(carry.x if is_on else state.q)
    found = restricted.nearly(start) if look < EXACTLY else restricted.exactly(start, far=not is_on)
    return _lower(setup, carry, state, None if found is None else restricted.state(state.t, found))


def _pursued(setup: Setup, carry: Carry) -> tuple[Carry, State | None]:
    """The carry, and what a pursuit from the start ends at, where that is lower."""
    (i,) = setup.at
    fit = pursued(setup.problem, i, setup.start[0], setup.norms[i])
    solved = None if fit is None else fit.restricted.state(carry.t + 1, fit.found)
    if fit is None or solved is None:
        return carry, None
    labels = (fit.restricted.faces[i].label.astype(np.int8),)
    carry = carry._replace(t=solved.t, labels=labels, seen=PURSUED, x=solved.x, lowest=fit.value)
    return carry, replace(solved, settled=False, due=True)


def _lower(setup: Setup, carry: Carry, state: State, solved: State | None) -> tuple[Carry, State]:
    """The carry and the State of what was solved on some face, where it is the lowest so far; else `state`."""
    if solved is None:
        return carry, state
    value = float(objective(setup.problem, solved))
    if not value < min(carry.lowest, float(objective(setup.problem, state))):
        return carry, state
    carry = carry._replace(x=solved.x, lowest=value)
    return carry, replace(solved, beta=state.beta, settled=False, due=True)


def _is_on(faces: dict[int, Coordinates], x: tuple[Array, ...]) -> bool:
    """Whether x has these nonzeros."""
    return all(np.array_equal(x[i] != 0, face.label) for i, face in faces.items())


def is_awaited(carry: Carry) -> bool:
    """Whether faces have not been tried yet, but soon will be: until then a point is no answer, as others may be lower.

    Every full support of a cardinality is critical; only its neighbours tell a poor one.
    """
    return carry.wait == PATIENCE and carry.seen > 0 and carry.t < AWAITED and not carry.holds


def has_flat_faces(problem: Problem, last: int) -> bool:
    """Whether block `last` is u of u = M v + c, and all that is not convex has faces with free entries."""
    block, op = problem.blocks[last], problem.operators[last]
    others = [other for i, other in enumerate(problem.blocks) if i != last]
    return (
        any(map(_is_watched, others))
        and all(_is_watched(other) or not _is_nonconvex(other) for other in others)
        and (block.h.is_convex and isinstance(op, Identity) and op.scale != 0)
        and (block.f is None or isinstance(block.h, Zero))
    )


def _is_watched(block: Block) -> bool:
    """Whether a block is not convex, but its h has faces with free entries."""
    return block.h.has_faces and _is_nonconvex(block)


def _is_nonconvex(block: Block) -> bool:
    return not block.h.is_convex or (block.f is not None and block.f.is_convex is False)


def _reached(pair: tuple[Restricted, State]) -> float:
    return pair[0].reached(pair[1])


def _lower_from(
    setup: Setup, x: tuple[Array, ...], settled: tuple[Restricted, State]
) -> tuple[Restricted, State]:
    """What is found from the faces of x, where x is lower than what has settled, and that is lower too."""
    found = {i: setup.problem.blocks[i].h.face(x[i]) for i in setup.at}
    faces = {i: face for i, face in found.items() if isinstance(face, Coordinates)}
    restricted = settled[0].on(faces)
    if len(faces) < len(found) or not restricted.value(restricted.start(x)) < _reached(settled):
        return settled
    solved = restricted.solve(x, settled[1].z, far=not restricted.is_vertex(x))
    return settled if solved is None else min(settled, improve(restricted, solved, setup.norms), key=_reached)


def finish(
    setup: Setup, state: State, faces: dict[int, Coordinates], known: tuple[Array, ...] | None = None
) -> State | None:
    """The solution on the faces and on their neighbours, where it is better than `state`; else None.

    `known` may be a solution on these faces or on others, which are tried as well where it is lower.
    """
    problem = setup.problem
    settled = settle(problem, state, faces) if applies(problem, faces) else None
    if settled is None and all(block.f is None or block.f.is_convex for block in problem.blocks):
        restricted = Restricted(problem, faces, {} if setup.solved is None else setup.solved)
        start = state.q if known is None or not _is_on(faces, known) else known
        found = restricted.solve(start, state.z, far=not restricted.is_vertex(start))
        settled = None if found is None else improve(restricted, found, setup.norms)
        if settled is not None and known is not None and start is not known:
            settled = _lower_from(setup, known, settled)
        if settled is not None and problem.restorable is None:  # constraints: first-order steps choose poorly
            other = eliminated(*settled)
            other = None if other is None else improve(*other, setup.norms)
            settled = shaken(*min((p for p in (settled, other) if p is not None), key=_reached), setup.norms)
        elif settled is not None and any(
            isinstance(face, Support) and (face.h or face.is_rugged) for face in faces.values()
        ):
            settled = shaken(*settled, setup.norms)
    if settled is None:
        return None
    restricted, found = settled
    solved = restricted.state(state.t, found)
    if solved is None:
        return None
    solved = replace(solved, beta=state.beta)
    before = float(objective(problem, state))
    room = RISE * abs(before)
    # measured where the equation is not met: by as much as it could be lower there
    if problem.restorable is None:
        room += 2 * float(np.vdot(abs(state.z), abs(residual_of(problem, replace(state, x=state.q)))))
    value, relative = float(objective(problem, solved)), certify(problem, solved).relative
    most = EXACT if value < before - room else min(EXACT, certify(problem, state).relative)
    return solved if value <= before + room and relative <= most else None
