"""Random problems: no exception but the documented ones, honest certificates, stable types, inputs left alone.

`make fuzz` runs the same checks for as long as one likes (tests/hostile/fuzz.py).
"""

import fuzzing
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from ipds.functions import L1, Cardinality


@pytest.mark.filterwarnings("ignore::ipds.methods.baselines.fixed_penalty.OutsideTheoremWarning")
@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(fuzzing.cases())
def test_random_problems(case):
    fuzzing.judge(case)


def test_the_judge_is_no_rubber_stamp():
    """The outside bound on criticality is tight where it can be computed by hand."""
    x, force = np.array([1.0, 0.0, -2.0]), np.array([0.5, 0.2, 0.3])
    assert fuzzing.criticality(L1(0.3), x, force) == pytest.approx(0.8, rel=1e-9)  # (0.8, 0, 0)
    assert fuzzing.criticality(Cardinality(2), x, force) == pytest.approx(np.hypot(0.5, 0.3))
