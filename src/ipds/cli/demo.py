"""`ipds demo`: a model in one line, an estimator on a raw table, pictures, and what the certificate says."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

TRY_NEXT = {
    "solve robust-regression YOUR.csv --target COLUMN": "a robust regression on your own table",
    "solve --help": "the other models",
    "check YOUR.py": "a problem of your own: how it is split, and which theorems apply",
    "bench": "the methods compared on three problems",
}
MODEL = """\
w = Variable(30, name="w")
result = solve(minimize(logistic(-y * (X @ w)) + 0.5 * sum_squares(w) + Cardinality(4)(w)))"""
ESTIMATOR = """\
model = SparsePCA(n_components=2, sparsity=4).fit(load_wine().data)"""
PLAIN_WORDS = """\
Is it a solution? There loss, penalty and limit balance. Here they do, up to {relative:.0e} of their size.
ipds measures this for every answer, and `result.success` is True only if it is below the tolerance, 1e-4."""


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("out"),
    force: Annotated[bool, typer.Option("--force", help="Replace a picture that exists.")] = False,
) -> None:
    """Three small problems on real data, solved and certified, with a picture."""
    from rich.console import Console

    from .write import check_free

    picture = out / "demo.png"
    check_free(picture, "--out", force)
    console = Console(highlight=False, soft_wrap=True)
    cells, wine, strokes = four_measurements(console), wine_components(console), digit_strokes(console)
    console.print(_picture(cells, wine, strokes, picture), markup=False)
    # `make demo` runs the one of its own environment
    called = "python -m ipds" if Path(sys.argv[0]).name == "__main__.py" else sys.argv[0]
    program = "ipds" if shutil.which("ipds") else called
    console.print("\n[bold]What to try next[/bold]")
    for command, what in TRY_NEXT.items():
        console.print(f"  {program} {command:<50} {what}", markup=False)
    console.print("  docs/modelling.md has a dozen models in one to three lines each")


def four_measurements(console: Console) -> dict[str, Any]:
    """Logistic regression with at most four of thirty features: names, weights, scores, labels."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    from ..functions import Cardinality
    from ..modelling import Variable, logistic, minimize, sum_squares
    from ..solving.solve import solve

    data = load_breast_cancer()
    X, y = (data.data - data.data.mean(0)) / data.data.std(0), 2.0 * data.target - 1.0
    console.print(
        "[bold]1. Write the objective[/bold]: which four of 30 measurements best tell malignant from benign tumours?"
    )
    console.print(MODEL, style="cyan", markup=False)
    w = Variable(30, name="w")
    result = solve(minimize(logistic(-y * (X @ w)) + 0.5 * sum_squares(w) + Cardinality(4)(w)), seed=0)
    weights, score = result.value(w), result.value(X @ w)
    chosen = np.flatnonzero(weights)
    names = [str(data.feature_names[j]) for j in chosen]
    right = float(np.mean(np.sign(score) == y))
    console.print(
        f"{', '.join(names)}: {right:.1%} of {len(y)} tumours told right, in {result.seconds:.1f} s"
    )
    console.print(PLAIN_WORDS.format(relative=result.certificate.relative) + "\n", markup=False)
    return {"names": names, "weights": weights[chosen], "score": score, "y": y, "right": right}


def wine_components(console: Console) -> dict[str, Any]:
    """Two components of four of thirteen measurements each, in raw units: scores and cultivars."""
    import numpy as np
    from sklearn.datasets import load_wine

    from ..models import SparsePCA

    data = load_wine()
    console.print(
        "[bold]2. Fit an estimator[/bold] to a raw table: 178 wines, 13 columns in units from 0.1 to 1000"
    )
    console.print(ESTIMATOR, style="cyan", markup=False)
    model = SparsePCA(n_components=2, sparsity=4).fit(data.data)
    for k, component in enumerate(model.components_):
        used = np.flatnonzero(component)
        console.print(f"component {k + 1}: {', '.join(data.feature_names[j] for j in used)}", markup=False)
    result = model.result_
    certified = f"certified: {result.certificate.relative:.0e}" if result.success else result.message
    console.print(f"{certified}\n", markup=False)
    return {"scores": model.transform(data.data), "cultivar": data.target}


def digit_strokes(console: Console) -> NDArray[Any]:
    """Eight components of handwritten digits, by PCA and by sparse PCA, as rows."""
    import numpy as np

    from ..models import SparsePCA
    from .builtin import digits

    console.print(
        "[bold]3. Look at it[/bold]: components of 1797 handwritten digits, by PCA and by SparsePCA"
    )
    X = digits()
    dense = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:8]
    sparse = SparsePCA(n_components=8, alpha=0.03).fit(X).components_
    console.print(
        f"{np.count_nonzero(sparse)} of {sparse.size} loadings are nonzero, and the components are orthonormal\n"
    )
    return np.vstack([dense, sparse])


def _picture(cells: dict[str, Any], wine: dict[str, Any], strokes: NDArray[Any], path: Path) -> str:
    """Draw what was found, and say where it is, or what it needs."""
    try:
        import matplotlib
    except ImportError:
        return "The picture needs matplotlib: pip install 'ipds-admm[plot]'"
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    path.parent.mkdir(parents=True, exist_ok=True)
    figure = plt.figure(figsize=(13, 7), layout="constrained")
    rows: Any = figure.subfigures(2, 1, height_ratios=[1.3, 1])
    above, below = rows
    bars, scores, scatter = above.subplots(1, 3, width_ratios=[1, 1.3, 1.2])
    bars.barh(cells["names"], cells["weights"], color="#4477aa")
    bars.axvline(0.0, color="grey", linewidth=0.8)
    bars.set_title("weights of the four chosen")
    for label, name, colour in ((-1, "malignant", "#cc6677"), (1, "benign", "#4477aa")):
        shown = cells["score"][cells["y"] == label]
        scores.hist(shown, bins=60, range=(-36, 14), alpha=0.75, label=name, color=colour)
    scores.axvline(0.0, color="grey", linewidth=0.8)
    scores.set(title=f"{cells['right']:.1%} on the right side of 0", xlabel="score", ylabel="tumours")
    scores.legend()
    for kind, colour in enumerate(("#4477aa", "#cc6677", "#228833")):
        here = wine["scores"][wine["cultivar"] == kind]
        scatter.scatter(here[:, 0], here[:, 1], s=12, color=colour, label=f"cultivar {kind + 1}")
    scatter.set(title="178 wines by two sparse components", xlabel="component 1", ylabel="component 2")
    scatter.legend()
    for axis, loadings in zip(below.subplots(2, 8).flat, strokes, strict=True):
        top = np.abs(loadings).max()
        axis.imshow(loadings.reshape(8, 8), cmap="RdBu_r", vmin=-top, vmax=top)
        axis.set(xticks=[], yticks=[])
    below.suptitle("handwritten digits: principal components above, sparse principal components below")
    figure.savefig(path, dpi=110)
    return f"The picture: {path}"
