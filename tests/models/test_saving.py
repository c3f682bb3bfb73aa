"""Models in files: the same predictions after loading; damaged and foreign files are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ipds.io import DataError
from ipds.methods import IPDS
from ipds.models import (
    DualPCP,
    FusedLasso,
    OverlappingGroupLasso,
    RobustLowRank,
    RobustSparseRegressor,
    SparsePCA,
    load_model,
    save_model,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 6))
Y = X[:, 0] - 2 * X[:, 3] + 0.1 * RNG.standard_normal(40)
MODELS = [
    SparsePCA(2),
    RobustSparseRegressor(2),
    DualPCP(1),
    RobustLowRank(2),
    FusedLasso(0.1),
    OverlappingGroupLasso(groups=[[0, 1], [1, 2, 3]]),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_comes_back_as_it_was(model, tmp_path: Path) -> None:
    model.fit(X, Y)
    save_model(model, tmp_path / "model.ipds")
    back = load_model(tmp_path / "model.ipds")
    assert type(back) is type(model)
    assert set(vars(back)) == set(vars(model)) - {"_seen"}
    assert back.get_params() == model.get_params()
    does = "predict" if hasattr(model, "predict") else "transform"
    assert np.array_equal(getattr(back, does)(X), getattr(model, does)(X))
    assert back.result_.certificate == model.result_.certificate
    assert back.result_.status is model.result_.status
    assert np.array_equal(back.result_.history["objective"], model.result_.history["objective"])


def test_what_cannot_be_saved_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        save_model(SparsePCA(), tmp_path / "model.ipds")
    model = FusedLasso(0.1, method=IPDS("practical"), max_iter=20, tol=1.0).fit(X, Y)
    with pytest.raises(TypeError, match="parameters method: an object of class IPDS"):
        save_model(model, tmp_path / "model.ipds")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told | {"class": "Popen"},
        lambda told: told | {"class": "separate_video"},
        lambda told: told | {"format": 99},
        lambda told: told | {"parameters": {"no_such": 1}},
        lambda told: told | {"fitted": {"coef_": {"array": "elsewhere"}}},
        lambda told: told | {"fitted": {"coef_": {"code": "1"}}},
    ],
)
def test_foreign_files_are_refused(change, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    save_model(FusedLasso(0.1).fit(X, Y), path)
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["manifest"] = np.array(json.dumps(change(json.loads(str(arrays["manifest"])))))
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=r"model\.npz"):
        load_model(path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.ipds"
    save_model(FusedLasso(0.1).fit(X, Y), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    cut = [whole[:length] for length in (0, 10, len(whole) // 2, len(whole) - 1)]
    flipped = []
    for place in rng.integers(len(whole), size=200):
        flipped.append(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
    refused = 0
    for damaged in [b"junk", *cut, *flipped]:
        path.write_bytes(damaged)
        try:
            load_model(path)
        except DataError:
            refused += 1
    assert refused > 150  # the others changed a date or the like
