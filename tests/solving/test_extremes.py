"""Extreme numbers: a right answer or a clear error; never a NaN or a wrong point as success, never a hang."""

import math
import signal
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp

import problems
from ipds import AssumptionError, Block, DivergenceError, Problem, solve
from ipds.functions import (
    L1,
    Cardinality,
    LeastSquares,
    PCAVariance,
    Quadratic,
    Rank,
    Stiefel,
)
from ipds.methods import RADMM

REFUSED = (ValueError, DivergenceError)  # AssumptionError is a ValueError


pytestmark = pytest.mark.filterwarnings("ignore::ipds.methods.baselines.fixed_penalty.OutsideTheoremWarning")


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    """A case that takes a minute is one that hangs."""

    def stop(*_: object) -> None:
        raise TimeoutError("hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def lasso(x: float = 1.0, cost: float = 1.0) -> Problem:
    """In units x of the variables and cost of the objective; the same for the others."""
    g = problems.rng(1)
    G, root = g.standard_normal((12, 6)), math.sqrt(cost)
    f = LeastSquares(G * (root / x), G @ np.array([3, 0, 0, -2, 0, 0.0]) * root)
    return Problem([Block(f=f, A=-1.0, shape=6), Block(h=L1(0.7 * cost / x), shape=6)])


def robust(x: float = 1.0, cost: float = 1.0) -> Problem:
    g = problems.rng(2)
    G = g.standard_normal((20, 6))
    y = G @ np.array([3, 0, 0, -2, 0, 0.0]) + 10 * (np.arange(20) < 3)
    return Problem([Block(h=Cardinality(2), A=-G, shape=6), Block(h=L1(cost / x), shape=20)], b=-y * x)


def components(x: float = 1.0, cost: float = 1.0) -> Problem:
    """The Stiefel manifold has units of its own, so `x` scales the data too."""
    f = PCAVariance(problems.rng(3).standard_normal((15, 6)) * math.sqrt(cost * x))
    return Problem([Block(f=f, h=Stiefel(), A=-1.0, shape=(6, 2)), Block(h=L1(0.1 * cost * x), shape=(6, 2))])


def split(x: float = 1.0, cost: float = 1.0) -> Problem:
    g = problems.rng(4)
    D = np.outer(g.standard_normal(6), g.standard_normal(5)) + g.standard_normal((6, 5))
    parts = [Block(h=Rank(1), shape=(6, 5)), Block(h=L1(0.3 * cost / x), shape=(6, 5))]
    return Problem([*parts, Block(f=Quadratic(cost / x / x), shape=(6, 5))], b=D * x)


BUILDS = [lasso, robust, components, split]


UNITS = [(1e150, 1.0), (1e-150, 1.0), (1.0, 1e150), (1.0, 1e-150), (1e75, 1e-75)]


LIMITS = {"max_iter": 300, "seed": 0}


def finite(result) -> bool:
    numbers = [*result.x, result.z, result.fun, result.certificate.critical]
    return all(np.all(np.isfinite(number)) for number in numbers)


def attempt(build, method: str, **options):
    """A finite result, or None where the problem is refused with an error of ours."""
    try:
        result = solve(build(), method=problems.METHODS[method], **{**LIMITS, **options})
    except REFUSED:
        return None
    assert finite(result)
    assert result.success == (result.certificate.relative <= 1e-4)
    return result


@pytest.mark.parametrize("method", problems.METHODS)
@pytest.mark.parametrize("build", BUILDS)
def test_units_of_1e150_change_nothing_or_are_owned_up_to(build, method):
    """What is reported as solved is the solution at scale 1, in the other units."""
    reference = attempt(build, method)
    if reference is None:
        return
    solved = 0
    for x, cost in UNITS:
        result = attempt(lambda x=x, cost=cost: build(x, cost), method)
        if result is not None and result.success and reference.success:
            solved += 1
            value = result.fun / cost / (x if build is components else 1.0)
            scale = 1.0 if build is split else abs(reference.fun)
            assert value == pytest.approx(reference.fun, abs=1e-3 * scale)
    if method == "auto" and build is not split:
        assert solved >= 3


FAR = [1e8, 1e100]


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("method", problems.METHODS)
@pytest.mark.parametrize("build", [lasso, robust])
def test_a_start_far_out_does_not_make_its_neighbourhood_look_critical(build, method, far):
    """The scales of the start were taken for those of the problem: success at an objective of 1176 instead of 3.43."""
    best = solve(build()).fun
    g = problems.rng(0)
    x0 = [far * g.standard_normal(block.shape) for block in build().blocks]
    result = attempt(build, method, x0=x0, max_iter=600)
    if result is not None and result.success:
        assert result.fun == pytest.approx(best, rel=1e-2)


def test_a_force_that_rounding_swallows_is_no_certificate():
    """λ = 1e-150 beside x = 1e150: the prox left x alone, and the point passed for one without forces."""
    result = solve(robust(1e150, 1.0), method=RADMM("tuned"), max_iter=50)
    assert not result.success
    best = solve(robust()).fun
    assert result.fun > 2 * best


MATRICES = {
    "1e150": 1e150 * problems.rng(5).standard_normal((4, 4)),
    "1e-150": 1e-150 * problems.rng(5).standard_normal((4, 4)),
    "1e200": 1e200 * np.ones((4, 4)),
    "1e-200": 1e-200 * np.ones((4, 4)),
    "denormal": np.full((4, 4), 5e-324),
    "constant": np.ones((4, 4)),
    "zero": np.zeros((4, 4)),
    "duplicated rows": np.repeat(problems.rng(6).standard_normal((1, 4)), 4, axis=0),
    "zero column": np.diag([1.0, 2.0, 0.0, 3.0]),
    "mixed": np.diag([1e150, 1.0, 1e-150, 0.0]),
}


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("case", MATRICES)
@pytest.mark.parametrize("method", problems.METHODS)
def test_maps(case, method, kind):
    A = kind(MATRICES[case])

    def build():
        return Problem([Block(h=L1(1.0), A=A, shape=4), Block(h=L1(1.0), shape=4)], b=np.ones(4))

    result = attempt(build, method)
    if result is not None and result.success:
        feasible = build().restore(result.x)
        assert result.fun <= 4 * (1 + 1e-3)  # x = 0 costs 4
        assert np.linalg.norm(build().residual(feasible)) <= 1e-12 * max(1.0, np.linalg.norm(feasible[1]))


@pytest.mark.parametrize("method", ["radmm", "spgm", "subgradient", "practical"])
def test_a_block_that_nothing_can_move(method):
    problem = Problem([Block(h=L1(1.0), A=np.zeros((3, 3)), shape=3, name="idle"), Block(h=L1(1.0), shape=3)])
    with pytest.raises(AssumptionError, match=r"'idle' has A = 0 and no f.*leave it out"):
        solve(problem, method=problems.METHODS[method])


@pytest.mark.parametrize("method", ["auto", "radmm", "spgm", "subgradient", "practical"])
def test_a_block_that_f_alone_moves(method):
    """A = 0 with a smooth f: the subgradient method divided by zero."""
    f = LeastSquares(np.eye(3), np.ones(3))
    free = Block(f=f, A=np.zeros((3, 3)), shape=3)
    problem = Problem([free, Block(h=L1(1.0), A=2.0, shape=3), Block(h=L1(1.0), shape=3)], b=np.ones(3))
    result = attempt(lambda: problem, method)
    assert result is not None
    np.testing.assert_allclose(result.x[0], 1.0, rtol=0.2)


DATA = {
    "constant columns": np.ones((8, 5)),
    "duplicated rows": np.repeat(problems.rng(7).standard_normal((1, 5)), 8, axis=0),
    "zero": np.zeros((8, 5)),
    "one row": problems.rng(8).standard_normal((1, 5)),
    "denormal": np.full((8, 5), 5e-324),
    "rank one": np.outer(np.arange(8.0), np.arange(5.0)),
}


@pytest.mark.parametrize("weight", [1e-150, 1e-8, 1e8, 1e150])
@pytest.mark.parametrize("case", DATA)
@pytest.mark.parametrize("method", problems.METHODS)
def test_components_of_degenerate_data(case, weight, method):
    """Rank-deficient data on the Stiefel manifold, with huge and tiny weights; -½σ² ≤ f is known."""

    def build():
        f = PCAVariance(DATA[case])
        return Problem([Block(f=f, h=Stiefel(), A=-1.0, shape=(5, 2)), Block(h=L1(weight), shape=(5, 2))])

    result = attempt(build, method, max_iter=100)
    if result is None:
        return
    V = result.x[0]
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-8)
    bound = -(np.linalg.norm(DATA[case]) ** 2) / (2 * len(DATA[case]))
    assert result.fun >= bound * (1 + 1e-9) + weight * 2 * (1 - 1e-6)  # Σ|V| ≥ 1 per column


def test_one_entry_and_one_column():
    for shape in [(1,), (1, 1), (5, 1), (1, 5), (1, 1, 1)]:
        b = np.full(shape, 2.0)
        for method in ("auto", "practical", "accelerated"):
            pair = Problem([Block(h=L1(1.0), shape=shape), Block(h=L1(3.0), shape=shape)], b=b)
            result = solve(pair, method=problems.METHODS[method])
            assert result.success
            np.testing.assert_allclose(result.x[0], b, rtol=1e-3)


@pytest.mark.parametrize("unit", [1e-150, 1e-100, 1e100, 1e150])
def test_steps_as_short_as_the_units_ask_for(unit):
    """G and λ times a unit: x/unit solves it, in as many iterations; a floor below the steps would stop that."""
    g = problems.rng(1)
    G, y = g.standard_normal((12, 6)), g.standard_normal(12)

    def lasso(unit):
        f = LeastSquares(unit * G, y)
        return solve(Problem([Block(f=f, A=-1.0, shape=6), Block(h=L1(0.7 * unit), shape=6)]))

    here, there = lasso(1.0), lasso(unit)
    assert there.success
    assert there.nit == here.nit
    np.testing.assert_allclose(unit * there.x[0], here.x[0], rtol=1e-6, atol=1e-9)
