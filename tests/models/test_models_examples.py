"""The examples run alone, from any folder, and the models on the real data where it is at hand."""

from __future__ import annotations

import gzip
import os
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from ipds.models import SparsePCA, separate_video

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
DATA = Path(os.environ.get("IPDS_DATA", "no such folder"))


def data(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not at hand: set IPDS_DATA to the folder with the data files")
    return path


def test_there_is_an_example_of_every_model() -> None:
    assert len(NAMES) == 13  # and one on methods, two on modelling, one on pictures, one on limits


@pytest.mark.parametrize("name", NAMES)
def test_example_runs_and_draws(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    figure = Path(f"{name}.png")
    assert figure.stat().st_size > 5000
    assert f"figure: {figure}" in capsys.readouterr().out


def test_sparse_pca_of_mnist_gives_strokes() -> None:
    with gzip.open(data("t10k-images-idx3-ubyte.gz")) as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)[:500] / 255
    model = SparsePCA(4, alpha=0.2).fit(X)
    assert model.result_.success
    assert np.all(np.count_nonzero(model.components_, axis=1) < 200)
    assert 0.05 < model.explained_variance_ratio_.sum() < 0.4
    assert np.allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-10)


def test_sparse_pca_of_news_gives_topics() -> None:
    text = scipy.io.loadmat(data("TDT2.mat"))
    rows = np.random.default_rng(0).choice(9394, 1500, False)
    X = sp.csr_array(sp.csr_array(text["fea"])[rows])
    X.data = np.log1p(X.data)
    model = SparsePCA(3, alpha=0.1).fit(X)
    topics = text["gnd"].ravel()[rows]
    assert np.count_nonzero(model.components_) < 500
    scores = model.transform(X)
    shares = [
        np.unique(topics[np.argsort(-np.abs(s))[:50]], return_counts=True)[1].max() / 50 for s in scores.T
    ]
    assert max(shares) > 0.6


def test_people_leave_the_background_of_the_escalator() -> None:
    frames = np.load(data("escalator.npz"))["frames"][::4, ::2, ::2].astype(float)
    background, foreground, model = separate_video(frames)
    assert model.result_.success
    # what is behind people is what is seen most of the time, up to the light
    still = np.median(frames, axis=0)
    light = np.median(frames / np.maximum(still, 1), axis=(1, 2))[:, None, None]
    passing = np.abs(frames - light * still) > 80
    assert np.abs(background - light * still)[passing].mean() < 25
    assert np.abs(foreground)[passing].mean() > 60
