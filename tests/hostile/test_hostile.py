"""Hostile numbers: a right answer or a clear error; never a NaN or a wrong point as success, never a hang."""

import math
import signal
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp

import problems
from ipds import AssumptionError, Block, DivergenceError, Problem, solve
from ipds.functions import (
    L0,
    L1,
    L2,
    L21,
    MCP,
    PSD,
    SCAD,
    Affine,
    Binary,
    Box,
    CappedL1,
    Cardinality,
    ElasticNet,
    GroupL2,
    HalfSpace,
    Huber,
    L1Ball,
    L2Ball,
    LeastSquares,
    LHalf,
    Linf,
    LogSum,
    LTwoThirds,
    MoreauEnvelope,
    NonNegative,
    NonzeroColumns,
    NonzeroRows,
    Nuclear,
    PCAVariance,
    Precomposed,
    Quadratic,
    Rank,
    RowCardinality,
    Scaled,
    Separable,
    Simplex,
    Sphere,
    Stiefel,
    Sum,
    TotalVariation1D,
    Translated,
    Zero,
)
from ipds.methods import (
    IPDS,
    RADMM,
    SPGM,
    AcceleratedIPDS,
    FixedPenaltyADMM,
    ManPG,
    RiemannianALM,
    Subgradient,
)

METHODS = {
    "auto": "auto",
    "practical": IPDS("practical"),
    "sound": IPDS("sound"),
    "accelerated": AcceleratedIPDS(),
    "radmm": RADMM("tuned"),
    "spgm": SPGM("tuned"),
    "subgradient": Subgradient("tuned"),
    "fixed": FixedPenaltyADMM("he-yuan-2012", force=True),
    "rialm": RiemannianALM(),
    "manpg": ManPG(),
}
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
        result = solve(build(), method=METHODS[method], **{**LIMITS, **options})
    except REFUSED:
        return None
    assert finite(result)
    assert result.success == (result.certificate.relative <= 1e-4)
    return result


@pytest.mark.parametrize("method", METHODS)
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
@pytest.mark.parametrize("method", METHODS)
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
@pytest.mark.parametrize("method", METHODS)
def test_maps(case, method, kind):
    A = kind(MATRICES[case])

    def build():
        return Problem([Block(h=L1(1.0), A=A, shape=4), Block(h=L1(1.0), shape=4)], b=np.ones(4))

    result = attempt(build, method)
    if result is not None and result.success:
        feasible = build().restore(result.x)
        assert result.fun <= 4 * (1 + 1e-3)  # x = 0 costs 4
        assert np.linalg.norm(build().residual(feasible)) <= 1e-12 * max(1.0, np.linalg.norm(feasible[1]))


@pytest.mark.parametrize(
    "build",
    [
        lambda: Problem([Block(A=1e200, shape=3), Block(shape=3)]),
        lambda: Problem([Block(A=-1e-200, shape=3), Block(shape=3)]),
        lambda: Quadratic(1e300),
        lambda: LeastSquares(1e200 * np.eye(3), np.ones(3)),
    ],
)
def test_squares_out_of_range_are_refused_with_a_remedy(build):
    with pytest.raises(ValueError, match=r"whose square (overflows|vanishes); use other units"):
        build()


@pytest.mark.parametrize("method", ["radmm", "spgm", "subgradient", "practical"])
def test_a_block_that_nothing_can_move(method):
    problem = Problem([Block(h=L1(1.0), A=np.zeros((3, 3)), shape=3, name="idle"), Block(h=L1(1.0), shape=3)])
    with pytest.raises(AssumptionError, match=r"'idle' has A = 0 and no f.*leave it out"):
        solve(problem, method=METHODS[method])


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
@pytest.mark.parametrize("method", METHODS)
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
            result = solve(pair, method=METHODS[method])
            assert result.success
            np.testing.assert_allclose(result.x[0], b, rtol=1e-3)


@pytest.mark.parametrize("shape", [0, (0,), (3, 0), (0, 0)])
def test_empty_blocks_are_refused(shape):
    with pytest.raises(ValueError, match="at least 1"):
        Block(shape=shape)


def test_an_empty_constraint_is_refused():
    with pytest.raises(AssumptionError, match="A = 0: leave it out"):
        solve(Problem([Block(A=np.zeros((0, 3)), shape=3)]))


FUNCTIONS = [
    *(
        (h, (4, 3))
        for h in (
            Zero(),
            L1(0.5),
            L2(0.5),
            L21(0.5),
            Linf(0.5),
            Nuclear(0.5),
            TotalVariation1D(0.5),
            ElasticNet(0.5, 0.3),
            Huber(0.5, 1.0),
            L0(0.5),
            LHalf(0.5),
            LTwoThirds(0.5),
            CappedL1(0.5, 1.0),
            LogSum(0.5, 1.0),
            MCP(0.5, 2.0),
            SCAD(0.5, 3.7),
            Box(-1, 1),
            NonNegative(),
            Simplex(),
            L1Ball(),
            L2Ball(),
            Sphere(),
            Stiefel(),
            Rank(2),
            Cardinality(4),
            RowCardinality(1),
            NonzeroRows(2),
            NonzeroColumns(1),
            Binary(0, 1),
            Affine(np.arange(8.0).reshape(2, 4), np.ones((2, 3))),
            HalfSpace(np.ones((4, 3)), 1.0),
            Scaled(L1(1.0), 0.5),
            Translated(L1(1.0), np.ones((4, 3))),
            Precomposed(L1(1.0), 2.0, 0.1),
            Sum(L1(1.0), NonNegative()),
            Sum(MCP(0.5, 2.0), Box(-1, 1)),
            MoreauEnvelope(L1(1.0), 0.5),
        )
    ),
    (PSD(), (3, 3)),
    (GroupL2(0.5, [[0, 1], [2, 3]]), (4,)),
    (Separable([(slice(0, 2), L1(1.0)), (slice(2, 4), Box(0, 1))]), (4,)),
    (TotalVariation1D(0.5), (1,)),
    (Stiefel(), (1, 1)),
    (Simplex(), (1,)),
]
STEPS = [1.0, 1e-3, 1e3, 1e-150, 1e150, 1e-300, 1e300, 5e-324]


def extreme_points(shape: tuple[int, ...], dtype: type) -> Iterator[np.ndarray]:
    base = problems.rng(0).standard_normal(shape)
    limits, place = np.finfo(dtype), np.arange(base.size).reshape(shape)
    low, high = math.log10(float(limits.tiny)), math.log10(float(limits.max))
    for point in (
        np.zeros(shape),
        -np.zeros(shape),
        np.ones(shape),
        np.broadcast_to(base[:1], shape),  # duplicated rows, of rank one
        *(base * 10.0**power for power in (0.48 * low, 0.97 * low, 0.48 * high, 0.97 * high)),
        np.sign(base) * float(limits.smallest_subnormal),
        np.round(5 * base) * float(limits.smallest_subnormal),
        np.sign(base) * (float(limits.max) / 4),
        np.where(place == 0, float(limits.max) / 2, base),
        base * 10.0 ** np.linspace(0.8 * low, 0.8 * high, base.size).reshape(shape),
    ):
        yield point.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("h", "shape"), FUNCTIONS, ids=lambda case: str(case)[:30])
def test_proxes_stay_finite_and_are_no_worse_than_zero(h, shape, dtype):
    """Sizes to the ends of the range and steps beyond it: L21, GroupL2, Linf, ℓ1/2 and ℓ2/3 gave NaN."""
    for v in extreme_points(shape, dtype):
        for step in STEPS:
            with np.errstate(all="ignore"):
                u = h.prox(v.copy(), step)
                value = h(u)
            assert u.dtype == dtype
            assert np.all(np.isfinite(u))
            assert not math.isnan(value)
            if step > 1e-308 and type(h) in (L1, L21, GroupL2, L2, L0, LHalf):  # zero is a candidate
                unit = max(float(np.abs(v).max()), float(np.finfo(dtype).tiny))
                cost = value * (step / unit / unit) + 0.5 * float(np.sum(((u - v) / unit).astype(float) ** 2))
                at_zero = 0.5 * float(np.sum((v / unit).astype(float) ** 2))
                assert not math.isfinite(cost) or cost <= at_zero * (1 + 1e-5)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
def test_projections_and_norms_do_not_depend_on_units(unit):
    """Row norms whose squares underflowed chose the wrong rows."""
    v = problems.rng(1).standard_normal((5, 4)) * np.array([[1.0], [3.0], [0.5], [2.0], [0.1]])
    groups = [[0, 1, 2], [5, 6]]
    for h in (NonzeroRows(2), NonzeroColumns(2), Rank(2), Cardinality(5), RowCardinality(2), NonNegative()):
        np.testing.assert_allclose(h.prox(unit * v, 1.0) / unit, h.prox(v, 1.0), rtol=1e-12, atol=1e-14)
    for h in (
        L1(0.5),
        L2(0.5),
        L21(0.5),
        Linf(0.5),
        GroupL2(0.5, groups),
        Nuclear(0.5),
        TotalVariation1D(0.5),
    ):
        np.testing.assert_allclose(h.prox(unit * v, unit) / unit, h.prox(v, 1.0), rtol=1e-9, atol=1e-12)
        assert h(unit * v) / unit == pytest.approx(h(v), rel=1e-12)


@pytest.mark.parametrize(
    "h", [Huber(0.3, 0.5), MoreauEnvelope(L1(0.15), 0.5)], ids=["Huber", "MoreauEnvelope"]
)
def test_long_steps_keep_the_digits_of_a_small_result(h):
    """u = v/(1 + sλ) was computed as v minus something almost as large."""
    v, step = np.array([0.1 * 3e9]), 1e10
    s = (v - h.prox(v, step)) / step
    u = h.prox(v, step)
    slope = 0.3 * u if isinstance(h, Huber) else u / 0.5
    assert abs(u[0]) < 0.5 * (1.0 if isinstance(h, Huber) else 0.15)
    np.testing.assert_allclose(slope, s, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_time_limits_hold_and_are_reported(method):
    problem = components() if method in ("rialm", "manpg") else lasso()
    result = solve(problem, method=METHODS[method], time_limit=0.0, max_iter=10**9, tol=0.0)
    assert result.status.name == "TIME_LIMIT"
    assert result.nit <= 1
    assert all(np.all(np.isfinite(part)) for part in (*result.x, result.z, result.fun))


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
