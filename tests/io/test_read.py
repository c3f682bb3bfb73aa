"""Data files: every format gives the same numbers, and what is wrong is said with the remedy."""

import gzip
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from typer.testing import CliRunner

from ipds.cli import app
from ipds.io import DataError, Request, read

X = np.array([[1.5, 0.0, -2.0], [0.0, 3.0, 4.0], [5.0, 0.0, 0.25], [-1.0, 2.0, 0.0]])
Y = np.array([1.0, 2.0, 3.0, 4.0])
WITH_TARGET = Request(wants_target=True, target="y")


def dense(values):
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def write_csv(path, delimiter=",", header=True):
    lines = [delimiter.join(["a", "b", "c", "y"])] if header else []
    lines += [delimiter.join(map(repr, map(float, row))) for row in np.column_stack([X, Y])]
    text = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_libsvm(path):
    rows = (" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(map(float, row)) if v) for row in X)
    path.write_text("".join(f"{float(y)!r} {row}\n" for y, row in zip(Y, rows, strict=True)))


def write_parquet(path):
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y}), path)


FILES = {
    "d.npz": (lambda p: np.savez(p, X=X, y=Y), Request(True)),
    "named.npz": (lambda p: np.savez(p, first=X, second=Y), Request(True, "second", "first")),
    "d.mat": (lambda p: scipy.io.savemat(p, {"X": X, "y": Y}), Request(True)),
    "d.csv": (write_csv, WITH_TARGET),
    "d.csv.gz": (write_csv, WITH_TARGET),
    "d.tsv": (lambda p: write_csv(p, "\t"), Request(True, "-1")),
    "semicolon.csv": (lambda p: write_csv(p, ";"), WITH_TARGET),
    "space.txt": (lambda p: write_csv(p, " ", header=False), Request(True, "3")),
    "all.npy": (lambda p: np.save(p, np.column_stack([X, Y])), Request(True, "3")),
    "d.libsvm": (write_libsvm, Request(True)),
    "d.parquet": (write_parquet, WITH_TARGET),
    "d.mtx": (lambda p: scipy.io.mmwrite(p, sp.coo_array(np.column_stack([X, Y]))), Request(True, "3")),
    "array.mtx": (lambda p: scipy.io.mmwrite(p, np.column_stack([X, Y])), Request(True, "3")),
    "sparse.npz": (lambda p: sp.save_npz(p, sp.csr_array(np.column_stack([X, Y]))), Request(True, "-1")),
}


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_numbers(tmp_path, name):
    write, request = FILES[name]
    write(tmp_path / name)
    data = read(tmp_path / name, request)
    assert np.array_equal(dense(data.X), X)
    assert np.array_equal(data.y, Y)


def test_parquet_gives_what_csv_gives(tmp_path):
    """Integers, missing cells, text, dropped columns; in several row groups."""
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    columns = {
        "name": ["a", "b", "c"],
        "age": pa.array([1, None, 3]),
        "size": [0.5, None, 2.5],
        "flag": [True, False, True],
    }
    pq.write_table(
        pa.table({**columns, "class": ["yes", "no", "no"]}), tmp_path / "d.parquet", row_group_size=2
    )
    data = read(tmp_path / "d.parquet", Request(True, "class", drop=("name",)))
    assert data.names == ("age", "size", "flag")
    assert np.array_equal(data.X, [[1, 0.5, 1], [np.nan, np.nan, 0], [3, 2.5, 1]], equal_nan=True)
    assert data.y.tolist() == ["yes", "no", "no"]
    with pytest.raises(DataError, match=r"d\.parquet.*name"):
        read(tmp_path / "d.parquet", Request(True, "class"))
    with pytest.raises(DataError, match="there are name, age, size, flag, class"):
        read(tmp_path / "d.parquet", Request(True, "price"))


def test_parquet_is_solved_as_csv_is(tmp_path, monkeypatch):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    G = np.random.default_rng(0).standard_normal((40, 4))
    columns = {**dict(zip("abcd", G.T, strict=True)), "price": G @ [2.0, 0.0, 0.0, -1.0]}
    pq.write_table(pa.table(columns), "t.parquet")
    rows = "".join(
        ",".join(map(repr, map(float, row))) + "\n" for row in np.stack(list(columns.values()), axis=1)
    )
    Path("t.csv").write_text(",".join(columns) + "\n" + rows)
    for name in ("t.parquet", "t.csv"):
        options = ["--target", "price", "--sparsity", "2", "--out", f"{name}.npz"]
        ended = CliRunner().invoke(app, ["solve", "robust-regression", name, *options])
        assert ended.exit_code == 0, ended.output
    with np.load("t.parquet.npz") as ours, np.load("t.csv.npz") as other:
        assert np.flatnonzero(ours["coef_"]).tolist() == [0, 3]
        assert np.array_equal(ours["coef_"], other["coef_"])


def test_a_parquet_file_that_is_cut_is_refused(tmp_path):
    write_parquet(tmp_path / "d.parquet")
    content = (tmp_path / "d.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"cut\.parquet: no readable Parquet file"):
        read(tmp_path / "cut.parquet", Request())


def test_the_target_may_be_a_file_of_its_own(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "t.npy", Y)
    data = read(tmp_path / "X.npy", Request(True, str(tmp_path / "t.npy")))
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.y, Y)


def test_npy_is_memory_mapped(tmp_path):
    np.save(tmp_path / "X.npy", X)
    assert isinstance(read(tmp_path / "X.npy", Request()).X, np.memmap)


def test_a_format_may_be_named(tmp_path):
    write_libsvm(tmp_path / "data.scale")
    assert read(tmp_path / "data.scale", Request(), "libsvm").X.shape == (4, 3)


def test_text_targets_missing_cells_quotes_and_dropped_columns(tmp_path):
    file = tmp_path / "people.csv"
    file.write_text('name,"size, m",age,class\n"Lee, A.",1.7,,yes\nB,NA,40,no\n')
    data = read(file, Request(True, "class", drop=("name",)))
    assert data.names == ("size, m", "age")
    assert np.array_equal(data.X, [[1.7, np.nan], [np.nan, 40.0]], equal_nan=True)
    assert data.y.tolist() == ["yes", "no"]


def test_frames_come_in_the_order_of_their_numbers(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for t in (2, 10, 1):
        image.fromarray(np.full((3, 4), 10 * t, dtype=np.uint8)).save(tmp_path / f"frame{t}.png")
    frames = read(tmp_path, Request()).X
    assert frames.shape == (3, 3, 4)
    assert frames[:, 0, 0].tolist() == [10, 20, 100]
    image.fromarray(np.zeros((9, 4), dtype=np.uint8)).save(tmp_path / "frame3.png")
    with pytest.raises(DataError, match="share one size"):
        read(tmp_path, Request())


def npz_of(content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("X.npy", content)
    return stream.getvalue()


def pickled():
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return stream.getvalue()


BAD = {
    "missing.csv": (None, "does not exist"),
    "d.xyz": (b"1,2\n", "unknown format 'xyz'; pass --format"),
    "d": (b"1,2\n", "d: the name does not tell the format; pass --format"),
    "empty.csv": (b"", "empty"),
    "blank.csv": (b"\n \n", "empty"),
    "header.csv": (b"a,b\n", "no rows"),
    "ragged.csv": (b"1,2\n3\n", "row 2: 1 cells where the first row has 2"),
    "text.csv": (b"a,b\n1,x\n2,3\n", "column 'b' holds text ('x'); leave it out with --drop 'b'"),
    "texts.csv": (
        b"a,b,c\n1,x,y\n2,x,z\n",
        "column 'b' holds text ('x'), and so do 'c'; leave them out with --drop 'b' --drop 'c'",
    ),
    "latin.csv": ("a,b\n1,é\n".encode("latin-1"), "no UTF-8"),
    "binary.csv": (b"\x00\x01\xff\xfe", "no UTF-8"),
    "nul.csv": (b"a,b\n1,\x00\n", "holds text"),
    "object.npy": (pickled(), "no readable .npy"),
    "short.npy": (b"\x93NUMPY\x01\x00", "no readable .npy"),
    "lying.npy": (None, "no readable .npy"),
    "empty.npy": (b"", "no readable .npy"),
    "object.npz": (npz_of(pickled()), "numbers are wanted"),
    "bad.npz": (b"PK\x03\x04 rubbish", "no .npz file"),
    "bad.mat": (b"rubbish" * 40, "not a MAT file"),
    "v73.mat": (b"MATLAB 7.3 MAT-file".ljust(124, b" ") + b"\x00\x02IM" + b"\x89HDF\r\n" * 10, "-v7"),
    "bad.mtx": (b"rubbish", "Matrix Market"),
    "lying.mtx": (
        b"%%MatrixMarket matrix coordinate real general\n9 9 99999999\n1 1 1\n",
        "claims 99999999 entries",
    ),
    "huge.mtx": (b"%%MatrixMarket matrix coordinate real general\n9999999999 9 1\n1 1 1\n", "9999999999x9"),
    "range.mtx": (
        b"%%MatrixMarket matrix coordinate real general\n2 2 1\n7 7 1\n",
        "no readable Matrix Market file",
    ),
    "bad.libsvm": (b"1 x:3\n", "no readable LIBSVM file"),
    "bad.parquet": (b"rubbish", "no readable Parquet"),
    "bad.png": (b"rubbish", "no readable picture"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said_with_the_file_and_the_remedy(tmp_path, name):
    content, words = BAD[name]
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    if name.endswith(".png"):
        pytest.importorskip("PIL")
    path = tmp_path / name
    if name == "lying.npy":
        np.save(path, X)
        content = path.read_bytes().replace(b"(4, 3)", b"(4,99)")
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read(path, Request())
    assert words in str(caught.value)
    assert name in str(caught.value)


def test_a_name_slightly_wrong_is_guessed(tmp_path):
    np.save(tmp_path / "points.npy", X)
    with pytest.raises(DataError, match=r"did you mean .*points\.npy"):
        read(tmp_path / "pionts.npy", Request())
    write_csv(tmp_path / "d.csv")
    with pytest.raises(DataError, match="there are a, b, c, y"):
        read(tmp_path / "d.csv", Request(True, "price"))
    np.savez(tmp_path / "d.npz", P=X, Q=X)
    with pytest.raises(DataError, match="pass --key, one of P, Q"):
        read(tmp_path / "d.npz", Request())


def test_optional_readers_say_what_to_install(tmp_path, monkeypatch):
    absent = tmp_path / "absent" / "pyarrow"
    absent.mkdir(parents=True)
    (absent / "__init__.py").write_text("raise ImportError('not here')")
    monkeypatch.syspath_prepend(str(absent.parent))
    (tmp_path / "d.parquet").write_bytes(b"PAR1")
    with pytest.raises(ImportError, match=r"d\.parquet: Parquet needs pyarrow.*ipds-admm\[files\]"):
        read(tmp_path / "d.parquet", Request())
    write_csv(tmp_path / "d.csv")  # text is read without it
    assert np.array_equal(read(tmp_path / "d.csv", WITH_TARGET).X, X)
    (tmp_path / "t.csv").write_text("a;b;c\n1,5;2;x\n3;?;y\n")
    data = read(tmp_path / "t.csv", Request(True, "c"))
    assert np.array_equal(data.X, [[1.5, 2.0], [3.0, np.nan]], equal_nan=True)


def test_decimal_commas_utf16_and_index_columns_are_recognised(tmp_path):
    (tmp_path / "german.csv").write_text("a;b\n1,5;2\n-3,25;4\n")
    data = read(tmp_path / "german.csv")
    assert data.X.tolist() == [[1.5, 2.0], [-3.25, 4.0]]
    assert data.notes == ("decimal commas",)
    (tmp_path / "wide.csv").write_bytes("ä,b\n1,2\n3,4\n".encode("utf-16"))
    assert read(tmp_path / "wide.csv").names == ("ä", "b")
    (tmp_path / "frame.csv").write_text(",a,b\n0,5,6\n1,7,8\n")
    data = read(tmp_path / "frame.csv")
    assert (data.names, data.X.tolist()) == (("a", "b"), [[5.0, 6.0], [7.0, 8.0]])
    assert data.notes == ("an index column left out",)
    (tmp_path / "named.csv").write_text(",a,b\nP1,5,6\nP2,7,8\n")
    assert read(tmp_path / "named.csv").X.tolist() == [[5.0, 6.0], [7.0, 8.0]]
    (tmp_path / "series.csv").write_text(",0\n0,5\n1,7\n")  # a pandas series
    assert read(tmp_path / "series.csv").X.tolist() == [[5.0], [7.0]]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_its_mark_is_seen(encoding, tmp_path):
    (tmp_path / "wide.csv").write_bytes("a,b\n1,2\n3,4\n".encode(encoding))
    assert read(tmp_path / "wide.csv").X.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_commas_between_tabs_are_points_unless_they_may_part_thousands(tmp_path):
    (tmp_path / "german.tsv").write_text("a\tb\n1,5\t2\n3,125\t4\n")
    assert read(tmp_path / "german.tsv").X.tolist() == [[1.5, 2.0], [3.125, 4.0]]
    (tmp_path / "english.tsv").write_text("a\tb\n1,500\t2\n3,125\t4\n")
    with pytest.raises(DataError, match=r"numbers are written like 1234\.5"):
        read(tmp_path / "english.tsv")


def test_cells_with_spaces_are_numbers_in_large_tables_too(tmp_path):
    pytest.importorskip("pyarrow")
    rows = 40_000  # read by pyarrow, which takes a column with a space in it for text
    (tmp_path / "d.csv").write_text("a;b\n" + "1,5; 2,25\n" * rows, encoding="utf-8")
    assert np.array_equal(read(tmp_path / "d.csv").X, np.tile([1.5, 2.25], (rows, 1)))


def test_columns_to_drop_may_be_listed_with_commas(tmp_path):
    (tmp_path / "d.csv").write_text('a,b,c,"d,e"\n1,x,5,2\n3,y,6,4\n')
    assert read(tmp_path / "d.csv", Request(drop=("b, c",))).X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert read(tmp_path / "d.csv", Request(drop=("b", "d,e"))).X.tolist() == [[1.0, 5.0], [3.0, 6.0]]
    with pytest.raises(DataError, match="--drop names no column 'q'"):
        read(tmp_path / "d.csv", Request(drop=("b,q",)))


def test_a_number_with_underscores_is_text(tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n1_000,2\n3,4\n")
    with pytest.raises(DataError, match="column 'a' holds text"):
        read(tmp_path / "d.csv")


def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match=r"pipe\.csv: no regular file, but a pipe"):
        read(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="a device"):
        read(Path("/dev/zero"), kind="csv")


def test_parquet_bombs_are_refused_before_memory_is_taken(tmp_path):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    text = pa.table({"a": pa.array(["x" * 1_000_000] * 300), "y": pa.array(np.zeros(300))})
    pq.write_table(text, tmp_path / "text.parquet", compression="zstd")
    nested = pa.table({"a": pa.array([[0.0] * 1000] * 50), "y": pa.array(np.zeros(50))})
    pq.write_table(nested, tmp_path / "nested.parquet")
    for name in ("text.parquet", "nested.parquet"):
        with pytest.raises(DataError, match="column 'a' holds"):
            read(tmp_path / name, Request(True, "y"))


def test_a_picture_that_is_a_program_is_not_run(tmp_path, monkeypatch):
    """An EPS file under another name would start Ghostscript."""
    pytest.importorskip("PIL")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gs").write_text(f"#!/bin/sh\necho ran >> {tmp_path}/log\n")
    (folder / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    (tmp_path / "a.png").write_text(
        "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 20 20\n%%EndComments\nshowpage\n"
    )
    with pytest.raises(DataError, match="no readable picture"):
        read(tmp_path / "a.png")
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashed on it (SIGSEGV)"),
        ("raise MemoryError", "needs more than"),
        ("raise RuntimeError('odd bytes')", "odd bytes"),
        ("raise SystemExit(3)", "failed on it"),
    ],
)
def test_a_reader_that_crashes_is_an_error_of_the_file(tmp_path, monkeypatch, code, words):
    """A library that dies on a file takes a child with it, not the caller."""
    fake = tmp_path / "fake" / "scipy"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text(code)
    monkeypatch.syspath_prepend(str(fake.parent))
    (tmp_path / "d.mtx").write_text("%%MatrixMarket matrix array real general\n1 1\n1\n")
    with pytest.raises(DataError, match=r"d\.mtx") as caught:
        read(tmp_path / "d.mtx")
    assert words in str(caught.value)


def test_a_reader_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("ipds.io.limits.SECONDS", 1)
    fake = tmp_path / "fake" / "scipy"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("import time; time.sleep(60)")
    monkeypatch.syspath_prepend(str(fake.parent))
    (tmp_path / "d.mtx").write_text("%%MatrixMarket matrix array real general\n1 1\n1\n")
    with pytest.raises(DataError, match=r"d\.mtx: not read after 2 seconds"):
        read(tmp_path / "d.mtx")
