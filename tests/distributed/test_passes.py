"""Passes over distributed data: what waits goes along, a step costs one, checks on the way none."""

import numpy as np
import pytest

pytest.importorskip("dask.array", reason="Dask is an extra")

from cut_problems import cut, pursuit, regression, robust

from ipds import solve
from ipds.distributed import rows
from ipds.distributed.cluster import current
from ipds.status import Status
from ipds.theory.certificate import certify


def test_all_that_waits_is_computed_in_one_pass():
    X = rows(cut(np.ones((300, 4))))
    before = current().passes
    u = X @ np.ones(4)
    total, pull = np.sum(u), X.T @ u
    assert current().passes == before
    assert float(total) == 1200.0
    assert np.asarray(pull).tolist() == [1200.0] * 4
    assert np.asarray(u).shape == (300,)
    assert current().passes == before + 1


def test_what_waits_goes_along_only_as_far_as_a_pass_takes_it():
    X = rows(cut(np.arange(1200.0).reshape(300, 4)))
    before = current().passes
    largest = np.max(X)
    share = np.sum(X / largest)  # a pass after that of the largest
    assert float(np.sum(X)) == 1199 * 600.0
    assert current().passes == before + 1
    assert (largest.node.done, share.node.done) == (True, False)
    float(np.min(X))
    assert current().passes == before + 2
    assert share.node.done
    assert float(share) == pytest.approx(600.0)
    assert current().passes == before + 2


def test_a_temporary_is_not_kept():
    X = rows(cut(np.ones((300, 4))))
    kept = X + 1.0
    total = np.sum((X + 2.0) + kept)
    float(total)
    assert len(kept.node.value.held[0]) == 2  # the array and the answer


def test_a_step_costs_one_pass_and_a_check_three_more():
    problem = robust(*regression(), distributed=True)
    counts = []
    solve(
        problem,
        seed=0,
        tol=0.0,
        max_iter=40,
        check_every=1,
        callback=lambda _: counts.append(current().passes),
    )
    spent = np.diff(counts)
    # the step, the check, and the copies made for the callback; more only where a stage ends or a step is retried.
    # The check: sizes of terms and of rows, then of the forces that they give, then what is left in units of both
    assert spent.min() <= 5
    assert np.mean(spent) < 7.0  # a stage that ends costs two
    assert spent.max() <= 9


def test_checks_on_the_way_cost_no_pass_of_their_own():
    """Their numbers come with those of the next steps, and are those in memory."""

    def spent(check_every):
        before = current().passes
        solve(pursuit(distributed=True), seed=0, tol=0.0, max_iter=50, check_every=check_every)
        return current().passes - before

    spent(50)
    assert spent(10) <= spent(50)
    options = {"method": "accelerated", "seed": 0, "tol": 0.0, "max_iter": 45}
    here, there = (solve(pursuit(distributed), **options) for distributed in (False, True))
    assert there.history["iteration"].tolist() == [1, 10, 20, 30, 40, 45]
    for name in ("objective", "feasibility", "stationarity", "relative", "beta"):
        np.testing.assert_allclose(there.history[name], here.history[name], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("distributed", [False, True])
def test_a_check_that_ends_a_run_ends_it_at_its_own_point(distributed):
    seen = []

    def enough(shown):
        seen.append(shown)
        if shown.nit >= 20:
            raise StopIteration

    stopped = solve(pursuit(distributed), method="accelerated", seed=0, tol=0.0, callback=enough)
    assert (stopped.status, stopped.nit) == (Status.CALLBACK, 20)
    assert stopped.fun == seen[-1].fun
    np.testing.assert_array_equal(np.asarray(stopped.x[1]), np.asarray(seen[-1].x[1]))
    certified = solve(pursuit(distributed), method="accelerated", seed=0, tol=1e-4)
    assert (certified.success, certified.nit % 10) == (True, 0)
    assert certify(pursuit(distributed), certified.state).relative == pytest.approx(
        certified.certificate.relative
    )
