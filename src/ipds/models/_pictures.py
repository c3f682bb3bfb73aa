"""Pictures of fits: the data first, what was found in it next to it, the certificate small beside them.

One function for each kind of model, chosen by `picture`. Text and lines take their colours from Matplotlib's style,
so that dark styles work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .. import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREY = plot.COLOURS[0], plot.COLOURS[1], "0.55"
POINTS = 20_000
"""Samples that a scatter shows at most, evenly spread."""
PIXELS = 600
"""Rows and columns of a matrix that an image shows at most."""
Draw = Callable[["Axes"], None]


def picture(model: Any, X: Any, y: Any, labels: Any, names: list[str] | None) -> Figure:
    """The picture of a fitted model with the data it was fitted to; `names` are those of the features."""
    if hasattr(model, "low_rank_"):
        panels = low_rank(model, X)
    elif hasattr(model, "distances_"):
        panels = subspace(model, labels, names)
    elif hasattr(model, "components_"):
        panels = components(model, X, labels, names)
    elif hasattr(model, "trend_"):
        panels = {"signal": lambda ax: trend(ax, model, X, y, names)}
    elif hasattr(model, "classes_"):
        panels = classification(model, X, y, names)
    elif hasattr(model, "start_"):
        panels = intensities(model, X, y, names)
    else:
        panels = regression(model, X, y, names)
    return _drawn(model, panels, names)


def regression(model: Any, X: Any, y: Any, names: list[str] | None) -> dict[str, Draw]:
    """Fitted against observed, residuals with outliers marked, and coefficients; a denoised signal as a signal."""
    fitted, observed = np.asarray(model.predict(X)), np.asarray(y, dtype=float).ravel()
    if _is_identity(X):
        return {"signal": lambda ax: signal(ax, observed, fitted)}
    wrong = np.zeros(len(observed), bool)
    wrong[np.asarray(getattr(model, "outliers_", ()), dtype=int)] = True

    def against(ax: Axes) -> None:
        _two_kinds(ax, observed, fitted, wrong)
        if wrong.any():
            ax.legend(frameon=False)
        ends = [min(fitted.min(), observed[~wrong].min()), max(fitted.max(), observed[~wrong].max())]
        ax.plot(ends, ends, color=GREY, lw=1, zorder=0)
        ax.set(xlabel="observed", ylabel="fitted", title="fitted against observed")

    def residuals(ax: Axes) -> None:
        _two_kinds(ax, np.arange(len(observed)), observed - fitted, wrong)
        ax.axhline(0.0, color=GREY, lw=1, zorder=0)
        ax.set(xlabel="sample", ylabel="observed - fitted", title="residuals")
        if wrong.any():
            ax.set_yscale("symlog", linthresh=3 * float(np.std((observed - fitted)[~wrong])) or 1.0)

    return {"against": against, "residuals": residuals, "weights": _weights(model, "coefficients", names)}


def classification(model: Any, X: Any, y: Any, names: list[str] | None) -> dict[str, Draw]:
    """The score of every sample by its class (of several: its lead over the best other class), and the coefficients."""
    score, kinds = np.asarray(model.decision_function(X)), np.asarray(y).ravel()
    label = "score"
    if score.ndim == 2:
        own = np.searchsorted(model.classes_, kinds)[:, None]
        others = np.where(np.arange(score.shape[1]) == own, -np.inf, score).max(axis=1)
        score = np.take_along_axis(score, own, axis=1)[:, 0] - others
        label = "score of its class less the best other"

    def scores(ax: Axes) -> None:
        parts = [score[kinds == name] for name in model.classes_]
        colours = [_colour(k) for k in range(len(parts))]
        ax.hist(parts, bins=30, stacked=True, color=colours, label=[str(name) for name in model.classes_])
        ax.axvline(0.0, color=GREY, lw=1, ls="--")
        ax.set(xlabel=label, ylabel="samples", title="scores by class")
        ax.legend(frameon=False)

    return {
        "scores": scores,
        "weights" if model.coef_.ndim == 1 else "matrix": _weights(model, "coefficients", names),
    }


def signal(ax: Axes, observed: Any, fitted: Any) -> None:
    """A series as points and its fit as a line."""
    observed = np.asarray(observed, dtype=float).reshape(len(observed), -1)[:, 0]
    ax.plot(observed, ".", ms=3, color=GREY, label="observed")
    ax.plot(np.asarray(fitted).reshape(len(observed), -1)[:, 0], color=RED, lw=1.8, label="fit")
    ax.set(xlabel="sample", title="signal and fit")
    ax.legend(frameon=False)


def trend(ax: Axes, model: Any, X: Any, y: Any, names: list[str] | None) -> None:
    """A series at its positions, its trend, and marks at the knots."""
    observed = np.asarray(y, dtype=float).ravel()
    at = np.arange(len(observed)) if X is None else np.asarray(X, dtype=float).ravel()
    line = np.union1d(np.linspace(at.min(), at.max(), 2000), model.positions_)
    ax.plot(at, observed, ".", ms=3, color=GREY, label="observed")
    ax.plot(line, model.predict(line), color=RED, lw=1.8, label="trend")
    if len(model.knots_):
        ax.plot(model.knots_, model.predict(model.knots_), "o", ms=3.5, color=plot.COLOURS[5], label="knots")
    count = f"{len(model.knots_)} knot{'s' * (len(model.knots_) != 1)}"
    ax.set(xlabel=names[0] if names else "position", title=f"signal and trend: {count}")
    ax.legend(frameon=False)


def low_rank(model: Any, X: Any) -> dict[str, Draw]:
    """The matrix, the low rank below it, and what was removed."""
    whole = np.asarray(X, dtype=float).reshape(model.low_rank_.shape)
    found = np.isfinite(whole)
    low, high = np.quantile(whole[found], [0.01, 0.99])
    size = float(np.quantile(np.abs(model.residual_), 0.99)) or 1.0

    def shown(values: np.ndarray, title: str, **limits: Any) -> Draw:
        steps = tuple(slice(None, None, -(-n // PIXELS)) for n in values.shape)

        def draw(ax: Axes) -> None:
            ax.imshow(values[steps], aspect="auto", interpolation="nearest", **limits)
            ax.set(title=title, xticks=[], yticks=[])

        return draw

    rank = len(model.singular_values_)
    return {
        "data": shown(whole, "data", cmap="gray", vmin=low, vmax=high),
        "low": shown(model.low_rank_, f"rank {rank}", cmap="gray", vmin=low, vmax=high),
        "removed": shown(model.residual_, "removed", cmap="RdBu_r", vmin=-size, vmax=size),
    }


def components(model: Any, X: Any, labels: Any, names: list[str] | None) -> dict[str, Draw]:
    """Loadings by feature, and the samples by their first two scores, coloured by `labels`."""
    scores = np.asarray(model.transform(X))

    def loadings(ax: Axes) -> None:
        plot.loadings(getattr(model, "loadings_", model.components_), features=names, ax=ax)
        ax.set_title("loadings")

    def samples(ax: Axes) -> None:
        second = scores[:, 1] if scores.shape[1] > 1 else np.zeros(len(scores))
        _by_label(ax, scores[:, 0], second, labels)
        ratio = model.explained_variance_ratio_
        ax.set(xlabel=f"component 1 ({ratio[0]:.0%} of the variance)", title="scores")
        ax.set_ylabel(f"component 2 ({ratio[1]:.0%})" if len(ratio) > 1 else "")

    return {"samples": samples, "matrix": loadings}


def subspace(model: Any, labels: Any, names: list[str] | None) -> dict[str, Draw]:
    """Distances of the samples to the subspace with the limit of the inliers, and the normals."""

    def distances(ax: Axes) -> None:
        kinds = np.where(model.inlier_mask_, "inlier", "outlier") if labels is None else np.asarray(labels)
        groups = np.unique(kinds)
        parts = [model.distances_[kinds == group] for group in groups]
        colours = [_colour(k) for k in range(len(groups))]
        ax.hist(parts, bins=40, stacked=True, color=colours, label=[str(group) for group in groups])
        ax.axvline(model.threshold_, color=GREY, ls="--", lw=1.2, label="limit of inliers")
        ax.set(xlabel="distance to the subspace", ylabel="samples", title="distances")
        ax.legend(frameon=False)

    def normals(ax: Axes) -> None:
        plot.loadings(model.normals_ * model.feature_scales_, features=names, ax=ax)
        ax.set(title="normals", ylabel="normal")

    return {"distances": distances, "matrix": normals}


def intensities(model: Any, X: Any, y: Any, names: list[str] | None) -> dict[str, Draw]:
    """Measured intensities against those of the signal found, and that signal."""
    measured, told = np.asarray(y, dtype=float).ravel(), np.asarray(model.predict(X))

    def against(ax: Axes) -> None:
        ax.plot(measured, told, ".", ms=4, color=BLUE)
        ax.plot([0, measured.max()], [0, measured.max()], color=GREY, lw=1, zorder=0)
        ax.set(xlabel="measured", ylabel="of the signal found", title="intensities")

    return {"against": against, "weights": _weights(model, "signal", names)}


def _weights(model: Any, title: str, names: list[str] | None) -> Draw:
    """Coefficients by name, per standard deviation where features were scaled: bars, or stems where they are many."""

    def draw(ax: Axes) -> None:
        values, unit = np.asarray(model.coef_), ""
        if getattr(model, "standardize_", False):  # in the units of X the bars would compare units
            values, unit = values * model.feature_scales_, "per standard deviation of the feature"
        if values.ndim == 2:
            plot.loadings(values, features=names, label=unit, ax=ax)
            ax.set(title=title, ylabel="class")
            ax.set_yticks(range(len(values)), [str(name) for name in model.classes_])
            return
        used = np.flatnonzero(values)
        if len(values) > plot.NAMED or not len(used):
            plot.coefficients(values, ax=ax)
            ax.set_title(title)
            return
        texts = [f"x{j}" if names is None else names[j] for j in used]
        ax.barh(texts, values[used], color=np.where(values[used] > 0, BLUE, RED))
        ax.invert_yaxis()  # read from the top
        ax.axvline(0.0, color=GREY, lw=0.8)
        ax.set(title=f"{title}: {len(used)} of {len(values)} used", xlabel=unit)

    return draw


def _drawn(model: Any, panels: dict[str, Draw], names: list[str] | None) -> Figure:
    """The panels side by side, and the certificate as a small one."""
    wide = 6.5 if len(panels) == 1 else 4.3
    widths = [*([wide] * len(panels)), 2.0]
    below = max([0, *(len(name) for name in names or ())]) if "matrix" in panels else 0
    size = (wide * len(panels) + 2.0, 3.8 + 0.075 * below)
    figure, axes = plot.grid(1, len(widths), size, width_ratios=widths)
    for ax, draw in zip(axes[0], panels.values(), strict=False):
        draw(ax)
    small = axes[0, -1]
    history = model.result_.history
    small.semilogy(history["iteration"], history["relative"], color=BLUE, lw=1.2)
    small.axhline(model.tol, color=GREY, ls="--", lw=1)
    verdict = "certified" if model.result_.success else "NOT certified"
    small.set_title(
        f"{verdict}\n{model.result_.certificate.relative:.0e} of {model.tol:.0e}", fontsize="small"
    )
    small.set_xlabel("iteration", fontsize="small")
    small.tick_params(labelsize="small")
    small.set_box_aspect(1.0)
    figure.suptitle(type(model).__name__, fontsize="medium")
    return plot.once(figure)


def _two_kinds(ax: Axes, x: np.ndarray, y: np.ndarray, wrong: np.ndarray) -> None:
    """Samples, outliers among them marked."""
    step = max(1, len(x) // POINTS)
    right = np.flatnonzero(~wrong)[::step]
    ax.plot(x[right], y[right], ".", ms=4, color=BLUE, label="samples")
    if wrong.any():
        ax.plot(x[wrong], y[wrong], "x", ms=5, color=RED, label=f"{int(wrong.sum())} outliers")


def _by_label(ax: Axes, x: np.ndarray, y: np.ndarray, labels: Any) -> None:
    step = max(1, len(x) // POINTS)
    if labels is None:
        ax.plot(x[::step], y[::step], ".", ms=4, color=BLUE)
        return
    kinds = np.asarray(labels).ravel()
    if len(kinds) != len(x):
        raise ValueError(f"labels has {len(kinds)} entries, but there are {len(x)} samples")
    for k, name in enumerate(np.unique(kinds)):
        here = np.flatnonzero(kinds == name)[::step]
        ax.plot(x[here], y[here], ".", ms=4, color=_colour(k), label=str(name))
    ax.legend(frameon=False)


def _colour(k: int) -> str:
    return plot.COLOURS[k % (len(plot.COLOURS) - 1)]  # the last is black, which dark styles hide


def _is_identity(X: Any) -> bool:
    """Whether features are the samples themselves: a signal."""
    if X.shape[0] != X.shape[1]:
        return False
    return bool((sp.csr_array(X) != sp.eye_array(X.shape[0])).nnz == 0)
