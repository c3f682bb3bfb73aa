"""Files are not to be trusted: they are read in a child process with little memory and time.

A reader that crashes, hangs or asks for more memory than a file is worth takes the child with it, and what the caller
sees is a `DataError` that names the file.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .errors import DataError
from .packing import unpack

MEMORY = 3 << 30
"""Bytes of address space that a child may take, its libraries included."""
SECONDS = 120
"""Seconds of processor time, and as many again of waiting, that a child may take."""
LARGEST = 1 << 30
"""Bytes that the arrays of one file may hold; larger ones belong into .npy files, which are memory-mapped."""


def require_regular(path: Path) -> None:
    """Refuse pipes, devices, sockets and folders: opening some of them waits for ever."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise DataError(f"{path}: no regular file, but {_kind(mode)}")


def check_size(count: int, itemsize: int, what: str) -> int:
    """count·itemsize, refused beyond `LARGEST` before any memory is taken."""
    size = count * itemsize
    if size > LARGEST:
        raise DataError(
            f"{what}: {size} bytes of data, more than the {LARGEST >> 20} MiB accepted; only .npy may be larger"
        )
    return size


def isolated(task: str, path: str | Path, **options: Any) -> dict[str, Any]:
    """What `formats.TASKS[task](path, **options)` returns, computed in a child process.

    `DataError`: the file is damaged, too large, or the reader crashed on it; `OSError`: it cannot be opened;
    `ImportError`: a library is missing.
    """
    path = Path(path)
    require_regular(path)
    path.open("rb").close()  # what the system says of a forbidden file goes through
    with tempfile.TemporaryDirectory(prefix="ipds-read-") as folder:
        request = {
            "task": task,
            "path": str(path.absolute()),
            "name": str(path),
            "options": options,
            "folder": folder,
            "memory": MEMORY,
            "seconds": SECONDS,
            "package": str(Path(__file__).parents[1]),
            "modules": sys.path,
        }
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
        }
        child = [sys.executable, "-I", str(Path(__file__).with_name("child.py"))]
        try:
            ended = subprocess.run(
                child,
                input=json.dumps(request).encode(),
                env=environment,
                capture_output=True,
                timeout=2 * SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise DataError(f"{path}: not read after {2 * SECONDS} seconds") from None
        return _answer(path, task, ended, Path(folder))


def _answer(path: Path, task: str, ended: subprocess.CompletedProcess[bytes], folder: Path) -> dict[str, Any]:
    """The arrays that the child has left in the folder, or the error it ended with."""
    manifest = folder / "manifest.json"
    if ended.returncode != 0 or not manifest.is_file():
        raise DataError(f"{path}: {_how_it_ended(ended, task)}")
    told = json.loads(manifest.read_text(encoding="utf-8"))
    if "error" in told:
        raise (ImportError if told["error"] == "ImportError" else DataError)(told["message"])
    return unpack(told["result"], folder)


def _how_it_ended(ended: subprocess.CompletedProcess[bytes], task: str) -> str:
    if ended.returncode == -signal.SIGXCPU:
        return f"not read after {SECONDS} seconds of processor time"
    if ended.returncode < 0:
        name = signal.Signals(-ended.returncode).name
        return f"the reader of {task} files crashed on it ({name}): the file is damaged"
    last = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    if last and "MemoryError" in last[0]:
        return f"needs more than the {MEMORY >> 20} MiB that a reader may take"
    return f"the reader of {task} files failed on it ({last[0][:200] if last else 'no word why'})"


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFDIR: "a folder",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")
