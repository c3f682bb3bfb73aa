"""Every format on small files made here, whole and damaged."""

import bz2
import contextlib
import gzip
import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from ipds.io import DataError, formats, limits, read_idx, read_libsvm, read_mat, read_npz

# ---------------------------------------------------------------- IDX


def idx(array, code=0x08):
    sizes = b"".join(struct.pack(">I", n) for n in array.shape)
    return bytes([0, 0, code, array.ndim]) + sizes + array.tobytes()


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_idx_plain_and_compressed(tmp_path, suffix):
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[suffix]
    path = tmp_path / f"images{suffix}"
    path.write_bytes(pack(idx(images)))
    assert np.array_equal(read_idx(path), images)


def test_idx_is_big_endian(tmp_path):
    values = np.array([[1, -2], [300, 70_000]])
    (tmp_path / "x").write_bytes(idx(values.astype(">i4"), 0x0C))
    read = read_idx(tmp_path / "x")
    assert np.array_equal(read, values)
    assert read.dtype.isnative


WHOLE = idx(np.arange(24, dtype=np.uint8).reshape(2, 3, 4))
DAMAGED_IDX = {
    "empty": b"",
    "cut in the magic number": WHOLE[:3],
    "cut in the sizes": WHOLE[:9],
    "cut in the data": WHOLE[:-1],
    "bytes left over": WHOLE + b"\0",
    "another format": b"PK\3\4" + WHOLE[4:],
    "unknown type": WHOLE[:2] + b"\x07" + WHOLE[3:],
    "no axes": WHOLE[:3] + b"\0" + WHOLE[4:],
    "absurd sizes": WHOLE[:4] + b"\xff" * 12 + WHOLE[16:],
}


@pytest.mark.parametrize("case", DAMAGED_IDX)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_damaged_idx_is_a_data_error(tmp_path, case, suffix):
    content = DAMAGED_IDX[case]
    path = tmp_path / f"x{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    with pytest.raises((DataError, EOFError)):  # the child makes a DataError of both
        formats.idx(path)


@pytest.mark.parametrize("keep", [5, 15, -6])
def test_a_truncated_gzip_is_a_data_error(tmp_path, keep):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(WHOLE)[:keep])
    with pytest.raises(DataError, match=r"x\.gz"):
        read_idx(path)


def test_a_gzip_that_expands_beyond_its_claim_is_not_kept_in_memory(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(WHOLE + bytes(64 << 20), 9))
    tracemalloc.start()
    with pytest.raises(DataError, match="or more"):
        formats.idx(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def test_a_missing_file_is_an_os_error(tmp_path):
    for read in (read_idx, read_libsvm):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nothing.gz")
    with pytest.raises(FileNotFoundError):
        read_mat(tmp_path / "nothing", "X")


# ---------------------------------------------------------------- MAT


def mat(path, **variables):
    scipy.io.savemat(path, variables, do_compression=True)
    return path


def test_mat_dense_and_sparse(tmp_path):
    X = np.random.default_rng(0).standard_normal((4, 3))
    X[0, 0] = 7.0
    S = scipy.sparse.csc_array(np.diag([1.0, 0.0, 2.0]))
    path = mat(tmp_path / "a.mat", X=X, S=S, name="text")
    assert np.array_equal(read_mat(path, "X"), X)
    scipy.io.savemat(tmp_path / "b.mat", {"X": X, "n": np.arange(3, dtype=np.uint8), "c": 1j * X})
    assert np.array_equal(read_mat(tmp_path / "b.mat", "X"), X)
    assert np.array_equal(read_mat(tmp_path / "b.mat", "n"), [[0, 1, 2]])  # a short element
    assert np.array_equal(read_mat(tmp_path / "b.mat", "c"), 1j * X)
    read = read_mat(path, "S")
    assert scipy.sparse.issparse(read)
    assert np.array_equal(read.toarray(), S.toarray())
    with pytest.raises(DataError, match=r"no array 'fea'; there are \['S', 'X', 'name'\]"):
        read_mat(path, "fea")
    with pytest.raises(DataError, match="numbers are wanted"):
        read_mat(path, "name")


def test_damaged_mat_files_raise_data_errors_only(tmp_path):
    """Flipped bytes: the reader answers or raises a DataError; SciPy itself may crash on such files."""
    S = scipy.sparse.csc_array(np.triu(np.arange(16.0).reshape(4, 4)))
    whole = bytearray(mat(tmp_path / "a.mat", S=S).read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(8):
        broken = bytearray(whole)
        broken[rng.integers(100, len(broken))] = rng.integers(256)
        (tmp_path / "d.mat").write_bytes(bytes(broken))
        with contextlib.suppress(DataError):
            read_mat(tmp_path / "d.mat", "S")


def test_sparse_indices_out_of_range_are_refused(tmp_path):
    S = scipy.sparse.csc_array(np.eye(3))
    S.indices = S.indices + 7
    scipy.io.savemat(tmp_path / "a.mat", {"S": S})
    with pytest.raises(DataError, match=r"a\.mat"):
        read_mat(tmp_path / "a.mat", "S")


def test_a_mat_element_that_expands_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MEMORY", 1 << 30)
    path = mat(tmp_path / "bomb.mat", X=np.zeros(1 << 27))
    assert path.stat().st_size < 2 << 20
    with pytest.raises(DataError, match="needs more than the 1024 MiB"):
        read_mat(path, "X")


# ---------------------------------------------------------------- LIBSVM

TEXT = b"3 1:0.5 4:-2 # a comment\n\n-1,2 qid:7 2:1e-3\n5\n"


@pytest.mark.parametrize("suffix", ["", ".bz2"])
def test_libsvm(tmp_path, suffix):
    path = tmp_path / f"sector{suffix}"
    path.write_bytes(bz2.compress(TEXT) if suffix else TEXT)
    samples, labels = read_libsvm(path)
    assert np.array_equal(samples.toarray(), [[0.5, 0, 0, -2], [0, 1e-3, 0, 0], [0, 0, 0, 0]])
    assert np.array_equal(labels, [3, -1, 5])


def test_libsvm_from_zero(tmp_path):
    """As `sklearn.datasets.dump_svmlight_file` writes it."""
    (tmp_path / "x").write_bytes(b"1 0:2 2:3\n-1 1:4\n")
    samples, _ = read_libsvm(tmp_path / "x")
    assert np.array_equal(samples.toarray(), [[2, 0, 3], [0, 4, 0]])


@pytest.mark.parametrize("line", [b"x 1:1", b"1 -1:1", b"1 2:1 1:1", b"1 1:nan", b"1 1:", b"\xff\xfe 1:1"])
def test_a_bad_libsvm_line_is_refused(tmp_path, line):
    (tmp_path / "x").write_bytes(b"1 1:1\n" + line + b"\n")
    with pytest.raises(ValueError, match=r"\w"):  # in the child: a DataError with the name of the file
        formats.libsvm(tmp_path / "x")


def test_a_libsvm_file_without_samples_is_refused(tmp_path):
    (tmp_path / "empty").write_bytes(b"\n# nothing\n")
    with pytest.raises(DataError, match="empty: no samples"):
        read_libsvm(tmp_path / "empty")


# ---------------------------------------------------------------- NPZ


def test_npz(tmp_path):
    frames = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    np.savez_compressed(tmp_path / "escalator.npz", frames=frames, other=np.array([None]))
    assert np.array_equal(read_npz(tmp_path / "escalator.npz", "frames"), frames)
    with pytest.raises(DataError, match="no array 'x'"):
        read_npz(tmp_path / "escalator.npz", "x")
    with pytest.raises(DataError, match="other"):
        read_npz(tmp_path / "escalator.npz", "other")  # objects would be unpickled


def test_an_npz_that_claims_more_than_it_holds_is_refused(tmp_path):
    claim = io.BytesIO()
    np.lib.format.write_array_header_1_0(claim, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)})
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("frames.npy", claim.getvalue() + bytes(8))
    with pytest.raises(DataError, match="needs more than"):
        read_npz(tmp_path / "x.npz", "frames")
    (tmp_path / "y.npz").write_bytes((tmp_path / "x.npz").read_bytes()[:40])
    with pytest.raises(DataError, match="damaged, or no"):
        read_npz(tmp_path / "y.npz", "frames")


def test_the_bound_on_sizes():
    with pytest.raises(DataError, match="accepted; only"):
        limits.check_size(limits.LARGEST, 2, "x")


def matrices():
    g = np.random.default_rng(0)
    X, S = g.standard_normal((5, 4)), g.standard_normal((5, 5))
    for M in (X, S + S.T, S - S.T, np.arange(6).reshape(2, 3)):
        yield M
        yield scipy.sparse.csr_array(np.round(M))


@pytest.mark.parametrize("M", list(matrices()), ids=lambda M: type(M).__name__)
def test_matrix_market(M, tmp_path):
    path = tmp_path / "a.mtx"
    scipy.io.mmwrite(path, M)
    found = formats.mtx(path)["X"]
    assert scipy.sparse.issparse(found) == scipy.sparse.issparse(M)
    as_array = [m.toarray() if scipy.sparse.issparse(m) else m for m in (found, M)]
    np.testing.assert_allclose(*as_array, rtol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "%%MatrixMarket matrix array complex general\n1 1\n1 1\n",
        "%%MatrixMarket matrix array real general\n2 2\n1 2 3\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 nan\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 9999999999999\n1 1 1\n",
    ],
)
def test_matrix_market_errors(text, tmp_path):
    (tmp_path / "a.mtx").write_text(text)
    with pytest.raises(ValueError, match=r"\w"):
        formats.mtx(tmp_path / "a.mtx")
