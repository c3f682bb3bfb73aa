"""`ipds solve MODEL DATA`: a model fitted to a file, one command per model."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from .errors import Commands, say
from .models import MODELS, Model, Parameter
from .prepare import prepare
from .report import exit_code, outcome, report

CODES = (
    "Exit codes: 0 certified; 1 stopped without a certificate to the tolerance (limits, stalled); 2 wrong usage or bad "
    "input; 3 diverged, or no method can treat the problem; 130 interrupted (the best point so far is written)."
)
FORMATS = "NPY (memory-mapped), NPZ, CSV/TSV, Parquet, MTX, MAT, LIBSVM, a picture or a folder of frames"
RESULTS, PICTURES, SAVED = (".npz", ".csv", ".json"), (".png", ".pdf", ".svg"), (".ipds",)
METHODS = ("auto", "accelerated", "newton", "ipds", "sound", "radmm", "spgm", "subgradient", "manpg", "rialm")


class ModelsAndFiles(Commands):
    """`ipds solve model.py` is short for `ipds solve file model.py`; a name that is no model is told so."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name.endswith(".py"):
            return super().resolve_command(ctx, ["file", *args])
        if name not in self.commands and not name.startswith("-"):
            raise ValueError(f"{name!r} is no model (ipds solve MODEL {_data(name)}). {_meant(name)}")
        return super().resolve_command(ctx, args)


def _data(name: str) -> str:
    """The name, where it looks like that of a file, else a word for one."""
    return name if Path(name).exists() or Path(name).suffix else "DATA"


def _meant(name: str) -> str:
    """The models that are called alike, or all of them."""
    near = [model for model in MODELS if name.lower() in model] or difflib.get_close_matches(name, MODELS)
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return f"A model is one of {', '.join(MODELS)}"


app = typer.Typer(
    cls=ModelsAndFiles,
    no_args_is_help=True,
    help=f"Fit a model to a data file, or solve the problem of a Python file, and certify the answer. Data: {FORMATS}.",
    epilog="\n\n".join(
        ["Examples:", *(model.example for model in MODELS.values()), "ipds solve problem.py", CODES]
    ),
)


VIDEO = {"background": "low_rank_", "foreground": "residual_"}
"""What the parts of a fitted video are called, and where they come from."""


def option(panel: str, help: str, *names: str, **more: Any) -> Any:
    """An option, in its panel of the help."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


MethodName = Annotated[
    str, option("Solve", f"One of {', '.join(METHODS)}.", autocompletion=lambda: list(METHODS))
]
Tolerance = Annotated[float, option("Solve", "Certified means a relative certificate up to this.", min=0.0)]
Iterations = Annotated[int, option("Solve", "Iterations at most.", min=1)]
Seconds = Annotated[float | None, option("Solve", "Seconds at most.", min=0.0)]
Seed = Annotated[int, option("Solve", "Of random starts.", min=0)]
CheckpointFile = Annotated[Path | None, option("Solve", "File to save the solve in as it goes.")]
Resume = Annotated[bool, option("Solve", "Go on from the checkpoint, if it exists.", "--resume")]
Force = Annotated[bool, option("Output", "Replace files that exist.", "--force")]
Json = Annotated[bool, option("Output", "Print JSON and nothing else on stdout.", "--json")]
Quiet = Annotated[bool, option("Output", "No progress, no warnings.", "--quiet", "-q")]


def fit(
    model: Model,
    parameters: dict[str, Any],
    data: Annotated[Path, typer.Argument(help=f"{FORMATS}.", show_default=False)],
    target: Annotated[
        str | None,
        option("Data", "Target: a column by name or number (from 0), an array of the file, or a file."),
    ] = None,
    key: Annotated[str | None, option("Data", "Array to take from an NPZ or MAT file.")] = None,
    drop: Annotated[list[str] | None, option("Data", "Column to leave out; may be repeated.")] = None,
    format: Annotated[str | None, option("Data", "Format, where the file name does not tell.")] = None,
    drop_missing: Annotated[
        bool, option("Data", "Leave out samples with missing values.", "--drop-missing")
    ] = False,
    impute: Annotated[
        bool, option("Data", "Put the median of its column for a missing value.", "--impute")
    ] = False,
    method: MethodName = "auto",
    tol: Tolerance = 1e-4,
    max_iter: Iterations = 10_000,
    time_limit: Seconds = None,
    seed: Seed = 0,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    out: Annotated[
        Path | None,
        option("Output", "Write the fit: .npz or .json everything, .csv components or coefficients."),
    ] = None,
    plot: Annotated[Path | None, option("Output", "Write a picture: .png, .pdf or .svg.")] = None,
    save: Annotated[Path | None, option("Output", "Save the model as .ipds for `ipds predict`.")] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read, fit, report."""
    import numpy as np

    from ..io import Request, read
    from . import write
    from .later import estimators
    from .missing import fill_missing

    _check_places(out, plot, save, force)
    check_options(method, checkpoint, resume)
    request = Request(model.target is not None, target, key, tuple(drop or ()))
    if target is not None and model.target is None:
        raise ValueError("--target: this model takes no target; --drop leaves a column out")
    found = fill_missing(read(data, request, format), drop_missing, impute, quiet)
    estimator = _estimator(model, {**parameters, "tol": tol, "max_iter": max_iter}, method, seed)
    X, y, frames = prepare(model, estimator, data, found)
    with (
        warnings_on_one_line(quiet),
        estimator.watching(progress=not quiet, time_limit=time_limit, checkpoint=checkpoint),
    ):
        estimator.fit(X, y) if y is not None else estimator.fit(X)
    result = estimator.result_
    fitted = write.fitted_arrays(estimator)
    if frames is not None:
        fitted |= {name: fitted.pop(old).reshape(frames) for name, old in VIDEO.items()}
    # a signal has one name, that of its values
    if len(found.names) == estimator.n_features_in_ and y is found.y:
        estimator.feature_names_in_ = np.array(found.names, dtype=object)
    seen = {"file": str(data), "shape": list(frames or X.shape)} | _told(estimator, found.notes)
    summary = {
        "model": type(estimator).__name__,
        "data": seen,
        "parameters": write.plain({name: estimator.get_params()[name] for name in parameters}),
        "tol": tol,
        **outcome(result),
    }
    if out is not None:
        write.save(out, summary, fitted, found.names, result)
    if save is not None:
        estimators().save_model(estimator, save)
    if plot is not None:
        write.save_figure(plot, _figure(estimator, found.X, fitted))
    if json:
        typer.echo(write.shown(summary, "fitted", fitted))
    else:
        told = ", ".join([str(data), " x ".join(map(str, seen["shape"])), *found.notes])
        written = [path for path in (out, save, plot) if path is not None]
        report((summary["model"], told), result, tol, estimator.summary.rows()[1:], written)
    raise typer.Exit(exit_code(result))


def _estimator(model: Model, parameters: dict[str, Any], method: str, seed: int) -> Any:
    from .later import estimators

    return getattr(estimators(), model.estimator)(**parameters, method=method, random_state=seed)


def _figure(estimator: Any, frames: Any, fitted: dict[str, Any]) -> Any:
    import matplotlib

    matplotlib.use("Agg")  # a command line has no window
    from .. import plot

    if "background" in fitted:
        return plot.separation(frames, fitted["background"], fitted["foreground"])
    return estimator.plot()


def _told(estimator: Any, notes: Sequence[str]) -> dict[str, Any]:
    """How the data were read, and the names of the features, where there is something to say."""
    told = {"read": list(notes), "features": list(getattr(estimator, "feature_names_in_", ()))}
    return {name: texts for name, texts in told.items() if texts}


def _check_places(out: Path | None, plot: Path | None, save: Path | None, force: bool) -> None:
    """Refuse files that cannot be written, or are there already, and a picture that nothing can draw."""
    from importlib.util import find_spec

    from .write import check_place

    places = ((out, RESULTS, "--out"), (plot, PICTURES, "--plot"), (save, SAVED, "--save"))
    for path, suffixes, option in places:
        if path is not None:
            check_place(path, suffixes, option, force)
    if plot is not None and find_spec("matplotlib") is None:
        raise ImportError("--plot needs matplotlib: pip install 'ipds-admm[plot]'")


def check_options(method: str, checkpoint: Path | None, resume: bool) -> None:
    """Refuse a method that is none, and a checkpoint that would be overwritten, or that cannot be written."""
    if method not in METHODS:
        raise ValueError(f"--method {method}: no such method; one of {', '.join(METHODS)}")
    if resume and checkpoint is None:
        raise ValueError("--resume goes with --checkpoint FILE: say which file to go on from")
    if checkpoint is not None and checkpoint.exists() and not resume:
        raise ValueError(f"--checkpoint {checkpoint} exists; pass --resume to go on from it, or remove it")
    if checkpoint is not None and not checkpoint.parent.is_dir():
        raise ValueError(
            f"--checkpoint {checkpoint}: the folder {checkpoint.parent} does not exist; create it first"
        )


@contextmanager
def warnings_on_one_line(quiet: bool) -> Iterator[None]:
    """Warnings as lines on stderr, in the style of errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "default")
        # the report says it, with the options to change
        warnings.filterwarnings("ignore", message=".*see result_")
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {' '.join(str(message).split())}")
        yield


def _command(model: Model) -> Callable[..., None]:
    """`fit` for one model, with its parameters as options beside those of the solve."""

    def command(**given: Any) -> None:
        parameters = {p.name: _value(p, given.pop(p.name.lower())) for p in model.parameters}
        fit(model, parameters, **given)

    common = list(inspect.signature(fit, eval_str=True).parameters.values())[2:]
    own = [
        inspect.Parameter(
            p.name.lower(),
            inspect.Parameter.KEYWORD_ONLY,
            default=p.default,
            annotation=Annotated[p.type, option("Model", p.help, _flag(p))],
        )
        for p in model.parameters
    ]
    shared = [
        p.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=model.tol if p.name == "tol" else p.default)
        for p in common
    ]
    command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    return command


def _flag(parameter: Parameter) -> str:
    name = parameter.name.replace("_", "-").lower()
    return f"--{name}/--no-{name}" if parameter.type is bool else f"--{name}"


def _value(parameter: Parameter, given: Any) -> Any:
    if parameter.convert is None or given is None:
        return given
    try:
        return parameter.convert(given)
    except (ValueError, OSError) as error:
        raise ValueError(f"--{parameter.name.replace('_', '-').lower()}: {error}") from None


for _name, _model in MODELS.items():
    app.command(
        _name,
        help=_model.help + (f" Target: {_model.target}." if _model.target else ""),
        short_help=_model.help,
        epilog=f"Example: {_model.example}\n\n{CODES}",
    )(_command(_model))
