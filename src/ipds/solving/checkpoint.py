"""Checkpoints: a solve that was stopped, killed or cut off goes on where it was, to the same bits.

What is saved at a check is the method's carry, the run beside it (`Leg`) and a fingerprint of the problem; what is
fixed (setup, start) is made anew. The file (`saved`) is written beside its place, synced and renamed, and the one
before it is kept as PATH.previous: a crash at any moment leaves a whole file.
"""

from __future__ import annotations

import contextlib
import math
import numbers
import os
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import CheckpointError, CheckpointWarning
from ..io.replacing import remove_leftovers, replacing
from ..status import Status
from ..theory.state import State
from .fingerprint import Identity, differences
from .history import History
from .run import FINAL, Point, Run
from .saved import SavedFile, leaves, mapped, write
from .stopping import Check, Stagnation

FOREIGN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that a file not written by this package leads to."""
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
        if self.iterations is not None and not (
            isinstance(self.iterations, numbers.Integral) and self.iterations >= 1
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


class Leg(NamedTuple):
    """A run at its last check, as it is saved."""

    last: Check
    best: Point
    end: Point
    """The point of the last check."""
    watcher: Stagnation
    history: np.ndarray
    seconds: float
    status: int
    """Its place in `STATUSES`."""

    @classmethod
    def of(cls, run: Run, end: Point) -> Leg:
        """The run, whose last check was at `end`."""
        held = run.watcher, run.history.table(), run.seconds
        return cls(run.last, run.best, end, *held, STATUSES.index(run.status))

    def onto(self, run: Run) -> None:
        """Take a fresh run here."""
        if not 1 <= self.best.t <= self.end.t == self.last.t or not 0 <= self.status < len(STATUSES):
            raise ValueError("its iterations are out of order")
        run.last, run.best, run.end = self.last, self.best, self.end
        run.watcher, run.history = self.watcher, History.of(self.history)
        run.seconds, run.status = self.seconds, STATUSES[self.status]


STATUSES = (None, *Status)
"""How a run that is saved may have ended; the first goes on."""


class Journal:
    """What a solve keeps of itself: nothing, or, with `settings`, a file and its predecessor.

    `auto` writes a leg for every method that it has tried.
    """

    def __init__(self, seed: Any, settings: Checkpoint | None = None, fingerprint: Identity | None = None):
        """Where the file of the settings holds an earlier part of the solve with this fingerprint, it is found."""
        self.entropy: Any = np.random.SeedSequence(seed).entropy
        """The seed of the starting point, so that a start made again is the same."""
        self._settings, self._fingerprint = settings, fingerprint or {}
        self._ended: list[Leg] = []
        self._noted: tuple[Run, Any, Point] | None = None
        """The run, its carry and its point at the last check."""
        self._last: float = -math.inf
        self._written: tuple[int, int, Status | None] = (0, 0, None)
        self._warned = self._torn = self._restored = False
        self._file = None if settings is None else self._open(settings)

    def resume(self, run: Run, carry: Any) -> tuple[Run, Any]:
        """The run in the file, or else the fresh one."""
        if self._noted is not None:  # of the method before
            self._ended.append(Leg.of(self._noted[0], self._noted[2]))
        self._noted, self._restored, file, k = None, False, self._file, len(self._ended)
        if file is None:
            return run, carry
        with self._refusing():
            _, (checks, *_), *_ = file.arrays[f"{k}/history"]
            rows = np.broadcast_to(0.0, (checks, run.history.table().shape[1]))
            watcher = Stagnation(z=run.best.z if f"{k}/watcher/z" in file.arrays else None)
            fresh = Leg.of(run, run.best)._replace(watcher=watcher, history=rows)
            leg: Leg = mapped(file.leaf, fresh, f"{k}")
            leg.onto(run)
            self._restored = f"{k + 1}/history" not in file.arrays
            if self._restored:
                carry, self._file = mapped(file.leaf, carry, "carry"), None
                if carry.t != run.last.t or file.arrays:
                    raise ValueError("it holds what this solve does not keep")
            elif run.status not in (*FINAL, Status.MAX_ITER):  # the last where it handed over
                raise ValueError("a method follows one that had not ended")
        self._noted, self._last = (run, carry, leg.end), time.perf_counter()
        self._written = (k, run.last.t, run.status)
        return run, carry

    def note(self, run: Run, carry: Any, state: State) -> None:
        """Hold on to a check until the next one."""
        if self._settings is not None:
            self._noted = (run, carry, Point.of(state, run.last))

    def keep(self, run: Run) -> None:
        """Write where it is time to."""
        if self._settings is None or self._noted is None:
            return
        here, passed = (len(self._ended), run.last.t, run.status), run.last.t - self._written[1]
        due = time.perf_counter() - self._last >= self._settings.every or run.status is not None
        if here == self._written or not (due or passed >= (self._settings.iterations or math.inf)):
            return
        try:
            self._write(self._settings, [*self._ended, Leg.of(run, self._noted[2])], self._noted[1])
        except TypeError as error:
            message = f"checkpoint {self._settings.path}: this method cannot be saved: {error}"
            raise CheckpointError(message) from None
        except OSError as error:
            message = f"checkpoint {self._settings.path} cannot be written: {error.strerror or error}"
            if (
                self._settings.on_error == "stop" and run.status is not Status.FAILED
            ):  # whose error comes first
                self._noted = None  # nothing is kept any more
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

    def _write(self, settings: Checkpoint, legs: list[Leg], carry: Any) -> None:
        """Write the generation of now; the last one becomes the one before."""
        arrays = leaves(carry, "carry")
        for k, leg in enumerate(legs):
            arrays |= leaves(leg, f"{k}")
        # a torn file must not take the place of a whole one
        with replacing(settings.file, None if self._torn else settings.previous) as file:
            write(file, {"identity": self._fingerprint, "entropy": self.entropy}, arrays)
        self._torn = False

    def _open(self, settings: Checkpoint) -> SavedFile | None:
        """The newest whole generation, where there is one, and its entropy."""
        remove_leftovers(settings.file)
        found, damaged = None, []
        for path in (settings.file, settings.previous):
            try:
                found = SavedFile(path)
                break
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                damaged.append(f"{path}: {error}")
        if found is None and not damaged:
            return None
        if found is None:
            message = "; ".join(damaged)
            raise CheckpointError(f"no checkpoint can be read ({message}); delete or rename it to begin anew")
        if damaged:
            warnings.warn(f"checkpoint {damaged[0]}; going on from {path}", CheckpointWarning, stacklevel=4)
            self._torn = True
        with self._refusing():
            apart = differences(found.manifest["identity"], self._fingerprint)
            self.entropy = found.manifest["entropy"]
            np.random.SeedSequence(self.entropy)
        if apart:
            raise CheckpointError(
                f"checkpoint {path} belongs to another solve; what differs: {'; '.join(apart)}. "
                "Use another path, or delete the file to begin anew"
            )
        return found

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        """Errors of a file that was not written by this package, as what they are."""
        try:
            yield
        except FOREIGN as error:
            path = "" if self._settings is None else self._settings.path
            raise CheckpointError(
                f"checkpoint {path} was not written by this version of ipds ({error}); "
                "delete or rename it to begin anew"
            ) from error
