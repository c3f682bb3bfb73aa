"""Threads of BLAS: one while the arrays at hand are small.

A product of small matrices ends before a second thread has begun. Where other programs use the cores as well, the
threads of one product wait for each other: 500x500 times 500x20 then takes 19 ms with two threads and .3 ms with one.
Above `LARGE` entries nothing is changed: there threads pay on a machine that has cores to spare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any, TypeVar

LARGE = 2_000_000
"""Entries of an array from which BLAS may use its threads."""

Fit = TypeVar("Fit", bound=Callable[..., Any])


@contextmanager
def threads_for(entries: Callable[[], float]) -> Iterator[None]:
    """One thread of BLAS within, unless the largest array has more than `LARGE` entries.

    `entries` counts them, and is not asked where BLAS has one thread as it is. Where several threads of a program solve
    at once, the first of them to come here decides for all.
    """
    if all(library.get_num_threads() == 1 for library in _blas().lib_controllers) or entries() > LARGE:
        yield
    else:
        with _blas().limit(limits=1):
            yield


def threads_for_data(fit: Fit) -> Fit:
    """A method `fit(self, X, ...)` whose BLAS has one thread where X is small."""

    @wraps(fit)
    def limited(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        with threads_for(lambda: getattr(X, "size", 0)):
            return fit(self, X, *arguments, **options)

    return limited  # type: ignore[return-value]


@lru_cache(1)
def _blas() -> Any:
    """All BLAS libraries: NumPy's and SciPy's are two."""
    import scipy.linalg  # noqa: F401, so that its library is there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
