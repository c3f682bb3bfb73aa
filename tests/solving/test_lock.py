"""Two solves on one checkpoint: the second is refused with the process of the first; dead processes hold nothing."""

import errno
import os
import signal
import subprocess
import sys
import threading

import pytest

import problems
from ipds import CheckpointError, solve
from ipds.solving.lock import locked

HOLD = """
import sys, time
from pathlib import Path
from ipds.solving.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def other(tmp_path):
    """A process that works on the checkpoint."""
    path = str(tmp_path / "run.ckpt")
    process = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_second_process_is_refused_with_the_first_one_s_number(other, tmp_path):
    with pytest.raises(
        CheckpointError, match=rf"run.ckpt is in use by another solve, in process {other.pid};"
    ):
        solve(problems.sparse_pca(), checkpoint=tmp_path / "run.ckpt", max_iter=5)
    assert not (tmp_path / "run.ckpt").exists()


def test_what_a_killed_process_left_is_taken_over(other, tmp_path):
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    assert (tmp_path / "run.ckpt.lock").exists()
    solve(problems.sparse_pca(), checkpoint=tmp_path / "run.ckpt", max_iter=5)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.ckpt", "run.ckpt.previous"]


def test_solves_of_one_process_are_kept_apart(tmp_path):
    path, errors = tmp_path / "run.ckpt", []

    def second():
        with pytest.raises(CheckpointError, match=rf"in process {os.getpid()};") as caught:
            solve(problems.sparse_pca(), checkpoint=path, max_iter=5)
        errors.append(caught.value)

    def callback(shown):
        if not errors:
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()

    solve(problems.sparse_pca(), checkpoint=path, max_iter=5, callback=callback)
    assert len(errors) == 1
    solve(problems.sparse_pca(), checkpoint=path, max_iter=10)  # free again


def test_an_error_lets_go(tmp_path):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), locked(tmp_path / "run.ckpt"):
            raise ZeroDivisionError
    assert not any(tmp_path.iterdir())


def test_a_folder_that_takes_no_files_is_no_reason_to_stop(tmp_path):
    with locked(tmp_path / "no" / "such" / "run.ckpt"):
        pass


def test_a_file_system_without_locks_is_no_reason_to_stop(tmp_path, monkeypatch):
    def lockf(handle, how):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.lockf", lockf)
    with locked(tmp_path / "run.ckpt"):
        pass
