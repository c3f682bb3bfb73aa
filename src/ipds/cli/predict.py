"""`ipds predict MODEL DATA`: a model saved by `ipds solve --save`, used on new data."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np

    from ..io import Data

ANSWERS = (".csv", ".npy")


def predict(
    model: Annotated[
        Path, typer.Argument(help="A file written by `ipds solve ... --save`.", show_default=False)
    ],
    data: Annotated[Path, typer.Argument(help="Samples with the features of the fit.", show_default=False)],
    key: Annotated[str | None, typer.Option(help="Array to take from an NPZ or MAT file.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    format: Annotated[str | None, typer.Option(help="Format, where the file name does not tell.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write .csv or .npy instead of printing CSV.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Predictions of a saved model, or its scores where it predicts nothing: one row per sample."""
    from ..io import Request, read
    from . import write
    from .later import estimators

    if out is not None:
        write.check_place(out, ANSWERS, "--out", force)
    estimator = estimators().load_model(model)
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    X = _columns(read(data, Request(False, None, key, tuple(drop or ())), format), names, estimator, data)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")  # matched above
        answer, head = _answer(estimator, X)
    if out is None:
        typer.echo(write.table(answer, head), nl=False)
    else:
        write.save_table(out, answer, head)
        typer.echo(f"wrote {out}: {len(answer)} rows")


def _columns(data: Data, names: list[str], estimator: Any, file: Path) -> Any:
    """The features of the fit, by their names where both sides have them."""
    width = estimator.n_features_in_
    if names and data.names:
        missing = [name for name in names if name not in data.names]
        if missing:
            raise ValueError(
                f"{file}: the model was fitted with {len(names)} features, and there is no column "
                f"{', '.join(map(repr, missing[:5]))}{', ...' if len(missing) > 5 else ''}"
            )
        return data.X[:, [data.names.index(name) for name in names]]
    if data.X.ndim != 2 or data.X.shape[1] != width:
        raise ValueError(
            f"{file}: the model was fitted with {width} features, and this has shape {tuple(data.X.shape)}; "
            "--drop leaves columns out"
        )
    return data.X


def _answer(estimator: Any, X: Any) -> tuple[np.ndarray, list[str]]:
    """(one row per sample, names of the columns)."""
    import numpy as np

    does = next((name for name in ("predict", "transform") if hasattr(estimator, name)), None)
    if does is None:
        raise ValueError(
            f"{type(estimator).__name__} describes the data it was fitted to, and predicts nothing"
        )
    answer = np.asarray(getattr(estimator, does)(X))
    if answer.ndim == 1:
        return answer[:, None], ["prediction"]
    return answer, [f"component {k + 1}" for k in range(answer.shape[1])]
