"""Pictures: the data that lines and images carry, not just that something was drawn."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb

from ipds import Block, Problem, Result, plot, solve
from ipds.functions import L1, LeastSquares
from ipds.methods import IPDS
from ipds.models import SparsePCA


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(0)
    f = LeastSquares(rng.standard_normal((20, 5)), rng.standard_normal(20))
    problem = Problem([Block(f=f, A=-1.0, shape=5, name="x"), Block(h=L1(1.0), shape=5, name="v")])
    options = {"seed": 0, "check_every": 1}
    return {
        "auto": solve(problem, **options),
        "practical": solve(problem, method=IPDS("practical"), max_iter=60, **options),
    }


def test_the_gap_is_measured_from_the_best_and_never_grows(results):
    ax = plot.convergence(results)
    best = min(line.get_ydata()[-1] for line in ax.lines)
    assert [line.get_label() for line in ax.lines] == ["auto", "practical"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["auto", "practical"]
    for line, result in zip(ax.lines, results.values(), strict=True):
        assert np.array_equal(line.get_xdata(), result.history["seconds"])
        assert np.all(np.diff(line.get_ydata()) <= 0)
    assert best <= 1e-6
    assert ax.get_yscale() == "log"
    assert (ax.get_xlabel(), "gap" in ax.get_ylabel()) == ("time (s)", True)


def test_the_best_objective_is_one_of_points_about_as_feasible_as_the_answer():
    history = {"seconds": np.arange(4.0), "objective": np.array([0.0, 9.0, 5.0, 6.0])}
    history["feasibility"] = np.array([10.0, 0.5, 3.0, 2.0])
    result = Result(history=history, fun=6.0, method="some")
    gap = plot.convergence(result).lines[0].get_ydata()
    assert gap.tolist() == [1.0, 0.8, 0.0, 0.0]  # measured from 5: the point of 0 is far from feasible


def test_the_gap_to_a_known_optimum(results):
    result = results["auto"]
    ax = plot.convergence(result, best=result.fun - 2.0)
    objective = result.history["objective"]
    expected = np.minimum.accumulate(np.abs(objective - result.fun + 2.0)) / max(1.0, abs(result.fun - 2.0))
    assert np.allclose(ax.lines[0].get_ydata(), expected)
    assert ax.get_legend() is None


@pytest.mark.parametrize(
    "y", ["objective", "relative", "critical", "critical_best", "critical_mean", "feasibility", "beta"]
)
def test_columns_of_the_history_are_drawn_as_they_are(results, y):
    ax = plot.convergence(list(results.values()), x="iteration", y=y)
    for line, result in zip(ax.lines, results.values(), strict=True):
        assert np.array_equal(line.get_xdata(), result.history["iteration"])
        assert np.array_equal(line.get_ydata(), result.history[y])


def test_the_certificate_is_drawn_with_its_target(results):
    ax = plot.certificate(results["practical"], tol=1e-3)
    drawn = {line.get_label().split(",")[0]: line.get_ydata() for line in ax.lines}
    assert np.array_equal(drawn["relative certificate"], results["practical"].history["relative"])
    assert list(drawn["target of the relative one"]) == [1e-3, 1e-3]
    assert len(plot.certificate(results["practical"], tol=None).lines) == len(ax.lines) - 1


def test_the_schedule_has_penalty_and_smoothing(results):
    ax = plot.schedule(results["practical"])
    assert np.array_equal(ax.lines[0].get_ydata(), results["practical"].history["beta"])
    assert np.array_equal(ax.lines[1].get_ydata(), results["practical"].history["mu"])


def test_loadings_are_centred_on_zero():
    components = np.array([[0.0, 2.0, 0.0], [-1.0, 0.0, 0.5]])
    ax = plot.loadings(components, features=["a", "b", "c"])
    picture = ax.images[0]
    assert np.array_equal(picture.get_array(), components)
    assert picture.get_clim() == (-2.0, 2.0)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="2 names, but there are 3"):
        plot.loadings(components, features=["a", "b"])


def test_features_have_names_or_whole_numbers():
    ax = plot.coefficients([0.0, 2.0, -1.0], features=["a", "b", "c"])
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="2 names, but there are 3"):
        plot.coefficients([0.0, 2.0, -1.0], features=["a", "b"])
    many = plot.coefficients(np.ones(50), features=[f"feature {k}" for k in range(50)])
    assert many.get_xlabel() == "feature"  # too many names to read
    for drawn in (plot.coefficients([1.0, 0.0, 1.0]), plot.support([1.0, 0.0], [1.0, 1.0])):
        assert all(float(tick).is_integer() for tick in drawn.get_xticks())


def test_iterations_are_whole_numbers(results):
    result = results["practical"]
    short = {name: column[:2] for name, column in result.history.items()} | {"iteration": np.array([1, 4])}
    ax = plot.certificate(replace_history(result, short))
    assert all(float(tick).is_integer() for tick in ax.get_xticks())


def replace_history(result, history):
    copy = type(result)(result)
    copy.history = history
    return copy


def test_images_show_each_row():
    rows = np.arange(24.0).reshape(4, 6)
    figure = plot.images(rows, (2, 3), columns=3, titles=["first"])
    drawn = [ax for ax in figure.axes if ax.images]
    assert len(drawn) == 4
    assert np.array_equal(drawn[1].images[0].get_array(), rows[1].reshape(2, 3))
    assert drawn[0].get_title() == "first"
    with pytest.raises(ValueError, match="6 columns"):
        plot.images(rows, (2, 2))


def test_separation_shows_the_chosen_frames():
    frames = np.arange(48.0).reshape(4, 3, 4)
    figure = plot.separation(frames, frames / 2, frames - 50, chosen=[1, 3])
    pictures = [ax.images[0].get_array() for ax in figure.axes]
    assert np.array_equal(pictures[0], frames[1])
    assert np.array_equal(pictures[4], frames[3] / 2)
    assert np.array_equal(pictures[5], np.abs(frames[3] - 50))
    with pytest.raises(ValueError, match="share a shape"):
        plot.separation(frames, frames[:2], frames)


def test_support_counts_hits_misses_and_false_alarms():
    ax = plot.support([1.0, 0.0, 2.0, 0.0], [1.5, 3.0, 0.0, 0.0])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["found: 1", "false alarm: 1", "missed: 1", "truth: 2"]
    points = {line.get_label(): list(line.get_xdata()) for line in ax.lines}
    assert (points["found: 1"], points["false alarm: 1"], points["missed: 1"]) == ([0], [2], [1])
    with pytest.raises(ValueError, match="3 entries"):
        plot.support([1, 2, 3], [1, 2])


def test_a_model_is_drawn_by_itself():
    X = np.random.default_rng(0).standard_normal((40, 5))
    pca = SparsePCA(2, alpha=0.1).fit(X)
    figure = plot.fit(pca, features=list("abcde"))
    assert np.array_equal(figure.axes[1].images[0].get_array(), pca.loadings_)
    assert [tick.get_text() for tick in figure.axes[1].get_xticklabels()] == list("abcde")


def test_a_notebook_shows_a_figure_once(results, monkeypatch):
    plot.summary(results["auto"])
    assert len(plt.get_fignums()) == 1  # plt.show() shows it
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    figure = plot.summary(results["auto"])
    assert len(plt.get_fignums()) == 1  # the value of the cell is all there is
    assert len(figure.axes) == 3


def test_an_axes_that_is_given_is_drawn_into(results):
    _, ax = plt.subplots()
    for draw in (plot.convergence, plot.certificate, plot.schedule):
        assert draw(results["auto"], ax=ax) is ax
    assert len(plot.summary(results["auto"]).axes) == 3


def test_a_darkened_figure_is_read_on_dark_and_keeps_its_colours(results):
    figure, (ax, points) = plt.subplots(1, 2)
    plot.convergence(results, ax=ax)
    ax.axhline(1.0, color="k")
    points.hist([1.0, 2.0, 2.0], color=plot.COLOURS[0], alpha=0.5)
    points.scatter([0, 1], [0, 1], c=["0.0", "#D55E00"])
    assert plot.darkened(figure) is figure
    figure.canvas.draw()  # ticks are made here

    def brightness(colour):
        return float(np.mean(to_rgb(colour)))

    for each in (ax, points):
        texts = [each.xaxis.label, each.title, *each.get_xticklabels(), *each.get_yticklabels()]
        assert all(brightness(text.get_color()) > 0.7 for text in texts)
        assert all(brightness(spine.get_edgecolor()) > 0.7 for spine in each.spines.values())
        assert brightness(each.get_facecolor()) < 0.1
    assert brightness(figure.get_facecolor()) < 0.1
    assert brightness(ax.get_legend().get_frame().get_facecolor()) < 0.1
    assert to_rgb(ax.lines[0].get_color()) == to_rgb(plot.COLOURS[0])
    assert brightness(ax.lines[-1].get_color()) > 0.7
    bar = points.patches[0]
    assert to_rgb(bar.get_facecolor()) == to_rgb(plot.COLOURS[0])
    assert bar.get_edgecolor()[3] == 0  # no edge appears
    black, orange = points.collections[0].get_facecolors()
    assert brightness(black) > 0.7
    assert to_rgb(orange) == to_rgb("#D55E00")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: plot.convergence(r, y="loss"), "y must be one of 'gap', 'objective'"),
        (lambda r: plot.convergence(r, x="hours"), "x must be one of"),
        (lambda r: plot.convergence([]), "results is empty"),
        (lambda r: plot.convergence(3), "results must be an ipds.Result, a list or a dict of them, got int"),
        (lambda r: plot.convergence({"a": 3}), "got int for 'a'"),
        (lambda r: plot.loadings(np.zeros((2, 2, 2))), "must be a matrix"),
    ],
)
def test_mistakes_are_named(results, call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call(results)


def test_matplotlib_is_asked_for_by_name_where_it_is_missing(results, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"ipds-admm\[plot\]"):
        plot.convergence(results)
