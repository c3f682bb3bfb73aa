"""Where the chunks live and who computes: Dask, with a client or without."""

from __future__ import annotations

import functools
import logging
import os
import sys
import uuid
import weakref
from abc import ABC, abstractmethod
from typing import Any

from .answers import SMALL, Answers, tell
from .layout import Layout
from .nodes import Node
from .plan import Program, Ref
from .waiting import outcome

logger = logging.getLogger("ipds.distributed")

FAN_IN = 16
"""Answers of so many groups are combined by one task on the way to the driver."""
SHARE = 0.4
"""Data stays in memory where it takes at most this share of it; else it is read anew in every pass."""
DEPTH = 100
"""Passes after which long arrays get a recipe of their own, so that the scheduler forgets how they came about."""
LIGHT = 2**30
"""Bytes of long arrays up to which that is done: they pass through the scheduler."""
QUIET = {"distributed.admin.large-graph-warning-threshold": 2 * LIGHT}
"""No warning of Dask's about what is sent on purpose."""


class Cluster(ABC):
    """Runs passes."""

    threads: int
    """Groups it can treat at a time."""
    passes: int = 0
    """Passes so far."""

    def __init__(self) -> None:
        self.layouts: weakref.WeakValueDictionary[tuple[int, ...], Layout] = weakref.WeakValueDictionary()

    @abstractmethod
    def run(
        self, program: Program, sources: list[list[Any]], chunks: list[int]
    ) -> tuple[list[Any], list[Any]]:
        """(what every group holds now, the combined answer)."""

    @abstractmethod
    def gather(self, ref: Ref) -> list[list[Any]]:
        """The chunks of a long array, by groups."""

    @abstractmethod
    def hold(self, groups: list[Any]) -> list[Any]:
        """Groups of chunks, given as Dask delayed lists, computed and kept."""

    @abstractmethod
    def here(self, groups: list[list[Any]]) -> list[Any]:
        """Groups of chunks that are at hand, as something to hold."""

    @abstractmethod
    def memory(self) -> float:
        """Bytes of memory for data."""

    @abstractmethod
    def passed(self, kept: list[Node]) -> None:
        """Called after every pass with the long arrays it made."""


class Local(Cluster):
    """Dask's scheduler in this process: threads, unless Dask is configured otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.threads = os.cpu_count() or 1

    def run(
        self, program: Program, sources: list[list[Any]], chunks: list[int]
    ) -> tuple[list[Any], list[Any]]:
        import dask

        self.passes += 1
        get = dask.base.get_scheduler() or dask.threaded.get
        graph = {
            f"pass-{g}": (functools.partial(program.run, count, *[source[g] for source in sources]),)
            for g, count in enumerate(chunks)
        }
        found = get(graph, list(graph))
        return list(found), functools.reduce(program.join, [group[-1] for group in found])

    def gather(self, ref: Ref) -> list[list[Any]]:
        return [group[ref.index] for group in ref.held]

    def hold(self, groups: list[Any]) -> list[Any]:
        import dask

        return [(group,) for group in dask.compute(*groups)]

    def here(self, groups: list[list[Any]]) -> list[Any]:
        return [(group,) for group in groups]

    def memory(self) -> float:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))

    def passed(self, kept: list[Node]) -> None:
        """Arrays in this process need no recipe."""


class Remote(Cluster):
    """The workers of a `distributed.Client`.

    Every group is one task of a pass. It sends a small answer as an event; a large one is taken off what the task keeps
    by a second task, and where there are many groups a tree of tasks combines these. A worker lost takes its long
    arrays with it, and Dask computes them again from their recipes: the passes that made them. Lest these pile up on
    the scheduler, after `DEPTH` passes the arrays become their own recipe.
    """

    def __init__(self, client: Any):
        super().__init__()
        self.client = client
        self.threads = max(1, sum(client.nthreads().values()))
        self._answers = Answers(client)
        self._kept: weakref.WeakSet[Node] = weakref.WeakSet()

    def run(
        self, program: Program, sources: list[list[Any]], chunks: list[int]
    ) -> tuple[list[Any], list[Any]]:
        self.passes += 1
        token, topic = uuid.uuid4().hex, self._answers.topic
        names = [f"pass-{token}-{g}" for g in range(len(chunks))]
        tells = bool(program.reduce) and program.answer_bytes <= SMALL
        expected = self._answers.expect(names if tells else [])
        graph = {}
        for g, (name, count) in enumerate(zip(names, chunks, strict=True)):
            task = functools.partial(_told, topic, name, program) if tells else program.run
            graph[name] = (functools.partial(task, count), *[source[g] for source in sources])
        futures = list(self.client.get(graph, names, sync=False))
        if not program.reduce:
            return futures, []
        found = outcome(self.client, expected.wait(futures)) if tells else None
        if found is None:
            found = self._fetched_answers(program, futures)
        return futures, functools.reduce(program.join, found)

    def _fetched_answers(self, program: Program, futures: list[Any]) -> list[list[Any]]:
        """Answers of passes by tasks: one per pass that takes it off what is kept, and a tree that combines them."""
        token = uuid.uuid4().hex
        names = [f"answer-{token}-{g}" for g in range(len(futures))]
        graph: dict[str, Any] = {name: (_answer, future) for name, future in zip(names, futures, strict=True)}
        level = 0
        while len(names) > FAN_IN:
            parts = [names[i : i + FAN_IN] for i in range(0, len(names), FAN_IN)]
            names = [f"join-{token}-{level}-{i}" for i in range(len(parts))]
            for name, part in zip(names, parts, strict=True):
                graph[name] = (functools.partial(_join, program), *part)
            level += 1
        return self._fetched(self.client.get(graph, names, sync=False))

    def gather(self, ref: Ref) -> list[list[Any]]:
        graph = {
            f"chunks-{uuid.uuid4().hex}": (functools.partial(_chunks, ref.index), group) for group in ref.held
        }
        return list(self._fetched(self.client.get(graph, list(graph), sync=False)))

    def hold(self, groups: list[Any]) -> list[Any]:
        import dask

        # bound to no worker: a task whose worker is gone for good would wait for it for ever
        with dask.config.set(QUIET):
            return list(self.client.compute([dask.delayed(_alone, pure=False)(group) for group in groups]))

    def here(self, groups: list[list[Any]]) -> list[Any]:
        return self._own([(group,) for group in groups])

    def memory(self) -> float:
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return float(sum(worker["memory_limit"] for worker in workers))

    def passed(self, kept: list[Node]) -> None:
        self._kept.update(kept)
        if not kept or kept[0].value.depth < DEPTH:
            return
        alive = [node for node in self._kept if node.value.depth > 0]
        if sum(node.layout.length * node.like.nbytes for node in alive if node.layout) > LIGHT:
            return
        for held in {id(node.value.held): node.value.held for node in alive}.values():
            nodes = [node for node in alive if node.value.held is held]
            groups = self._fetched(held)
            again = self._own([tuple(group[node.value.index] for node in nodes) for group in groups])
            for index, node in enumerate(nodes):
                node.value = Ref(again, index, 0)

    def _fetched(self, futures: list[Any]) -> list[Any]:
        return list(outcome(self.client, self.client.gather(futures, asynchronous=True)))

    def _own(self, groups: list[tuple[Any, ...]]) -> list[Any]:
        """Data at hand as tasks that hold it: should a worker be lost, the scheduler knows it still."""
        import dask

        graph = {f"data-{uuid.uuid4().hex}": (functools.partial(_itself, group),) for group in groups}
        with dask.config.set(QUIET):
            return list(self.client.get(graph, list(graph), sync=False))


def _told(topic: str, name: str, program: Program, chunks: int, *held: Any) -> tuple[Any, ...]:
    """A pass that sends its answer to the driver itself."""
    found = program.run(chunks, *held)
    tell(topic, name, found[-1])
    return found


def _answer(held: tuple[Any, ...]) -> list[Any]:
    return list(held[-1])


def _join(program: Program, *answers: list[Any]) -> list[Any]:
    return functools.reduce(program.join, answers)


def _chunks(index: int, held: tuple[Any, ...]) -> Any:
    return held[index]


def _alone(group: list[Any]) -> tuple[list[Any]]:
    return (group,)


def _itself(group: Any) -> Any:
    return group


_local: list[Local] = []
_remote: dict[str, Remote] = {}


def current() -> Cluster:
    """The workers of the current Dask client; without one, Dask's scheduler in this process, which the log says."""
    distributed = sys.modules.get("distributed")  # without the module there is no client either
    if distributed is not None:
        try:
            client = distributed.get_client()
        except ValueError:
            pass
        else:
            for name in [name for name, remote in _remote.items() if remote.client.status == "closed"]:
                del _remote[name]
            if client.id not in _remote:
                _remote[client.id] = Remote(client)
            return _remote[client.id]
    if not _local:
        logger.warning("no Dask client: the chunks are treated by Dask's local scheduler, in this process")
        _local.append(Local())
    return _local[0]
