"""f(c - N v) keeps its gradient, and its values up to a constant, whatever simpler form it takes."""

from __future__ import annotations

import numpy as np
import pytest

from ipds.functions import Composed, LeastSquares, Linear, Logistic, Quadratic
from ipds.operators import Identity, Matrix
from ipds.presolve.compose import composed

rng = np.random.default_rng(4)
G, y, l = rng.standard_normal((7, 5)), rng.standard_normal(7), rng.standard_normal(5)
FUNCTIONS = {
    "square": Quadratic(2.0),
    "square and linear": Quadratic(2.0, l),
    "concave": Quadratic(-2.0, l),
    "quadratic": Quadratic(G.T @ G, l),
    "linear": Linear(l),
    "linear, number": Linear(0.5),
    "least squares": LeastSquares(G, y),
    "logistic": Logistic(G, np.sign(y)),
}
MAPS = {"I": Identity(-1.0), "aI": Identity(1.5), "matrix": Matrix(rng.standard_normal((5, 3)))}


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS.keys())
@pytest.mark.parametrize("N", MAPS.values(), ids=MAPS.keys())
@pytest.mark.parametrize("c", [0.0, 0.7, rng.standard_normal(5)], ids=["0", "number", "array"])
def test_gradient_and_values(f, N, c):
    made, plain = composed(f, N, c), Composed(f, -N, c)
    a, b = rng.standard_normal((2, 3 if isinstance(N, Matrix) else 5))
    np.testing.assert_allclose(made.grad(a), plain.grad(a), rtol=1e-10, atol=1e-10)
    assert made(a) - made(b) == pytest.approx(plain(a) - plain(b), rel=1e-10, abs=1e-10)


def test_structure_is_kept():
    assert isinstance(composed(Quadratic(4.0, l), MAPS["matrix"], 1.0), LeastSquares)
    assert isinstance(composed(LeastSquares(G, y), MAPS["aI"], l), LeastSquares)
    assert isinstance(composed(Linear(l), MAPS["matrix"], 0.3), Linear)
    f = LeastSquares(G, y)
    assert composed(f, MAPS["I"], 0.0) is f
