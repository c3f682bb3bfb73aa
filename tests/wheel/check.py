"""Builds the wheel and the sdist, installs the wheel alone into a new environment and uses it: `make test-wheel`."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OPTIONAL = ("matplotlib", "torch", "jax", "dask", "pandas", "cvxpy", "sphinx", "pytest")


def run(*command: str | Path, **options: object) -> str:
    """Run a command; its output, or SystemExit with it."""
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def contents(dist: Path) -> None:
    """Type information, licence and sources are where they belong."""
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert "ipds/py.typed" in names, "py.typed is not in the wheel"
    assert any(name.endswith("licenses/LICENSE") for name in names), "no licence in the wheel"
    assert all(name.startswith(("ipds/", "ipds_admm-")) for name in names), "foreign files in the wheel"
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    for needed in (
        "src/ipds/py.typed",
        "examples/sparse_pca.py",
        "docs/conf.py",
        "tests/wheel/check.py",
        "Makefile",
    ):
        assert needed in inside, f"{needed} is not in the sdist"


def main() -> None:
    """Build, install, import, solve, command line, types."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(sys.executable, "-m", "build", "--outdir", place / "dist", ROOT)
        contents(place / "dist")
        (wheel,) = (place / "dist").glob("*.whl")
        venv.create(place / "env", with_pip=True)
        python = place / "env" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        run(python, "-m", "pip", "check")
        missing = f"import importlib.util as u; print([m for m in {OPTIONAL} if u.find_spec(m)])"
        assert run(python, "-I", "-c", missing).strip() == "[]", "optional packages came along"
        where = run(python, "-I", "-c", "import ipds; print(ipds.__file__, ipds.__version__)", cwd=place)
        assert str(place) in where
        version = where.split()[-1]
        assert version in wheel.name
        assert version in run(python, "-m", "ipds", "--version", cwd=place)
        print(run(python, "-W", "error", HERE / "user.py", cwd=place), end="")
        first_snippet(python, place)
        command_line(python, place)
        run(
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--python-executable",
            python,
            HERE / "user.py",
            cwd=place,
        )
    print(f"ipds {version}: wheel and sdist are fine")


def first_snippet(python: Path, place: Path) -> None:
    """The first Python of the README, as a doctest."""
    snippet = (ROOT / "README.md").read_text().split("```python\n", 1)[1].split("```", 1)[0]
    (place / "snippet.txt").write_text(snippet)
    run(python, "-m", "doctest", "-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE", "snippet.txt", cwd=place)


def command_line(python: Path, place: Path) -> None:
    """`ipds solve` on a small CSV."""
    rows = "import numpy as np; r = np.random.default_rng(0); X = r.standard_normal((50, 6)); X[:, 1] += 3 * X[:, 0]"
    run(python, "-c", f"{rows}; np.savetxt('data.csv', X, delimiter=',')", cwd=place)
    run(python, "-m", "ipds", "solve", "sparse-pca", "data.csv", "--out", "answer.npz", cwd=place)
    assert (place / "answer.npz").stat().st_size > 0


if __name__ == "__main__":
    main()
