"""The same calls on every array library: results, types, compiled loops, batches; and what `import ipds` loads."""

import subprocess
import sys

import array_api_strict
import numpy as np
import pytest
from posed import CASES, pca, regression

import problems
from ipds import Block, Problem, solve
from ipds._arrays import choose, fetch, greatest, to_numpy
from ipds.distributed import rows
from ipds.distributed.cluster import current
from ipds.functions import (
    L1,
    LeastSquares,
    PCAReconstruction,
    Stiefel,
    smooth,
)
from ipds.methods import (
    IPDS,
)


def arrays(name, request):
    """How a library makes an array."""
    if name == "jax":
        return request.getfixturevalue("jax").numpy.asarray
    if name == "torch":
        return pytest.importorskip("torch", reason="PyTorch is an optional extra").asarray
    return {"numpy": np.asarray, "strict": array_api_strict.asarray}[name]


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


# other libraries


def test_one_round_trip_for_dask():
    dask = pytest.importorskip("dask.array", reason="Dask is an optional extra")
    x = rows(dask.from_array(np.arange(6.0), chunks=3), "x")
    before = current().passes
    total = np.sum(x)
    larger = choose(total > 20.0, total, greatest(total, 16.0))  # no look at a number
    (total, larger, constant), (carried,) = fetch((total, larger, 2.0), (x + 1,))
    assert (total, larger, constant) == (15.0, 16.0, 2.0)
    np.testing.assert_array_equal(carried, np.arange(6.0) + 1)
    assert current().passes == before + 1, "the numbers and the array carried should come of one pass"


def test_import_loads_nothing_that_is_optional_or_slow():
    heavy = {"jax", "torch", "cupy", "dask", "sklearn", "matplotlib", "pandas", "rich", "typer"}
    heavy |= {"scipy.linalg", "scipy.sparse", "scipy.optimize"}
    code = f"import sys, ipds; print(sorted({heavy} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
