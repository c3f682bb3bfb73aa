"""The figures: the paper's panels with our curves and the published ones, and the trade-off."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .entrants import BY_LABEL
from .grid import COMPONENTS
from .published import Curve, Published
from .tables import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES: dict[str, dict[str, Any]] = {
    "auto": {"color": "black", "lw": 2.4, "zorder": 5},
    "IPDS accelerated": {"color": "tab:blue", "lw": 1.6},
    "IPDS thorough": {"color": "tab:blue", "lw": 1.6},
    "IPDS practical": {"color": "tab:cyan"},
    "IPDS sound": {"color": "tab:green"},
    "IPDS printed": {"color": "tab:red"},
    "SubGrad published": {"color": "0.55", "ls": "--"},
    "SubGrad tuned": {"color": "0.55"},
    "SPGM published": {"color": "tab:orange", "ls": "--"},
    "SPGM tuned": {"color": "tab:orange"},
    "RADMM published": {"color": "tab:purple", "ls": "--"},
    "RADMM tuned": {"color": "tab:purple"},
    "ManPG": {"color": "tab:brown"},
    "MIALM": {"color": "tab:pink"},
    "homotopy": {"color": "tab:olive"},
    "homotopy slow": {"color": "tab:olive", "ls": "--"},
}
FROM_PAPER = {
    entrant.paper: {**STYLES[label], "ls": ":", "marker": "o", "ms": 2.5, "lw": 0.9, "zorder": 1}
    for label, entrant in BY_LABEL.items()
    if entrant.paper is not None
}
EARLIEST = 5e-3
"""Seconds at which the time axis begins."""
TOP, BOTTOM = 0.7, 1.0
"""Inches above and below the plots."""


def paper_figure(
    found: Sequence[Panel],
    datasets: Sequence[str],
    published: Published,
    skipped: dict[str, str],
    rho: float,
    multiple: float,
) -> Figure:
    """One figure of the paper: for every data set F, and beside it F - ρr on a logarithmic axis."""
    lines = math.ceil(len(datasets) / 2)
    figure, grid = canvas(lines, 4, 2.4)
    for position in range(2 * lines):
        plain, logarithmic = grid[position // 2][2 * (position % 2) : 2 * (position % 2) + 2]
        if position >= len(datasets):
            plain.set_axis_off()
            logarithmic.set_axis_off()
            continue
        dataset = datasets[position]
        panel = next(
            (p for p in found if (p.dataset, p.weight, p.multiple) == (dataset, rho, multiple)), None
        )
        curves = published.get((dataset, rho, multiple), {})
        logarithmic.set_yscale("log")
        draw(plain, panel, curves, 0.0)
        draw(logarithmic, panel, curves, rho * COMPONENTS if panel is None else panel.floor)
        plain.set_title(f"{dataset}: F", fontsize=9)
        logarithmic.set_title(f"{dataset}: F - ρr", fontsize=9)
        if panel is None:
            reason = "not run: data missing" if dataset in skipped else "not run"
            for axes in (plain, logarithmic):
                axes.text(0.5, 0.5, reason, transform=axes.transAxes, ha="center", color="0.4", fontsize=9)
    figure.suptitle(f"ρ = {rho:g}, β⁰ = {multiple:g}ρ; wall-clock seconds", fontsize=11)
    _legend(figure, grid)
    return figure


LEADING = ("auto", "IPDS practical", "IPDS sound", "SPGM tuned", "RADMM tuned", "SubGrad tuned", "ManPG")
"""Entrants in the opening picture: ours, and the best of each baseline."""


def opening_figure(paper: Sequence[Panel], trade_off: Sequence[Panel]) -> Figure:
    """What says most: F - ρr on one panel of the paper, and the distance to the best on one of the trade-off."""
    figure, grid = canvas(1, max(1, bool(paper) + bool(trade_off)), 3.4)
    places = list(grid[0])
    if paper:
        chosen = [p for p in paper if (p.weight, p.multiple) == (100.0, 50.0)] or list(paper)
        panel, axes = chosen[0], places.pop(0)
        draw(axes, _leading(panel), {}, panel.floor)
        axes.set_yscale("log")
        axes.set_title(f"{panel.title}: F - ρr by seconds", fontsize=11)
    if trade_off:
        panel, axes = trade_off[0], places.pop(0)
        _distances(axes, _leading(panel), panel.best)
        axes.set_title(f"{panel.title}: distance to the best, by seconds", fontsize=11)
    _legend(figure, grid)
    return figure


def _leading(panel: Panel) -> Panel:
    """The panel with the leading entrants alone."""
    return replace(panel, rows={label: row for label, row in panel.rows.items() if label in LEADING})


def best_so_far(curve: Curve) -> Curve:
    """The smallest value up to each time.

    >>> best_so_far([(0.0, 3.0), (1.0, 1.0), (2.0, 2.0)])
    [(0.0, 3.0), (1.0, 1.0), (2.0, 1.0)]
    """
    values = itertools.accumulate((F for _, F in curve), min)
    return [(t, F) for (t, _), F in zip(curve, values, strict=True)]


def _distances(axes: Axes, panel: Panel, best: float) -> None:
    """(F - best)/|best| of every entrant: the best so far, and thin beside it the current objective."""
    for label, row in panel.rows.items():
        curve = [(t, (F - best) / abs(best) + 1e-6) for t, F in row["curve"]]
        _line(axes, curve, "", {**STYLES[label], "lw": 0.7, "alpha": 0.45})
        _line(axes, best_so_far(curve), label, STYLES[label])
    axes.set(yscale="log", ylim=(5e-7, 3))
    _time_axis(axes)


def trade_off_figure(found: Sequence[Panel]) -> Figure:
    """(F - F_best)/|F_best| against time, one plot per case, first seed: best so far, and thin the current one."""
    first = [panel for panel in found if panel.seed == 0]
    columns = min(3, len(first))
    lines = math.ceil(len(first) / columns)
    figure, grid = canvas(lines, columns, 3.2)
    for position, axes in enumerate(grid.flat):
        if position >= len(first):
            axes.set_axis_off()
            continue
        panel = first[position]
        lowest = min(p.best for p in found if (p.dataset, p.weight) == (panel.dataset, panel.weight))
        best = lowest if panel.dataset[0].isupper() else panel.best  # gene data are the same for all seeds
        _distances(axes, panel, best)
        axes.set_title(f"{panel.dataset}, λ = {panel.weight:g}: (F - F*)/|F*| + 1e-6, by seconds", fontsize=9)
    _legend(figure, grid)
    return figure


def draw(axes: Axes, panel: Panel | None, published: dict[str, Curve], floor: float) -> None:
    """The curves of a panel above `floor`, and the published ones; a run that has stopped stays where it is."""
    for name, curve in published.items():
        shown = [(t, F - floor) for t, F in curve if F - floor > 0]
        _line(axes, shown, f"{name}, the paper's figure", FROM_PAPER.get(name, {}))
    if panel is not None:
        for label, row in panel.rows.items():
            curve = [(t, F - floor) for t, F in row["curve"]]
            if curve and curve[-1][0] < row["seconds"]:
                curve.append((row["seconds"], curve[-1][1]))
            _line(axes, curve, label, STYLES[label])
    _time_axis(axes)


def _line(axes: Axes, curve: Curve, label: str, style: dict[str, Any]) -> None:
    if curve:
        shown = label or "_nolegend_"
        axes.plot([max(t, EARLIEST) for t, _ in curve], [F for _, F in curve], label=shown, **style)


def _time_axis(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.minorticks_off()  # they cost more time than all curves together
    axes.set_xlim(left=EARLIEST)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.25)


def canvas(lines: int, columns: int, each: float) -> tuple[Figure, Any]:
    """A figure with room for a title and a legend. Laid out by hand: the automatic layouts take seconds per figure."""
    from matplotlib.figure import Figure

    height = each * lines + TOP + BOTTOM
    figure = Figure(figsize=(13, height))
    grid = figure.subplots(lines, columns, squeeze=False)
    figure.subplots_adjust(0.045, BOTTOM / height, 0.99, 1 - TOP / height, wspace=0.2, hspace=0.32)
    return figure, grid


def _legend(figure: Figure, grid: Any) -> None:
    handles: dict[str, Any] = {}
    for axes in grid.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        order = sorted(handles, key=lambda label: (label not in STYLES, list(handles).index(label)))
        shown = [handles[label] for label in order]
        figure.legend(shown, order, loc="lower center", ncols=7, fontsize=8)


def png(figure: Figure) -> bytes:
    """The figure as a small PNG: 256 colours are enough for lines."""
    from PIL import Image

    raw, small = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, format="png", dpi=80)
    image = Image.open(raw).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(small, format="png", optimize=True)
    return small.getvalue()


def pdf(figure: Figure) -> bytes:
    """The figure as a PDF."""
    out = io.BytesIO()
    figure.savefig(out, format="pdf")
    return out.getvalue()
