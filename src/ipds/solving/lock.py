"""One solve at a time on a checkpoint: a lock that the system lets go of when its process ends, however that comes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import CheckpointError

try:
    import fcntl
except ImportError:  # no such locks on Windows: only solves of one process are kept apart there
    fcntl = None  # type: ignore[assignment]

_ours: set[str] = set()
"""Checkpoints that this process works on: the system would give it each of their locks again."""


@contextlib.contextmanager
def locked(checkpoint: Path | None) -> Iterator[None]:
    """Within this context no other solve uses the checkpoint; CheckpointError, with its process, where one does now.

    The lock is PATH.lock, which holds the number of the process. A file that a killed process left behind is no lock.
    """
    if checkpoint is None:
        yield
        return
    name, path = os.path.realpath(checkpoint), checkpoint.with_name(checkpoint.name + ".lock")
    if name in _ours:
        raise _in_use(checkpoint, str(os.getpid()))
    _ours.add(name)
    handle = None
    try:
        handle = None if fcntl is None else _taken(checkpoint, path)
        yield
    finally:
        _ours.discard(name)
        if handle is not None:
            with contextlib.suppress(OSError):
                path.unlink()  # before it is let go of: who opened it meanwhile sees that it is gone
            os.close(handle)


def _taken(checkpoint: Path, path: Path) -> int | None:
    """The lock, as an open file; None where there can be none: in a folder that takes no files, say."""
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            pid = os.read(handle, 20).decode(errors="replace").strip()
            os.close(handle)
            if isinstance(error, BlockingIOError | PermissionError):
                raise _in_use(checkpoint, pid or "unknown") from None
            return None  # a file system without locks
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                os.truncate(handle, 0)
                os.write(handle, b"%d\n" % os.getpid())
                return handle
        os.close(handle)  # its holder has just ended, and its file with it


def _in_use(checkpoint: Path, process: str) -> CheckpointError:
    said = f"checkpoint {checkpoint} is in use by another solve, in process {process}"
    return CheckpointError(f"{said}; wait for it, or use another path")
