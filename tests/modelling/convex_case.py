"""What convex models are written as, for ipds and for CVXPY, and the table of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np


@dataclass(frozen=True)
class Case:
    """A model in both languages; `pairs` are the variables with a unique solution."""

    problem: Any
    reference: cp.Problem
    pairs: list[tuple[Any, cp.Variable]] = field(default_factory=list)
    duals: bool = True


Build = Callable[[np.random.Generator], Case]
CASES: dict[str, Build] = {}


def case(build: Build) -> Build:
    """Enter a model in the table."""
    CASES[build.__name__] = build
    return build


def regression(rng: np.random.Generator, m: int = 30, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """A design and a response that few columns explain."""
    G = rng.normal(size=(m, n))
    return G, G[:, :3] @ [3.0, -2.0, 1.0] + 0.3 * rng.normal(size=m)
