"""How a problem is written does not matter: five forms of one problem, and one objective in any unit."""

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.forms import FAMILIES

from ipds import Block, Problem, solve
from ipds.functions import (
    L0,
    L1,
    Box,
    Cardinality,
    LeastSquares,
    Linear,
    Logistic,
    NonNegative,
    Quadratic,
    Sum,
    Weighted,
)

TOL = 1e-6


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_five_forms_have_one_answer(name, seed):
    results = {form: solve(problem, tol=TOL) for form, problem in FAMILIES[name](seed).items()}
    assert len(results) >= 5
    assert all(result.success for result in results.values())
    values = [result.fun for result in results.values()]
    assert np.ptp(values) <= 5 * TOL * abs(np.mean(values))


@pytest.mark.parametrize("identity", [np.eye(40), sp.identity(40), sp.eye_array(40).tocsc()])
@pytest.mark.parametrize("h", [L1(0.5), NonNegative(), Cardinality(3)], ids=["l1", "nonnegative", "few"])
def test_an_identity_may_be_a_matrix(h, identity):
    g = np.random.default_rng(0)
    G, y = g.standard_normal((40, 12)), g.standard_normal(40)
    first, last = Block(h=h, A=G, shape=12), Block(h=L1(1.0), A=identity, shape=40)
    number = solve(Problem([first, Block(h=L1(1.0), shape=40)], b=y), tol=TOL)
    for blocks in ([first, last], [last, first]):
        result = solve(Problem(blocks, b=y), tol=TOL)
        assert result.success
        assert result.nit < 200
        assert result.fun == pytest.approx(number.fun, rel=1e-6)


def statements(unit: float) -> dict[str, Problem]:
    """Problems with an objective in other units."""
    g = np.random.default_rng(0)
    G = g.standard_normal((40, 12)) * 10 ** g.uniform(-1, 1, 12)
    y = G @ (g.random(12) < 0.3) + 0.3 * g.standard_normal(40)
    C = g.standard_normal((3, 12))
    fit, b = Weighted(LeastSquares(G, y), unit), C @ np.ones(12)
    return {
        "lasso": Problem([Block(f=fit, h=L1(2 * unit), shape=12)]),
        "residual": Problem(
            [Block(h=L1(2 * unit), A=-G, shape=12), Block(f=Quadratic(unit), shape=40)], b=-y
        ),
        "deviations": Problem([Block(A=-G, shape=12), Block(h=L1(unit), shape=40)], b=-y),
        "program": Problem([Block(f=Linear(unit * abs(C).sum(axis=0)), h=NonNegative(), A=C, shape=12)], b=b),
        "logistic": Problem([Block(f=Weighted(Logistic(G, np.sign(y)), unit), h=L1(unit), shape=12)]),
        "subset": Problem([Block(f=fit, h=Cardinality(3), shape=12)]),
        "counts": Problem([Block(f=fit, h=L0(unit), shape=12)]),
        "robust subset": Problem(
            [Block(h=Cardinality(3), A=-G, shape=12), Block(h=L1(unit), shape=40)], b=-y
        ),
    }


@pytest.mark.parametrize("name", statements(1.0))
@pytest.mark.parametrize("power", [-20, 20])
def test_the_unit_of_the_objective_changes_nothing(name, power):
    """Powers of two (about 1e±6), so that rounding is the same: the same steps to the same points."""
    unit = 2.0**power
    one, other = (solve(statements(k)[name], tol=TOL, seed=0) for k in (1.0, unit))
    assert one.success
    assert other.success
    # a block without any force has rounding in units of one in its certificate: such runs may end at another check
    exact = name not in ("subset", "counts")
    assert other.nit == one.nit or not exact
    assert other.method.split("(")[0] == one.method.split("(")[0]
    for x, w in zip(one.x, other.x, strict=True):
        np.testing.assert_allclose(w, x, rtol=1e-9 if exact else 1e-5, atol=1e-12 * np.abs(x).max())
    assert other.fun / unit == pytest.approx(one.fun, rel=1e-9)


def test_a_count_that_is_split_off_in_raw_units_has_the_same_answer():
    """f stayed with the copy that has bounds: columns kept their units, and no support was solved to the end."""
    rng = np.random.default_rng(1)
    G = rng.standard_normal((30, 9)) + 0.6 * rng.standard_normal((30, 1))
    y, unit = G @ (3 * rng.standard_normal(9)) + rng.standard_normal(30), 10.0 ** rng.uniform(-3, 3, 9)
    f, bounds = LeastSquares(G * unit, y), Box(-2 / unit, 1.5 / unit)
    joint = solve(Problem([Block(f=f, h=Sum(L0(4.0), bounds), shape=9)]), seed=0)
    split = solve(
        Problem([Block(f=f, h=bounds, shape=9), Block(h=L0(4.0), A=-1.0, shape=9)], b=np.zeros(9)), seed=0
    )
    assert joint.success
    assert split.success
    assert split.fun == pytest.approx(joint.fun, rel=1e-6)
