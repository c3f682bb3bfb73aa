"""Checkpoints: a solve that was stopped, killed or cut off goes on where it was, to the same bits.

What is saved at a check is the method's carry, the run beside it and a fingerprint of the problem; what is
fixed (setup, start) is made anew. The file (`saved`) is written beside its place, synced and renamed, and the one
before it is kept as PATH.previous: a crash at any moment leaves a whole file.
"""

from __future__ import annotations

import contextlib
import math
import numbers
import os
import secrets
import time
import traceback
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CheckpointError, CheckpointWarning
from ..io.replacing import remove_leftovers, replacing
from ..status import Status
from ..theory.state import State
from .fingerprint import Identity, differences
from .history import CHECK, History
from .run import FINAL, Point, Run
from .saved import FOREIGN, SavedFile, leaves, mapped, write
from .stopping import Stagnation

OURS = {"ipds", "contextlib", "numpy", "scipy", "array_api_compat", "dask", "jax", "torch"}
"""Packages on the way to an error that a file leads to; where there is another, it comes from the caller's code."""
STATUSES = (None, *Status)
"""How a run that is saved may have ended; the first goes on."""


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

    >>> [path.name for path in Checkpoint("run.ckpt", every=60.0).generations]
    ['run.ckpt', 'run.ckpt.previous']
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
        count = 1 if self.iterations is None else self.iterations
        if not isinstance(count, numbers.Integral) or count < 1:
            raise ValueError(f"Checkpoint: iterations must be a positive integer or None, got {count!r}")
        if self.on_error not in ("continue", "stop"):
            raise ValueError(f"Checkpoint: on_error must be 'continue' or 'stop', got {self.on_error!r}")

    @property
    def generations(self) -> tuple[Path, Path]:
        """The file, and the one that it has replaced."""
        path = Path(self.path)
        return path, path.with_name(path.name + ".previous")


def leg_of(run: Run, end: Point) -> dict[str, Any]:
    """A run as it is saved; its last check was at `end`."""
    held = {name: getattr(run, name) for name in ("last", "best", "watcher", "seconds")}
    return held | {"end": end, "history": run.history.table(), "status": STATUSES.index(run.status)}


class Journal:
    """What a solve keeps of itself: nothing, or, with `settings`, a file and its predecessor.

    `auto` writes a leg for every method that it has tried.
    """

    def __init__(self, seed: Any, settings: Checkpoint | None = None, fingerprint: Identity | None = None):
        """Where the file of the settings holds an earlier part of the solve with this fingerprint, it is found."""
        self._seed = seed
        self._settings, self._fingerprint = settings, fingerprint or {}
        self._ended: list[dict[str, Any]] = []
        self._noted: tuple[Run, Any, Point] | None = None
        """The run, its carry and its point at the last check."""
        self._last: float = -math.inf
        self._written: tuple[int, int, Status | None] = (0, 0, None)
        self._warned = self._restored = False
        self._file = None if settings is None else self._open(settings)

    @property
    def saves(self) -> bool:
        """Whether the solve is saved."""
        return self._settings is not None

    @cached_property
    def entropy(self) -> Any:
        """The seed of the starting point, so that a start made again is the same."""
        if self._seed is None:
            return secrets.randbits(128)  # what NumPy would draw, without a generator to mix it
        return self._seed if type(self._seed) is int else np.random.SeedSequence(self._seed).entropy

    def resume(self, run: Run, carry: Any) -> tuple[Run, Any]:
        """The run in the file, or else the fresh one."""
        if self._noted is not None:  # of the method before
            self._ended.append(leg_of(self._noted[0], self._noted[2]))
        self._noted, self._restored, file, k = None, False, self._file, len(self._ended)
        if file is None:
            return run, carry
        try:
            _, (checks, *_), *_ = file.arrays[f"{k}/history"]
            like = leg_of(run, run.best) | {"history": np.broadcast_to(0.0, (checks, len(CHECK)))}
            like["watcher"] = Stagnation(z=run.best.z if f"{k}/watcher/z" in file.arrays else None)
            held = mapped(file.leaf, like, f"{k}")
            if not 1 <= held["best"].t <= held["end"].t == held["last"].t:
                raise ValueError("its iterations are out of order")
            status = dict(enumerate(STATUSES))[held["status"]]
            run = Run(run.smooths, **held | {"history": History.of(held["history"]), "status": status})
            self._restored = f"{k + 1}/history" not in file.arrays
            if self._restored:
                carry, self._file = mapped(file.leaf, carry, "carry"), None
                if carry.t != run.last.t or file.arrays:
                    raise ValueError("it holds what this solve does not keep")
            elif run.status not in (*FINAL, Status.MAX_ITER):  # the last where it handed over
                raise ValueError("a method follows one that had not ended")
        except FOREIGN as error:
            raise self._refused(error) from error
        self._noted, self._last = (run, carry, held["end"]), time.perf_counter()
        self._written = (k, run.last.t, run.status)
        return run, carry

    def note(self, run: Run, carry: Any, state: State) -> None:
        """Hold on to a check until the next one."""
        if self._settings is not None:
            self._noted = (run, carry, Point.of(state, run.last))

    def keep(self, run: Run) -> None:
        """Write where it is time to: the file of now becomes the one before."""
        settings, here = self._settings, (len(self._ended), run.last.t, run.status)
        if settings is None or self._noted is None or here == self._written:
            return
        due = time.perf_counter() - self._last >= settings.every or run.status is not None
        if not due and run.last.t - self._written[1] < (settings.iterations or math.inf):
            return
        _, carry, end = self._noted
        stopping = settings.on_error == "stop" and run.status is not Status.FAILED  # whose error comes first
        try:
            arrays = leaves(carry, "carry")
            for k, leg in enumerate([*self._ended, leg_of(run, end)]):
                arrays |= leaves(leg, f"{k}")
            with replacing(*settings.generations) as file:
                write(file, {"identity": self._fingerprint, "entropy": self.entropy}, arrays)
        except OSError as error:
            message = f"checkpoint {settings.path} cannot be written: {error.strerror or error}"
            if stopping:
                self._noted = None  # nothing is kept any more
                raise CheckpointError(message) from error
            if not self._warned:
                warnings.warn(f"{message}; the solve goes on without", CheckpointWarning, stacklevel=4)
            self._warned = True
        self._last, self._written = time.perf_counter(), here

    def failed(self, error: Exception) -> None:
        """Refuse the file where a run restored from it has failed in our code: numbers that no run comes to."""
        if not self._restored or isinstance(error, CheckpointError) or not isinstance(error, FOREIGN):
            return
        frames = traceback.walk_tb(error.__traceback__)
        if {frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in frames} <= OURS:
            raise self._refused(error) from error

    def _refused(self, what: object) -> CheckpointError:
        path = "" if self._settings is None else self._settings.path
        said = f"checkpoint {path} was not written by this version of ipds ({what})"
        return CheckpointError(f"{said}; delete or rename it to begin anew")

    def _open(self, settings: Checkpoint) -> SavedFile | None:
        """The newest whole generation, where there is one, and its entropy."""
        remove_leftovers(settings.generations[0])
        damaged: list[str] = []
        for path in settings.generations:
            try:
                found = SavedFile(path)
                apart = differences(found.manifest["identity"], self._fingerprint)
                self.entropy = np.random.SeedSequence(found.manifest["entropy"]).entropy
                break
            except FileNotFoundError:
                continue
            except (OSError, *FOREIGN) as error:
                damaged.append(f"{path}: damaged, or no checkpoint of this version of ipds: {error}")
        else:
            if damaged:
                said = f"no checkpoint can be read ({'; '.join(damaged)})"
                raise CheckpointError(f"{said}; delete or rename it to begin anew")
            return None
        if apart:
            said = f"checkpoint {path} belongs to another solve; what differs: {'; '.join(apart)}"
            raise CheckpointError(f"{said}. Use another path, or delete the file to begin anew")
        if damaged:  # a torn file must not become the one before, in the place of the whole one
            warnings.warn(f"checkpoint {damaged[0]}; going on from {path}", CheckpointWarning, stacklevel=4)
            with contextlib.suppress(OSError):
                os.replace(*reversed(settings.generations))
        return found
