"""Random and hostile arguments: documented exit codes, errors in words. `make fuzz` tries many more."""

import random

import fuzz_arguments


def test_random_command_lines(tmp_path, monkeypatch):
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    fuzz_arguments.prepare(inner)
    draw = random.Random(5)
    for _ in range(40):
        line = fuzz_arguments.arguments(draw)
        if line[0] == "reproduce":  # its report takes seconds
            continue
        _, wrong = fuzz_arguments.fault(line)
        assert not wrong, line


def test_the_judge_sees_a_fault(monkeypatch):
    monkeypatch.setattr("ipds.cli.errors._in_words", lambda error: 1 / 0)
    assert "ZeroDivisionError" in fuzz_arguments.fault(["solve", "sparse-pca", "nowhere.npy"])[1]
