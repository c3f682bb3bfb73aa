"""Tables of valid and invalid constructions: errors name the function, the argument and what is allowed."""

from __future__ import annotations

import math
import re
from typing import Any

import array_api_strict
import numpy as np
import pytest

from ipds.functions import (
    L0,
    L1,
    L2,
    L21,
    MCP,
    PSD,
    SCAD,
    Affine,
    Binary,
    Box,
    CappedL1,
    Cardinality,
    ElasticNet,
    GroupL2,
    HalfSpace,
    Huber,
    IsotropicTotalVariation,
    L1Ball,
    L2Ball,
    LHalf,
    Linf,
    LinfBall,
    LogSum,
    LTwoThirds,
    MoreauEnvelope,
    NonNegative,
    NonzeroColumns,
    NonzeroRows,
    Nuclear,
    Precomposed,
    Rank,
    RowCardinality,
    Scaled,
    Separable,
    Simplex,
    Sphere,
    Stiefel,
    Sum,
    TotalVariation1D,
    Translated,
    Zero,
)

NAN, INF = math.nan, math.inf
ONE_WEIGHT = (L1, L0, LHalf, LTwoThirds, CappedL1, LogSum, MCP, SCAD, ElasticNet, Huber, L21)

VALID: list[tuple[Any, tuple[Any, ...]]] = [
    *((cls, ()) for cls in (Zero, *ONE_WEIGHT, L2, Linf, Nuclear, TotalVariation1D, IsotropicTotalVariation)),
    *(
        (cls, ())
        for cls in (Box, NonNegative, Simplex, L1Ball, L2Ball, LinfBall, Sphere, Binary, Stiefel, PSD)
    ),
    *((cls, (0.0,)) for cls in ONE_WEIGHT),
    *((cls, (2,)) for cls in ONE_WEIGHT),
    *((cls, (np.float32(0.5),)) for cls in ONE_WEIGHT),
    *((cls, ([1.0, 0.0, 2.0],)) for cls in ONE_WEIGHT),
    *((cls, (np.array([1, 0, 2]),)) for cls in ONE_WEIGHT),
    *((cls, (np.array(0.5),)) for cls in ONE_WEIGHT),
    (L1, (array_api_strict.asarray([1.0, 2.0]),)),
    (CappedL1, (1.0, 1e-9)),
    (MCP, (1.0, 0.5)),
    (SCAD, (1.0, 2.0001)),
    (ElasticNet, (0.0, 0.0)),
    (GroupL2, (1.0, [[0, 1], [2]], [1.0, 2.0])),
    (GroupL2, (1.0, [])),
    (Box, (-INF, INF)),
    (Box, (1.0, 1.0)),
    (Box, (np.zeros(3), 1.0)),
    (Box, ([0.0, -INF], [1.0, INF])),
    (L1Ball, (0.0,)),
    *((cls, (0,)) for cls in (Cardinality, RowCardinality, NonzeroRows, NonzeroColumns, Rank)),
    *((cls, (np.int64(3),)) for cls in (Cardinality, RowCardinality, NonzeroRows, NonzeroColumns, Rank)),
    (Binary, (-1, 1)),
    (Affine, (np.eye(2), np.ones(2))),
    (Affine, ([[1.0, 1.0], [2.0, 2.0]], [1.0, 2.0])),
    (HalfSpace, ([1.0, 0.0], -2.0)),
    (Scaled, (L1(), 0.5)),
    (Translated, (L1(), 1.0)),
    (Translated, (L1(), [1.0, 2.0])),
    (Precomposed, (L1(), -2.0)),
    (Precomposed, (L1(), np.eye(3))),
    (Separable, ([(slice(None), L1())],)),
    (MoreauEnvelope, (L1(), 0.1)),
    (Sum, (L1(), NonNegative())),
]

INVALID: list[tuple[Any, tuple[Any, ...], type[Exception], str]] = [
    *(
        (cls, (-1.0,), ValueError, "finite and ≥ 0")
        for cls in (*ONE_WEIGHT, L2, Linf, Nuclear, TotalVariation1D, IsotropicTotalVariation)
    ),
    *(
        (cls, (NAN,), ValueError, "finite and ≥ 0")
        for cls in (*ONE_WEIGHT, L2, Linf, Nuclear, TotalVariation1D, IsotropicTotalVariation)
    ),
    *((cls, (INF,), ValueError, "finite and ≥ 0") for cls in ONE_WEIGHT),
    *((cls, ("1",), TypeError, "got str") for cls in ONE_WEIGHT),
    *((cls, (None,), TypeError, "got NoneType") for cls in ONE_WEIGHT),
    *((cls, (True,), TypeError, "got bool") for cls in ONE_WEIGHT),
    *((cls, ([1.0, -1.0],), ValueError, "every entry of") for cls in ONE_WEIGHT),
    *((cls, ([1.0, NAN],), ValueError, "every entry of") for cls in ONE_WEIGHT),
    *((cls, (np.array([1j]),), TypeError, "real numbers") for cls in ONE_WEIGHT),
    (L21, (np.ones((2, 2)),), ValueError, "one per row"),
    (L2, ([1.0, 2.0],), TypeError, "lam must be a number"),
    (CappedL1, (1.0, 0.0), ValueError, "theta must be finite and > 0"),
    (CappedL1, (1.0, -1.0), ValueError, "theta must be finite and > 0"),
    (LogSum, (1.0, 0.0), ValueError, "eps must be finite and > 0"),
    (MCP, (1.0, 0.0), ValueError, "gamma must be finite and > 0"),
    (MCP, (1.0, NAN), ValueError, "gamma must be finite and > 0"),
    (SCAD, (1.0, 2.0), ValueError, "a must be finite and > 2"),
    (ElasticNet, (1.0, -0.1), ValueError, "l2 must be finite and ≥ 0"),
    (Huber, (1.0, 0.0), ValueError, "delta must be finite and > 0"),
    (GroupL2, (1.0, [[0, 1], [1, 2]]), ValueError, "groups must be disjoint"),
    (GroupL2, (1.0, [[0, 0]]), ValueError, "groups must be disjoint"),
    (GroupL2, (1.0, [[-1]]), ValueError, "indices ≥ 0"),
    (GroupL2, (1.0, [[0.5]]), TypeError, "integer indices"),
    (GroupL2, (1.0, [[]]), TypeError, "nonempty"),
    (GroupL2, (1.0, [0, 1]), TypeError, "integer indices"),
    (GroupL2, (1.0, [[0], [1]], [1.0]), ValueError, "weights must be 2 numbers"),
    (GroupL2, (1.0, [[0], [1]], [1.0, -1.0]), ValueError, "every entry of weights"),
    (Box, (1.0, 0.0), ValueError, "lo must be ≤ hi"),
    (Box, (np.zeros(2), np.array([1.0, -1.0])), ValueError, "lo must be ≤ hi in every entry, got 0 and -1"),
    (Box, (NAN, 1.0), ValueError, "lo must not be NaN"),
    (Box, (0.0, [1.0, NAN]), ValueError, "hi must not contain NaN"),
    (Box, ("0", 1.0), TypeError, "lo must be a number"),
    *(
        (cls, (-1.0,), ValueError, "radius must be finite and")
        for cls in (Simplex, L1Ball, L2Ball, LinfBall, Sphere)
    ),
    *(
        (cls, (INF,), ValueError, "radius must be finite and")
        for cls in (Simplex, L1Ball, L2Ball, LinfBall, Sphere)
    ),
    (Simplex, (0.0,), ValueError, "radius must be finite and > 0"),
    (Sphere, (0.0,), ValueError, "radius must be finite and > 0"),
    *(
        (cls, (-1,), ValueError, "s must be an integer ≥ 0")
        for cls in (Cardinality, RowCardinality, NonzeroRows, Rank)
    ),
    *(
        (cls, (1.5,), TypeError, "s must be an integer ≥ 0")
        for cls in (Cardinality, RowCardinality, NonzeroRows, Rank)
    ),
    *((cls, (True,), TypeError, "s must be an integer ≥ 0") for cls in (Cardinality, NonzeroColumns, Rank)),
    (Binary, (1.0, 1.0), ValueError, "lo must be < hi"),
    (Binary, (0.0, INF), ValueError, "hi must be finite"),
    (Affine, (np.ones(3), np.ones(1)), ValueError, "A must be a nonempty matrix"),
    (Affine, (np.eye(2), np.ones(3)), ValueError, "b must have 2 rows"),
    (Affine, (np.eye(2), np.array([1.0, NAN])), ValueError, "must be finite"),
    (Affine, ([[1.0, 1.0], [2.0, 2.0]], [1.0, 3.0]), ValueError, "no x solves"),
    (HalfSpace, (np.zeros(2), 1.0), ValueError, "a must be finite and not 0"),
    (HalfSpace, (np.ones(2), NAN), ValueError, "b must be finite"),
    (Scaled, (L1(), 0.0), ValueError, "c must be finite and > 0"),
    (Scaled, (L1(), -1.0), ValueError, "c must be finite and > 0"),
    (Scaled, (3.0, 1.0), TypeError, "must be callable and have prox"),
    (Translated, (L1(), NAN), ValueError, "t must not be NaN"),
    (Precomposed, (L1(), 0.0), ValueError, "a must not be 0"),
    (Precomposed, (L1(), np.ones((2, 2))), ValueError, "rows of a must be orthogonal"),
    (Precomposed, (L1(), np.diag([1.0, 2.0])), ValueError, "rows of a must be orthogonal"),
    (Precomposed, (L1(), np.ones(2)), ValueError, "finite matrix"),
    (Precomposed, (L1(), 1.0, INF), ValueError, "shift must be finite"),
    (Separable, ([],), ValueError, "parts must not be empty"),
    (Separable, ([L1()],), TypeError, "pairs"),
    (MoreauEnvelope, (L0(), 1.0), ValueError, "h must be convex"),
    (MoreauEnvelope, (L1(), 0.0), ValueError, "mu must be finite and > 0"),
    (MoreauEnvelope, (1.0, 1.0), TypeError, "h must be callable and have prox"),
    (Sum, (L0(), L2Ball()), TypeError, "no exact joint prox"),
]


@pytest.mark.parametrize(("cls", "arguments"), VALID, ids=str)
def test_valid(cls: Any, arguments: tuple[Any, ...]) -> None:
    made = cls(*arguments)
    assert type(made).__name__ in repr(made)


@pytest.mark.parametrize(("cls", "arguments", "error", "message"), INVALID, ids=str)
def test_invalid(cls: Any, arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"{cls.__name__}: .*{re.escape(message)}"):
        cls(*arguments)


def test_weights_are_copied() -> None:
    lam = np.ones(3)
    h = L1(lam)
    lam[0] = 100.0
    assert h(np.ones(3)) == 3.0
