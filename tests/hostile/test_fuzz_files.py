"""Damaged and hostile files: documented errors only, within bounded memory. `make fuzz` tries thousands."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).with_name("fuzz_files.py")


def test_damaged_files():
    """In a process of its own: a crash of a reader is a fault like any other."""
    command = [sys.executable, str(FUZZ), "--cases", "400", "--no-bombs", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert report["faults"] == {}
    assert report["seen"]["files"] == 400
    assert report["seen"]["refused"] > 150


@pytest.mark.slow
def test_bombs_and_claims():
    done = subprocess.run(
        [sys.executable, str(FUZZ), "--cases", "0"], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
