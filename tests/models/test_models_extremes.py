"""Hostile data for the models: a right answer or a clear error; never a NaN as success, never a hang."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from ipds import DivergenceError
from ipds.models import (
    DualPCP,
    FusedLasso,
    OverlappingGroupLasso,
    RobustLowRank,
    RobustSparseRegressor,
    SparsePCA,
    SparsePhaseRetrieval,
)

G = np.random.default_rng(0)
X = G.standard_normal((20, 6))
Y = X @ np.array([1.0, -2.0, 0.0, 0.0, 0.0, 0.0]) + 0.1 * G.standard_normal(20)
LABELS = np.where(Y > 0, 1.0, -1.0)
FEW = 300  # iterations: enough for most, and none takes long

MODELS = {
    "SparsePCA": (SparsePCA(1, max_iter=FEW), None),
    "SparsePCA, light": (SparsePCA(1, alpha=1e-150, max_iter=FEW), None),
    "SparsePCA, heavy": (SparsePCA(1, alpha=1e150, max_iter=FEW), None),
    "SparsePCA, reconstruction": (SparsePCA(1, formulation="reconstruction", max_iter=FEW), None),
    "SparsePCA, counted": (SparsePCA(1, sparsity=1, max_iter=FEW), None),
    "RobustSparseRegressor": (RobustSparseRegressor(1, max_iter=FEW), Y),
    "RobustSparseRegressor, as solved": (RobustSparseRegressor(1, refit=None, max_iter=FEW), Y),
    "DualPCP": (DualPCP(1, max_iter=FEW), None),
    "DualPCP, raw": (DualPCP(1, normalize=False, max_iter=FEW), None),
    "RobustLowRank": (RobustLowRank(1, max_iter=FEW), None),
    "SparsePhaseRetrieval": (SparsePhaseRetrieval(max_iter=FEW), Y**2),
    "SparsePhaseRetrieval, heavy": (SparsePhaseRetrieval(alpha=1e150, max_iter=FEW), Y**2),
    "FusedLasso": (FusedLasso(max_iter=FEW), Y),
    "FusedLasso, light": (FusedLasso(alpha=1e-150, max_iter=FEW), Y),
    "FusedLasso, heavy": (FusedLasso(alpha=1e150, max_iter=FEW), Y),
    "FusedLasso, logistic": (FusedLasso(loss="logistic", max_iter=FEW), LABELS),
    "OverlappingGroupLasso": (OverlappingGroupLasso(max_iter=FEW), Y),
    "OverlappingGroupLasso, heavy": (OverlappingGroupLasso(alpha=1e150, max_iter=FEW), Y),
}


def with_column(value):
    return np.where(np.arange(6) == 2, value, X)


DATA = {
    "1e150": 1e150 * X,
    "1e-150": 1e-150 * X,
    "1e300": 1e300 * X,
    "denormal": 1e-310 * X,
    "columns of all sizes": X * 10.0 ** np.linspace(-150, 150, 6),
    "one huge entry": np.where(X.max() == X, 1e200, X),
    "constant column": with_column(7.0),
    "zero column": with_column(0.0),
    "constant": np.full_like(X, 3.0),
    "zero": np.zeros_like(X),
    "rows twice": np.vstack([X[:10], X[:10]]),
    "one row": X[:1],
    "two rows": X[:2],
    "one column": X[:, :1],
    "one entry": X[:1, :1],
    "no rows": X[:0],
    "no columns": X[:, :0],
    "infinite": np.where(X.max() == X, np.inf, X),
}


CLEAR = r"multiply X by a factor|minimum of|infinity|two classes|square (overflows|vanishes); use other units"


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", MODELS)
def test_an_answer_or_a_clear_error(name, data):
    model, y = MODELS[name]
    given = (DATA[data],) if y is None else (DATA[data], y[: len(DATA[data])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        warnings.filterwarnings("ignore", message="SparsePCA: no orthonormal components")
        try:
            model.set_params(random_state=0).fit(*given)
        except ValueError as error:
            if type(error) is not ValueError or not re.search(
                CLEAR, str(error)
            ):  # NumPy's LinAlgError is one
                raise
            return
        except DivergenceError:
            return
    fitted = [value for key, value in vars(model).items() if key.endswith("_") and not key.startswith("_")]
    arrays = [np.asarray(value) for value in fitted if isinstance(value, float | np.ndarray)]
    assert all(np.all(np.isfinite(array)) for array in arrays if array.dtype.kind == "f")
    assert not model.result_.success or model.result_.certificate.relative <= model.tol


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_other_units_same_answer(unit):
    """Data times a unit, weights accordingly: the coefficients are the same, or in the unit."""

    def close(found, expected):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())

    def fitted(model, *data):
        return model.set_params(random_state=0).fit(*data)

    normal = np.full(6, 6**-0.5)
    plane = np.vstack([X - np.outer(X @ normal, normal), X[:5]])
    here, there = fitted(DualPCP(1), plane), fitted(DualPCP(1), unit * plane)
    close(there.normals_ * np.sign(there.normals_[0, 0]), here.normals_ * np.sign(here.normals_[0, 0]))
    rank_one = np.outer(X[:, 0], X[0]) + 5.0 * (G.random((20, 6)) < 0.1)
    here, there = fitted(RobustLowRank(1), rank_one), fitted(RobustLowRank(1), unit * rank_one)
    close(
        there.inverse_transform(there.transform(unit * rank_one[:3])) / unit,
        here.inverse_transform(here.transform(rank_one[:3])),
    )
    here = fitted(RobustSparseRegressor(2), X, Y)
    close(fitted(RobustSparseRegressor(2), unit * X, Y).coef_ * unit, here.coef_)
    close(fitted(RobustSparseRegressor(2), X, unit * Y).coef_ / unit, here.coef_)
    here, there = fitted(SparsePCA(1, alpha=0.3), X), fitted(SparsePCA(1, alpha=0.3 * unit**2), unit * X)
    close(there.components_, here.components_)
    for model in (FusedLasso, OverlappingGroupLasso):
        here, there = fitted(model(alpha=0.3), X, Y), fitted(model(alpha=0.3 * unit), unit * X, Y)
        assert there.result_.success
        close(there.coef_ * unit, here.coef_)
    phase = unit ** (1 / 3)
    here, there = fitted(SparsePhaseRetrieval(), X, Y**2), fitted(SparsePhaseRetrieval(), phase * X, Y**2)
    close(np.abs(there.coef_) * phase, np.abs(here.coef_))


@pytest.mark.parametrize("centre", [0.0, 10.0, 1e4])
def test_sparse_data_far_from_zero(centre):
    """Sparse columns far from 0 are almost parallel to the intercept's: solved like dense ones, centred."""
    g = np.random.default_rng(3)
    far = centre + g.standard_normal((100, 10))
    y = far @ np.array([2.0, 0, 0, -1, 0, 0, 0, 0, 3, 0]) + 1.0 + 0.01 * g.standard_normal(100)
    y[:10] += 50
    dense, sparse = (RobustSparseRegressor(3).fit(data, y) for data in (far, sp.csr_array(far)))
    assert sparse.result_.success
    np.testing.assert_array_equal(sparse.support_, [0, 3, 8])
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-6)
