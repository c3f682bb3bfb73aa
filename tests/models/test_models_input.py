"""Bad input is refused in words that name the argument; what is accepted behaves as documented."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from ipds import Problem
from ipds.methods import IPDS
from ipds.models import (
    DualPCP,
    FusedLasso,
    OverlappingGroupLasso,
    RobustLowRank,
    RobustSparseRegressor,
    SparsePCA,
    SparsePhaseRetrieval,
    separate_video,
)

X = np.random.default_rng(0).standard_normal((30, 6))
Y = X @ np.array([1.0, -2.0, 0.0, 0.0, 0.0, 0.0])
Z = Y**2
HOLE = np.ones((30, 6), dtype=bool)
HOLE[:, 2] = False
NAN_ROW = np.where(np.arange(30)[:, None] == 4, np.nan, X)

REFUSED: list[tuple[Any, tuple[Any, ...], type[Exception], str]] = [
    (SparsePCA(2), (np.ma.masked_array(X, X > 1),), TypeError, "SparsePCA: the data is a masked array"),
    (RobustSparseRegressor(2, tol=-1.0), (X, Y), ValueError, "tol must be finite and at least 0"),
    (
        RobustSparseRegressor(2, time_limit=-1.0),
        (X, Y),
        ValueError,
        "time_limit must be finite and at least 0",
    ),
    (SparsePCA(7), (X,), ValueError, "n_components must be between 1 and 6"),
    (SparsePCA(0), (X,), ValueError, "n_components"),
    (SparsePCA(2.5), (X,), TypeError, "n_components must be an integer"),
    (SparsePCA(2, alpha=-1), (X,), ValueError, "alpha must be finite and at least 0"),
    (SparsePCA(2, alpha="big"), (X,), TypeError, "alpha must be a number"),
    (SparsePCA(2, sparsity=7), (X,), ValueError, "sparsity must be between 1 and 6"),
    (SparsePCA(2, formulation="dual"), (X,), ValueError, "formulation must be one of"),
    (SparsePCA(2), (X + 1j,), ValueError, "Complex data not supported"),
    (SparsePCA(2, method="magic"), (X,), ValueError, "method must be"),
    (RobustSparseRegressor(7), (X, Y), ValueError, "sparsity must be between 1 and 6"),
    (RobustSparseRegressor("aic"), (X, Y), ValueError, "sparsity must be an integer, a list of them"),
    (RobustSparseRegressor([]), (X, Y), ValueError, "at least one candidate"),
    (RobustSparseRegressor([2, 9]), (X, Y), ValueError, "between 1 and 6"),
    (RobustSparseRegressor(2, refit="ridge"), (X, Y), ValueError, "refit must be one of"),
    (RobustSparseRegressor(2, outlier_threshold=-1), (X, Y), ValueError, "outlier_threshold"),
    (RobustSparseRegressor(2), (X + 1j, Y), ValueError, "Complex data not supported"),
    (RobustSparseRegressor(2), (X, Y[:-1]), ValueError, "inconsistent"),
    (DualPCP(6), (X,), ValueError, "n_codimensions must be between 1 and 5"),
    (DualPCP(1, threshold=-0.1), (X,), ValueError, "threshold"),
    (RobustLowRank(7), (X,), ValueError, "rank must be between 1 and 6"),
    (RobustLowRank(1), (X, None, HOLE), ValueError, r"columns \[2\] have no observed entry"),
    (RobustLowRank(1), (NAN_ROW,), ValueError, r"rows \[4\] have no observed entry"),
    (RobustLowRank(1), (X, None, HOLE[:3]), ValueError, "mask must hold booleans of shape"),
    (RobustLowRank(1), (X, None, HOLE.astype(int)), ValueError, "mask must hold booleans"),
    (RobustLowRank(1), (X + 1j,), ValueError, "Complex data not supported"),
    (SparsePhaseRetrieval(-1.0), (X, Z), ValueError, "alpha"),
    (SparsePhaseRetrieval(), (X, Z + 1j), ValueError, "real intensities"),
    (SparsePhaseRetrieval(), (X + 1j, Z[:-1]), ValueError, "y has shape"),
    (SparsePhaseRetrieval(D=np.eye(5)), (X, Z), ValueError, "D has 5 columns"),
    (SparsePhaseRetrieval(D=1j * np.eye(6)), (X, Z), ValueError, "D must be real"),
    (SparsePhaseRetrieval(n_nonzero=9), (X, Z), ValueError, "n_nonzero must be between 1 and 6"),
    (FusedLasso(alpha="auto"), (X, Y), ValueError, "alpha must be a number, 'bic' or 'cv'"),
    (FusedLasso(loss="hinge"), (X, Y), ValueError, "loss must be one of"),
    (FusedLasso(edges=[(0, 1)], adjacency=np.eye(6)), (X, Y), ValueError, "not both"),
    (FusedLasso(edges=[(0, 9)]), (X, Y), ValueError, "FusedLasso: .*nodes must lie in 0..5"),
    (FusedLasso(adjacency=np.eye(3)), (X, Y), ValueError, "adjacency has shape"),
    (FusedLasso(-0.1), (X, Y), ValueError, "alpha"),
    (OverlappingGroupLasso([[0, 8]]), (X, Y), ValueError, "OverlappingGroupLasso: groups"),
    (OverlappingGroupLasso([[0.5]]), (X, Y), TypeError, "OverlappingGroupLasso: groups"),
    (OverlappingGroupLasso([[0], [1]], weights=[1.0]), (X, Y), ValueError, "weights must be 2 numbers"),
]


@pytest.mark.parametrize(
    ("model", "data", "error", "words"),
    REFUSED,
    ids=lambda v: type(v).__name__ if not isinstance(v, str) else v[:25],
)
def test_refused(model: Any, data: tuple[Any, ...], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        model.fit(*data)


FITTED: list[tuple[Any, tuple[Any, ...]]] = [
    (SparsePCA(2), (X,)),
    (RobustSparseRegressor(2), (X, Y)),
    (DualPCP(1), (X,)),
    (RobustLowRank(1), (X,)),
    (SparsePhaseRetrieval(), (X, Z)),
    (FusedLasso(), (X, Y)),
    (OverlappingGroupLasso(), (X, Y)),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("model", "data"), FITTED, ids=lambda v: type(v).__name__)
def test_every_model_shows_its_problem_and_result(model: Any, data: tuple[Any, ...]) -> None:
    model = clone(model)
    if "random_state" in model.get_params():  # else other starts may end a rounding apart
        model.set_params(random_state=0)
    problem = model.problem(*data)
    assert isinstance(problem, Problem)
    assert len(problem.blocks) >= 2
    with pytest.raises(NotFittedError):
        (model.transform if hasattr(model, "transform") else model.predict)(X)
    before = [np.array(d) for d in data]
    model.fit(*data)
    assert all(np.array_equal(a, b) for a, b in zip(before, data, strict=True))
    assert model.n_iter_ == model.result_.nit >= 1
    assert model.result_.method.startswith("auto: ")
    again = pickle.loads(pickle.dumps(model))
    assert again.n_iter_ == model.n_iter_
    twin = clone(model).fit(*data)
    assert all(np.array_equal(a, b) for a, b in zip(twin.result_.x, model.result_.x, strict=True))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("model", "data"), FITTED, ids=lambda v: type(v).__name__)
def test_any_method_can_be_passed(model: Any, data: tuple[Any, ...]) -> None:
    model = clone(model).set_params(method=IPDS("practical"), max_iter=30).fit(*data)
    assert "IPDS" in model.result_.method
    assert model.n_iter_ <= 30


def test_an_uncertified_fit_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match="iteration limit reached.*raise max_iter"):
        SparsePCA(2, max_iter=2).fit(X)


def test_importing_the_package_leaves_scikit_learn_alone() -> None:
    code = "import sys, ipds; assert 'sklearn' not in sys.modules and 'ipds.models' not in sys.modules"
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_dataframes_give_names() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = SparsePCA(2).fit(frame)
    assert list(model.feature_names_in_) == list("abcdef")
    assert list(model.set_output(transform="pandas").transform(frame).columns) == ["sparsepca0", "sparsepca1"]


@pytest.mark.parametrize(
    ("model", "names"),
    [(DualPCP(2), 4), (RobustLowRank(2), 2), (SparsePCA(3), 3)],
    ids=["DualPCP", "LowRank", "PCA"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_names_of_features_out(model: Any, names: int) -> None:
    out = model.fit(X).get_feature_names_out()
    prefix = type(model).__name__.lower()
    assert list(out) == [f"{prefix}{k}" for k in range(names)]
    assert model.transform(X).shape == (30, names)


def test_video_must_have_three_axes() -> None:
    with pytest.raises(ValueError, match=r"frames must have shape \(frames, height, width\)"):
        separate_video(X)


def test_measurements_need_a_shape() -> None:
    with pytest.raises(ValueError, match="shape must be"):
        RobustLowRank(1).fit_measurements(X, Y, (6,))


def test_sparse_input_where_it_is_not_supported_is_refused() -> None:
    for model in (DualPCP(), RobustLowRank()):
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            model.fit(sp.csr_array(X))
