"""The promised number of iterations, beside what runs need."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import problems
from ipds import AssumptionError, Block, Parameters, Problem, iterate
from ipds.functions import L1, Box, Linear, Quadratic, Sum, Zero
from ipds.methods import IPDS
from ipds.theory.bound import bound, lower_bound
from ipds.theory.certificate import certify


@pytest.mark.parametrize("kappa", [1.0, 4.0])
def test_the_best_iterate_of_a_window_is_within_the_bound(kappa):
    problem = problems.robust_regression() if kappa == 1.0 else problems.surjective(kappa, smooth=False)
    parameters = Parameters.sound("SU", kappa, smooth_last=problem.blocks[-1].f is not None)
    states = list(islice(iterate(problem, method=IPDS(parameters), seed=0), 400))
    promised = bound(problem, parameters, states)
    assert promised.penalty(7) == pytest.approx(states[7].beta)  # State t + 1 comes of β_t
    critical = np.array([certify(problem, state).critical for state in states])
    for N in (10, 100, 398):
        assert critical[N // 2 : N + 1].min() <= promised(N)
        assert critical[1 : N + 1].mean() <= promised.average(N)


def test_the_number_of_iterations_grows_like_the_cube():
    problem = problems.robust_regression()
    parameters = Parameters.sound("BI", 1.0, smooth_last=False)
    promised = bound(problem, parameters, list(islice(iterate(problem, method=IPDS(parameters), seed=0), 4)))
    few, many = promised.iterations(1e-3), promised.iterations(1e-4)
    assert promised(few) <= 1e-3 < promised(few / 1.01)
    assert many / few == pytest.approx(1000, rel=0.2)


def test_what_is_missing_is_said():
    unbounded = Problem([Block(f=Linear(np.ones(3)), h=Zero(), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)])
    assert lower_bound(unbounded) is None
    sound = Parameters.sound("BI", 1.0)
    states = list(islice(iterate(unbounded, method=IPDS(sound)), 4))
    with pytest.raises(ValueError, match="lower bound"):
        bound(unbounded, sound, states)
    with pytest.raises(ValueError, match=r"Parameters\.sound"):
        bound(problems.robust_regression(), Parameters(theta2=0.6), states)


def test_check_prints_what_is_promised_and_what_is_not_checked():
    report = problems.robust_regression().check()
    assert report.iterations(1e-2) < report.iterations(1e-3)
    assert "iterations it promises" in str(report)
    assert "bounded below" in str(report)
    assert f"{report.iterations(1e-2):.1e} to a criticality of 0.01" in str(
        problems.robust_regression().check(1e-2)
    )
    with pytest.raises(ValueError, match="positive"):
        problems.robust_regression().check(epsilon=0.0)


def test_an_objective_that_falls_without_end_does_not_hold():
    concave = Block(f=Quadratic(-np.eye(3)), h=L1(1.0), shape=3, name="v")
    report = Problem([Block(h=Zero(), A=-1.0, shape=3), concave]).check()
    assert not report.holds
    assert "falls without end" in str(report)
    with pytest.raises(AssumptionError, match="falls without end"):
        report.iterations(1e-3)
    bounded = Problem(
        [Block(h=Box(-1.0, 1.0), A=-1.0, shape=3), Block(f=Quadratic(np.eye(3)), h=L1(1.0), shape=3)]
    )
    assert bounded.check().holds


@pytest.mark.parametrize(
    "f",
    [
        Quadratic(np.diag(np.r_[-1.0, np.full(49, 100.0)])),  # concave along one axis of fifty
        Linear(3 * np.eye(50)[7]),  # steeper than the ℓ1 norm along one axis
    ],
    ids=["one concave axis", "one steep axis"],
)
def test_one_direction_of_many_without_end_is_found(f):
    problem = Problem([Block(h=Zero(), A=-1.0, shape=50), Block(f=f, h=L1(1.0), shape=50, name="v")])
    assert "'v' falls without end" in str(problem.check())
    bounded = Problem(
        [Block(h=Zero(), A=-1.0, shape=50), Block(f=f, h=Sum([L1(1.0), Box(-9.0, 9.0)]), shape=50)]
    )
    assert "falls without end" not in str(bounded.check())
