"""Carrying out what has been written down: passes over the chunks, and the calls on the driver between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .layout import Layout, Split
from .nodes import Node, waiting


@dataclass(frozen=True, slots=True)
class Ref:
    """Where a long array is: place `index` in what each group of chunks holds."""

    held: list[Any]
    """One entry per group: a tuple, or the future of a tuple, of arrays as lists of chunks."""
    index: int
    depth: int
    """Passes since the last array whose recipe does not rest on another pass."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an instruction that stands for something else: an earlier result, or a chunk held."""

    kind: str
    index: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """One call, the same for all chunks."""

    function: Any
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Program:
    """What every chunk computes in one pass."""

    instructions: list[Instruction]
    inputs: list[tuple[int, int]]
    """(which of the things held, place in it) of every chunk read."""
    keep: list[int]
    """Instructions whose results stay with the chunk."""
    reduce: list[int]
    """Instructions whose results are combined."""
    combine: list[Any]
    answer_bytes: int
    """Bytes of one group's answer."""

    def __dask_tokenize__(self) -> int:
        return id(self)  # Dask would else look at every instruction to tell programs apart

    def run(self, chunks: int, *held: Any) -> tuple[Any, ...]:
        """For the chunks of one group: the arrays kept, each as the list of its chunks, and last the answer."""
        kept: list[list[Any]] = [[] for _ in self.keep]
        answer: list[Any] = []
        with np.errstate(all="ignore"):
            for c in range(chunks):
                values = self._values([load(held[i][place][c]) for i, place in self.inputs])
                for place, i in zip(kept, self.keep, strict=True):
                    # a view would keep in memory all it was cut from
                    place.append(values[i] if values[i].base is None else values[i].copy())
                found = [values[i] for i in self.reduce]
                answer = self.join(answer, found) if c else found
        return (*kept, answer)

    def _values(self, read: list[Any]) -> list[Any]:
        """The results of all instructions for one chunk."""
        values: list[Any] = []

        def given(a: Any) -> Any:
            return (
                a if not isinstance(a, Argument) else values[a.index] if a.kind == "value" else read[a.index]
            )

        for call in self.instructions:
            values.append(call.function(*map(given, call.arguments), **call.keywords))
        return values

    def join(self, a: list[Any], b: list[Any]) -> list[Any]:
        """Two answers made one."""
        return [combine(x, y) for combine, x, y in zip(self.combine, a, b, strict=True)]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A chunk of data that is read anew in every pass."""

    delayed: Any

    def load(self) -> Any:
        """Read the chunk, in this thread."""
        return self.delayed.compute(scheduler="synchronous")


def load(chunk: Any) -> Any:
    """A chunk itself, read where only its recipe is held; TypeError where it is no dense array."""
    chunk = chunk.load() if isinstance(chunk, Recipe) else chunk
    require_dense("a Dask array", chunk)
    return chunk


def require_dense(name: str, chunk: Any) -> None:
    """Refuse chunks that NumPy's functions would treat in another way, or not at all."""
    if isinstance(chunk, np.ma.MaskedArray):
        raise TypeError(
            f"{name} has masked chunks, whose masks would be lost; fill them first, e.g. da.ma.filled(X, 0.0)"
        )
    if not isinstance(chunk, np.ndarray) or isinstance(chunk, np.matrix):
        kind = f"{type(chunk).__module__}.{type(chunk).__qualname__}"
        raise TypeError(
            f"{name} has chunks of type {kind}; make them dense NumPy arrays first, e.g. "
            "X.map_blocks(lambda chunk: chunk.toarray())"
        )


def force(*targets: Node) -> None:
    """Compute the targets, and with them what else is waiting, as far as the passes that they need can."""
    if all(node.done for node in targets):
        return
    pending = _ordered(targets)
    layouts = {None, *(node.layout for node in pending)}
    # what waits on other clusters, or on other data, stays there until it is asked for
    along = [node for node in waiting() if layouts.issuperset(part.layout for part in _ordered([node]))]
    pending = _ordered([*targets, *along])
    while not all(node.done for node in targets):
        ready = _ready(pending)
        for layout in {id(node.layout): node.layout for node in ready}.values():
            assert layout is not None
            _pass(layout, [node for node in ready if node.layout is layout], pending)
        for node in pending:
            if node.layout is None and all(a.done for a in node.arguments if isinstance(a, Node)):
                plain = [a.value if isinstance(a, Node) else a for a in node.arguments]
                node.finish(node.function(*plain, **node.keywords))
        left = [node for node in pending if not node.done]
        assert len(left) < len(pending), "nothing can be computed: a call waits for itself"
        pending = left


def collect(node: Node) -> np.ndarray:
    """A long array, brought here."""
    force(node)
    assert node.layout is not None
    groups = node.layout.cluster.gather(node.value)
    return np.concatenate([load(chunk) for group in groups for chunk in group])


def held(layout: Layout, groups: list[Any], like: Any) -> Node:
    """The node of a long array that is there already; `groups` holds a list of chunks, or its future, per group."""
    node = Node(None, (), {}, like, layout)
    node.finish(Ref(groups, 0, 0))
    return node


def _ordered(nodes: Sequence[Node]) -> list[Node]:
    """All that waits below `nodes`, arguments first."""
    found: dict[int, Node] = {}
    stack = [(node, False) for node in reversed(nodes)]
    while stack:
        node, seen = stack.pop()
        if node.done or id(node) in found:
            continue
        if seen:
            found[id(node)] = node
        else:
            stack.append((node, True))
            stack += [(a, False) for a in node.arguments if isinstance(a, Node)]
    return list(found.values())


def _ready(pending: list[Node]) -> list[Node]:
    """The calls on chunks that need no number still to come."""
    ready: dict[int, Node] = {}
    for node in pending:
        if node.layout is not None and all(
            a.done or (a.is_long and id(a) in ready) for a in node.arguments if isinstance(a, Node)
        ):
            ready[id(node)] = node
    return list(ready.values())


def _pass(layout: Layout, nodes: list[Node], pending: list[Node]) -> None:
    """One pass over the chunks of a layout."""
    place = {id(node): i for i, node in enumerate(nodes)}
    needed = {
        id(a) for node in pending if id(node) not in place for a in node.arguments if isinstance(a, Node)
    }
    sources: list[Any] = []
    inputs: list[tuple[int, int]] = []
    known: dict[int, int] = {}
    depth = 0

    def read(key: int, source: list[Any], index: int) -> Argument:
        if key not in known:
            at = next((i for i, other in enumerate(sources) if other is source), len(sources))
            if at == len(sources):
                sources.append(source)
            known[key] = len(inputs)
            inputs.append((at, index))
        return Argument("chunk", known[key])

    def encoded(a: Any) -> Any:
        nonlocal depth
        if isinstance(a, Split):
            return read(id(a), layout.cluster.here(layout.cut(a.array)), 0)
        if not isinstance(a, Node):
            return a
        if id(a) in place:
            return Argument("value", place[id(a)])
        if a.is_long:
            depth = max(depth, a.value.depth)
            return read(id(a), a.value.held, a.value.index)
        return a.value

    instructions = [
        Instruction(node.function, tuple(map(encoded, node.arguments)), node.keywords) for node in nodes
    ]
    keep = [node for node in nodes if node.is_long and (node.handle() is not None or id(node) in needed)]
    reduce = [node for node in nodes if node.combine is not None]
    program = Program(
        instructions,
        inputs,
        [place[id(node)] for node in keep],
        [place[id(node)] for node in reduce],
        [node.combine for node in reduce],
        sum(node.like.nbytes for node in reduce),
    )
    groups, answer = layout.cluster.run(program, sources, [len(group) for group in layout.groups])
    for index, node in enumerate(keep):
        node.finish(Ref(groups, index, depth + 1))
    for node, value in zip(reduce, answer, strict=True):
        node.finish(value)
    for node in nodes:
        if not node.done:  # a temporary
            node.finish(None)
    layout.cluster.passed(keep)
