"""Small answers of passes, which the workers send as events: no task and no transfer of their own."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import uuid
from typing import Any

SMALL = 2**15
"""Bytes of an answer up to which it is sent so: it passes through the scheduler, which keeps its last 1,000 events."""
GLANCE = 0.2
"""Seconds between two looks at tasks whose answers do not come."""


class Answers:
    """What the tasks of one driver tell it, under a topic of `distributed.Client.subscribe_topic`."""

    def __init__(self, client: Any):
        self.topic = f"ipds-{uuid.uuid4().hex}"
        self._expected: dict[str, Expected] = {}
        client.subscribe_topic(self.topic, self._arrived)

    def expect(self, names: list[str]) -> Expected:
        """Answers of tasks, by their names; to be called before the tasks are sent."""
        expected = Expected(names, self._expected)
        self._expected.update(dict.fromkeys(names, expected))
        return expected

    def _arrived(self, event: tuple[float, bytes]) -> None:
        name, answer = pickle.loads(event[1])
        expected = self._expected.pop(name, None)  # a task that runs twice tells its answer twice
        if expected is not None:
            expected.came[name] = answer
            expected.news.set()


class Expected:
    """The answers of some tasks."""

    def __init__(self, names: list[str], registered: dict[str, Expected]):
        self.names, self.registered = names, registered
        self.came: dict[str, Any] = {}
        self.news = asyncio.Event()

    async def wait(self, futures: list[Any]) -> list[Any] | None:
        """The answers in the order of the names; None where the tasks have ended, or one has failed, without them."""
        try:
            while len(self.came) < len(self.names):
                ended = [future.status for future in futures if future.done()]
                if len(ended) == len(futures) or "error" in ended:
                    return None
                self.news.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(GLANCE):
                        await self.news.wait()
            return [self.came[name] for name in self.names]
        finally:
            for name in self.names:
                self.registered.pop(name, None)


def tell(topic: str, name: str, answer: Any) -> None:
    """Send the answer of the task `name`; called by the task, on its worker."""
    from distributed import get_worker

    get_worker().log_event(topic, pickle.dumps((name, answer)))
