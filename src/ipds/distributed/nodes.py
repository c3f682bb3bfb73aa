"""Calls that have been written down, and which of them wait to be made."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from .layout import Layout


class Node:
    """One call `function(*arguments, **keywords)`, its `value` once it is made.

    With a `layout` it is made for every chunk of rows; with `combine` as well, the chunks' answers are combined on the
    way to the driver. Without a layout it is made on the driver. `like` is a stand-in of the right dtype and shape, in
    which long arrays have a single row.
    """

    __slots__ = (
        "__weakref__",
        "arguments",
        "combine",
        "done",
        "function",
        "handle",
        "keywords",
        "layout",
        "like",
        "value",
    )

    def __init__(
        self,
        function: Any,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        like: Any,
        layout: Layout | None = None,
        combine: Any = None,
    ):
        self.function, self.arguments, self.keywords = function, arguments, keywords
        self.like, self.layout, self.combine = like, layout, combine
        self.done = False
        self.value: Any = None
        self.handle: weakref.ref[Any] = lambda: None  # type: ignore[assignment]

    def finish(self, value: Any) -> None:
        """Keep the value and forget the call, so that no chain of calls builds up."""
        self.value, self.done = value, True
        self.function, self.arguments, self.keywords = None, (), {}

    @property
    def is_long(self) -> bool:
        """Whether the value is a long array on the workers."""
        return self.layout is not None and self.combine is None


class _Waiting(threading.local):
    """What has been written down and not yet computed, in this thread."""

    def __init__(self) -> None:
        self.handles: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


_waiting = _Waiting()


def waiting() -> list[Node]:
    """The nodes that wait and that somebody still holds."""
    nodes = [(key, handle.node) for key, handle in list(_waiting.handles.items())]
    for key, node in nodes:
        if node.done:
            _waiting.handles.pop(key, None)
    return [node for _, node in nodes if not node.done]


def wait_for(handle: Any) -> None:
    """Take note of an array or number that is written down and not yet computed, as long as somebody holds it."""
    _waiting.handles[id(handle)] = handle
