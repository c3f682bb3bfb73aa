"""Clusters that lose workers, pause, restart or go for good: the same answer, or a clear end within a bound."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

distributed = pytest.importorskip("distributed", reason="Dask is an extra")

from cut_problems import regression, robust  # noqa: E402

from ipds import Status, solve  # noqa: E402
from ipds.distributed import waiting  # noqa: E402
from ipds.errors import CheckpointWarning, ClusterError  # noqa: E402
from ipds.solving import watch  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:tornado")
OPTIONS = {"seed": 0, "tol": 0.0, "check_every": 5}


def workers(processes):
    return distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=processes,
        dashboard_address=":0",
        silence_logs="CRITICAL",
    )


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(waiting, "VISIT", 1.0)
    monkeypatch.setattr(watch, "AGAIN", 0.5)
    monkeypatch.setattr(sys.modules["ipds.solving.loop"], "GRACE", 0.5)


@pytest.fixture
def cluster():
    with workers(False) as cluster, distributed.Client(cluster):
        yield cluster


def lose(cluster):
    for worker in list(cluster.workers.values()):
        cluster.sync(worker.close)


class Losing:
    """A callback that loses all workers at iteration 5; when it is called again, while waiting, it does `then`."""

    def __init__(self, cluster, then=lambda: None):
        self.cluster, self.then, self.later = cluster, then, None

    def __call__(self, shown):
        if self.later is None and shown.nit >= 5:
            self.later = 0
            lose(self.cluster)
        elif self.later is not None:
            self.later += 1
            self.then()


def stop():
    raise StopIteration


def press_ctrl_c():
    raise KeyboardInterrupt


@pytest.mark.filterwarnings("ignore::ipds.errors.CheckpointWarning")
@pytest.mark.parametrize(("then", "status"), [(stop, Status.CALLBACK), (press_ctrl_c, Status.INTERRUPTED)])
def test_callbacks_and_ctrl_c_end_a_wait_for_workers(cluster, impatient, then, status, tmp_path):
    lost = Losing(cluster, then)
    result = solve(robust(*regression(), True), **OPTIONS, callback=lost, checkpoint=tmp_path / "run.ckpt")
    assert (result.status, result.nit, lost.later) == (status, 5, 1)
    assert np.all(np.isfinite(result.x[0]))


def test_the_time_limit_ends_a_wait_for_workers(cluster, impatient):
    begin = time.perf_counter()
    result = solve(robust(*regression(), True), **OPTIONS, callback=Losing(cluster), time_limit=5.0)
    assert result.status is Status.TIME_LIMIT
    assert result.nit <= 5
    assert time.perf_counter() - begin < waiting.PATIENCE


def test_a_cluster_that_does_not_come_back_ends_with_the_best_point_and_a_checkpoint(
    impatient, monkeypatch, tmp_path
):
    monkeypatch.setattr(waiting, "PATIENCE", 6.0)
    path = tmp_path / "run.ckpt"
    with (
        workers(False) as cluster,
        distributed.Client(cluster),
        pytest.warns(CheckpointWarning),
        pytest.raises(ClusterError, match=r"no worker that takes tasks; solve.*checkpoint") as caught,
    ):
        solve(robust(*regression(), True), **OPTIONS, callback=Losing(cluster), checkpoint=path)
    assert (caught.value.result.nit, caught.value.result.status) == (5, Status.FAILED)
    assert np.all(np.isfinite(caught.value.result.x[0]))
    with workers(False) as cluster, distributed.Client(cluster):
        resumed = solve(robust(*regression(), True), **OPTIONS, max_iter=20, checkpoint=path)
        whole = solve(robust(*regression(), True), **OPTIONS, max_iter=20)
    assert resumed.nit == 20
    np.testing.assert_allclose(resumed.x[0], whole.x[0], atol=1e-8)


def test_workers_that_come_back_go_on(cluster, impatient):
    whole = solve(robust(*regression(), True), **OPTIONS, max_iter=15)
    lost = Losing(cluster, then=lambda: cluster.scale(2))
    result = solve(robust(*regression(), True), **OPTIONS, max_iter=15, callback=lost)
    assert lost.later >= 1
    assert result.nit == 15
    np.testing.assert_allclose(result.x[0], whole.x[0], atol=1e-8)


# --- processes, killed and stopped by the system: minutes


def pids(cluster):
    return [worker.process.pid for worker in cluster.workers.values() if worker.process is not None]


def kill_one(cluster):
    os.kill(pids(cluster)[0], signal.SIGKILL)


def kill_all(cluster):
    for pid in pids(cluster):
        os.kill(pid, signal.SIGKILL)


def pause_one(cluster):
    """For ten seconds, beyond the time after which the scheduler takes it for lost."""
    pid = pids(cluster)[0]
    os.kill(pid, signal.SIGSTOP)
    subprocess.Popen(
        [sys.executable, "-c", f"import os, time; time.sleep(10); os.kill({pid}, {signal.SIGCONT:d})"]
    )


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "times"), [(kill_one, 10), (kill_all, 5), (pause_one, 2)])
def test_killed_and_paused_workers_do_not_change_the_answer(attack, times):
    import dask

    patience = {"distributed.scheduler.worker-ttl": "5s"} if attack is pause_one else {}
    with (
        dask.config.set(patience),
        workers(True) as cluster,
        distributed.Client(cluster) as client,
    ):
        whole = solve(robust(*regression(), True), **OPTIONS, max_iter=40)
        for k in range(times):
            done = []

            def attacked(shown, k=k, done=done):
                if shown.nit >= 5 + 3 * k and not done:
                    done.append(attack(cluster))

            begin = time.perf_counter()
            result = solve(robust(*regression(), True), **OPTIONS, max_iter=40, callback=attacked)
            assert len(done) == 1
            assert time.perf_counter() - begin < 300
            np.testing.assert_allclose(result.x[0], whole.x[0], atol=1e-8)
            client.wait_for_workers(2, timeout=120)


@pytest.mark.slow
def test_a_restart_during_a_solve_is_a_clear_error():
    def restart(shown):
        if shown.nit == 5:
            distributed.get_client().restart(timeout=120)

    lost = pytest.raises(ClusterError, match="has lost the data of this solve")
    with workers(True) as cluster, distributed.Client(cluster), lost as caught:
        solve(robust(*regression(), True), **OPTIONS, callback=restart)
    assert caught.value.result.nit == 5


@pytest.mark.slow
def test_a_lost_scheduler_is_a_clear_error(monkeypatch, tmp_path):
    monkeypatch.setattr(waiting, "PATIENCE", 10.0)
    place = tmp_path / "scheduler.json"
    base = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--port", "0"]
    scheduler = subprocess.Popen([*base, "--scheduler-file", str(place)], stderr=subprocess.DEVNULL)
    worker = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            "--scheduler-file",
            str(place),
            "--nworkers",
            "2",
        ],
        stderr=subprocess.DEVNULL,
    )
    try:
        with distributed.Client(scheduler_file=str(place), timeout=60) as client:
            client.wait_for_workers(2, timeout=120)

            def kill(shown):
                if shown.nit == 5:
                    scheduler.kill()

            begin = time.perf_counter()
            with pytest.raises(ClusterError) as caught:
                solve(robust(*regression(), True), **OPTIONS, callback=kill)
            assert caught.value.result.nit == 5
            assert time.perf_counter() - begin < 120
    finally:
        scheduler.kill()
        worker.terminate()
        worker.wait(60)
