"""The same calls on every array library: results, types, compiled loops, batches; and what `import ipds` loads."""

import subprocess
import sys

import array_api_strict
import numpy as np
import pytest

import problems
from ipds import AssumptionError, Block, Problem, iterate, solve, solve_batch
from ipds._arrays import fetch, is_jax, to_numpy
from ipds._arrays.compiling import programs_of
from ipds.functions import (
    L0,
    L1,
    L2,
    L21,
    MCP,
    PSD,
    SCAD,
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
    NonNegative,
    NonzeroRows,
    Nuclear,
    PCAReconstruction,
    PCAVariance,
    PhaseRetrieval,
    Rank,
    RowCardinality,
    Simplex,
    Sphere,
    Stiefel,
    Sum,
    TotalVariation1D,
    smooth,
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
from ipds.methods.accelerated.reduced import eliminate
from ipds.operators import FiniteDifference, Sampling
from ipds.solving.advance import Advance
from ipds.solving.starting import starting_point
from ipds.theory.structure import eliminable


@pytest.fixture
def jax():
    """JAX in double precision."""
    module = pytest.importorskip("jax", reason="JAX is an optional extra")
    with module.enable_x64(True):
        yield module


def arrays(name, request):
    """How a library makes an array."""
    if name == "jax":
        return request.getfixturevalue("jax").numpy.asarray
    if name == "torch":
        return pytest.importorskip("torch", reason="PyTorch is an optional extra").asarray
    return {"numpy": np.asarray, "strict": array_api_strict.asarray}[name]


def pca(make, dtype="float64"):
    """Sparse PCA with f on the manifold: every method can treat it."""
    g = problems.rng(3)
    D = make(g.standard_normal((20, 8)).astype(dtype))
    start = make(Stiefel().prox(g.standard_normal((8, 2)), 1.0).astype(dtype))
    blocks = [
        Block(f=PCAVariance(D), h=Stiefel(), A=-1.0, shape=(8, 2), name="Y"),
        Block(h=L1(0.1), shape=(8, 2), name="V"),
    ]
    return Problem(blocks), [start, start]


def regression(make, dtype="float64"):
    """A convex problem with matrices and a right-hand side, fit for FixedPenaltyADMM too."""
    g = problems.rng(4)
    G, y = make(g.standard_normal((12, 5)).astype(dtype)), make(g.standard_normal(12).astype(dtype))
    blocks = [Block(h=L1(0.3), A=G, shape=5, name="x"), Block(h=L1(0.5), A=-1.0, shape=12, name="e")]
    return Problem(blocks, b=y), None


def sparse_regression(make):
    """The problem of RobustSparseRegressor: three blocks, one without h."""
    g = problems.rng(5)
    G, y, ones = make(g.standard_normal((15, 6))), make(g.standard_normal(15)), make(np.ones((15, 1)))
    blocks = [Block(h=Cardinality(2), A=-G, shape=6), Block(A=-ones, shape=1), Block(h=L1(1.0), shape=15)]
    return Problem(blocks, b=-y), None


def dual_pcp(make):
    """The problem of DualPCP, from a start of its own."""
    g = problems.rng(6)
    G, V = g.standard_normal((20, 4)), np.eye(4, 1)
    blocks = [Block(h=Stiefel(), A=-make(G), shape=(4, 1)), Block(h=L21(1.0), shape=(20, 1))]
    return Problem(blocks), [make(V), make(G @ V)]


def low_rank(make):
    """The problem of RobustLowRank with missing entries."""
    M = problems.rng(7).standard_normal((5, 4))
    seen = np.arange(20).reshape(5, 4) % 7 > 0
    blocks = [Block(h=Rank(1), A=-Sampling(seen), shape=(5, 4)), Block(h=L1(1.0), shape=int(seen.sum()))]
    return Problem(blocks, b=make(-M[seen])), None


def fused(make):
    """The problem of FusedLasso: a difference operator and two penalties."""
    g = problems.rng(8)
    f = LeastSquares(make(g.standard_normal((15, 6))), make(g.standard_normal(15)))
    blocks = [Block(f=f, h=L1(0.1), A=-FiniteDifference(), shape=6), Block(h=L1(0.3), shape=5)]
    return Problem(blocks), [make(np.ones(6)), make(np.zeros(5))]


def phases(make):
    """The problem of SparsePhaseRetrieval: f without a Lipschitz constant."""
    g = problems.rng(9)
    G, x = g.standard_normal((20, 5)), np.array([1.0, -1.0, 0.0, 0.0, 0.5])
    blocks = [
        Block(f=PhaseRetrieval(make(G), make((G @ x) ** 2)), A=-1.0, shape=5),
        Block(h=L1(0.1), shape=5),
    ]
    return Problem(blocks), [make(x + 0.1), make(x + 0.1)]


CASES = {
    "auto": (pca, "auto"),
    "sound": (pca, IPDS("sound")),
    "practical": (regression, IPDS("practical")),
    "scaled multiplier": (regression, IPDS("sound", scaled_multiplier=True)),
    "radmm": (pca, RADMM("tuned")),
    "spgm": (pca, SPGM("tuned")),
    "subgradient": (pca, Subgradient("published")),
    "fixed penalty": (regression, FixedPenaltyADMM("he-yuan-2012")),
    "manpg": (pca, ManPG()),
    "rialm": (pca, RiemannianALM()),
    "sparse regression": (sparse_regression, "auto"),
    "dual pcp": (dual_pcp, "auto"),
    "low rank": (low_rank, "auto"),
    "fused": (fused, AcceleratedIPDS()),  # auto would take Newton steps in NumPy alone
    "phases": (phases, "auto"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("library", ["strict", "torch", "jax"])
def test_every_library_gives_what_numpy_gives(library, case, request):
    make = arrays(library, request)
    problem, method = CASES[case]
    ours, theirs = (solve(*problem(to), method=method, max_iter=25, tol=1e-12) for to in (np.asarray, make))
    assert all(type(x) is type(make([1.0])) for x in (*theirs.x, theirs.z))
    assert theirs.fun == pytest.approx(ours.fun, rel=1e-6)
    for a, b in zip([*ours.x, ours.z], [*theirs.x, theirs.z], strict=True):
        np.testing.assert_allclose(a, to_numpy(b), rtol=1e-5, atol=1e-7)
    for name in ours.history:
        if name != "seconds":
            np.testing.assert_allclose(theirs.history[name], ours.history[name], rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("library", ["strict", "torch", "jax"])
def test_numbers_are_floats_everywhere(library, request):
    result = solve(*pca(arrays(library, request)), max_iter=12)
    certificate, state = result.certificate, result.state
    numbers = [
        result.fun,
        certificate.feasibility,
        certificate.relative,
        certificate.critical,
        state.beta,
        state.mu,
    ]
    numbers += [*certificate.stationarity, certificate.rows, *certificate.blocks, certificate.work]
    assert {type(number) for number in numbers} == {float}
    assert type(result.nit) is int
    assert {result.history[name].dtype for name in result.history} <= {np.dtype("float64"), np.dtype("int64")}


@pytest.mark.parametrize("method", ["auto", IPDS("practical")])
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_single_precision_stays_single(library, method, request):
    single = solve(*regression(arrays(library, request), "float32"), method=method, max_iter=40)
    double = solve(*regression(np.asarray), method=method, max_iter=40)
    assert {str(x.dtype).removeprefix("torch.") for x in (*single.x, single.z)} == {"float32"}
    assert single.fun == pytest.approx(double.fun, rel=0.01)


def test_jax_without_double_precision():
    jax = pytest.importorskip("jax", reason="JAX is an optional extra")
    problem, start = pca(jax.numpy.asarray, "float32")
    result = solve(problem, start, method="ipds", max_iter=30)
    assert result.x[0].dtype == "float32"
    assert np.isfinite(result.fun)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_local_lipschitz_constant_is_found_in_single_precision(library, request):
    make, g = arrays(library, request), problems.rng(3)
    f = PCAReconstruction(make(g.standard_normal((20, 8)).astype("float32")))
    start = make(Stiefel().prox(g.standard_normal((8, 2)), 1.0).astype("float32"))
    blocks = [Block(f=f, h=Stiefel(), A=-1.0, shape=(8, 2)), Block(h=L1(0.1), shape=(8, 2))]
    assert solve(Problem(blocks), [start, start], method="ipds", tol=1e-3, max_iter=1000).success


def test_data_of_f_decide_the_library(request):
    make = arrays("torch", request)
    result = solve(pca(make)[0], max_iter=5)
    assert type(result.x[0]) is type(make([1.0]))


# compiled loops


@pytest.mark.parametrize("case", ["practical", "radmm", "fixed penalty"])
def test_a_compiled_loop_takes_the_steps_of_the_method(case, jax):
    make, method = CASES[case]
    problem, start = make(jax.numpy.asarray)
    one = problems.take(iterate(problem, start, method=method), 9)[-1]
    x0, z0 = starting_point(problem, start, None, 0)
    setup, carry = method.init(problem, x0, z0)
    carry, there = Advance(problem, method, setup, z0)([carry], 9)
    assert carry.t == there.t == 9, "the loop was not compiled"
    for a, b in zip([*one.x, one.x_breve, one.z], [*there.x, there.x_breve, there.z], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    assert (type(there.beta), type(there.t)) == (float, int)
    assert (there.beta, there.mu) == pytest.approx((one.beta, one.mu))


def two_callables(make):
    """A Huber function as two callables: near the start it looks quadratic, further on it is not."""
    y = make(np.array([0.2, -0.3, 3.0, 4.0]))

    def fun(x):
        far = abs(x - y) > 5
        return ((abs(x - y) * 5 - 12.5) * far + (x - y) ** 2 / 2 * ~far).sum()

    def grad(x):
        far = abs(x - y) > 5
        return (5.0 * (x > y) - 5.0 * (x < y)) * far + (x - y) * ~far

    blocks = [Block(f=smooth(fun, grad, lipschitz=1.0), A=-1.0, shape=4), Block(h=L1(5.5), shape=4)]
    return Problem(blocks, b=4 + 0 * y), [y + 0, y + 4]


@pytest.mark.parametrize(
    ("make", "last"),
    [(pca, 40), (dual_pcp, 40), (two_callables, 40), (sparse_regression, 18), (low_rank, 10)],
)
def test_the_accelerated_loop_takes_the_steps_of_numpy(make, last, jax):
    method = AcceleratedIPDS()
    ours = problems.take(iterate(*make(np.asarray), method=method, seed=0), last)
    problem, start = make(jax.numpy.asarray)
    theirs = problems.take(iterate(problem, start, method=method, seed=0), last)
    for here, there in zip(ours, theirs, strict=True):
        for a, b in zip([*here.x, here.x_breve, here.z], [*there.x, there.x_breve, there.z], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)
        assert (type(there.beta), type(there.mu)) == (float, float)
    assert None not in programs_of(eliminate(problem, eliminable(problem))).values()


@pytest.mark.parametrize("method", ["ipds", AcceleratedIPDS()])
def test_what_cannot_be_compiled_runs_as_it_is(method, jax):
    def denoising(make):
        y = make(problems.rng().standard_normal(12))
        blocks = [Block(f=LeastSquares(1.0, y), A=-1.0, shape=12), Block(h=TotalVariation1D(0.3), shape=12)]
        return Problem(blocks)

    ours, theirs = (
        solve(denoising(make), method=method, max_iter=30) for make in (np.asarray, jax.numpy.asarray)
    )
    assert is_jax(theirs.x[0])
    np.testing.assert_allclose(theirs.x[1], ours.x[1], rtol=1e-6, atol=1e-8)


def test_check_every_and_max_iter_hold_in_compiled_loops(jax):
    problem, start = pca(jax.numpy.asarray)
    seen = []
    result = solve(
        problem,
        start,
        method="sound",
        max_iter=23,
        tol=0.0,
        check_every=7,
        callback=lambda r: seen.append(r.nit),
    )
    assert seen == [1, 7, 14, 21, 23]
    assert result.nit == 23


@pytest.mark.parametrize("method", ["ipds", AcceleratedIPDS()])
def test_a_compiled_solve_is_resumed_from_its_checkpoint(method, jax, tmp_path):
    def part(**options):
        return solve(*regression(jax.numpy.asarray), method=method, tol=0.0, **options)

    whole = part(max_iter=40)
    part(max_iter=17, checkpoint=tmp_path / "run.ckpt")
    rest = part(max_iter=40, checkpoint=tmp_path / "run.ckpt")
    np.testing.assert_array_equal(rest.x[0], whole.x[0])


FUNCTIONS = {
    "L0": L0(0.3),
    "L1": L1(0.3),
    "L2": L2(0.7),
    "L21": L21(0.4),
    "MCP": MCP(0.5, 1.0),
    "SCAD": SCAD(0.5, 2.5),
    "CappedL1": CappedL1(0.5, 0.6),
    "LHalf": LHalf(0.2),
    "LogSum": LogSum(0.5, 0.3),
    "ElasticNet": ElasticNet(0.2, 0.3),
    "Huber": Huber(0.5),
    "GroupL2": GroupL2(0.5, [[0, 1, 2], [3, 5]]),
    "Linf": Linf(0.5),
    "Nuclear": Nuclear(0.3),
    "Box": Box(-0.5, 0.8),
    "NonNegative": NonNegative(),
    "Simplex": Simplex(1.5),
    "L1Ball": L1Ball(1.5),
    "L2Ball": L2Ball(0.8),
    "Sphere": Sphere(2.0),
    "HalfSpace": HalfSpace(np.arange(12.0).reshape(4, 3), 0.2),
    "Stiefel": Stiefel(),
    "Rank": Rank(1),
    "Cardinality": Cardinality(4),
    "RowCardinality": RowCardinality(2),
    "NonzeroRows": NonzeroRows(2),
    "sum": Sum(MCP(0.5, 1.0), Box(-0.5, 0.8)),
    "PSD": PSD(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_can_be_compiled(name, jax):
    h = FUNCTIONS[name]
    v = problems.rng(5).standard_normal((3, 3) if name == "PSD" else (4, 3))

    def both(v, step):
        u = h.prox(v, step)
        return u, h(u)

    compiled = jax.jit(both)
    for scale, step in ((1.0, 0.4), (0.1, 3.0)):  # both branches of MCP and SCAD, inside and outside of balls
        u, value = compiled(jax.numpy.asarray(scale * v), step)
        np.testing.assert_allclose(u, h.prox(scale * v, step), rtol=1e-9, atol=1e-11)
        assert float(value) == pytest.approx(h(np.asarray(u)), rel=1e-9)


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize("method", ["auto", IPDS("sound")])
def test_automatic_gradients_in_whole_solves(library, method, request):
    make = arrays(library, request)
    target = problems.rng(6).standard_normal(5)

    def denoising(make, f):
        return Problem([Block(f=f, A=-1.0, shape=5), Block(h=L1(0.2), shape=5)], b=make(np.zeros(5)))

    y = make(target)
    theirs = solve(
        denoising(make, smooth(lambda x: 0.5 * ((x - y) ** 2).sum(), lipschitz=1.0)),
        method=method,
        max_iter=25,
    )
    ours = solve(denoising(np.asarray, LeastSquares(1.0, target)), method=method, max_iter=25)
    np.testing.assert_allclose(to_numpy(theirs.x[1]), ours.x[1], rtol=1e-6, atol=1e-7)


# batches


def test_a_batch_gives_what_single_solves_give(jax):
    g = problems.rng(7)
    G, targets, rhos = g.standard_normal((12, 5)), g.standard_normal((2, 12)), np.array([0.2, 3.0])

    def lasso(make):
        matrix = make(G)

        def problem(parameter):
            rho, y = parameter
            return Problem([Block(f=LeastSquares(matrix, y), A=-1.0, shape=5), Block(h=L1(rho), shape=5)])

        return problem

    made, parameters = lasso(jax.numpy.asarray), (jax.numpy.asarray(rhos), jax.numpy.asarray(targets))
    found = solve_batch(made, parameters, tol=1e-6)
    for result, rho, y in zip(found, rhos, targets, strict=True):
        single = solve(lasso(np.asarray)((rho, y)), method="ipds", tol=1e-6, check_every=50)
        assert (result.success, result.nit) == (True, single.nit)
        assert result.fun == pytest.approx(single.fun, rel=1e-12)
        assert result.certificate.relative == pytest.approx(single.certificate.relative, rel=1e-3)
        np.testing.assert_allclose(result.x[1], single.x[1], rtol=1e-7, atol=1e-9)
    assert solve_batch(made, (parameters[0][:0], parameters[1][:0])) == []
    with pytest.raises(TypeError, match="JAX arrays"):
        solve_batch(made, [0.1, 0.2])
    with pytest.raises(ValueError, match="first axis"):
        solve_batch(made, (parameters[0][:1], parameters[1]))
    with pytest.raises(ValueError, match="seeds has 3 entries"):
        solve_batch(made, parameters, seeds=[0, 1, 2])


def test_a_batch_of_seeds(jax):
    (problem, _), seeds = pca(jax.numpy.asarray), [3, 4]
    found = solve_batch(lambda _: problem, jax.numpy.asarray(seeds), seeds=seeds, max_iter=50)
    for result, seed in zip(found, seeds, strict=True):
        single = solve(problem, method="ipds", seed=seed, max_iter=50, check_every=50)
        np.testing.assert_allclose(result.x[0], single.x[0], rtol=1e-7, atol=1e-9)


def test_a_batch_needs_lipschitz_constants(jax):
    f = smooth(lambda x: (x**4).sum())
    blocks = [Block(f=f, A=-1.0, shape=2, name="x"), Block(h=L1(1.0), shape=2)]
    with pytest.raises(AssumptionError, match=r"block 'x'.*Lipschitz"):
        solve_batch(lambda b: Problem(blocks, b=b), jax.numpy.ones((2, 2)))


# other libraries


def test_one_round_trip_for_dask():
    dask = pytest.importorskip("dask.array", reason="Dask is an optional extra")
    x = dask.from_array(np.arange(6.0), chunks=3)
    (total, constant), (carried,) = fetch((x.sum(), 2.0), (x + 1,))
    assert (total, constant) == (15.0, 2.0)
    assert len(carried.dask) == 2, "the carried array should be in memory, a chunk per entry of its graph"
    np.testing.assert_array_equal(carried.compute(), np.arange(6.0) + 1)


def test_import_loads_nothing_that_is_optional_or_slow():
    heavy = {"jax", "torch", "cupy", "dask", "sklearn", "matplotlib", "pandas", "rich", "typer"}
    heavy |= {"scipy.linalg", "scipy.sparse", "scipy.optimize"}
    code = f"import sys, ipds; print(sorted({heavy} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
