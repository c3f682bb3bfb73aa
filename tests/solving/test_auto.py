"""Which methods `auto` tries, and when it goes on to the next."""

import numpy as np
import pytest

from ipds import Block, Problem, Status, solve
from ipds.functions import (
    L0,
    LeastSquares,
)
from ipds.methods import IPDS, Method, State
from ipds.theory.certificate import certify
from problems import lasso


class Idle(Method):
    """Stays where it starts."""

    name = "idle"

    def init(self, problem, x0, z0):
        return IPDS().init(problem, x0, z0)

    def step(self, setup, carry):
        points = tuple((x, 1.0) for x in carry.x)
        state = State(carry.t + 1, carry.x, carry.x[-1], carry.z, 1.0, 1.0, carry.products, points)
        return carry._replace(t=carry.t + 1), state


def test_auto_goes_on_to_the_next_method_after_a_feasible_stall(monkeypatch):
    assert solve(lasso(float), method=Idle()).status is Status.STALLED_FEASIBLE
    monkeypatch.setattr("ipds.solving.call.candidates", lambda *problems: [Idle(), IPDS()])
    result = solve(lasso(float))
    assert result.success
    assert result.method == "auto: IPDS(practical)"


def test_auto_puts_a_convex_block_last_where_the_order_is_unlucky():
    D = np.diff(np.eye(12), axis=0)
    y = np.repeat([0.0, 3.0], 6) + 0.1 * np.random.default_rng(0).standard_normal(12)
    x, jumps = (
        Block(f=LeastSquares(np.eye(12), y), A=D, shape=12, name="x"),
        Block(h=L0(0.5), A=-1.0, shape=11, name="d"),
    )
    result = solve(Problem([x, jumps]), presolve=False)  # with it the first method does
    lucky = solve(Problem([jumps, x]), presolve=False)
    assert result.success
    assert "block 1 last" in result.method
    assert [block.shape for block in result.x] == [(12,), (11,)]
    assert result.fun == pytest.approx(lucky.fun, rel=1e-3)
    fresh = certify(Problem([x, jumps]), result.state)
    assert fresh.critical == pytest.approx(result.certificate.critical, rel=1e-6, abs=1e-9)
