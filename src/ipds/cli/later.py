"""Modules that are loaded when they are first asked for something, so that a small solve begins sooner."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """Stands for a module; its first attribute loads it."""

    def __getattr__(self, name: str) -> Any:
        if name == "__file__":  # which `inspect` asks of all modules
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def later(*names: str) -> Iterator[None]:
    """Within this context `import name` gives a placeholder for each module that is there and not yet loaded.

    Whoever keeps a placeholder can use it like the module. Imports after the context load the modules as ever.
    """
    missing = [name for name in names if name not in sys.modules and find_spec(name) is not None]
    sys.modules.update({name: _Later(name) for name in missing})
    try:
        yield
    finally:
        for name in missing:
            if isinstance(sys.modules.get(name), _Later):
                del sys.modules[name]


def estimators() -> ModuleType:
    """`ipds.models`, without what scikit-learn loads beside and no fit here calls.

    `scipy.stats` and pandas take half of the processor time of a small solve.
    """
    with later("scipy.stats", "pandas"):
        import sklearn.base  # noqa: F401
    from .. import models

    return models
