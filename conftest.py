"""For all tests and doctests: figures are closed, however many are drawn."""

import sys

import pytest


@pytest.fixture(autouse=True)
def closed_figures():
    """pyplot keeps every figure until it is told not to, and warns at the twentieth."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
