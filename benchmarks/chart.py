"""The short page on performance: one chart and one table, from the figures in the log.

    python -m benchmarks.chart --log docs/performance_log.md --write docs/performance.md

Times of `ipds` over those of the fastest specialist (nonconvex problems, to within 1e-3 of the best objective) and of
the best of Clarabel, HiGHS and OSQP (convex ones, to a certificate of 1e-6).
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from benchmarks.pages import in_words, write_section

SPECIALISTS, SOLVERS = "nonconvex: the fastest specialist", "convex: the best of Clarabel, HiGHS, OSQP"


def rows(page: str, section: str, first: str) -> list[dict[str, str]]:
    """The rows of the table in a section of the page whose first column is called `first`."""
    lines = [line for line in _part(page, section).splitlines() if line.startswith("|")]
    start = next(k for k, line in enumerate(lines) if cells(line)[0] == first)
    head = cells(lines[start])
    found = []
    for line in lines[start + 2 :]:
        if len(cells(line)) != len(head):
            break
        found.append(dict(zip(head, cells(line), strict=True)))
    return found


def _part(page: str, section: str) -> str:
    return page.split(f"<!-- {section}: begin -->", 1)[1].split(f"<!-- {section}: end -->", 1)[0]


def dates(page: str) -> str:
    """When the rows of both kinds were measured, in a sentence."""
    convex, others = (re.search(r"20\d\d-\d\d-\d\d", _part(page, name))[0] for name in ("certify", "engine"))
    return f"Convex rows measured on {convex}, others on {others}, on the machines that the log names, one thread."


def cells(line: str) -> list[str]:
    """The cells of a row of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def ratios(page: str) -> list[tuple[str, str, float, float]]:
    """(kind of rival, problem, seconds of ipds, ratio) of every row with a time on both sides."""
    found = []
    for row in rows(page, "engine", "problem"):
        if re.fullmatch(r"[\d.]+", row["ratio"]):
            problem = row["problem"] + (" *" if row["within"] == "1e-02" else "")
            found.append((SPECIALISTS, problem, float(row["ipds s"]), float(row["ratio"])))
    for row in rows(page, "certify", "problem"):
        if re.fullmatch(r"[\d.]+", row["ipds / best"]):
            found.append((SOLVERS, row["problem"], float(row["ipds"]), float(row["ipds / best"])))
    return found


def draw(found: list[tuple[str, str, float, float]], path: Path) -> None:
    """Bars of the ratios on a log axis: left of one, ipds is faster."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from ipds.plot import darkened

    parts = [[row for row in found if row[0] == kind][::-1] for kind in (SOLVERS, SPECIALISTS)]
    figure, axes = plt.subplots(
        2,
        1,
        figsize=(8, 0.25 * len(found) + 2.5),
        height_ratios=[len(part) + 1 for part in parts],
        layout="constrained",
    )
    for ax, kind, here in zip(axes, (SOLVERS, SPECIALISTS), parts, strict=True):
        values = [ratio for *_, ratio in here]
        colours = ["#4477aa" if ratio <= 1 else "#cc6677" for ratio in values]
        ax.barh(
            [in_words(problem) for _, problem, *_ in here], [v - 1 for v in values], left=1.0, color=colours
        )
        ax.axvline(1.0, color="0.4", lw=1)
        ax.set(xscale="log", title=kind, xlabel="time of ipds / time of its rival; left of 1, ipds is faster")
        ax.tick_params(axis="y", labelsize="medium")
        ax.margins(y=0.02)
        low, high = ax.get_xlim()
        ax.set_xticks([t for t in (0.01, 0.03, 0.1, 0.3, 1, 2, 3, 5, 10, 30) if low <= t <= high])
        ax.minorticks_off()
        ax.xaxis.set_major_formatter("{x:g}")
    figure.savefig(path, dpi=100)
    darkened(figure).savefig(path.with_stem(path.stem + "-dark"), dpi=100)


def table(found: list[tuple[str, str, float, float]]) -> str:
    """How often ipds is ahead, within twice, and behind that."""
    lines = [
        "| rivals | rows | ipds faster | within 2x | slower than that | median ratio |",
        "|---|---|---|---|---|---|",
    ]
    for kind in (SOLVERS, SPECIALISTS):
        values = sorted(ratio for rival, *_, ratio in found if rival == kind)
        ahead = sum(ratio <= 1 for ratio in values)
        near = sum(1 < ratio <= 2 for ratio in values)
        median = values[len(values) // 2]
        lines.append(
            f"| {kind} | {len(values)} | {ahead} | {near} | {len(values) - ahead - near} | {median:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Chart and table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, default=Path("docs/performance_log.md"))
    parser.add_argument("--write", type=Path, default=Path("docs/performance.md"))
    args = parser.parse_args()
    page = args.log.read_text(encoding="utf-8")
    found = ratios(page)
    draw(found, args.write.parent / "img" / "performance.png")
    write_section(args.write, "chart", f"{table(found)}\n\n{dates(page)}")


if __name__ == "__main__":
    main()
