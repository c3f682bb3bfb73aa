"""Compiled loops and batches: the steps of the method, and what cannot be compiled as it is."""

import numpy as np
import pytest
from posed import CASES, dual_pcp, low_rank, pca, regression, sparse_regression

import problems
from ipds import AssumptionError, Block, Problem, iterate, solve, solve_batch
from ipds._arrays import is_jax
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
    AcceleratedIPDS,
)
from ipds.methods.accelerated.reduced import eliminate
from ipds.solving.advance import Advance
from ipds.solving.starting import starting_point
from ipds.theory.structure import eliminable


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
