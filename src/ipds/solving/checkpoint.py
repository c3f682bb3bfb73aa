"""Checkpoints: a solve that was stopped, killed or cut off goes on where it was, to the same bits.

A file is two lines of text (format and sizes), a JSON tree, the arrays as raw bytes, and a checksum. Nothing in it is
ever run; sizes are compared with the problem and with the file before anything is allocated. It is written beside its
place, synced and renamed, and the one before it is kept as PATH.previous: a crash at any moment leaves a whole file.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import math
import numbers
import os
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from .._arrays import Array
from ..errors import CheckpointError, CheckpointWarning
from ..methods import Method, State
from ..problem import Problem
from ..status import Status
from . import encoding
from .fingerprint import differences, identity
from .run import Run

if TYPE_CHECKING:
    from ..result import Result

MAGIC, FORMAT = b"ipds-checkpoint", 1
TREE_LIMIT = 2**24
"""Bytes of the JSON tree at most."""
COPIES, HISTORY_LIMIT = 256, 2**30
"""Bytes of arrays at most: so many times sixteen bytes for every entry of the problem, and this for the history."""
CHECKSUM = 32
TEMPORARY = ".ipds-tmp"
FOREIGN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that a tree not written by this package leads to."""
OURS = {"ipds", "contextlib", "numpy", "scipy", "array_api_compat", "dask", "jax", "torch"}
"""Packages on the way to such an error; where there is another, it comes from the caller's code."""

Start = tuple[tuple[Array, ...], Array]


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a solve saves itself.

    Parameters
    ----------
    path : the file. Where it holds a solve of the same problem that solve goes on; that of another is refused.
    every : seconds between two saves, at least; saves happen at checks, the first at once, the last at the end.
    iterations : save also where so many iterations have passed since the last time.
    on_error : what to do where a file cannot be written (full disk, read-only folder): "continue" warns and goes on
        solving, "stop" raises `CheckpointError`, whose `result` is what has been reached.

    >>> Checkpoint("run.ckpt", every=60.0).previous.name
    'run.ckpt.previous'
    """

    path: str | os.PathLike[str]
    every: float = 30.0
    iterations: int | None = None
    on_error: str = "continue"

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike) or not os.fspath(self.path):
            raise TypeError(f"Checkpoint: path must be a file name, got {self.path!r}")
        if not isinstance(self.every, numbers.Real) or isinstance(self.every, bool):
            raise TypeError(f"Checkpoint: every must be a number of seconds, got {self.every!r}")
        if not self.every >= 0:
            raise ValueError(f"Checkpoint: every must be at least 0 seconds, got {self.every}")
        if self.iterations is not None and (
            not isinstance(self.iterations, numbers.Integral) or self.iterations < 1
        ):
            raise ValueError(
                f"Checkpoint: iterations must be a positive integer or None, got {self.iterations!r}"
            )
        if self.on_error not in ("continue", "stop"):
            raise ValueError(f"Checkpoint: on_error must be 'continue' or 'stop', got {self.on_error!r}")

    @property
    def file(self) -> Path:
        """The newest generation."""
        return Path(self.path)

    @property
    def previous(self) -> Path:
        """The generation before."""
        return self.file.with_name(self.file.name + ".previous")


class Journal:
    """What a solve keeps of itself: nothing. The loop talks to this; `FileJournal` writes it down."""

    lasting = False
    """Whether a run may have to go on from its last check anew."""

    def __init__(self) -> None:
        self.tried: list[Result] = []
        """Results of the methods tried before the one that runs."""
        self.candidate = 0
        """The number of the method that runs."""

    def start(self, make: Callable[[], Start], count: int) -> Start:
        """The starting point of the solve, for which `count` methods are there to be tried."""
        return make()

    def resume(self, problem: Problem, method: Method, fresh: Run) -> Run:
        """Where the run of this method goes on."""
        return fresh

    def keep(self, run: Run) -> None:
        """Take note of where the run stands."""

    def failed(self, error: Exception) -> None:
        """Say what is to blame for an error in the middle of the run, where that is the journal."""


def journal(checkpoint: Any, problem: Problem, x0: Any, z0: Any, method: Any, seed: Any) -> Journal:
    """The journal of a solve; where its file holds an earlier part of the same solve, that is read."""
    if checkpoint is None:
        return Journal()
    settings = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
    return FileJournal(settings, problem, identity(problem, x0, z0, method, seed))


class FileJournal(Journal):
    """A journal in a file and its predecessor."""

    lasting = True

    def __init__(self, settings: Checkpoint, problem: Problem, identity: dict[str, list[str]]):
        super().__init__()
        self._settings, self._problem, self._identity = settings, problem, identity
        self._known: encoding.Context | None = None
        self._lighter: Callable[[State], State]
        self._started: Start | None = None
        self._last = -math.inf
        self._written: tuple[int, Status | None] = (0, None)
        self._warned = self._torn = self._restored = False
        for leftover in settings.file.parent.glob(glob.escape(settings.file.name) + ".????????" + TEMPORARY):
            with contextlib.suppress(OSError):  # of a process that was killed as it wrote
                leftover.unlink()
        self._saved = self._read(problem)

    def start(self, make: Callable[[], Start], count: int) -> Start:
        """The starting point in the file, or else the one made."""
        from ..result import Result

        if self._started is not None:
            return self._started
        start = make()
        if self._saved is not None:
            tree, arrays = self._saved
            known = encoding.context(self._problem, start)
            with self._refusing():
                saved = encoding.decode(tree["start"], known, arrays)
                encoding.alike(saved, start, "start")
                self.tried = encoding.decode(tree["tried"], known, arrays)
                self.candidate = tree["candidate"]
                if self.candidate not in range(count) or not all(isinstance(r, Result) for r in self.tried):
                    raise ValueError("the methods tried are not those of this problem")
            start = saved
        self._started = start
        return start

    def resume(self, problem: Problem, method: Method, fresh: Run) -> Run:
        """The run in the file, or else the fresh one."""
        assert self._started is not None
        self._known = encoding.context(problem, self._started, method, fresh.state)
        self._lighter = method.lighter
        self._written, self._restored = (0, None), self._saved is not None
        if self._saved is None:
            return fresh
        (tree, arrays), self._saved = self._saved, None
        with self._refusing():
            run = encoding.decode(tree["run"], self._known, arrays)
            encoding.alike(run, self._lean(fresh, bool(run.good.state.prox_points)), "run")
            encoding.alike(run.largest, run.largest and fresh.caps, "scales")
            encoding.alike(run.lowest, run.lowest and fresh.best, "run")
            encoding.alike(run.watcher.since, run.watcher.since and fresh.best.mark(), "run")
            if run.state is None or not 0 <= run.best.state.t <= run.good.state.t == run.state.t:
                raise ValueError("its iterations are out of order")
        self._last, self._written = time.perf_counter(), (run.good.state.t, run.status)
        return run

    def failed(self, error: Exception) -> None:
        """Refuse the file where a run restored from it has failed in our code: numbers that no run comes to."""
        frames = traceback.walk_tb(error.__traceback__)
        modules = {frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in frames}
        foreign = isinstance(error, FOREIGN) and not isinstance(error, CheckpointError)
        if self._restored and foreign and modules <= OURS:
            with self._refusing():
                raise error

    def _lean(self, run: Run, ended: bool) -> Run:
        """The run with what it needs to go on, and, where it has ended, all that its result shows."""
        assert run.state is not None
        return replace(run, good=run.good if ended else run.good.kept(), state=self._lighter(run.state))

    def keep(self, run: Run) -> None:
        """Write where it is time to."""
        t, status = here = run.good.state.t, run.status
        due = (
            time.perf_counter() - self._last >= self._settings.every
            or t - self._written[0] >= (self._settings.iterations or math.inf)
            or status is not None
        )
        if self._known is None or not due or here == self._written:
            return
        arrays: list[np.ndarray] = []
        try:
            content = [self._started, self.tried, self.candidate, self._lean(run, run.status is not None)]
            saved = encoding.encode(content, self._known, arrays)
            names = ("start", "tried", "candidate", "run")
            self._write({"identity": self._identity, **dict(zip(names, saved, strict=True))}, arrays)
        except encoding.EncodingError as error:
            raise CheckpointError(
                f"checkpoint {self._settings.path}: this method cannot be saved: {error}"
            ) from None
        except OSError as error:
            message = f"checkpoint {self._settings.path} cannot be written: {error.strerror or error}"
            if self._settings.on_error == "stop" and status is not Status.FAILED:  # that error comes first
                self._known = None
                raise CheckpointError(message) from error
            if not self._warned:
                warnings.warn(f"{message}; the solve goes on without", CheckpointWarning, stacklevel=4)
            self._warned = True
        self._last, self._written = time.perf_counter(), here

    def _write(self, tree: dict[str, Any], arrays: list[np.ndarray]) -> None:
        """Beside its place, synced, then renamed: whole or not at all."""
        file, previous = self._settings.file, self._settings.previous
        handle, temporary = tempfile.mkstemp(prefix=file.name + ".", suffix=TEMPORARY, dir=file.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                write(out, tree, arrays)
                out.flush()
                os.fsync(out.fileno())
            if not self._torn:  # a torn file must not take the place of a whole one
                with contextlib.suppress(FileNotFoundError):
                    os.replace(file, previous)
            os.replace(temporary, file)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        self._torn = False
        _sync(file.parent)

    def _read(self, problem: Problem) -> tuple[dict[str, Any], list[np.ndarray]] | None:
        """The newest whole generation; None where there is none."""
        file, previous = self._settings.file, self._settings.previous
        largest = COPIES * 16 * (math.prod(problem.shape) + sum(math.prod(b.shape) for b in problem.blocks))
        found, torn = None, []
        for path in (file, previous):
            try:
                with open(path, "rb") as source:
                    found = read(source, largest + HISTORY_LIMIT)
                break
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                torn.append(f"{path}: {error}")
        if found is None:
            if torn:
                raise CheckpointError(
                    f"no checkpoint can be read ({'; '.join(torn)}); delete or rename it to begin anew"
                )
            return None
        if torn:
            warnings.warn(f"checkpoint {torn[0]}; going on from {previous}", CheckpointWarning, stacklevel=5)
            self._torn = True
        with self._refusing():
            apart = differences(found[0]["identity"], self._identity)
        if apart:
            raise CheckpointError(
                f"checkpoint {path} belongs to another solve; what differs: {'; '.join(apart)}. "
                "Use another path, or delete the file to begin anew"
            )
        return found

    @contextlib.contextmanager
    def _refusing(self) -> Any:
        """Errors of a tree that was not written by this package, as what they are."""
        try:
            yield
        except FOREIGN as error:
            raise CheckpointError(
                f"checkpoint {self._settings.path} was not written by this version of ipds ({error}); "
                "delete or rename it to begin anew"
            ) from error


def write(out: BinaryIO, tree: dict[str, Any], arrays: Sequence[np.ndarray]) -> None:
    """The file: two lines of text, the tree, the arrays one after the other, the checksum of all that."""
    # axes from slow to fast: BLAS rounds differently for other layouts, and a resumed run must not
    orders = [sorted(range(a.ndim), key=lambda axis: -abs(a.strides[axis])) for a in arrays]
    table = [[a.dtype.str, list(a.shape), order] for a, order in zip(arrays, orders, strict=True)]
    text = json.dumps({**tree, "arrays": table}, separators=(",", ":")).encode()
    mark = hashlib.blake2b(digest_size=CHECKSUM)
    lines = b"%s %d\n%d %d\n" % (MAGIC, FORMAT, len(text), sum(a.nbytes for a in arrays))
    pieces: list[Any] = [lines, text]
    for a, order in zip(arrays, orders, strict=True):
        pieces.append(np.ascontiguousarray(a.transpose(order)).reshape(-1).view(np.uint8).data)
    for piece in pieces:
        mark.update(piece)
        out.write(piece)
    out.write(mark.digest())


def read(source: BinaryIO, limit: int) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The tree and the arrays of a file; ValueError where it is damaged, foreign, or larger than `limit`."""
    first, second = source.readline(80), source.readline(80)
    if not first.startswith(MAGIC + b" "):
        raise ValueError("this is no checkpoint of ipds")
    if first != b"%s %d\n" % (MAGIC, FORMAT):
        raise ValueError(f"its format is not {FORMAT}, the one this version of ipds knows")
    try:
        text_size, data_size = map(int, second.split())
    except ValueError:
        raise ValueError("damaged: it does not state its size") from None
    if not 0 <= text_size <= TREE_LIMIT or not 0 <= data_size <= limit:
        raise ValueError("it is larger than this problem calls for")
    begin = source.tell()
    if os.fstat(source.fileno()).st_size != begin + text_size + data_size + CHECKSUM:
        raise ValueError("damaged: its length is not the one it states")
    mark = hashlib.blake2b(first + second, digest_size=CHECKSUM)
    left = text_size + data_size
    while left:
        piece = source.read(min(left, 2**20))
        mark.update(piece)
        left -= len(piece)
    if source.read() != mark.digest():
        raise ValueError("damaged: its checksum does not match")
    source.seek(begin)
    try:
        tree = json.loads(source.read(text_size))
        kinds = [(np.dtype(kind), tuple(shape), order) for kind, shape, order in tree.pop("arrays")]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"damaged: {error}") from None
    for dtype, shape, order in kinds:
        if dtype.kind not in "fiub" or dtype.itemsize > 16 or sorted(order) != list(range(len(shape))):
            raise ValueError("damaged: an array of a kind that no solve keeps")
        if not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError("damaged: an array without a shape")
    if sum(dtype.itemsize * math.prod(shape) for dtype, shape, _ in kinds) != data_size:
        raise ValueError("damaged: the sizes of its arrays do not add up")
    arrays = []
    for dtype, shape, order in kinds:
        flat = np.empty(math.prod(shape), dtype)
        source.readinto(flat.view(np.uint8).data)  # type: ignore[attr-defined]
        arrays.append(flat.reshape([shape[axis] for axis in order]).transpose(np.argsort(order)))
    return tree, arrays


def _sync(folder: Path) -> None:
    """Make the renaming last through a loss of power, where the system lets folders be synced."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
