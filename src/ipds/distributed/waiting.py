"""Waiting for workers: the driver looks up meanwhile, and gives a cluster up that does not come back.

Who starts a solve says by `looking` what to look at: the clock, the callback. Workers that are lost come back by
themselves (a nanny, a job queue), and Dask computes anew what they held; so a wait ends in an error only where for
`PATIENCE` seconds there is no worker that takes tasks, or where the scheduler has lost what it knew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

PATIENCE = 60.0
"""Seconds without a worker, or without a word from the scheduler, after which a cluster is given up."""
GLANCE = 0.2
"""Seconds between two looks at what `looking` says."""
VISIT = 2.0
"""Seconds between two questions to the scheduler which workers there are."""
ADVICE = "solve(..., checkpoint=path) goes on from its last save once the same call is made on a new cluster"


class ClusterError(ConnectionError):
    """The Dask cluster is gone, or has lost the data; `result` is what was reached."""

    result: Any = None


_look: ContextVar[Callable[[float], object]] = ContextVar("look", default=lambda waited: None)


class looking:
    """Within this context a wait calls `look(seconds waited)` again and again; what it raises ends the wait."""

    def __init__(self, look: Callable[[float], object]):
        self._own = look

    def __enter__(self) -> None:
        self._before = _look.set(self._own)

    def __exit__(self, *error: object) -> None:
        _look.reset(self._before)


def at_most(seconds: float) -> Callable[[float], None]:
    """A look that waits no longer than that."""

    def look(waited: float) -> None:
        if waited > seconds:
            raise ClusterError(f"the Dask cluster did not answer within {seconds:g} s")

    return look


def outcome(client: Any, question: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine of a `distributed.Client` returns; ClusterError where the cluster is lost."""
    import asyncio
    from concurrent.futures import CancelledError

    from distributed.scheduler import KilledWorker

    pending = _begun(client, question)
    begin = heard = visit = time.monotonic()
    while True:
        try:
            return pending.result(GLANCE)
        except KilledWorker as error:
            raise ClusterError(
                f"Dask gave up a task whose workers died one after the other: {error}"
            ) from None
        except (CancelledError, asyncio.CancelledError):
            raise ClusterError(
                f"the Dask cluster has lost the data of this solve: its scheduler was lost or restarted; {ADVICE}"
            ) from None
        except TimeoutError:
            if pending.done():
                raise
        now = time.monotonic()
        _look.get()(now - begin)
        if client.status == "closed":
            raise ClusterError(f"the Dask client was closed during a solve; {ADVICE}")
        if now - visit >= VISIT:
            heard = now if _has_workers(client) else heard
            visit = time.monotonic()
            if visit - heard > PATIENCE:
                raise ClusterError(
                    f"for {visit - heard:.0f} s the Dask cluster had no worker that takes tasks; {ADVICE}"
                )


def _begun(client: Any, question: Coroutine[Any, Any, Any]) -> Future[Any]:
    import asyncio

    return asyncio.run_coroutine_threadsafe(question, client.loop.asyncio_loop)


def _has_workers(client: Any) -> bool:
    """Whether the scheduler says, within the time of a visit, that a worker takes tasks."""
    from concurrent.futures import CancelledError

    answer = _begun(client, client.scheduler.identity(n_workers=-1))
    try:
        workers = answer.result(VISIT)["workers"].values()
    except (OSError, TimeoutError, CancelledError):
        answer.cancel()
        return False
    return any(worker["status"] == "running" for worker in workers)
