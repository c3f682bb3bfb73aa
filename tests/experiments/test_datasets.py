"""The paper's construction of its data sets; the cache."""

import gzip
import hashlib
import io
import urllib.error

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from ipds.experiments import datasets
from ipds.experiments.datasets import DataError, DataMissing, cache, paper
from ipds.experiments.datasets.cache import Source, locate


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """No data folder, an empty cache, no network."""
    monkeypatch.delenv("IPDS_DATA", raising=False)
    monkeypatch.setenv("IPDS_CACHE", str(tmp_path / "cache"))

    def refuse(*args, **kwargs):
        raise urllib.error.URLError("no network in tests")

    monkeypatch.setattr(cache.urllib.request, "urlopen", refuse)
    paper._file.cache_clear()


# ---------------------------------------------------------------- the paper's matrices


def fake_mnist(folder):
    images = np.random.default_rng(0).integers(0, 255, (60, 5, 4), dtype=np.uint8)
    images[:, 0, 0] = 0
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(
        gzip.compress(bytes([0, 0, 8, 3]) + np.array(images.shape, ">u4").tobytes() + images.tobytes())
    )
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
    scipy.io.savemat(tmp_path / "TDT2.mat", {"fea": texts})
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
    scipy.io.savemat(tmp_path / "gene" / "Lymph.mat", {"X": np.random.default_rng(0).standard_normal((6, 9))})
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
    source = Source(("x.bin",), "https://example.org/x", hashlib.sha256(content).hexdigest())
    with pytest.raises(DataMissing):
        locate(source)  # never unasked
    path = locate(source, download=True)
    assert path.read_bytes() == content
    assert path == locate(source, download=True)
    assert asked == [("https://example.org/x", cache.TIMEOUT)]
    assert [p.name for p in path.parent.iterdir()] == ["x.bin"]


@pytest.mark.parametrize("headers", [{}, {"Content-Length": "9"}])
def test_a_wrong_or_cut_download_is_not_kept(tmp_path, monkeypatch, headers):
    answer = Answer(b"hello", headers)
    monkeypatch.setattr(cache.urllib.request, "urlopen", lambda url, timeout: answer)
    with pytest.raises(DataMissing, match=r"SHA-256 2cf24.* instead of 0000|5 of 9 bytes"):
        locate(Source(("x.bin",), "https://example.org/x", "0" * 64), download=True)
    assert not any(cache.cache_folder().iterdir())


@pytest.mark.parametrize(
    "source",
    [
        Source(("x.bin",), "http://example.org/x", "0" * 64),
        Source(("x.bin",), "https://example.org/x"),
        *paper.FILES.values(),
    ],
)
def test_nothing_is_fetched_without_https_and_a_checksum(monkeypatch, source):
    asked = []
    monkeypatch.setattr(cache.urllib.request, "urlopen", lambda url, timeout: asked.append(url))
    if source.downloadable:
        assert source.url.startswith("https://")
        assert len(source.sha256) == 64
        return
    with pytest.raises(
        DataMissing, match=r"not downloaded: its source has no https or no known SHA-256; put it"
    ):
        locate(source, download=True)
    assert not asked


def test_offline_the_message_says_what_to_do():
    with pytest.raises(DataMissing, match=r"failed \(no network in tests\); put it into a folder"):
        datasets.load("mnist-10-10", download=True)
