"""`model.plot()`: every model draws its data, what it found, and the certificate."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from ipds.models import (
    DualPCP,
    FusedLasso,
    OverlappingGroupLasso,
    RobustLowRank,
    RobustSparseRegressor,
    SparsePCA,
    SparsePhaseRetrieval,
    TrendFilter,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5))
Y = 2 * X[:, 1] - X[:, 3] + 0.1 * RNG.standard_normal(60)
OUTLYING = np.r_[Y[:55], Y[55:] + 30.0]
SIGNS = Y > 0
SIGNAL = np.repeat([0.0, 2.0], 30) + 0.1 * RNG.standard_normal(60)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def titles(figure) -> list[str]:
    return [ax.get_title().split(":")[0] for ax in figure.axes if ax.get_title()]


@pytest.mark.parametrize(
    ("model", "data", "wanted"),
    [
        (RobustSparseRegressor(2), (X, OUTLYING), ["fitted against observed", "residuals", "coefficients"]),
        (FusedLasso(0.05, fit_intercept=False), (np.eye(60), SIGNAL), ["signal and fit"]),
        (TrendFilter(0, 1.0), (np.arange(60.0), SIGNAL), ["signal and trend"]),
        (TrendFilter(0, 1.0), (None, SIGNAL), ["signal and trend"]),
        (FusedLasso(0.05), (X, Y), ["fitted against observed", "residuals", "coefficients"]),
        (OverlappingGroupLasso(alpha=0.05, loss="logistic"), (X, SIGNS), ["scores by class", "coefficients"]),
        (RobustLowRank(1), (np.outer(X[:, 0], np.arange(1.0, 6.0)), None), ["data", "rank 1", "removed"]),
        (SparsePCA(2), (X, None), ["scores", "loadings"]),
        (DualPCP(1), (X, None), ["distances", "normals"]),
        (SparsePhaseRetrieval(0.01), (X, (X @ np.eye(5)[1]) ** 2), ["intensities", "signal"]),
    ],
    ids=lambda case: type(case).__name__ if hasattr(case, "fit") else None,
)
def test_every_model_has_a_picture(model, data, wanted) -> None:
    figure = model.fit(*data).plot()
    *drawn, certificate = titles(figure)
    assert drawn == wanted
    assert certificate.startswith("certified" if model.result_.success else "NOT")
    figure.canvas.draw()


def test_outliers_are_marked_and_coefficients_named() -> None:
    model = RobustSparseRegressor(2).fit(X, OUTLYING)
    against, _, bars, _ = model.plot(features=list("abcde")).axes
    assert f"{len(model.outliers_)} outliers" in [
        text.get_text() for text in against.get_legend().get_texts()
    ]
    assert [tick.get_text() for tick in bars.get_yticklabels()] == ["b", "d"]


def test_samples_are_coloured_by_labels() -> None:
    model = SparsePCA(2).fit(X)
    scores = model.plot(labels=SIGNS).axes[0]
    assert [text.get_text() for text in scores.get_legend().get_texts()] == ["False", "True"]
    with pytest.raises(ValueError, match="labels has 3 entries, but there are 60 samples"):
        model.plot(labels=[1, 2, 3])


def test_bars_compare_features_and_not_their_units() -> None:
    units = np.array([1.0, 1e4, 1.0, 1e-3, 1.0])
    for model in (RobustSparseRegressor(2), OverlappingGroupLasso(alpha=0.05)):
        plain, scaled = (
            [bar.get_width() for bar in model.fit(data, Y).plot().axes[2].patches] for data in (X, X * units)
        )
        if isinstance(model, OverlappingGroupLasso):  # scaled only where units differ
            plain = list(
                model.set_params(standardize=True).fit(X, Y).coef_[model.coef_ != 0]
                * X.std(axis=0)[model.coef_ != 0]
            )
        np.testing.assert_allclose(scaled, plain, rtol=1e-4)
    wide = DualPCP(1, standardize=True).fit(X * units)
    picture = wide.plot().axes[1].images[0].get_array()
    assert np.linalg.norm(picture) == pytest.approx(1.0)


def test_the_data_is_not_pickled_with_the_model() -> None:
    model = pickle.loads(pickle.dumps(FusedLasso(0.05).fit(X, Y)))
    with pytest.raises(ValueError, match="pass X and y"):
        model.plot()
    assert len(model.plot(X, Y).axes) == 4


def test_a_model_of_a_data_frame_is_drawn_without_warnings() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"year": np.arange(30.0)})
    model = TrendFilter(alpha=1.0).fit(frame, np.abs(np.arange(30.0) - 12))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.plot()
