"""The tests against other versions: `python tests/versions.py oldest|newest|locked`, in an environment of its own.

"oldest" takes the lower bounds of pyproject.toml, "newest" the latest releases, "locked" requirements-ci.lock by hash.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ["--extra", "test", "--extra", "plot"]
RESOLUTION = {"oldest": "lowest-direct", "newest": "highest"}


def main(which: str, *arguments: str) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = folder / "env" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if which == "locked":
            subprocess.run([*pip, "--require-hashes", "-r", ROOT / "requirements-ci.lock"], check=True)
        else:
            listed = folder / "versions.txt"
            subprocess.run([*pip, "uv"], check=True)
            compiled = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", *EXTRAS]
            resolution = ["--resolution", RESOLUTION[which], "-o", listed, ROOT / "pyproject.toml"]
            subprocess.run([python, "-m", *compiled, *resolution], check=True)
            print(listed.read_text(), flush=True)
            subprocess.run([*pip, "-r", listed], check=True)
        subprocess.run([*pip, "--no-deps", ROOT], check=True)
        # scikit-learn 1.6 asks for SCIPY_ARRAY_API where array-api-compat is installed
        environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
        # old releases call what newer ones of their own dependencies deprecate
        passing = ("DeprecationWarning", "PendingDeprecationWarning")
        lenient = [f"-Wignore::{warning}" for warning in passing] if which == "oldest" else []
        command = [
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *lenient,
            *(arguments or ["tests"]),
        ]
        return subprocess.run(command, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in (*RESOLUTION, "locked"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
