"""kill -9 at random moments: always resumable, never a torn file, and in the end the same bits."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import killed_solve
from ipds.solving.saved import SavedFile

SCRIPT = Path(killed_solve.__file__)


def start(case, path, out):
    # plain files instead of pipes: a killed process must not leave us waiting
    with open(out.with_suffix(".err"), "wb") as errors:
        environment = {**os.environ, "PYTHONWARNINGS": "error"}  # a torn file would be a warning, so an error
        arguments = [sys.executable, str(SCRIPT), case, str(path), str(out)]
        return subprocess.Popen(arguments, stderr=errors, cwd=SCRIPT.parent, env=environment)


def stamp_of(path):
    """When the file was written; None where it is not there, as between two generations."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def progress_in(path):
    """How far the newest generation there is has come; it can be read in full."""
    newest = path if path.exists() else path.with_name(path.name + ".previous")
    return SavedFile(newest).leaf("carry/t", 0)


def kill_and_resume(case, kills, folder, seed=0):
    """Kill the solve `kills` times while it writes, then let it finish; returns how far every life had come."""
    rng = np.random.default_rng(seed)
    path, out = folder / "run.ckpt", folder / "answer"
    undisturbed = killed_solve.answer(killed_solve.begin(case, None))
    progress = []
    for _ in range(kills):
        stamp = stamp_of(path)
        process = start(case, path, out)
        # not before it writes (starting Python takes most of the time), then at any moment of the writing
        while process.poll() is None and stamp_of(path) in (None, stamp):
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.03))
        process.kill()
        assert process.wait() in (-9, 0), out.with_suffix(".err").read_text()
        progress.append(progress_in(path))
        if out.exists():  # finished before the kill: begin again
            assert out.read_text() == undisturbed
            for file in (path, path.with_name(path.name + ".previous"), out):
                file.unlink(missing_ok=True)
    process = start(case, path, out)
    assert process.wait() == 0, out.with_suffix(".err").read_text()
    assert out.read_text() == undisturbed
    assert sorted(p.name for p in folder.iterdir()) == [
        "answer",
        "answer.err",
        "run.ckpt",
        "run.ckpt.previous",
    ]
    return progress


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX")
def test_killed_a_few_times(tmp_path):
    assert len(kill_and_resume("auto", 3, tmp_path)) == 3


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX")
@pytest.mark.parametrize("case", killed_solve.CASES)
def test_killed_fifty_times(case, tmp_path):
    progress = kill_and_resume(case, 50, tmp_path, seed=1)
    print(f"{case}: 50 kills at iterations {progress}")
