"""The compiled problem against NumPy, on random models."""

import random_models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@given(st.integers(min_value=0, max_value=2**32))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_objective_residual_adjoints_and_gradients(seed):
    random_models.check(seed)
