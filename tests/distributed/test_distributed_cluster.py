"""Dask with worker processes: faults, growth of the graph, what travels."""

from __future__ import annotations

import os
import pickle
import signal

import numpy as np
import pytest

distributed = pytest.importorskip("distributed", reason="Dask is an extra")

from cut_problems import cut, regression, robust  # noqa: E402

from ipds import solve  # noqa: E402
from ipds.distributed import cluster as clusters  # noqa: E402
from ipds.distributed import rows  # noqa: E402
from ipds.models import DualPCP  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:tornado")


def workers(n=2, processes=True):
    return distributed.LocalCluster(
        n_workers=n,
        threads_per_worker=1,
        processes=processes,
        dashboard_address=":0",
        silence_logs="CRITICAL",
    )


@pytest.fixture(scope="module")
def client():
    with workers() as cluster, distributed.Client(cluster) as client:
        yield client


def test_worker_processes_give_the_same_and_hold_the_long_arrays(client):
    G, y = regression()
    options = {"method": "accelerated", "seed": 0, "tol": 0.0, "max_iter": 12}  # faces: in memory only
    here, there = (solve(robust(G, y, where), **options) for where in (False, True))
    assert isinstance(clusters.current(), clusters.Remote)
    for ours, theirs in zip((*there.x, there.z), (*here.x, here.z), strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, atol=1e-8)
    X = rows(cut(G))
    held = client.who_has(distributed.wait(X.node.value.held).done)
    assert len(held) == 2  # one group per thread: which worker takes which is the scheduler's choice
    assert all(places and set(places) <= set(client.nthreads()) for places in held.values())


def test_fitted_models_look_at_data_on_the_workers(client):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    model = DualPCP(1, tol=0.1).fit(cut(X, 20))
    np.testing.assert_allclose(model.distance(cut(X, 20)).compute(), model.distance(X), atol=1e-10)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.result_.state.z, model.result_.z)


def test_the_scheduler_does_not_accumulate_tasks(client, monkeypatch):
    monkeypatch.setattr(clusters, "DEPTH", 5)
    problem, seen = robust(*regression(), distributed=True), []

    def count(_):
        seen.append(client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))

    solve(problem, seed=0, tol=0.0, max_iter=40, check_every=4, callback=count)
    half = len(seen) // 2
    assert max(seen[half:]) < 1.3 * max(seen[:half])


@pytest.mark.parametrize(
    "depth", [1000, 4]
)  # recovered from the passes so far, or from arrays that are recipes
def test_a_killed_worker_does_not_change_the_result(client, monkeypatch, depth):
    monkeypatch.setattr(clusters, "DEPTH", depth)
    G, y = regression()
    undisturbed = solve(robust(G, y, True), seed=0, tol=0.0, max_iter=14)
    killed = []

    def kill(shown):
        if shown.nit >= 5 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    disturbed = solve(robust(G, y, True), seed=0, tol=0.0, max_iter=14, check_every=5, callback=kill)
    assert killed
    client.wait_for_workers(2, timeout=30)
    assert killed[0] not in client.run(os.getpid).values()
    for ours, theirs in zip((*disturbed.x, disturbed.z), (*undisturbed.x, undisturbed.z), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), atol=1e-8)


def test_what_travels_does_not_grow_with_the_rows(client):
    def bytes_of_a_pass(m):
        X, v = rows(cut(np.ones((m, 4)), m // 4)), np.ones(4)
        X_plus = X + 1.0
        float(np.sum(X_plus))
        before = sum(client.run(_sent).values())
        float(np.sum(X_plus @ v))
        return sum(client.run(_sent).values()) - before

    small, large = bytes_of_a_pass(400), bytes_of_a_pass(400_000)
    assert large < small + 4096


def _sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


def test_a_lost_scheduler_leaves_the_checkpoint(tmp_path):
    path, options = tmp_path / "run.ckpt", {"seed": 0, "tol": 0.0}
    with workers(1, processes=False) as cluster, distributed.Client(cluster):
        whole = np.asarray(solve(robust(*regression(), True), max_iter=8, **options).x[2])
        solve(robust(*regression(), True), max_iter=4, checkpoint=path, **options)
    with workers(1, processes=False) as cluster, distributed.Client(cluster):
        rest = solve(robust(*regression(), True), max_iter=8, checkpoint=path, **options)
        np.testing.assert_allclose(np.asarray(rest.x[2]), whole, atol=1e-8)
    assert rest.nit == 8


def _kinds_of_tasks(client, act):
    """What `act` returns, and the kinds of tasks that the scheduler was sent meanwhile."""

    def seen(dask_scheduler):
        return {key.split("-")[0] for key, *_ in dask_scheduler.transition_log if isinstance(key, str)}

    client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_log.clear())
    return act(), client.run_on_scheduler(seen) & {"pass", "answer", "join"}


def test_small_answers_need_no_task_of_their_own_and_large_ones_have_one(client, monkeypatch):
    X = rows(cut(np.arange(40.0).reshape(20, 2), 5))
    total, kinds = _kinds_of_tasks(client, lambda: float(np.sum(X + 1.0)))
    assert (total, kinds) == (820.0, {"pass"})
    monkeypatch.setattr(clusters, "SMALL", 0)
    total, kinds = _kinds_of_tasks(client, lambda: float(np.sum(X + 1.0)))
    assert (total, kinds) == (820.0, {"pass", "answer"})


def test_answers_that_are_lost_on_the_way_are_fetched(client, monkeypatch):
    X = rows(cut(np.ones((20, 2)), 5))
    monkeypatch.setattr(clusters.current()._answers, "topic", "nobody listens")
    total, kinds = _kinds_of_tasks(client, lambda: float(np.sum(X)))
    assert (total, kinds) == (40.0, {"pass", "answer"})


def test_answers_of_many_groups_are_combined_by_a_tree(client, monkeypatch):
    monkeypatch.setattr(clusters, "SMALL", 0)
    monkeypatch.setattr(clusters, "FAN_IN", 2)
    monkeypatch.setattr(clusters.current(), "threads", 5)
    X = rows(cut(np.arange(20.0).reshape(10, 2), 2))
    total, kinds = _kinds_of_tasks(client, lambda: float(np.sum(X)))
    assert (total, kinds) == (190.0, {"pass", "answer", "join"})


def test_an_error_on_a_worker_is_the_driver_s(client):
    X = rows(cut(np.ones((20, 2)), 5))
    with pytest.raises(ZeroDivisionError, match="from a worker"):
        float(np.sum(X.map(_broken)))


def _broken(chunk):
    if len(chunk) > 1:  # not the stand-in of the driver
        raise ZeroDivisionError("from a worker")
    return chunk
