"""Files that appear once they are complete, or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".ipds-tmp"


@contextlib.contextmanager
def replacing(path: Path, previous: Path | None = None) -> Iterator[BinaryIO]:
    """A file to fill beside `path`, which gets that name at the end; what fails or is interrupted leaves nothing.

    It is synced before it is renamed. What stood at `path` is kept as `previous`, where that is given.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a")) as file:
    ...         count = file.write(b"whole")
    ...     Path(folder, "a").read_bytes()
    b'whole'
    """
    handle, temporary = tempfile.mkstemp(prefix=path.name + ".", suffix=TEMPORARY, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes files for the owner alone
        if previous is not None:
            with contextlib.suppress(FileNotFoundError):
                os.replace(path, previous)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if os.name == "posix":  # make the renaming last through a loss of power
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def remove_leftovers(path: Path) -> None:
    """Delete what processes have left beside `path` that were killed as they wrote."""
    for leftover in path.parent.glob(glob.escape(path.name) + ".????????" + TEMPORARY):
        with contextlib.suppress(OSError):
            leftover.unlink()
