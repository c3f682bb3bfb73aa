"""Histories of long runs: thinned, ends kept; memory stays where it was."""

import resource
import sys

import numpy as np
import pytest

from ipds import Block, Problem, solve
from ipds.functions import L1, Quadratic
from ipds.solving.history import MOST, History


@pytest.mark.parametrize("count", [MOST, MOST + 1, 3 * MOST + 7, 100_001])
def test_long_histories_are_thinned_and_keep_their_ends(count):
    history = History(["iteration", "objective"])
    for t in range(1, count + 1):
        history.record(iteration=t, objective=-float(t))
    iteration = history["iteration"]
    assert MOST // 3 <= len(iteration) <= MOST
    assert (iteration[0], iteration[-1], history.last("objective")) == (1, count, -count)
    assert np.all(np.diff(iteration) > 0)
    assert np.array_equal(history["objective"], -iteration)
    assert np.max(np.diff(iteration)) <= 4 * count / MOST  # no gap


def test_a_history_read_from_a_table_is_thinned_alike():
    whole, parts = History(), History()
    rows = np.random.default_rng(0).random((MOST + 50, len(whole)))
    for k, row in enumerate(rows):
        if k == MOST - 20:
            parts = History.of(parts.table())
        for history in (whole, parts):
            history.record(**dict(zip(whole, [k, *row[1:]], strict=True)))
    assert np.array_equal(whole.table(), parts.table())


@pytest.mark.slow
def test_a_million_iterations_take_no_more_memory_than_a_thousand():
    """The peak of the process, in kilobytes on Linux, after 1,000 iterations and at the end."""
    problem = Problem([Block(f=Quadratic(np.eye(3)), A=-1.0, shape=3), Block(h=L1(0.1), shape=3)], b=1.0)
    peaks = {}

    def note(shown):
        peaks[shown.nit] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
            1 if sys.platform == "darwin" else 1024
        )

    result = solve(problem, method="sound", tol=0.0, max_iter=1_000_000, check_every=1000, callback=note)
    assert result.nit == 1_000_000
    assert peaks[max(peaks)] - peaks[1000] < 50 * 2**20


def test_the_smallest_certificate_survives_thinning():
    history = History(["iteration", "critical"])
    for t in range(1, 3 * MOST):
        history.record(iteration=t, critical=0.5 if t == 7777 else 1.0)
    assert 7777 in history["iteration"]
    assert history["critical_best"][-1] == 0.5
