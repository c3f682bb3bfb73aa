"""Files that appear once they are complete, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO


def replace_file(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a file beside `path`, then give it that name; what fails or is interrupted leaves nothing.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replace_file(Path(folder, "a"), lambda file: file.write(b"whole"))
    ...     Path(folder, "a").read_bytes()
    b'whole'
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes files for the owner alone
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
