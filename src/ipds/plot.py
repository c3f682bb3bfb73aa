"""Pictures of results and of what models found. Needs matplotlib: `pip install 'ipds-admm[plot]'`.

Every function draws into the `ax` it is given, or into a new figure, and returns what it drew into. The colours are
those of Okabe & Ito, which colour-blind readers tell apart; lines differ by style as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .result import Result

__all__ = [
    "certificate",
    "coefficients",
    "convergence",
    "darkened",
    "fit",
    "images",
    "loadings",
    "schedule",
    "separation",
    "summary",
    "support",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")
TIMES = {"seconds": "time (s)", "iteration": "iteration"}
VALUES = {
    "gap": "relative gap of the objective to the best",
    "objective": "objective",
    "relative": "relative certificate",
    "critical": "certificate: bound on criticality",
    "critical_best": "smallest certificate so far",
    "critical_mean": "average certificate so far",
    "feasibility": "feasibility ‖Ax − b‖",
    "stationarity": "stationarity",
    "beta": "penalty β",
    "mu": "smoothing μ",
}
NAMED = 40
"""Features up to which their names fit below an axis."""
Results: TypeAlias = "Result | Sequence[Result] | Mapping[str, Result]"


def convergence(
    results: Results, *, x: str = "seconds", y: str = "gap", best: float | None = None, ax: Axes | None = None
) -> Axes:
    """One curve per result: `y` against time or iterations.

    Parameters
    ----------
    results : a result, a list of them, or a dict with names for the legend.
    x : "seconds" or "iteration".
    y : "gap", or any column of the history: "objective", "relative", "critical", "feasibility", "beta", ...
    best : objective the gap is measured from; default: the least objective at a nearly feasible check of any result.

    The gap is the least |objective - best| / max(1, |best|) up to each check, on a log axis.

    >>> import numpy as np, matplotlib; matplotlib.use("Agg")
    >>> from ipds import Block, Problem, plot, solve
    >>> from ipds.functions import L1, LeastSquares
    >>> problem = Problem([Block(f=LeastSquares(np.eye(3), np.ones(3)), A=-1.0, shape=3), Block(h=L1(0.1), shape=3)])
    >>> result = solve(problem)
    >>> plot.convergence({"auto": result}, y="relative").get_ylabel()
    'relative certificate'
    """
    _choice("x", x, TIMES)
    _choice("y", y, VALUES)
    curves = _named(results)
    if y == "gap" and best is None:
        best = min(_least(result) for result in curves.values())
    ax = _axes(ax)
    for k, (name, result) in enumerate(curves.items()):
        history = result.history
        values = _gap(history, best) if y == "gap" and best is not None else history[y]
        _curve(ax, history[x], values, k, name or None)
    _time_axis(ax, x)
    ax.set_ylabel(VALUES[y])
    if y != "objective" and any(np.any(np.asarray(line.get_ydata()) > 0) for line in ax.lines):
        ax.set_yscale("log")
    if len(curves) > 1 or next(iter(curves)):
        ax.legend(frameon=False)
    return ax


def certificate(
    result: Result, *, tol: float | None = 1e-4, x: str = "iteration", ax: Axes | None = None
) -> Axes:
    """The certificate and its parts, with the target `tol` of the relative one (None draws no target)."""
    _choice("x", x, TIMES)
    ax = _axes(ax)
    for k, name in enumerate(("relative", "critical", "feasibility", "stationarity")):
        _curve(ax, result.history[x], result.history[name], k, VALUES[name])
    if tol is not None:
        ax.axhline(tol, color="0.4", lw=1, label=f"target of the relative one, {tol:g}")
    ax.set_yscale("log")
    _time_axis(ax, x)
    ax.set_ylabel("certificate")
    ax.legend(frameon=False, fontsize="small")
    return ax


def schedule(result: Result, *, x: str = "iteration", ax: Axes | None = None) -> Axes:
    """Penalty β and smoothing μ as the method used them; a μ that is 0 throughout is left out."""
    _choice("x", x, TIMES)
    ax = _axes(ax)
    for k, name in enumerate(("beta", "mu")):
        values = result.history[name]
        if np.any(values > 0):
            _curve(ax, result.history[x], values, k, VALUES[name])
    ax.set_yscale("log")
    _time_axis(ax, x)
    ax.set_ylabel("β, μ")
    if ax.lines:
        ax.legend(frameon=False)
    return ax


def loadings(
    components: Any, *, features: Sequence[str] | None = None, label: str = "loading", ax: Axes | None = None
) -> Axes:
    """Heat map of (components, features); white is zero.

    `features` names the columns, up to 40 of them; `label` says what the colours are.
    """
    values = _matrix("components", components)
    rows, columns = values.shape
    ax = _axes(ax, (min(14.0, max(4.0, 0.22 * columns + 1.5)), max(1.8, 0.3 * rows + 1.0)))
    top = float(np.abs(values).max()) or 1.0
    picture = ax.imshow(values, cmap="RdBu_r", vmin=-top, vmax=top, aspect="auto", interpolation="nearest")
    ax.figure.colorbar(picture, ax=ax, label=label)
    ax.set_yticks(range(rows), [str(k + 1) for k in range(rows)])
    ax.set_ylabel("component")
    _name_features(ax, features, columns)
    return ax


def images(
    pictures: Any, shape: tuple[int, int], *, titles: Iterable[str] = (), columns: int | None = None
) -> Figure:
    """Rows of `pictures` as images of `shape`, each on its own scale, `columns` side by side; white is zero."""
    values = _matrix("pictures", pictures)
    if values.shape[1] != math.prod(shape):
        raise ValueError(
            f"pictures has {values.shape[1]} columns, but images of shape {shape} have {math.prod(shape)}"
        )
    count = len(values)
    columns = min(count, 8) if columns is None else columns
    rows = -(-count // columns)
    figure, axes = grid(rows, columns, (1.4 * columns, 1.5 * rows))
    names = [*titles][:count]
    for k, axis in enumerate(axes.ravel()):
        axis.axis("off")
        if k < count:
            top = float(np.abs(values[k]).max()) or 1.0
            axis.imshow(values[k].reshape(shape), cmap="RdBu_r", vmin=-top, vmax=top, interpolation="nearest")
            if k < len(names):
                axis.set_title(names[k], fontsize="small")
    return once(figure)


def separation(
    frames: Any, background: Any, foreground: Any, *, chosen: Sequence[int] | None = None
) -> Figure:
    """Frames of a video beside their background and |foreground|, as (frames, height, width); three by default."""
    parts = [np.asarray(part) for part in (frames, background, foreground)]
    if any(part.ndim != 3 or part.shape != parts[0].shape for part in parts):
        shapes = ", ".join(str(part.shape) for part in parts)
        raise ValueError(
            f"frames, background, foreground must share a shape (frames, height, width), got {shapes}"
        )
    count = len(parts[0])
    if chosen is None:
        chosen = sorted({count // 8, count // 2, 7 * count // 8})
    low, high = float(np.nanmin(parts[0])), float(np.nanmax(parts[0]))
    moving = float(np.quantile(np.abs(parts[2]), 0.999)) or 1.0
    height, width = parts[0].shape[1:]
    figure, axes = grid(len(chosen), 3, (8.0, 8.0 / 3 * height / width * len(chosen) + 0.3 * len(chosen)))
    for line, t in zip(axes, chosen, strict=True):
        shown = (parts[0][t], parts[1][t], np.abs(parts[2][t]))
        for axis, name, picture in zip(
            line, (f"frame {t}", "background", "|foreground|"), shown, strict=True
        ):
            top = moving if name == "|foreground|" else high
            axis.imshow(picture, cmap="gray", vmin=0.0 if name == "|foreground|" else low, vmax=top)
            axis.set_title(name, fontsize="small")
            axis.axis("off")
    return once(figure)


def coefficients(values: Any, *, features: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """A vector of coefficients as stems, zeros left out; one long and dense, such as a signal, as points.

    `features` names the entries, up to 40 of them.
    """
    v = np.asarray(values).ravel()
    ax = _axes(ax)
    used = np.flatnonzero(v)
    dense = len(v) > NAMED and 2 * len(used) > len(v)
    _stems(ax, used, v[used], 0, f"{len(used)} of {len(v)} nonzero", 0.0 if dense else 1.0)
    ax.set_xlim(-1, len(v))
    _name_features(ax, features, len(v))
    ax.set_ylabel("coefficient")
    ax.legend(frameon=False)
    return ax


def support(estimate: Any, truth: Any, *, ax: Axes | None = None) -> Axes:
    """What was found of a sparse truth: hits, misses and false alarms, with their numbers in the legend."""
    found, true = np.asarray(estimate).ravel(), np.asarray(truth).ravel()
    if found.shape != true.shape:
        raise ValueError(f"estimate has {found.size} entries, truth has {true.size}: they must agree")
    ax = _axes(ax)
    kinds = {
        "found": np.flatnonzero((found != 0) & (true != 0)),
        "false alarm": np.flatnonzero((found != 0) & (true == 0)),
    }
    for k, (name, where) in enumerate(kinds.items()):
        _stems(ax, where, found[where], k, f"{name}: {len(where)}")
    missed = np.flatnonzero((found == 0) & (true != 0))
    ax.plot(missed, true[missed], "x", color=COLOURS[3], label=f"missed: {len(missed)}")
    where = np.flatnonzero(true)
    ax.plot(where, true[where], "o", mfc="none", mec="0.4", ms=8, label=f"truth: {len(where)}")
    ax.set_xlim(-1, len(true))
    _whole_numbers(ax)
    ax.set_xlabel("index")
    ax.set_ylabel("coefficient")
    ax.legend(frameon=False, fontsize="small")
    return ax


def summary(result: Result, *, tol: float | None = 1e-4) -> Figure:
    """Objective, certificate with its target, and the schedule of one result, side by side."""
    figure, axes = grid(1, 3, (13.0, 3.6))
    convergence(result, x="iteration", y="objective", ax=axes[0, 0])
    certificate(result, tol=tol, ax=axes[0, 1])
    schedule(result, ax=axes[0, 2])
    figure.suptitle(f"{result.method}: {result.message}", fontsize="medium")
    return once(figure)


def fit(model: Any, *, labels: Any = None, features: Sequence[str] | None = None) -> Figure:
    """What a fitted model of `ipds.models` found in its data: `model.plot(labels=labels, features=features)`."""
    return model.plot(labels=labels, features=features)


def _named(results: Results) -> dict[str, Result]:
    """Results by name; one alone has none."""
    from .result import Result

    if isinstance(results, Result):
        return {"": results}
    if not isinstance(results, Iterable):
        raise TypeError(
            f"results must be an ipds.Result, a list or a dict of them, got {type(results).__name__}"
        )
    if isinstance(results, Mapping):
        named = dict(results)
    else:
        named = {}
        for result in results:
            name = result.method
            named[name if name not in named else f"{name} ({len(named) + 1})"] = result
    if not named:
        raise ValueError("results is empty: pass at least one ipds.Result")
    for name, result in named.items():
        if not isinstance(result, Result):
            raise TypeError(f"results must be ipds.Result objects, got {type(result).__name__} for {name!r}")
    return named


def _least(result: Result) -> float:
    """The least objective among the checks that are about as feasible as the result itself."""
    objective, feasibility = result.history["objective"], result.history["feasibility"]
    if not len(objective):
        return float(result.fun)
    feasible = feasibility <= max(2 * feasibility[-1], 1e-3 * feasibility.max())
    return float(min(objective[feasible].min(), result.fun))


def _gap(history: Mapping[str, np.ndarray], best: float) -> np.ndarray:
    return np.minimum.accumulate(np.abs(history["objective"] - best) / max(1.0, abs(best)))


def _curve(ax: Axes, x: np.ndarray, y: np.ndarray, k: int, label: str | None) -> None:
    style = STYLES[(k // len(COLOURS) + k) % len(STYLES)]
    marker = "." if len(x) == 1 else None
    ax.plot(x, y, color=COLOURS[k % len(COLOURS)], ls=style, marker=marker, lw=1.6, label=label)


def _stems(ax: Axes, where: np.ndarray, values: np.ndarray, k: int, label: str, width: float = 1.0) -> None:
    ax.vlines(where, 0.0, values, color=COLOURS[k], lw=width)
    ax.plot(where, values, ".", color=COLOURS[k], ms=5, label=label)
    ax.axhline(0.0, color="0.7", lw=0.8, zorder=0)


def _time_axis(ax: Axes, x: str) -> None:
    if x == "iteration":
        _whole_numbers(ax)
    ax.set_xlabel(TIMES[x])


def _whole_numbers(ax: Axes) -> None:
    """No ticks at 2.5 where things are counted; an axis that is not linear keeps its own."""
    if ax.get_xscale() == "linear":
        ax.locator_params(axis="x", integer=True)


def _name_features(ax: Axes, features: Sequence[str] | None, count: int) -> None:
    """Names below the axis where there are any and they can be read, else whole numbers."""
    if features is not None and len(features) != count:
        raise ValueError(f"features has {len(features)} names, but there are {count} features")
    if features is not None and count <= NAMED:
        ax.set_xticks(range(count), list(features), rotation=90, fontsize="small")
        return
    _whole_numbers(ax)
    ax.set_xlabel("feature")


def _matrix(name: str, values: Any) -> np.ndarray:
    matrix = np.atleast_2d(np.asarray(values, dtype=float))
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(f"{name} must be a matrix with at least one entry, got shape {matrix.shape}")
    return matrix


def _choice(name: str, value: str, choices: Mapping[str, str]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def _axes(ax: Axes | None, size: tuple[float, float] = (6.4, 4.0)) -> Axes:
    return grid(1, 1, size)[1][0, 0] if ax is None else ax


def darkened(figure: Figure) -> Figure:
    """Recolour a figure, in place, for a dark page: grey g, black and white among them, becomes 0.07 + 0.75 (1 - g).

    Colours and pictures stay. The figure is returned, so that `darkened(figure).savefig(path)` is one line.
    """
    from matplotlib.colors import to_rgba_array

    def dark(colour: Any) -> Any:
        mapped = to_rgba_array(colour)
        greys = np.ptp(mapped[:, :3], axis=1) < 0.1
        mapped[greys, :3] = 0.07 + 0.75 * (1 - mapped[greys, :3])
        return mapped if len(mapped) != 1 else tuple(mapped[0])

    # the patch of a figure or of axes is an artist itself
    for artist in figure.findobj(lambda a: not hasattr(a, "patch")):
        if hasattr(artist, "set_facecolor"):  # patches and collections
            names = ["facecolor", "edgecolor"]
        else:  # lines and texts
            names = [
                name
                for name in ("color", "markerfacecolor", "markeredgecolor")
                if hasattr(artist, f"get_{name}")
            ]
        for name, colour in [(name, getattr(artist, f"get_{name}")()) for name in names]:
            if to_rgba_array(colour)[:, 3].any():  # else it is not seen
                getattr(artist, f"set_{name}")(dark(colour))
    for ax in figure.axes:
        # of ticks that are made when it is drawn
        ax.tick_params(which="both", color=dark("k"), labelcolor=dark("k"))
    return figure


def once(figure: Figure) -> Figure:
    """A figure that is returned to a notebook: it is shown as the value of a cell, and must not be shown again."""
    import matplotlib
    import matplotlib.pyplot as plt

    if "inline" in matplotlib.get_backend().lower():
        plt.close(figure)
    return figure


def grid(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, np.ndarray]:
    """A figure of `size` in inches and its axes; `options` are those of `plt.subplots`."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("ipds.plot needs matplotlib: pip install 'ipds-admm[plot]'") from None
    return plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **options)
