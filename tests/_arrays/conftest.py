"""Libraries that the tests of arrays ask for."""

import pytest


@pytest.fixture
def jax():
    """JAX in double precision."""
    module = pytest.importorskip("jax", reason="JAX is an optional extra")
    with module.enable_x64(True):
        yield module
