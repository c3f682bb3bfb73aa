"""Readers on small files made here, whole and damaged; the paper's construction; the cache."""

import bz2
import gzip
import hashlib
import io
import struct
import tracemalloc
import urllib.error
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from ipds.experiments import datasets
from ipds.experiments.datasets import DataError, DataMissing, cache, paper
from ipds.experiments.datasets.cache import Source, locate
from ipds.io import bounded


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """No data folder, an empty cache, no network."""
    monkeypatch.delenv("IPDS_DATA", raising=False)
    monkeypatch.setenv("IPDS_CACHE", str(tmp_path / "cache"))

    def refuse(*args, **kwargs):
        raise urllib.error.URLError("no network in tests")

    monkeypatch.setattr(cache.urllib.request, "urlopen", refuse)
    paper._file.cache_clear()


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
    assert np.array_equal(datasets.read_idx(path), images)


def test_idx_is_big_endian(tmp_path):
    values = np.array([[1, -2], [300, 70_000]])
    (tmp_path / "x").write_bytes(idx(values.astype(">i4"), 0x0C))
    read = datasets.read_idx(tmp_path / "x")
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
    with pytest.raises(DataError, match="x"):
        datasets.read_idx(path)


@pytest.mark.parametrize("keep", [5, 15, -6])
def test_a_truncated_gzip_is_a_data_error(tmp_path, keep):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(WHOLE)[:keep])
    with pytest.raises(DataError):
        datasets.read_idx(path)


def test_a_gzip_that_expands_beyond_its_claim_is_not_kept_in_memory(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(WHOLE + bytes(64 << 20), 9))
    tracemalloc.start()
    with pytest.raises(DataError, match="left over"):
        datasets.read_idx(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def test_a_missing_file_is_an_os_error(tmp_path):
    for read in (datasets.read_idx, datasets.read_libsvm):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nothing.gz")
    with pytest.raises(FileNotFoundError):
        datasets.read_mat(tmp_path / "nothing", "X")


# ---------------------------------------------------------------- MAT


def mat(path, **variables):
    scipy.io.savemat(path, variables, do_compression=True)
    return path


def test_mat_dense_and_sparse(tmp_path):
    X = np.random.default_rng(0).standard_normal((4, 3))
    X[0, 0] = 7.0
    S = scipy.sparse.csc_array(np.diag([1.0, 0.0, 2.0]))
    path = mat(tmp_path / "a.mat", X=X, S=S, name="text")
    assert np.array_equal(datasets.read_mat(path, "X"), X)
    scipy.io.savemat(tmp_path / "b.mat", {"X": X, "n": np.arange(3, dtype=np.uint8), "c": 1j * X})
    assert np.array_equal(datasets.read_mat(tmp_path / "b.mat", "X"), X)
    assert np.array_equal(datasets.read_mat(tmp_path / "b.mat", "n"), [[0, 1, 2]])  # a short element
    with pytest.raises(DataError, match="'c' is not a real"):
        datasets.read_mat(tmp_path / "b.mat", "c")
    read = datasets.read_mat(path, "S")
    assert scipy.sparse.issparse(read)
    assert np.array_equal(read.toarray(), S.toarray())
    with pytest.raises(DataError, match=r"no variable 'fea'; there are \['S', 'X', 'name'\]"):
        datasets.read_mat(path, "fea")
    with pytest.raises(DataError, match="numeric"):
        datasets.read_mat(path, "name")


def test_damaged_mat_files_raise_data_errors_only(tmp_path):
    """Every byte that matters, flipped or cut: the reader answers or raises a DataError, nothing else."""
    S = scipy.sparse.csc_array(np.triu(np.arange(16.0).reshape(4, 4)))
    whole = mat(tmp_path / "a.mat", S=S).read_bytes()
    scipy.io.savemat(tmp_path / "b.mat", {"S": S})
    plain, damaged, refused = (tmp_path / "b.mat").read_bytes(), tmp_path / "d.mat", 0
    rng = np.random.default_rng(0)
    for content in (whole, plain):
        for k in range(300):
            broken = bytearray(content)
            if k % 5 == 0:
                del broken[rng.integers(len(broken)) :]
            else:
                broken[rng.integers(100, len(broken))] = rng.integers(256)
            damaged.write_bytes(bytes(broken))
            try:
                datasets.read_mat(damaged, "S").toarray()
            except DataError:
                refused += 1
            except AttributeError:  # a flipped class: read as a dense matrix
                continue
    assert refused > 200


def test_sparse_indices_out_of_range_are_refused(tmp_path):
    S = scipy.sparse.csc_array(np.eye(3))
    S.indices = S.indices + 7
    scipy.io.savemat(tmp_path / "a.mat", {"S": S})
    with pytest.raises(DataError, match="damaged sparse"):
        datasets.read_mat(tmp_path / "a.mat", "S")


def test_a_mat_element_that_expands_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("ipds.io.mat.LIMIT", 1 << 20)
    path = mat(tmp_path / "bomb.mat", X=np.zeros(1 << 18))
    assert path.stat().st_size < 10_000
    with pytest.raises(DataError, match="expands"):
        datasets.read_mat(path, "X")


# ---------------------------------------------------------------- LIBSVM

TEXT = b"3 1:0.5 4:-2 # a comment\n\n-1,2 qid:7 2:1e-3\n5\n"


@pytest.mark.parametrize("suffix", ["", ".bz2"])
def test_libsvm(tmp_path, suffix):
    path = tmp_path / f"sector{suffix}"
    path.write_bytes(bz2.compress(TEXT) if suffix else TEXT)
    samples, labels = datasets.read_libsvm(path)
    assert np.array_equal(samples.toarray(), [[0.5, 0, 0, -2], [0, 1e-3, 0, 0], [0, 0, 0, 0]])
    assert np.array_equal(labels, [3, -1, 5])


def test_libsvm_from_zero(tmp_path):
    """As `sklearn.datasets.dump_svmlight_file` writes it."""
    (tmp_path / "x").write_bytes(b"1 0:2 2:3\n-1 1:4\n")
    samples, _ = datasets.read_libsvm(tmp_path / "x")
    assert np.array_equal(samples.toarray(), [[2, 0, 3], [0, 4, 0]])


@pytest.mark.parametrize(
    "line",
    [
        b"x 1:1",
        b"1 1",
        b"1 -1:1",
        b"1 2:1 1:1",
        b"1 2:1 2:1",
        b"1 1:nan",
        b"1 1:inf",
        b"1 1:",
        b"1 99999999999:1",
        b"1 " + b"0" * 5000 + b"1:1",
        b"1 3000000000:1",
        b"\xff\xfe 1:1",
    ],
)
def test_a_bad_libsvm_line_is_named(tmp_path, line):
    (tmp_path / "x").write_bytes(b"1 1:1\n" + line + b"\n")
    with pytest.raises(DataError, match="line 2"):
        datasets.read_libsvm(tmp_path / "x")


def test_libsvm_bounds(tmp_path, monkeypatch):
    (tmp_path / "empty").write_bytes(b"\n# nothing\n")
    with pytest.raises(DataError, match="no samples"):
        datasets.read_libsvm(tmp_path / "empty")
    monkeypatch.setattr("ipds.io.libsvm.LIMIT", 1 << 16)
    (tmp_path / "bomb.bz2").write_bytes(bz2.compress(b"1 1:1\n" * 100_000))
    with pytest.raises(DataError, match="larger than accepted"):
        datasets.read_libsvm(tmp_path / "bomb.bz2")


# ---------------------------------------------------------------- NPZ


def test_npz(tmp_path):
    frames = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    np.savez_compressed(tmp_path / "escalator.npz", frames=frames, other=np.array([None]))
    assert np.array_equal(datasets.escalator(tmp_path), frames)
    assert np.array_equal(datasets.read_npz(tmp_path / "escalator.npz", "frames"), frames)
    with pytest.raises(DataError, match="no array 'x'"):
        datasets.read_npz(tmp_path / "escalator.npz", "x")
    with pytest.raises(DataError, match="other"):
        datasets.read_npz(tmp_path / "escalator.npz", "other")  # objects would be unpickled


def test_an_npz_that_claims_more_than_it_holds_is_refused(tmp_path):
    claim = io.BytesIO()
    np.lib.format.write_array_header_1_0(claim, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)})
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("frames.npy", claim.getvalue() + bytes(8))
    with pytest.raises(DataError, match="claims shape"):
        datasets.read_npz(tmp_path / "x.npz", "frames")
    (tmp_path / "y.npz").write_bytes((tmp_path / "x.npz").read_bytes()[:40])
    with pytest.raises(DataError, match="damaged"):
        datasets.read_npz(tmp_path / "y.npz", "frames")


# ---------------------------------------------------------------- the paper's matrices


def fake_mnist(folder):
    images = np.random.default_rng(0).integers(0, 255, (60, 5, 4), dtype=np.uint8)
    images[:, 0, 0] = 0
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
    return images.reshape(60, 20).astype(float)


def test_rows_and_columns_drawn_then_unit_norm_then_centred(tmp_path):
    images = fake_mnist(tmp_path)
    D = datasets.load("mnist-40-20", seed=3, data_dir=tmp_path)
    rng = np.random.default_rng([1, 3])
    rows = images[rng.choice(60, 40, replace=False)]
    expected = rows / np.where(np.linalg.norm(rows, axis=0) > 0, np.linalg.norm(rows, axis=0), 1)
    expected = expected - expected.mean(axis=0)
    assert np.allclose(D, expected)
    assert np.array_equal(D[:, 0], np.zeros(40))  # a column of zeros stays
    assert np.abs(D.mean(axis=0)).max() < 1e-15
    few = datasets.load("mnist-40-7", seed=3, data_dir=tmp_path)
    assert all(any(np.allclose(column, full) for full in D.T) for column in few.T)


def test_the_norm_is_taken_before_the_centre():
    D = np.array([[3.0, 0.0], [4.0, 0.0]])
    assert np.allclose(paper.unit_then_centre(D), [[-0.1, 0], [0.1, 0]])


def test_data_are_seeded():
    first = datasets.load("randn-20-5", seed=1)
    assert np.array_equal(first, datasets.load("randn-20-5", seed=1))
    assert not np.array_equal(first, datasets.load("randn-20-5", seed=2))
    assert datasets.load("digits-100-30").shape == (100, 30)


def test_texts_are_drawn_among_columns_in_use(tmp_path):
    texts = scipy.sparse.random_array((30, 200), density=0.05, rng=np.random.default_rng(0))
    mat(tmp_path / "TDT2.mat", fea=texts)
    D = datasets.load("TDT2-20-15", data_dir=tmp_path)
    assert D.shape == (20, 15)
    assert (np.abs(D).max(axis=0) > 0).all()
    with pytest.raises(DataError, match="30 rows only"):
        datasets.load("TDT2-31-5", data_dir=tmp_path)
    with pytest.raises(DataError, match="columns only"):
        datasets.load("TDT2-20-201", data_dir=tmp_path)


def test_sector_is_read_from_the_libsvm_file(tmp_path):
    lines = [f"1 {k + 1}:1 {k + 2}:0.5" for k in range(12)]
    (tmp_path / "sector.scale").write_text("\n".join(lines))
    assert datasets.load("sector-12-13", data_dir=tmp_path).shape == (12, 13)


@pytest.mark.parametrize(
    "name", ["randn", "randn-5", "randn-0-5", "imagenet-5-5", "randn-5-5-5", "randn-a-5", "", "randn--5-5"]
)
def test_names_that_mean_nothing(name):
    with pytest.raises(DataError, match="source-m-d"):
        datasets.load(name)


def test_a_matrix_too_large_is_refused_before_it_is_made():
    with pytest.raises(DataError, match="more than"):
        datasets.load("randn-999999999-999999999")
    with pytest.raises(DataError, match="more than"):
        datasets.trade_off("tradeoff-999999999-999999999")


def test_trade_off_and_gene_data(tmp_path):
    B = datasets.trade_off("tradeoff-10-30", seed=1)
    assert np.allclose(np.linalg.norm(B, axis=0), 1)
    assert np.abs(B.mean(axis=0)).max() < 1e-15
    (tmp_path / "gene").mkdir()
    mat(tmp_path / "gene" / "Lymph.mat", X=np.random.default_rng(0).standard_normal((6, 9)))
    assert datasets.trade_off("Lymph", data_dir=tmp_path).shape == (6, 9)
    with pytest.raises(DataMissing, match=r"gene/Leukemia\.mat"):
        datasets.trade_off("Leukemia", data_dir=tmp_path)
    with pytest.raises(DataError, match="tradeoff-m-n"):
        datasets.trade_off("Unknown")


# ---------------------------------------------------------------- folders, cache, download


def test_nothing_stands_in_for_missing_data(tmp_path):
    for name in ("mnist-10-10", "TDT2-10-10", "sector-10-10"):
        with pytest.raises(DataMissing, match=r"IPDS_DATA.*public source: http"):
            datasets.load(name, data_dir=tmp_path)


def test_folder_then_environment_then_cache(tmp_path, monkeypatch):
    source = Source(("x.bin",))
    places = [tmp_path / name for name in ("given", "data", "cache")]
    for place in places:
        place.mkdir()
        (place / "x.bin").write_text(place.name)
    monkeypatch.setenv("IPDS_DATA", str(places[1]))
    for place, given in ((places[0], places[0]), (places[1], None)):
        assert locate(source, given) == place / "x.bin"
        (place / "x.bin").unlink()
    assert locate(source) == places[2] / "x.bin"


class Answer(io.BytesIO):
    def __init__(self, content, headers=()):
        super().__init__(content)
        self.headers = dict(headers)


def test_download_into_the_cache(tmp_path, monkeypatch):
    content, asked = b"hello", []

    def urlopen(url, timeout):
        asked.append((url, timeout))
        return Answer(content)

    monkeypatch.setattr(cache.urllib.request, "urlopen", urlopen)
    source = Source(("x.bin",), "https://example.org/x", hashlib.md5(content).hexdigest())
    with pytest.raises(DataMissing):
        locate(source)  # never unasked
    path = locate(source, download=True)
    assert path.read_bytes() == content
    assert path == locate(source, download=True)
    assert asked == [("https://example.org/x", cache.TIMEOUT)]
    assert [p.name for p in path.parent.iterdir()] == ["x.bin"]


@pytest.mark.parametrize(("headers", "md5"), [({}, "0" * 32), ({"Content-Length": "9"}, None)])
def test_a_wrong_or_cut_download_is_not_kept(tmp_path, monkeypatch, headers, md5):
    answer = Answer(b"hello", headers)
    monkeypatch.setattr(cache.urllib.request, "urlopen", lambda url, timeout: answer)
    with pytest.raises(DataMissing, match=r"checksum|5 of 9 bytes"):
        locate(Source(("x.bin",), "https://example.org/x", md5), download=True)
    assert not any(cache.cache_folder().iterdir())


def test_offline_the_message_says_what_to_do():
    with pytest.raises(DataMissing, match=r"failed \(no network in tests\); put it into a folder"):
        datasets.load("sector-10-10", download=True)


def test_the_bound_on_claims():
    with pytest.raises(DataError, match="claims"):
        bounded.check_size(bounded.LIMIT, 2, "x")
