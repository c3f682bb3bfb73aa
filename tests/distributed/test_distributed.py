"""Dask arrays: the same answers as in memory, refusals with advice. In this process."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy

da = pytest.importorskip("dask.array", reason="Dask is an extra")

from cut_problems import cut, pursuit, regression, robust  # noqa: E402

from ipds import Block, Problem, iterate, solve  # noqa: E402
from ipds.distributed import Rows, rows, to_dask  # noqa: E402
from ipds.distributed.cluster import current  # noqa: E402
from ipds.functions import (  # noqa: E402
    L1,
    L2,
    MCP,
    SCAD,
    Box,
    Cardinality,
    ElasticNet,
    Huber,
    HuberLoss,
    LeastSquares,
    Logistic,
    PCAReconstruction,
    PCAVariance,
    Rank,
)
from ipds.functions.row_covariance import RowCovariance  # noqa: E402
from ipds.methods import IPDS  # noqa: E402
from ipds.models import DualPCP, RobustLowRank, RobustSparseRegressor, SparsePCA  # noqa: E402
from ipds.operators import RowMatrix  # noqa: E402
from ipds.theory.certificate import certify  # noqa: E402
from ipds.theory.potential import lagrangian  # noqa: E402


def test_arrays_cut_by_rows_compute_what_numpy_computes():
    rng = np.random.default_rng(0)
    A, y, v = rng.standard_normal((300, 6)), rng.standard_normal(300), rng.standard_normal(6)
    X, Y = rows(cut(A)), rows(cut(y))

    def things(X, Y):
        u = X @ v - Y
        w = np.clip(u, -0.5, 0.5) * y  # y at hand goes along row by row
        return [
            u,
            w,
            np.sum(w * w) + 2 * np.max(np.abs(u)),
            X.T @ w,
            np.sum(X, axis=0),
            np.sum(X, axis=1),
            np.mean(X, axis=0, keepdims=True),
            np.mean(X, axis=1),
            np.mean(X),
            np.where(u > 0, u, 0.0)[:, None] * X,
            np.reshape(X, (300, 2, 3))[..., 1],
            np.count_nonzero(u > 0.3),
            np.all(np.isfinite(X)),
        ]

    for ours, theirs in zip(things(X, Y), things(A, y), strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(np.asarray(to_dask(X - 1.0)), A - 1.0)


def test_a_product_with_as_many_columns_as_rows_is_not_taken_for_an_array_to_cut():
    A = np.random.default_rng(0).standard_normal((140, 140))
    np.testing.assert_allclose(np.asarray(rows(cut(A)) @ A), A @ A, atol=1e-11)


def test_regression_steps_are_those_in_memory():
    G, y = regression()
    options = {"method": "accelerated", "seed": 0, "tol": 1e-7}  # faces are finished in memory only
    here, there = solve(robust(G, y), **options), solve(robust(G, y, True), **options)
    assert [here.success, there.success, there.nit] == [True, True, here.nit]
    assert [type(array) for array in (*there.x, there.z)] == [np.ndarray, np.ndarray, da.Array, da.Array]
    assert there.x[2].chunks == cut(y).chunks
    for ours, theirs in zip((*there.x, there.z), (*here.x, here.z), strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, atol=1e-8)
    assert abs(there.fun - here.fun) < 1e-8
    problem = robust(G, y, True)
    assert problem.infeasibility(there.x) == pytest.approx(robust(G, y).infeasibility(here.x), abs=1e-8)
    assert isinstance(problem.residual(there.x), da.Array)


@pytest.mark.parametrize("method", ["accelerated", "ipds", "sound"])
def test_states_can_be_fetched_and_diagnosed(method):
    G, y = regression()
    here, there = robust(G, y), robust(G, y, True)
    pairs = zip(iterate(here, method=method, seed=0), iterate(there, method=method, seed=0), strict=False)
    for _, (near, far) in zip(range(3), pairs, strict=False):
        for ours, theirs in zip((*far.x, far.x_breve, far.z), (*near.x, near.x_breve, near.z), strict=True):
            np.testing.assert_allclose(np.asarray(ours), theirs, atol=1e-8)
        assert certify(there, far).critical == pytest.approx(certify(here, near).critical)
        if near.mu > 0:
            assert lagrangian(there, far) == pytest.approx(lagrangian(here, near))


@pytest.mark.parametrize("method", [IPDS(), "sound", "spgm", "radmm"])
def test_other_methods_take_distributed_data(method):
    options = {"seed": 0, "method": method, "max_iter": 30, "tol": 0.0}
    here, there = (solve(pursuit(distributed), **options) for distributed in (False, True))
    np.testing.assert_allclose(np.asarray(there.x[1]), here.x[1], atol=1e-8)
    np.testing.assert_allclose(there.x[0], here.x[0], atol=1e-8)


@pytest.mark.parametrize("f", [LeastSquares, HuberLoss, Logistic])
def test_losses_of_distributed_data(f):
    rng = np.random.default_rng(0)
    G, y, x = rng.standard_normal((300, 5)), np.sign(rng.standard_normal(300)), rng.standard_normal(5)
    here, there = f(G, y), f(cut(G), cut(y))
    before = current().passes
    value, gradient = there.value_and_grad(x)
    np.testing.assert_allclose(float(value), here(x), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(gradient), here.grad(x), rtol=1e-11)
    assert current().passes == before + 1
    np.testing.assert_allclose(there.lipschitz, here.lipschitz, rtol=1e-9)


@pytest.mark.parametrize("gram", [True, False])
@pytest.mark.parametrize("f", [PCAVariance, PCAReconstruction])
def test_objectives_of_principal_components(f, gram):
    rng = np.random.default_rng(0)
    D, V = rng.standard_normal((300, 8)) + 3.0, rng.standard_normal((8, 2))
    here, there = f(D, center=True), f(RowCovariance("D", cut(D), center=True, gram=gram))
    before = current().passes
    value, gradient = there.value_and_grad(V)
    np.testing.assert_allclose(float(value), here(V), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(gradient), here.grad(V), rtol=1e-10, atol=1e-12)
    assert current().passes - before <= (0 if gram else 2)  # the total variance is found once


def test_rank_of_distributed_rows():
    rng = np.random.default_rng(0)
    v = rng.standard_normal((300, 9)) * 10.0 ** -np.arange(9)
    for s in (0, 2, 7, 9):  # 7: squaring loses the small ones
        np.testing.assert_allclose(
            np.asarray(Rank(s).prox(rows(cut(v)), 1.0)), Rank(s).prox(v, 1.0), atol=1e-12
        )


def test_sparse_pca():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((500, 1)) * s for s in (3.0, 2.0)], axis=1) @ np.repeat(
        np.eye(2), 5, axis=1
    )
    X = X + 0.1 * rng.standard_normal((500, 10)) + 5.0
    here, there = (SparsePCA(2, alpha=0.2, tol=1e-10).fit(x) for x in (X, cut(X)))
    np.testing.assert_allclose(there.components_, here.components_, atol=1e-8)
    np.testing.assert_allclose(there.explained_variance_ratio_, here.explained_variance_ratio_, atol=1e-8)
    np.testing.assert_allclose(there.transform(cut(X)).compute(), here.transform(X), atol=1e-7)
    np.testing.assert_allclose(there.alpha_max(cut(X)), here.alpha_max(X), rtol=1e-9)


@pytest.mark.parametrize("refit", ["lad", "ls", None])
def test_robust_regressor(refit):
    G, y = regression()
    here, there = (
        RobustSparseRegressor(4, refit=refit, random_state=0, tol=1e-8, method="accelerated").fit(X, y)
        for X in (G, cut(G))
    )
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-8)
    np.testing.assert_allclose([there.intercept_, there.scale_], [here.intercept_, here.scale_], atol=1e-8)
    np.testing.assert_array_equal(there.outliers_, here.outliers_)
    np.testing.assert_allclose(there.predict(cut(G)).compute(), here.predict(G), atol=1e-7)


def test_dual_pcp():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((300, 6)) * [1, 1, 1, 1, 1, 0], rng.standard_normal((100, 6))])
    here, there = (DualPCP(1, random_state=0).fit(x) for x in (X, cut(X)))
    np.testing.assert_allclose(there.normals_, here.normals_, atol=1e-8)
    np.testing.assert_array_equal(np.asarray(there.inlier_mask_), here.inlier_mask_)
    assert isinstance(there.distances_, da.Array)
    np.testing.assert_allclose(there.distance(cut(X)).compute(), here.distance(X), atol=1e-8)


def test_robust_low_rank():
    rng = np.random.default_rng(0)
    L = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 15))
    M = L + 10.0 * (rng.random(L.shape) < 0.1)
    here, there = (RobustLowRank(2, random_state=0, method="accelerated").fit(x) for x in (M, cut(M)))
    np.testing.assert_allclose(np.asarray(there.low_rank_), here.low_rank_, atol=1e-8)
    np.testing.assert_allclose(np.asarray(there.residual_), here.residual_, atol=1e-8)
    np.testing.assert_allclose(there.singular_values_, here.singular_values_, rtol=1e-9)
    np.testing.assert_allclose(there.transform(cut(M[:9], 4)).compute(), here.transform(M[:9]), atol=1e-8)


def test_data_may_be_read_anew_in_every_pass(tmp_path):
    G, y = regression()
    da.to_npy_stack(str(tmp_path), cut(G))
    matrix = rows(da.from_npy_stack(str(tmp_path)), persist=False)
    assert "Recipe" in repr(matrix.node.value.held[0])
    m, d = G.shape
    blocks = [Block(h=Cardinality(4), A=-RowMatrix(matrix), shape=d), Block(h=L1(1.0), shape=m)]
    options = {"method": "accelerated", "seed": 0, "max_iter": 20, "tol": 0.0}
    there = solve(Problem(blocks, b=-cut(y)), **options)
    blocks = [Block(h=Cardinality(4), A=-G, shape=d), Block(h=L1(1.0), shape=m)]
    here = solve(Problem(blocks, b=-y), **options)
    np.testing.assert_allclose(there.x[0], here.x[0], atol=1e-8)


@pytest.mark.parametrize(
    ("array", "advice"),
    [
        (lambda: da.ones((100, 8), chunks=(50, 4)), "rechunk"),
        (lambda: da.ones((100, 8), chunks=50)[da.ones(100, chunks=50) > 0], "compute_chunk_sizes"),
        (lambda: da.ones((0, 8)), "shape"),
        (lambda: da.ones((100, 8), chunks=50) * 1j, "real"),
    ],
)
def test_surprises_are_refused_with_advice(array, advice):
    with pytest.raises((ValueError, TypeError), match=advice):
        rows(array())


def test_models_refuse_with_advice():
    X = cut(np.ones((140, 3)))
    with pytest.raises(ValueError, match=r"y.rechunk\(\{0: X.chunks\[0\]\}\)"):
        RobustSparseRegressor(2).fit(X, da.ones(140, chunks=35))
    with pytest.raises(ValueError, match="sample of the rows"):
        RobustSparseRegressor("bic").fit(X, da.ones(140, chunks=70))
    with pytest.raises(ValueError, match="mask"):
        RobustLowRank(1).fit(X, mask=np.ones((140, 3), dtype=bool))
    for model in (SparsePCA(1), DualPCP(1), RobustLowRank(1)):
        with pytest.raises(ValueError, match=f"{type(model).__name__}.*NaN"):
            model.fit(X * np.nan)
    with pytest.raises(ValueError, match=r"'v'.*must be a Dask array cut like it"):
        solve(Problem([Block(A=np.ones((140, 3)), shape=3, name="v"), Block(shape=140)], b=X[:, 0]))
    with pytest.raises(ValueError, match="different chunks"):
        Problem([Block(A=X, shape=3), Block(shape=140)], b=da.ones(140, chunks=35)).residual(
            [np.ones(3), 0.0]
        )
    with pytest.raises(TypeError, match="row by row"):
        np.sort(rows(X))


@pytest.mark.parametrize(
    "h", [MCP(0.5, 2.0), SCAD(0.5, 3.0), ElasticNet(0.1, 0.2), Huber(1.0), L2(1.0), Box(-1, 1)]
)
def test_functions_of_long_blocks(h):
    v = np.random.default_rng(0).standard_normal(140) * 3
    np.testing.assert_allclose(np.asarray(h.prox(rows(cut(v)), 0.4)), h.prox(v, 0.4), atol=1e-12)
    assert float(h(rows(cut(v)))) == pytest.approx(h(v))


def test_results_can_be_pickled():
    result = solve(robust(*regression(), distributed=True), seed=0, max_iter=5, tol=0.0)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.x[2], result.x[2])
    np.testing.assert_array_equal(again.state.z, result.state.z)


def test_checkpoint_of_a_distributed_solve(tmp_path):
    problem = robust(*regression(), distributed=True)
    whole = solve(problem, seed=0, tol=1e-7)
    path = tmp_path / "run.ckpt"
    solve(problem, seed=0, tol=1e-7, max_iter=whole.nit // 2, checkpoint=path)
    rest = solve(robust(*regression(), distributed=True), seed=0, tol=1e-7, checkpoint=path)
    assert rest.nit == whole.nit
    np.testing.assert_allclose(np.asarray(rest.x[2]), np.asarray(whole.x[2]), atol=1e-8)
    with pytest.raises(Exception, match="data"):
        solve(robust(*regression(seed=1), distributed=True), seed=0, checkpoint=path)


def test_without_a_client_the_log_says_so(caplog, monkeypatch):
    from ipds.distributed import cluster

    monkeypatch.setattr(cluster, "_local", [])
    with caplog.at_level(logging.WARNING, logger="ipds.distributed"):
        assert isinstance(rows(da.ones((4, 2))), Rows)
    assert "no Dask client" in caplog.text


def test_importing_ipds_does_not_import_dask():
    code = "import sys, ipds, ipds.models; sys.exit(any(m in sys.modules for m in ('dask', 'distributed')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("told", [True, False])  # Dask may know the kind of its chunks, or be told wrongly
@pytest.mark.parametrize(
    ("convert", "says"),
    [
        (np.ma.masked_array, "masked chunks, whose masks would be lost"),
        (scipy.sparse.csr_array, r"chunks of type scipy\.sparse.*csr_array; make them dense"),
        (np.matrix, r"chunks of type numpy.*matrix; make them dense"),
    ],
)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_chunks_that_are_no_dense_arrays_are_refused(convert, says, told):
    empty = np.zeros((0, 0))
    X = cut(np.ones((8, 3)), 4).map_blocks(convert, meta=convert(empty) if told else empty)
    with pytest.raises(TypeError, match=says):
        float(np.sum(rows(X)))
