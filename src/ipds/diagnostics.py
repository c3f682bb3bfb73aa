"""Moved to `ipds.theory.certificate`, `.objective` and `.potential`: names are forwarded, with a warning."""

import warnings
from typing import Any

from .theory import certificate, objective, potential

_HOMES = {
    certificate: ("Certificate", "certificate", "certify", "subgradients", "uncertified"),
    objective: ("objective",),
    potential: ("Decrease", "decrease", "envelope", "lagrangian", "potential"),
}
del certificate, objective, potential  # the functions of these names are forwarded


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            warnings.warn(
                f"{__name__}.{name} is now {home.__name__}.{name}", DeprecationWarning, stacklevel=2
            )
            return getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
