"""Damaged and hostile files: documented errors only, within bounded memory. `make fuzz` tries thousands."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from ipds.experiments.datasets import DataError, read_mtx
from ipds.io.npz import check_member

FUZZ = Path(__file__).with_name("fuzz_files.py")


def test_damaged_files():
    """In a process of its own: a crash of a reader is a fault like any other."""
    command = [sys.executable, str(FUZZ), "--cases", "400", "--no-bombs", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert report["faults"] == {}
    assert report["seen"]["files"] == 400
    assert report["seen"]["refused"] > 200


@pytest.mark.slow
def test_bombs_and_claims():
    done = subprocess.run(
        [sys.executable, str(FUZZ), "--cases", "0"], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("compress_size", 2**32, "more than the file has"),
        ("compress_type", 14, "method 14"),
        ("file_size", 2**60, "accepted"),
    ],
)
def test_claims_of_an_archive(field, value, message, tmp_path):
    """Python's zipfile would take the memory for what is claimed."""
    path = tmp_path / "a.npz"
    np.savez(path, X=np.ones(3))
    with zipfile.ZipFile(path) as archive:
        member = archive.infolist()[0]
    check_member(path, member)
    setattr(member, field, value)
    with pytest.raises(DataError, match=message):
        check_member(path, member)


def matrices():
    g = np.random.default_rng(0)
    X, S = g.standard_normal((5, 4)), g.standard_normal((5, 5))
    for M in (X, S + S.T, S - S.T, np.arange(6).reshape(2, 3)):
        yield M
        yield sp.csr_array(np.round(M))


@pytest.mark.parametrize("M", list(matrices()), ids=lambda M: type(M).__name__)
def test_matrix_market(M, tmp_path):
    path = tmp_path / "a.mtx"
    scipy.io.mmwrite(path, M)
    found = read_mtx(path)
    assert sp.issparse(found) == sp.issparse(M)
    as_array = [m.toarray() if sp.issparse(m) else m for m in (found, M)]
    np.testing.assert_allclose(*as_array, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "not a Matrix Market"),
        ("%%MatrixMarket matrix array complex general\n1 1\n1 1\n", "only real ones"),
        ("%%MatrixMarket matrix array real general\n2 2\n1 2 3\n", "2x2 entries expected, found 3"),
        ("%%MatrixMarket matrix array real general\n0 2\n", "cannot have the sizes"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", "outside"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 nan\n", "NaN"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 9999999999999\n1 1 1\n", "claims 9999999999999"),
        ("%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n", "cannot be 2x3"),
    ],
)
def test_matrix_market_errors(text, message, tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_mtx(path)
