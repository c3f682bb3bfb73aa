"""What a bug report should say: the versions that matter."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from .._version import __version__

NEEDED = ("numpy", "scipy", "scikit-learn", "threadpoolctl", "array-api-compat", "rich", "typer")
OPTIONAL = ("matplotlib", "jax", "torch", "dask", "cupy", "pylops", "PyWavelets", "pyarrow", "cvxpy")


def versions() -> str:
    """ipds, Python and the platform, each package that is needed, and the optional ones that are there; line by line.

    >>> versions().splitlines()[0]
    'ipds ...'
    """
    lines = [
        f"ipds {__version__}",
        f"Python {platform.python_version()} ({platform.python_implementation()}), {platform.platform()}",
        *(f"{name} {_version(name) or 'missing'}" for name in NEEDED),
        *(f"{name} {found}" for name in OPTIONAL if (found := _version(name))),
    ]
    return "\n".join([*lines, *_libraries()])


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _libraries() -> list[str]:
    """The linear algebra that NumPy is linked to, with its number of threads."""
    try:
        import numpy  # noqa: F401  loads them
        from threadpoolctl import threadpool_info
    except ImportError:
        return []
    return [
        f"{pool['internal_api']} {pool.get('version') or 'of unknown version'}, {pool['num_threads']} threads"
        for pool in threadpool_info()
    ]
