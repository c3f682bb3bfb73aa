"""`ipds solve`: every model, what it writes, what it says, and its exit codes."""

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ipds import models
from ipds.cli import app
from ipds.cli.models import MODELS
from ipds.cli.report import exit_code
from ipds.cli.solve import METHODS
from ipds.methods.choosing import _NAMES
from ipds.result import Status

COMMON = {
    *("method", "tol", "max_iter", "time_limit", "warm_start", "random_state"),
    *("verbose", "progress", "checkpoint"),
}


def run(*arguments):
    return CliRunner().invoke(app, ["solve", *map(str, arguments)], env={"COLUMNS": "200"})


def load(name):
    with np.load(name, allow_pickle=False) as arrays:
        return dict(arrays)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def data(here):
    """Small data for every model, by model name: arguments of the command."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    v = np.array([2.0, 0, 0, -1.0, 0, 0])
    y = X @ v
    y[:6] += 30
    header = "a,b,c,d,e,f,price\n"
    rows = "".join(",".join(map(repr, map(float, row))) + "\n" for row in np.column_stack([X, y]))
    (here / "table.csv").write_text(header + rows)
    np.save(here / "X.npy", X)
    G = rng.standard_normal((60, 8))
    np.savez(here / "phase.npz", G=G, z=(G @ np.array([1.0, 0, 0, -0.5, 0, 0, 0, 0])) ** 2)
    np.savetxt(here / "signal.csv", np.repeat([0.0, 2.0], 15) + 0.01 * rng.standard_normal(30))
    L = np.outer(rng.standard_normal(12), rng.standard_normal(9))
    L[2, 3] += 20
    L[5, 5] = np.nan
    np.save(here / "L.npy", L)
    flat = np.vstack([X[:40, :4] * [1, 1, 1, 0], X[40:, :4]])
    np.save(here / "flat.npy", flat)
    return {
        "sparse-pca": ["X.npy", "--n-components", "2"],
        "robust-regression": ["table.csv", "--target", "price", "--sparsity", "2"],
        "quantile-regression": ["table.csv", "--target", "price"],
        "dual-pcp": ["flat.npy"],
        "robust-low-rank": ["L.npy"],
        "phase-retrieval": ["phase.npz", "--key", "G", "--alpha", "0.0001"],
        "fused-lasso": ["signal.csv", "--alpha", "0.01"],
        "trend-filter": ["signal.csv", "--order", "0", "--alpha", "0.3"],
        "group-lasso": ["table.csv", "--target", "-1", "--groups", "[[0,1,2],[2,3],[4,5]]", "--alpha", "0.1"],
    }


@pytest.mark.parametrize("name", MODELS)
def test_every_model_gives_what_the_estimator_gives(data, name):
    result = run(name, *data[name], "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["certified"] is True
    assert record["certificate"]["relative"] <= record["tol"]
    fitted = record["fitted"]
    if name == "robust-regression":
        assert fitted["support_"] == [0, 3]
        assert fitted["outliers_"] == [0, 1, 2, 3, 4, 5]
        assert np.allclose(np.array(fitted["coef_"])[[0, 3]], [2, -1])
    elif name == "sparse-pca":
        X = np.load("X.npy")
        expected = models.SparsePCA(n_components=2, random_state=0).fit(X)
        assert np.allclose(fitted["components_"], expected.components_)
    elif name == "trend-filter":
        assert fitted["knots_"] == [14.0]
    elif name == "fused-lasso":
        assert fitted["segments_"] == [0] * 15 + [1] * 15
    elif name == "phase-retrieval" or name == "quantile-regression":
        assert fitted["support_"] == [0, 3]
    elif name == "dual-pcp":
        assert np.allclose(np.abs(fitted["normals_"]), [[0, 0, 0, 1]], atol=1e-4)
    elif name == "robust-low-rank":
        assert abs(fitted["residual_"][2][3] - 20) < 1e-3
    else:
        table = np.loadtxt("table.csv", delimiter=",", skiprows=1)
        expected = models.OverlappingGroupLasso([[0, 1, 2], [2, 3], [4, 5]], 0.1).fit(
            table[:, :-1], table[:, -1]
        )
        assert np.allclose(fitted["coef_"], expected.coef_)


@pytest.mark.parametrize("name", MODELS)
def test_options_have_the_defaults_of_the_estimator(name):
    model = MODELS[name]
    signature = inspect.signature(getattr(models, model.estimator).__init__).parameters
    own = {n: p.default for n, p in signature.items() if n not in COMMON and n != "self"}
    assert {p.name: p.default for p in model.parameters} == own
    assert signature["tol"].default == model.tol


def test_the_methods_offered_exist():
    assert set(METHODS) == {"auto", *_NAMES}


def test_files_are_written_in_the_format_of_their_suffix(data):
    arguments = ["robust-regression", *data["robust-regression"]]
    for name in ("fit.npz", "fit.csv", "fit.json"):
        result = run(*arguments, "--out", name)
        assert result.exit_code == 0, result.output
        assert name in result.stdout
    arrays = load("fit.npz")
    assert np.allclose(arrays["coef_"][[0, 3]], [2, -1])
    assert json.loads(str(arrays["summary"]))["certified"] is True
    assert arrays["history_iteration"][0] >= 1
    lines = Path("fit.csv").read_text().splitlines()
    assert lines[0] == "feature,coefficient"
    assert lines[1].startswith("a,2.0") or lines[1].startswith("a,1.99")
    assert lines[-1].startswith("(intercept),")
    record = json.loads(Path("fit.json").read_text())
    assert record["fitted"]["support_"] == [0, 3]
    assert record["parameters"]["sparsity"] == 2
    assert record["history"]["iteration"] == arrays["history_iteration"].tolist()


def test_features_are_called_by_their_names(data):
    report = run("robust-regression", "table.csv", "--target", "price", "--sparsity", "2").output
    (line,) = [line for line in report.splitlines() if line.startswith("coefficients")]
    assert re.match(r"coefficients +a [12]\S*, d -[01]\S*", line)
    record = json.loads(run("sparse-pca", "table.csv", "--drop", "b", "--n-components", "1", "--json").stdout)
    assert record["data"]["features"] == ["a", "c", "d", "e", "f", "price"]
    record = json.loads(run("sparse-pca", "X.npy", "--n-components", "1", "--json").stdout)
    assert "features" not in record["data"]


def test_components_are_written_as_a_table(data):
    assert run("sparse-pca", "table.csv", "--n-components", 2, "--out", "c.csv").exit_code == 0
    head, *rows = Path("c.csv").read_text().splitlines()
    assert head == "a,b,c,d,e,f,price"
    values = np.array([row.split(",") for row in rows], dtype=float)
    assert np.allclose(values @ values.T, np.eye(2), atol=1e-8)


def test_files_are_not_replaced_unless_forced(data):
    Path("fit.npz").write_text("mine")
    result = run("sparse-pca", *data["sparse-pca"], "--out", "fit.npz")
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert Path("fit.npz").read_text() == "mine"
    assert run("sparse-pca", *data["sparse-pca"], "--out", "fit.npz", "--force").exit_code == 0
    assert load("fit.npz")["components_"].shape == (2, 6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "no/such/folder.npz"], "does not exist; create it"),
        (["--out", "fit.xyz"], ".npz, .csv, .json"),
        (["--plot", "fit.xyz"], ".png, .pdf, .svg"),
        (["--method", "foo"], "one of auto, accelerated"),
        (["--n-components", "99"], "between 1 and 6"),
        (["--alpha", "-1"], "alpha must be finite and at least 0"),
        (["--resume"], "--checkpoint FILE"),
        (["--target", "3"], "takes no target"),
        (["--key", "Z", "--drop", "9"], "--drop names no column '9'"),
        (["--checkpoint", "no/such/c.ckpt"], "create it first"),
        (["--tol", "x"], "--tol"),
    ],
)
def test_bad_options_are_one_line_with_the_remedy(data, options, words):
    result = run("sparse-pca", *data["sparse-pca"], *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert not os.path.exists("fit.npz")


def test_numbers_are_real_and_targets_no_text_unless_the_model_takes_them(here):
    rng = np.random.default_rng(0)
    G = rng.standard_normal((40, 4)) + 1j * rng.standard_normal((40, 4))
    np.savez(here / "complex.npz", X=G, y=np.abs(G @ [1.0, 0.0, 0.0, 0.5]) ** 2)
    refused = run("sparse-pca", "complex.npz", "--key", "X")
    assert (refused.exit_code, "real and imaginary parts" in refused.stderr) == (2, True)
    assert run("phase-retrieval", "complex.npz", "--alpha", "0.001").exit_code == 0
    rows = "".join(f"{a:.3f},{b:.3f},{'yes' if a > 0 else 'no'}\n" for a, b in G[:, :2].real)
    (here / "classes.csv").write_text("a,b,y\n" + rows)
    refused = run("robust-regression", "classes.csv", "--target", "y")
    assert (refused.exit_code, "the target holds text ('" in refused.stderr) == (2, True)
    assert run("fused-lasso", "classes.csv", "--target", "y", "--loss", "logistic").exit_code == 0


def test_what_is_no_model_is_told_so(data):
    for arguments, text in (
        (["table.csv"], "(ipds solve MODEL table.csv). A model is one of sparse-pca"),
        (["trend", "table.csv"], "Did you mean 'trend-filter'?"),
    ):
        result = run(*arguments)
        assert (result.exit_code, text in result.stderr) == (2, True)


def test_a_trend_wants_one_column_beside_the_signal(data, here):
    result = run("trend-filter", "table.csv", "--target", "price")
    assert (result.exit_code, "--drop leaves columns out" in result.stderr) == (2, True)
    (here / "steps.csv").write_text("t,y\n" + "".join(f"{t},{float(t > 20)}\n" for t in range(0, 60, 3)))
    result = run("trend-filter", "steps.csv", "--target", "y", "--order", 0, "--alpha", 0.1, "--json")
    assert json.loads(result.stdout)["fitted"]["knots_"] == [18.0]


def test_several_classes_are_fitted(here):
    rng = np.random.default_rng(0)
    rows = "".join(
        f"{k + 0.1 * a},{b},{'xyz'[k]}\n" for k in range(3) for a, b in rng.standard_normal((20, 2))
    )
    (here / "classes.csv").write_text("a,b,kind\n" + rows)
    result = run(
        "group-lasso", "classes.csv", "--target", "kind", "--loss", "logistic", "--alpha", 0.01, "--json"
    )
    assert result.exit_code == 0, result.output
    assert np.shape(json.loads(result.stdout)["fitted"]["coef_"]) == (3, 2)


def test_numbers_are_no_classes(data):
    result = run("fused-lasso", "table.csv", "--target", "price", "--loss", "logistic")
    assert result.exit_code == 2
    assert "classes, and this one has 60 values; for numbers leave --loss out" in result.stderr


def test_a_folder_without_permission_is_refused_before_the_solve(data, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    result = run("sparse-pca", *data["sparse-pca"], "--out", "fit.npz")
    assert result.exit_code == 2
    assert "no permission" in result.stderr


def test_uncertified_is_exit_code_1_and_says_what_to_change(data):
    result = run("sparse-pca", *data["sparse-pca"], "--max-iter", 1, "--tol", 1e-14)
    assert result.exit_code == 1
    assert "NOT certified" in result.stdout
    assert "raise --max-iter" in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("status", "code"),
    [("CONVERGED", 0), ("STALLED", 1), ("TIME_LIMIT", 1), ("DIVERGED", 3), ("INTERRUPTED", 130)],
)
def test_exit_codes(status, code):
    class Ended:
        success = status == "CONVERGED"

    Ended.status = Status[status]
    assert exit_code(Ended) == code


def test_a_method_that_cannot_treat_the_problem_is_exit_code_3(data):
    result = run("robust-low-rank", "L.npy", "--method", "manpg")
    assert result.exit_code == 3, result.output
    assert result.stderr.count("\n") == 1


def test_plots_are_written(data, here):
    assert run("sparse-pca", *data["sparse-pca"], "--plot", "p.png").exit_code == 0
    assert (here / "p.png").read_bytes().startswith(b"\x89PNG")
    assert run("fused-lasso", *data["fused-lasso"], "--plot", "p.svg").exit_code == 0
    assert b"<svg" in (here / "p.svg").read_bytes()


def test_a_video_is_separated_into_background_and_foreground(here):
    frames = np.full((6, 8, 10), 50.0)
    frames[2, 3, 4] = 200
    np.save("video.npy", frames)
    result = run("robust-low-rank", "video.npy", "--out", "v.npz", "--plot", "v.png")
    assert result.exit_code == 0, result.output
    parts = load("v.npz")
    assert parts["background"].shape == (6, 8, 10)
    assert np.allclose(parts["foreground"][2, 3, 4], 150, atol=0.1)


def test_a_checkpoint_is_resumed_only_on_request(data):
    arguments = ["sparse-pca", *data["sparse-pca"], "--checkpoint", "c.ckpt"]
    assert run(*arguments, "--max-iter", 2, "--tol", 1e-12).exit_code == 1
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert "--resume" in refused.stderr
    resumed = run(*arguments, "--resume", "--json")
    straight = run(*arguments[:-2], "--json")
    assert resumed.exit_code == 0, resumed.output
    assert json.loads(resumed.stdout)["objective"] == json.loads(straight.stdout)["objective"]
    other = run("sparse-pca", "X.npy", "--n-components", 3, "--checkpoint", "c.ckpt", "--resume")
    assert other.exit_code == 2
    assert "belongs to another solve" in other.stderr


def test_a_time_limit_holds_over_all_solves_of_a_fit(data):
    result = run("robust-regression", "table.csv", "--target", "price", "--time-limit", 0, "--json")
    assert result.exit_code == 1
    record = json.loads(result.stdout, parse_constant=pytest.fail)
    assert record["status"] == "TIME_LIMIT"


def test_numbers_that_are_none_are_null_in_json():
    from ipds.cli import write

    fitted = {
        "coef_": np.array([[1.0, np.nan], [np.inf, -np.inf]]),
        "scale_": np.float32(np.nan),
        "n_": np.int64(3),
    }
    text = write.as_json({"fitted": write.record(fitted)[0], "objective": write.plain(-np.inf)})
    read = json.loads(text, parse_constant=pytest.fail)  # NaN and Infinity are no JSON
    assert read == {
        "fitted": {"coef_": [[1.0, None], [None, None]], "scale_": None, "n_": 3},
        "objective": None,
    }


def test_large_arrays_are_left_out_of_the_record_but_not_of_the_file(here, monkeypatch):
    from ipds.cli import write

    monkeypatch.setattr(write, "LARGEST", 50)
    np.save("L.npy", np.outer(np.arange(1.0, 13), np.ones(9)))
    record = json.loads(run("robust-low-rank", "L.npy", "--json", "--out", "all.json").stdout)
    assert set(record["left_out"]) == {"low_rank_", "residual_"}
    assert "low_rank_" not in record["fitted"]
    assert np.shape(json.loads(Path("all.json").read_text())["fitted"]["low_rank_"]) == (12, 9)


def test_json_is_pure_and_pipes_are_quiet(data, here):
    shown = subprocess.run(
        [sys.executable, "-m", "ipds", "solve", "sparse-pca", *data["sparse-pca"], "--json"],
        capture_output=True,
        text=True,
        cwd=here,
    )
    assert shown.returncode == 0
    assert json.loads(shown.stdout)["certified"] is True
    assert shown.stderr == ""


def test_ctrl_c_writes_the_best_point_so_far_and_ends_with_130(here):
    rng = np.random.default_rng(0)
    np.save("big.npy", rng.standard_normal((300, 200)))
    command = [
        "solve",
        "sparse-pca",
        "big.npy",
        "--n-components",
        "20",
        "--method",
        "sound",
        "--tol",
        "1e-12",
    ]
    more = ["--max-iter", "100000000", "--out", "best.npz", "--checkpoint", "c.ckpt"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ipds", *command, *more],
        stdout=subprocess.PIPE,
        # tests that run in the background of a shell inherit that Ctrl-C is ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        deadline = time.monotonic() + 60
        while not (here / "c.ckpt").exists() and time.monotonic() < deadline:  # the solve has begun
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    finally:
        process.kill()
        process.stdout.close()
    assert load("best.npz")["components_"].shape == (20, 200)
