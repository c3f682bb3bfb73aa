"""The checker of proxes finds wrong ones: those of other packages, a wrong dtype, a local minimiser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ipds.functions import (
    L0,
    L1,
    L2,
    L21,
    MCP,
    SCAD,
    Nonsmooth,
    check_prox,
)


class _HalfwayL0(L0):
    """The well-known mistake: threshold λ instead of √(2λ)."""

    def _prox(self, xp: Any, v: Any, lam: Any, step: float) -> Any:
        return v * (abs(v) > lam * step)


class _UnboundedMCP(MCP):
    """The firm threshold used past s = γ, where it is no longer a minimiser."""

    def _prox(self, xp: Any, v: Any, lam: Any, step: float) -> Any:
        firm = np.sign(v) * np.maximum(abs(v) - lam * step, 0.0) / (1.0 - step / self.gamma)
        return np.where(abs(v) <= self.gamma * lam, firm, v)


class _LocalSCAD(SCAD):
    """The three-piece formula, past its limit s = a - 1."""

    def _prox(self, xp: Any, v: Any, lam: Any, step: float) -> Any:
        x, a = abs(v), self.a
        soft = np.maximum(x - lam * step, 0.0)
        middle = ((a - 1.0) * x - a * lam * step) / (a - 1.0 - step)
        return np.sign(v) * np.where(x <= lam * (1 + step), soft, np.where(x <= a * lam, middle, x))


class _Forgetful(L1):
    """Changes its input."""

    def _prox(self, xp: Any, v: Any, lam: Any, step: float) -> Any:
        v *= 0.5
        return v + 0.0


class _Widening(L1):
    """Returns float64 whatever comes in."""

    def _prox(self, xp: Any, v: Any, lam: Any, step: float) -> Any:
        return super()._prox(xp, v.astype(float), lam, step)


class _SloppyL2(L2):
    """A prox that is off by a thousandth: the objective barely notices, the subgradient does."""

    def prox(self, v: Any, step: float) -> Any:
        return super().prox(v, step) * (1.0 + 1e-4)


class _MisprojectedL21(L21):
    """Shrinks columns instead of rows."""

    def prox(self, v: Any, step: float) -> Any:
        return super().prox(np.ascontiguousarray(v.T), step).T.copy()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (_HalfwayL0(0.7), "not a global minimiser"),
        (_UnboundedMCP(0.7, 1.5), "not a global minimiser"),
        (_LocalSCAD(0.7, 2.5), "not a global minimiser"),
        (_Forgetful(1.0), "input was changed"),
        (_SloppyL2(0.7), "no subgradient|not a global minimiser"),
        (_MisprojectedL21(0.7), "no subgradient|not a global minimiser"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_the_checker_catches_wrong_proxes(wrong: Nonsmooth, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_prox(wrong, (4, 3))


class _UsersL0:
    """Any object with a value and a prox can be checked; this one has the wrong threshold and no `terms`."""

    def __call__(self, x: Any) -> float:
        return 0.7 * np.count_nonzero(x)

    def prox(self, v: Any, step: float) -> Any:
        return np.where(np.abs(v) > 0.7 * step, v, 0.0)


def test_the_checker_needs_no_base_class() -> None:
    with pytest.raises(AssertionError, match="not a global minimiser"):
        check_prox(_UsersL0(), (4,))


class _Listing(_UsersL0):
    def prox(self, v: Any, step: float) -> Any:
        return list(v)


def test_the_checker_names_the_class_and_what_it_returned() -> None:
    with pytest.raises(AssertionError, match=r"^_Listing\(\)\.prox\(v, 0\.001\).*: returned a list"):
        check_prox(_Listing(), (4,))
    with pytest.raises(AssertionError, match=r"^_UsersL0\(\)\.prox"):
        check_prox(_UsersL0(), (4,))


def test_the_checker_says_what_it_wants() -> None:
    with pytest.raises(TypeError, match=r"check_prox: h must .* have prox\(v, step\)"):
        check_prox(lambda x: 0.0, (4,))


def test_the_checker_catches_a_wrong_dtype() -> None:
    with pytest.raises(AssertionError, match="float64"):
        check_prox(_Widening(1.0), (4,), dtype="float32")


def test_wrong_mcp_is_right_below_its_limit() -> None:
    """So it is the step past γ that is caught, not something else."""
    check_prox(_UnboundedMCP(0.7, 1.5), (4,), steps=[0.01, 0.1, 1.0])
