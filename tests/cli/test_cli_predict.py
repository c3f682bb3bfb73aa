"""`ipds solve --save` and `ipds predict`; missing values."""

import numpy as np
import pytest
from typer.testing import CliRunner

from ipds.cli import app

HEAD = "a,b,c,price"


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    path = tmp_path / "data.csv"
    np.savetxt(path, np.c_[X, 2 * X[:, 0] - X[:, 2] + 1], delimiter=",", header=HEAD, comments="")
    return path


def test_a_saved_model_predicts_by_the_names_of_columns(table, tmp_path):
    model = tmp_path / "price.ipds"
    fitted = run("solve", "robust-regression", table, "--target", "price", "--save", model, "-q")
    assert fitted.exit_code == 0, fitted.output
    assert str(model) in fitted.output
    new = tmp_path / "new.csv"
    new.write_text("id,c,b,a\n7,1.0,0.0,1.0\n8,0.0,5.0,2.0\n")
    result = run("predict", model, new)
    assert result.exit_code == 0, result.output
    head, *rows = result.output.split()
    assert head == "prediction"
    assert np.allclose([float(row) for row in rows], [2.0, 5.0], atol=1e-4)
    written = run("predict", model, new, "--out", tmp_path / "answer.npy")
    assert written.exit_code == 0
    assert np.allclose(np.load(tmp_path / "answer.npy").ravel(), [2.0, 5.0], atol=1e-4)
    assert run("predict", model, new, "--out", tmp_path / "answer.npy").exit_code == 2  # it exists


def test_predict_says_which_columns_are_missing(table, tmp_path):
    model = tmp_path / "price.ipds"
    run("solve", "robust-regression", table, "--target", "price", "--save", model, "-q")
    (tmp_path / "new.csv").write_text("a,b\n1.0,0.0\n")
    result = run("predict", model, tmp_path / "new.csv")
    assert result.exit_code == 2
    assert "no column 'c'" in result.stderr
    result = run("predict", table, table)
    assert result.exit_code == 2
    assert "no model saved by ipds" in result.stderr


def test_missing_values_are_refused_left_out_or_imputed(table, tmp_path):
    table.write_text(table.read_text() + "1.0,,0.0,3.0\n")
    line = ("solve", "robust-regression", table, "--target", "price")
    refused = run(*line)
    assert refused.exit_code == 2
    assert "--drop-missing" in refused.stderr
    assert "--impute" in refused.stderr
    dropped = run(*line, "--drop-missing")
    assert dropped.exit_code == 0
    assert "60 x 3" in dropped.output
    assert "1 samples left out" in dropped.stderr
    imputed = run(*line, "--impute")
    assert imputed.exit_code == 0
    assert "61 x 3" in imputed.output
    assert run(*line, "--impute", "--drop-missing").exit_code == 2
