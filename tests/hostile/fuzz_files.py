"""Damaged and hostile files against every reader: `python tests/hostile/fuzz_files.py --cases 2000`.

Every file is read in a fork with the limits of the real child process, so that thousands take minutes. A fork that
crashes is counted: the caller of `read` would see a `DataError`. Faults are undocumented errors, hangs, and memory
taken beyond the limit. Prints a JSON report.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import io
import json
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from ipds import Block, Problem, solve
from ipds.errors import CheckpointError
from ipds.functions import L1
from ipds.io import formats
from ipds.io.child import limit
from ipds.io.limits import LARGEST
from ipds.io.read import READERS, Request

DOCUMENTED = (ValueError, OSError, CheckpointError)
HEADROOM = 1 << 30
"""Bytes of address space beyond what the imports have taken."""
SECONDS = 20
"""Processor time that one file may take."""


def problem() -> Problem:
    g = np.random.default_rng(0)
    blocks = [Block(h=L1(0.3), A=g.standard_normal((6, 4)), shape=4), Block(h=L1(1.0), shape=6)]
    return Problem(blocks, b=g.standard_normal(6))


def resume(path: Path) -> Any:
    return solve(problem(), checkpoint=path, max_iter=8)


def task(name: str, **options: Any) -> Callable[[Path], Any]:
    return lambda path: formats.TASKS[name](path, **options)


def npy_file(path: Path) -> Any:
    return READERS["npy"](path, Request())


def samples(folder: Path) -> list[tuple[Path, Callable[[Path], Any]]]:
    """Sound files, each with the reader to try."""
    g = np.random.default_rng(1)
    X, y = g.standard_normal((7, 5)), g.integers(0, 2, 7)
    S = sp.csr_array(np.round(X) * (np.abs(X) > 0.5))
    idx = bytes([0, 0, 0x0D, 2]) + np.array([7, 5], ">u4").tobytes() + X.astype(">f4").tobytes()
    lines = (
        f"{int(c)} " + " ".join(f"{k + 1}:{v:.3f}" for k, v in enumerate(row))
        for c, row in zip(y, X, strict=True)
    )
    libsvm = "\n".join(lines).encode()
    (folder / "a.idx").write_bytes(idx)
    (folder / "a.idx.gz").write_bytes(gzip.compress(idx))
    (folder / "a.libsvm").write_bytes(libsvm)
    (folder / "a.svm.gz").write_bytes(gzip.compress(libsvm))
    (folder / "a.csv").write_text("a,b,c\n" + "\n".join("1.5,2," for _ in range(5)))
    (folder / "b.csv").write_text("\n".join(",".join(map(str, row)) for row in X))
    np.save(folder / "a.npy", X)
    np.savez(folder / "a.npz", X=X, y=y)
    np.savez_compressed(folder / "b.npz", X=X, y=y)
    sp.save_npz(folder / "c.npz", S)
    scipy.io.savemat(folder / "a.mat", {"X": X, "S": S, "y": y}, do_compression=False)
    scipy.io.savemat(folder / "b.mat", {"X": X, "S": S, "y": y}, do_compression=True)
    scipy.io.mmwrite(folder / "a.mtx", S)
    scipy.io.mmwrite(folder / "b.mtx", X)
    solve(problem(), checkpoint=folder / "a.ckpt", max_iter=5)
    (folder / "a.ckpt.previous").unlink(missing_ok=True)
    import pyarrow as pa
    import pyarrow.parquet as pq
    from PIL import Image

    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "y": y}), folder / "a.parquet")
    Image.fromarray(np.abs(100 * X).astype(np.uint8)).save(folder / "a.png")
    Image.fromarray(np.abs(100 * X).astype(np.uint8)).save(folder / "a.gif")
    readers: dict[str, list[Callable[[Path], Any]]] = {
        "a.idx": [task("idx")],
        "a.idx.gz": [task("idx")],
        "a.libsvm": [task("libsvm")],
        "a.svm.gz": [task("libsvm")],
        "a.csv": [task("csv")],
        "b.csv": [task("csv")],
        "a.npy": [npy_file],
        "a.npz": [task("npz", keys=["X"]), task("npz")],
        "b.npz": [task("npz", keys=["X"])],
        "c.npz": [task("npz")],
        "a.mat": [task("mat", keys=["X"]), task("mat", keys=["S"]), task("mat")],
        "b.mat": [task("mat", keys=["S"]), task("mat")],
        "a.mtx": [task("mtx")],
        "b.mtx": [task("mtx")],
        "a.parquet": [task("parquet", wants_target=True, target="y", drop=())],
        "a.png": [task("picture")],
        "a.gif": [task("picture")],
        "a.ckpt": [resume],
    }
    if importlib.util.find_spec("openpyxl") is not None:  # in none of our extras
        import openpyxl

        book = openpyxl.Workbook()
        for row in [["a", "b", "y"], *X[:, :3].tolist()]:
            book.active.append(row)
        book.save(folder / "a.xlsx")
        readers["a.xlsx"] = [task("xlsx")]
    return [(folder / name, reader) for name, tried in readers.items() for reader in tried]


def damaged(content: bytes, g: np.random.Generator) -> bytes:
    """One to three random injuries: cut, flipped bits, huge or zero numbers, pieces taken out or doubled."""
    data = bytearray(content)
    for _ in range(g.integers(1, 4)):
        if not data:
            break
        at, kind = int(g.integers(len(data))), int(g.integers(7))
        if kind == 0:
            del data[at:]
        elif kind == 1:
            data[at] ^= 1 << int(g.integers(8))
        elif kind == 2:
            data[at : at + 8] = b"\xff" * len(data[at : at + 8])
        elif kind == 3:
            data[at : at + 4] = b"\x7f\xff\xff\xff"[: len(data[at : at + 4])]
        elif kind == 4:
            data[at : at + int(g.integers(1, 20))] = b""
        elif kind == 5:
            data[at:at] = data[at : at + int(g.integers(1, 200))]
        else:
            data[at : at + 3] = bytes(g.integers(0, 256, len(data[at : at + 3]), dtype=np.uint8))
    return bytes(data)


def npy(header: str) -> bytes:
    """An .npy file with this header and a hundred bytes of data."""
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(100)


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return out.getvalue()


def parquet_bomb(nested: bool) -> bytes:
    """Some kilobytes that become a column of gigabytes: lists of zeros, or one long text again and again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, rows = 1_500_000, 160
    lists = pa.ListArray.from_arrays(pa.array([0, n], pa.int32()), pa.array(np.zeros(n)))
    column = lists if nested else pa.array(["x" * n])
    table, out = pa.table({"a": column, "y": pa.array([1.0])}), io.BytesIO()
    with pq.ParquetWriter(out, table.schema, compression="zstd") as writer:
        for _ in range(rows if nested else 10 * rows):
            writer.write_table(table)
    return out.getvalue()


def hostile(folder: Path) -> list[tuple[Path, Callable[[Path], Any]]]:
    """Files made to hurt: sizes of 2^60, bombs, pickles, numbers that are none."""
    huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,), }"
    wide = "{'descr': '<f8', 'fortran_order': False, 'shape': (1073741824, 1073741824), }"
    objects = io.BytesIO()
    np.save(objects, np.array([{"a": 1}, None], dtype=object), allow_pickle=True)
    zeros = bytes(1 << 28)
    small, bomb = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (100,), }"), npy(huge) + zeros
    files: dict[str, bytes] = {
        "huge.npy": npy(huge),
        "wide.npy": npy(wide),
        "objects.npy": objects.getvalue(),
        "nan.npy": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (nan,), }"),
        "code.npy": npy("__import__('os').abort()"),
        "huge.npz": zipped(X=npy(huge)),
        "objects.npz": zipped(X=objects.getvalue()),
        "bomb.npz": zipped(X=bomb),
        "sparse_bomb.npz": zipped(format=small, shape=bomb, data=small, indices=small, indptr=small),
        "huge.idx": bytes([0, 0, 0x0E, 2]) + b"\xff" * 8 + bytes(64),
        "deep.idx": bytes([0, 0, 0x0E, 255]) + b"\xff" * 1020,
        "bomb.idx.gz": gzip.compress(bytes([0, 0, 8, 1]) + (1 << 31).to_bytes(4, "big") + zeros, 1),
        "line.svm.gz": gzip.compress(b"1 1:" + b"9" * (1 << 26), 1),
        "index.svm": b"1 9223372036854775807:1\n1 2147483647:1\n",
        "nan.svm": b"nan 1:1\n",
        "bomb.csv.gz": gzip.compress(b"1,2\n" * (1 << 27), 1),
        "wide.csv": b"1" + b",1" * 200_000,
        "huge.mtx": b"%%MatrixMarket matrix coordinate real general\n9 9 1152921504606846976\n1 1 1\n",
        "tall.mtx": b"%%MatrixMarket matrix coordinate real general\n1000000000000 3 1\n1 1 1\n",
        "dense.mtx": b"%%MatrixMarket matrix array real general\n1000000000 1000000\n1\n",
        "huge.ckpt": b"ipds-checkpoint 1\n1152921504606846976 1152921504606846976\n{}",
        "empty.ckpt": b"",
    }
    files |= {"list.parquet": parquet_bomb(nested=True), "text.parquet": parquet_bomb(nested=False)}
    files["eps.png"] = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 20 20\n%%EndComments\nshowpage\n%%EOF\n"
    for name, content in files.items():
        (folder / name).write_bytes(content)
    special: dict[str, Callable[[Path], Any]] = {
        ".ckpt": resume,
        ".npy": npy_file,
        ".npz": task("npz", keys=["X"]),
        ".idx": task("idx"),
        ".svm": task("libsvm"),
        ".csv": task("csv"),
        ".mtx": task("mtx"),
        ".parquet": task("parquet", wants_target=True, target="y", drop=()),
        ".png": task("picture"),
    }
    kinds = {name: next(s for s in Path(name).suffixes if s in special) for name in files}
    return [(folder / name, special[kind]) for name, kind in kinds.items()]


def attempt(path: Path, reader: Callable[[Path], Any]) -> tuple[str, str]:
    """(read, refused, crashed or fault; what happened), in a fork with limits."""
    out, into = os.pipe()
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(out)
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit(taken + HEADROOM, SECONDS)
        try:
            reader(path)
            told = ("read", "")
        except (*DOCUMENTED, MemoryError) as error:
            told = ("refused", type(error).__name__)
        except Exception as error:  # in the real child these are DataErrors; here they are looked at
            frame = traceback.extract_tb(error.__traceback__)[-1]
            told = ("translated", f"{type(error).__name__} at {Path(frame.filename).name}")
        os.write(into, json.dumps(told).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as stream:
        answer = stream.read()
    status = os.waitpid(child, 0)[1]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    if time.monotonic() - begun > 10 * SECONDS:
        return "fault", "hang"
    if peak > LARGEST + 3 * HEADROOM:
        return "fault", f"{peak} bytes of memory"
    if os.WIFSIGNALED(status):
        return "crashed", f"signal {os.WTERMSIG(status)}"
    kind, what = json.loads(answer)
    return ("fault", what) if kind == "translated" and path.suffix == ".ckpt" else (kind, what)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-bombs", action="store_true", help="without the files that take seconds to make")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    g, seen, faults = np.random.default_rng(options.seed), Counter(), {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sound = samples(folder)
        for path, reader in sound:
            reader(path)  # each is read as it is

        def count(path: Path, reader: Callable[[Path], Any]) -> None:
            kind, what = attempt(path, reader)
            seen["files"] += 1
            seen[kind] += 1
            if kind == "fault":
                faults.setdefault(f"{path.name} {what}", 0)
                faults[f"{path.name} {what}"] += 1

        for path, reader in [] if options.no_bombs else hostile(folder):
            count(path, reader)
        originals = {path: path.read_bytes() for path, _ in sound}
        for _ in range(options.cases):
            path, reader = sound[g.integers(len(sound))]
            target = folder / f"x{path.name}"
            target.write_bytes(damaged(originals[path], g))
            count(target, reader)
            for leftover in folder.glob("x*.ckpt*"):
                leftover.unlink()
    print(json.dumps({"seen": seen, "faults": faults}, indent=1))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
