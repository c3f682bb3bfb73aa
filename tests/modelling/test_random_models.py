"""The compiled problem against NumPy, on random models."""

import random_models
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st


@given(st.integers(min_value=0, max_value=2**32))
@example(4626986)  # constants that cancel leave rounding in rows without a variable
@example(65956)  # so they do where there are more equations than unknowns
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_objective_residual_adjoints_and_gradients(seed):
    random_models.check(seed)
