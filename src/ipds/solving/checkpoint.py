"""Checkpoints: a solve that was stopped, killed or cut off goes on where it was, to the same bits.

What is saved at a check is the carry of the method, the run beside it (`parts`), and a fingerprint of the problem; what
is fixed (`setup`, the start) is made anew. The file (`saved`) is written beside its place, synced and renamed, and the
one before it is kept as PATH.previous: a crash at any moment leaves a whole file.
"""

from __future__ import annotations

import contextlib
import glob
import math
import numbers
import os
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CheckpointError, CheckpointWarning
from ..problem import Problem
from ..status import Status
from ..theory.diagnostics import Certificate
from ..theory.state import State
from .fingerprint import differences, identity
from .history import History
from .run import FINAL, Point, Run
from .saved import SavedFile, number, parted, restored, write
from .stopping import Check, Mark, Stagnation

TEMPORARY = ".ipds-tmp"
FOREIGN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that a manifest not written by this package leads to."""
OURS = {"ipds", "contextlib", "numpy", "scipy", "array_api_compat", "dask", "jax", "torch"}
"""Packages on the way to such an error; where there is another, it comes from the caller's code."""


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

    def __init__(self, seed: Any) -> None:
        self.entropy: Any = np.random.SeedSequence(seed).entropy
        """The seed of the starting point, so that a start made again is the same."""

    def resume(self, run: Run, carry: Any) -> tuple[Run, Any]:
        """Where the next method goes on, given how it would begin."""
        return run, carry

    def note(self, run: Run, carry: Any, state: State) -> None:
        """Take note of a check: the carry and the State there."""

    def keep(self, run: Run) -> None:
        """Write down the last check and the status of the run."""

    def failed(self, error: Exception) -> None:
        """Say what is to blame for an error in the middle of the run, where that is the journal."""


def journal(
    checkpoint: Any, problem: Problem, x0: Any, z0: Any, method: Any, seed: Any, presolve: bool
) -> Journal:
    """The journal of a solve; where its file holds an earlier part of the same solve, that is found."""
    if checkpoint is None:
        return Journal(seed)
    settings = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
    return FileJournal(settings, identity(problem, x0, z0, method, seed, presolve), seed)


class FileJournal(Journal):
    """A journal in a file and its predecessor."""

    def __init__(self, settings: Checkpoint, fingerprint: dict[str, list[str]], seed: Any):
        super().__init__(seed)
        self._settings, self._fingerprint = settings, fingerprint
        self._ended: list[tuple[Run, Point]] = []
        """The runs of methods that have ended before the one that runs."""
        self._noted: tuple[Run, Any, Point] | None = None
        """The run, its carry, and the point of its last check."""
        self._last: float = -math.inf
        self._written: tuple[int, int, Status | None] = (0, 0, None)
        self._warned = self._torn = self._restored = self._silent = False
        for leftover in settings.file.parent.glob(glob.escape(settings.file.name) + ".????????" + TEMPORARY):
            with contextlib.suppress(OSError):  # of a process that was killed as it wrote
                leftover.unlink()
        self._file = self._open()
        if self._file is not None:
            with self._refusing():
                self.entropy = number(int, self._file.manifest["entropy"], "entropy", limit=2**128)

    def resume(self, run: Run, carry: Any) -> tuple[Run, Any]:
        """The run in the file, or else the fresh one."""
        if self._noted is not None:  # of the method before
            self._ended.append((self._noted[0], self._noted[2]))
        self._noted, self._restored, file, k = None, False, self._file, len(self._ended)
        if file is None:
            return run, carry
        with self._refusing():
            legs = file.manifest["legs"]
            restore(run, legs[k], f"{k}", file)
            last = k == len(legs) - 1
            if not last and run.status not in FINAL:
                raise ValueError("a method follows one that had not ended")
            if last:
                carry = restored(carry, "carry", file, file.manifest["carry"])
                if carry.t != run.last.t:
                    raise ValueError("its iterations are out of order")
                self._file = None
                if file.table:
                    raise ValueError(f"{min(file.table)} is nothing that this solve keeps")
        assert run.end is not None
        self._noted, self._restored = (run, carry, run.end), last
        self._last, self._written = time.perf_counter(), (k, run.last.t, run.status)
        return run, carry

    def note(self, run: Run, carry: Any, state: State) -> None:
        """Hold on to a check until the next one."""
        self._noted = (run, carry, Point.of(state, run.last))

    def keep(self, run: Run) -> None:
        """Write where it is time to."""
        if self._noted is None or self._silent:
            return
        here = (len(self._ended), run.last.t, run.status)
        due = (
            time.perf_counter() - self._last >= self._settings.every
            or run.last.t - self._written[1] >= (self._settings.iterations or math.inf)
            or run.status is not None
        )
        if not due or here == self._written:
            return
        try:
            self._write(*self._content())
        except TypeError as error:
            raise CheckpointError(
                f"checkpoint {self._settings.path}: this method cannot be saved: {error}"
            ) from None
        except OSError as error:
            message = f"checkpoint {self._settings.path} cannot be written: {error.strerror or error}"
            if (
                self._settings.on_error == "stop" and run.status is not Status.FAILED
            ):  # that error comes first
                self._silent = True
                raise CheckpointError(message) from error
            if not self._warned:
                warnings.warn(f"{message}; the solve goes on without", CheckpointWarning, stacklevel=4)
            self._warned = True
        self._last, self._written = time.perf_counter(), here

    def failed(self, error: Exception) -> None:
        """Refuse the file where a run restored from it has failed in our code: numbers that no run comes to."""
        frames = traceback.walk_tb(error.__traceback__)
        modules = {frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in frames}
        foreign = isinstance(error, FOREIGN) and not isinstance(error, CheckpointError)
        if self._restored and foreign and modules <= OURS:
            with self._refusing():
                raise error

    def _content(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The manifest, but for its table of arrays, and the arrays by name."""
        assert self._noted is not None
        run, carry, point = self._noted
        arrays, numbers = parted(carry, "carry")
        legs = []
        for k, (leg, end) in enumerate([*self._ended, (run, point)]):
            named, described = parts(leg, end, f"{k}")
            arrays |= named
            legs.append(described)
        manifest = {"identity": self._fingerprint, "entropy": self.entropy, "legs": legs, "carry": numbers}
        return manifest, arrays

    def _write(self, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Beside its place, synced, then renamed: whole or not at all."""
        file, previous = self._settings.file, self._settings.previous
        handle, temporary = tempfile.mkstemp(prefix=file.name + ".", suffix=TEMPORARY, dir=file.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                write(out, manifest, arrays)
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

    def _open(self) -> SavedFile | None:
        """The newest whole generation; None where there is none."""
        file, previous = self._settings.file, self._settings.previous
        found, damaged = None, []
        for path in (file, previous):
            try:
                found = SavedFile(path)
                break
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                damaged.append(f"{path}: {error}")
        if damaged and found is None:
            raise CheckpointError(
                f"no checkpoint can be read ({'; '.join(damaged)}); delete or rename it to begin anew"
            )
        if damaged:
            warnings.warn(
                f"checkpoint {damaged[0]}; going on from {previous}", CheckpointWarning, stacklevel=5
            )
            self._torn = True
        if found is not None:
            with self._refusing():
                apart = differences(found.manifest["identity"], self._fingerprint)
            if apart:
                raise CheckpointError(
                    f"checkpoint {path} belongs to another solve; what differs: {'; '.join(apart)}. "
                    "Use another path, or delete the file to begin anew"
                )
        return found

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        """Errors of a manifest that was not written by this package, as what they are."""
        try:
            yield
        except FOREIGN as error:
            raise CheckpointError(
                f"checkpoint {self._settings.path} was not written by this version of ipds ({error}); "
                "delete or rename it to begin anew"
            ) from error


def parts(run: Run, end: Point, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What is saved of a run whose last check was at the point `end`: its arrays by name, its numbers."""
    pairs = (run.best.x, run.best.z), (end.x, end.z), run.watcher.z
    arrays = parted(pairs, name)[0] | {f"{name}/history": run.history.table()}
    last, watcher = run.last, run.watcher
    return arrays, {
        "last": [last.t, last.fun, last.beta, last.mu, last.settled, last.transient],
        "certificate": asdict(last.certificate),
        "best": [run.best.t, run.best.fun],
        "best certificate": asdict(run.best.certificate),
        "largest": run.largest,
        "since": watcher.since,
        "count": watcher.count,
        "still": watcher.z is not None,
        "checks": len(run.history["iteration"]),
        "seconds": run.seconds,
        "status": None if run.status is None else run.status.name,
    }


def restore(run: Run, saved: dict[str, Any], name: str, file: SavedFile) -> None:
    """Take a fresh run to where the saved one was; ValueError and its like where that is none of ours."""
    n, x, z = len(run.best.x), run.best.x, run.best.z
    pairs = (x, z), (x, z), (z if number(bool, saved["still"], "still") else None)
    (best_x, best_z), (end_x, end_z), still = restored(pairs, name, file, {})
    t, *rest = like(saved["last"], (0, 0.0, 0.0, 0.0, True, True), "last")
    run.last = Check(t, _certificate(saved["certificate"], n), *rest)
    best_t, best_fun = like(saved["best"], (0, 0.0), "best")
    if not 1 <= best_t <= t:
        raise ValueError("its iterations are out of order")
    run.best = Point(best_t, best_x, best_z, _certificate(saved["best certificate"], n), best_fun)
    run.end = Point(t, end_x, end_z, run.last.certificate, run.last.fun)
    run.largest = like(saved["largest"], (0.0,) * (n + 1), "largest")
    since = saved["since"]
    mark = None if since is None else Mark(*like(since, (0, 0.0, 0.0), "since"))
    run.watcher = Stagnation(mark, number(int, saved["count"], "count"), still)
    rows = np.empty((number(int, saved["checks"], "checks"), len(run.history)))
    run.history = History.of(file.array(f"{name}/history", rows))
    run.seconds = number(float, saved["seconds"], "seconds")
    run.status = None if saved["status"] is None else Status[saved["status"]]


def like(values: Any, kinds: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    """`values` as a tuple of numbers of these kinds."""
    return tuple([number(type(kind), value, name) for value, kind in zip(values, kinds, strict=True)])


def _certificate(saved: dict[str, Any], n: int) -> Certificate:
    """The certificate of n blocks."""
    if set(saved) != {field.name for field in fields(Certificate)}:
        raise ValueError("a certificate lacks what certificates have")
    lists = {name: value for name, value in saved.items() if isinstance(value, list)}
    found: dict[str, Any] = {name: like(value, (0.0,) * len(value), name) for name, value in lists.items()}
    found |= {name: number(float, value, name) for name, value in saved.items() if name not in lists}
    if (len(found["stationarity"]), len(found["scales"])) != (n, n + 1):
        raise ValueError("a certificate of another number of blocks")
    return Certificate(**found)


def _sync(folder: Path) -> None:
    """Make the renaming last through a loss of power, where the system lets folders be synced."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
