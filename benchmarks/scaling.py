"""Distributed solves: overhead, what travels, weak and strong scaling, and data larger than memory.

python benchmarks/scaling.py                     # overhead, bytes, scaling with 1 and 2 workers
python benchmarks/scaling.py --big DIR --gigabytes 20 --memory 2   # DIR is filled, and emptied afterwards
"""

from __future__ import annotations

import argparse
import pathlib
import pickle
import resource
import shutil
import time

import dask.array as da
import numpy as np

from distributed import Client, LocalCluster
from ipds import Block, Problem, solve
from ipds.distributed.cluster import current
from ipds.functions import L21, PCAVariance, Stiefel
from ipds.functions.row_covariance import RowCovariance
from ipds.models import SparsePCA


def workers(n: int, memory: str = "auto") -> LocalCluster:
    return LocalCluster(n_workers=n, threads_per_worker=1, memory_limit=memory, dashboard_address=":0")


def samples(m: int, d: int, chunks: int) -> da.Array:
    """Rows near a hyperplane, made on the workers."""

    def chunk(block_info=None):
        rng = np.random.default_rng(block_info[None]["chunk-location"][0])
        X = rng.standard_normal(block_info[None]["chunk-shape"])
        X[: len(X) * 3 // 4, -1] *= 1e-3
        return X

    size = m // chunks
    return da.map_blocks(chunk, chunks=((size,) * chunks, (d,)), dtype=float)


def pursuit(m: int, d: int, chunks: int) -> Problem:
    """Dual principal component pursuit: the long block Y and the multiplier live on the workers."""
    V = Block(h=Stiefel(), A=-samples(m, d, chunks), shape=(d, 2), name="V")
    return Problem([V, Block(h=L21(1.0), shape=(m, 2), name="Y")])


def timed(problem: Problem, iterations: int) -> tuple[float, float, float]:
    """(seconds per iteration, passes per iteration, bytes sent between workers per iteration), after a warm-up."""
    client = current().client
    solve(problem, seed=0, tol=0.0, max_iter=3)
    begin, passes, sent = time.perf_counter(), current().passes, sum(client.run(_sent).values())
    found = solve(problem, seed=0, tol=0.0, max_iter=iterations)
    seconds = (time.perf_counter() - begin) / found.nit
    travelled = sum(client.run(_sent).values()) - sent
    return seconds, (current().passes - passes) / found.nit, travelled / found.nit


def _sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def scaling(iterations: int, rows: int, d: int) -> None:
    print(f"{'workers':>8} {'rows':>10} {'columns':>8} {'ms/iteration':>13} {'passes':>7} {'bytes sent':>11}")
    for what, sizes in (
        ("overhead", [(1, 2000), (2, 2000)]),
        ("strong", [(1, rows), (2, rows)]),
        ("weak", [(1, rows // 2), (2, rows)]),
    ):
        print(what)
        for n, m in sizes:
            with workers(n) as cluster, Client(cluster):
                seconds, passes, travelled = timed(pursuit(m, d, 2 * n), iterations)
                print(
                    f"{n:8d} {m:10d} {d:8d} {1e3 * seconds:13.1f} {passes:7.2f} {travelled:11.0f}", flush=True
                )


def big(folder: pathlib.Path, gigabytes: float, memory: float, d: int = 128) -> None:
    """Sparse PCA of a matrix on disk that is larger than the memory of all workers together."""
    rows = 2**27 // (8 * d)  # chunks of 128 MB
    chunks = int(np.ceil(gigabytes * 1e9 / (rows * d * 8)))
    folder.mkdir(parents=True)
    try:
        begin = time.perf_counter()
        rng = np.random.default_rng(0)
        base = rng.standard_normal((rows, d))
        base[:, :8] += 3.0 * rng.standard_normal((rows, 1))
        for k in range(chunks):  # every chunk differs, and making one costs no more than writing it
            np.save(folder / f"{k}.npy", base * (1.0 + k / chunks))
        made = time.perf_counter() - begin
        layout = {"chunks": ((rows,) * chunks, (d,)), "dtype": base.dtype, "axis": 0}
        (folder / "info").write_bytes(pickle.dumps(layout))  # as dask.array.to_npy_stack would
        X = da.from_npy_stack(str(folder))
        print(f"{X.nbytes / 1e9:.1f} GB in {chunks} chunks of 128 MB, written in {made:.0f} s", flush=True)
        with workers(2, f"{memory}GB") as cluster, Client(cluster) as client:
            begin = time.perf_counter()
            model = SparsePCA(4, alpha=0.5, random_state=0).fit(X)
            fitted = time.perf_counter() - begin
            print(
                f"SparsePCA: {fitted:.0f} s, {current().passes} passes, {model.n_iter_} iterations, "
                f"certificate {model.result_.certificate.relative:.1e}; peak memory of the workers "
                f"{[round(peak, 2) for peak in client.run(_peak).values()]} GB of {memory} GB each",
                flush=True,
            )
            f = PCAVariance(RowCovariance("X", X, center=True, gram=False))
            begin = time.perf_counter()
            f.value_and_grad(model.components_.T)[1].__array__()
            print(f"one evaluation of f through the data: {time.perf_counter() - begin:.0f} s", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--big", type=pathlib.Path, help="folder for the matrix on disk")
    parser.add_argument("--gigabytes", type=float, default=20.0)
    parser.add_argument("--memory", type=float, default=2.0, help="GB per worker")
    options = parser.parse_args()
    if options.big:
        big(options.big, options.gigabytes, options.memory)
    else:
        scaling(options.iterations, options.rows, options.columns)
