"""Presolve inside a solve: answers, callbacks, histories and checkpoints are those of the problem as stated."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ipds import Block, Checkpoint, Problem, iterate, solve
from ipds.functions import L1, Affine, Cardinality, LeastSquares, Linear, NonNegative, Quadratic
from ipds.methods import IPDS, AcceleratedIPDS
from ipds.theory.certificate import certify

rng = np.random.default_rng(5)
M, N = 60, 25
G = rng.standard_normal((M, N))
Y = G @ (rng.standard_normal(N) * (rng.random(N) < 0.3)) + 0.1 * rng.standard_normal(M)
FIT = LeastSquares(G, Y)


def residual_form() -> Problem:
    return Problem([Block(h=L1(3.0), A=-2 * G, shape=N), Block(f=Quadratic(1.0), A=2.0, shape=M)], b=-2 * Y)


def program() -> Problem:
    """A linear program whose equation and bounds stand below one another."""
    g = np.random.default_rng(1)
    A = g.standard_normal((6, 15))
    basic = g.random(15) < 0.4
    x, s = np.where(basic, g.random(15), 0.0), np.where(basic, 0.0, g.random(15))
    c = A.T @ g.standard_normal(6) + s
    rows = sp.vstack([sp.csr_array(A), sp.eye_array(15)])
    copy = sp.vstack([sp.csr_array((6, 15)), -sp.eye_array(15)])
    right = np.concatenate([A @ x, np.zeros(15)])
    return Problem([Block(f=Linear(c), A=rows, shape=15), Block(h=NonNegative(), A=copy, shape=15)], b=right)


def test_a_single_block_is_the_unconstrained_problem():
    alone = solve(Problem([Block(f=FIT, h=L1(3.0), shape=N)]), tol=1e-8)
    split = solve(Problem([Block(f=FIT, A=-1.0, shape=N), Block(h=L1(3.0), shape=N)]), tol=1e-8)
    assert alone.success
    assert alone.x[0].any()
    assert alone.fun == pytest.approx(split.fun, rel=1e-7)
    assert alone.z.shape == (1,)
    given = solve(Problem([Block(f=FIT, h=L1(3.0), A=1.0, shape=N)], b=0.5))
    np.testing.assert_allclose(given.x[0], 0.5, atol=1e-3)


@pytest.mark.parametrize("make", [residual_form, program])
def test_everything_shown_is_of_the_problem_as_stated(make):
    problem, seen = make(), []
    result = solve(problem, callback=lambda now: seen.append(now), seed=0)
    assert result.success
    assert result.presolve != "as stated"
    assert [x.shape for x in result.x] == [block.shape for block in problem.blocks]
    assert result.z.shape == problem.shape
    assert problem.infeasibility(result.x) == pytest.approx(result.certificate.feasibility, abs=1e-12)
    again = certify(problem, result.state)
    assert again.critical == pytest.approx(result.certificate.critical, rel=1e-6, abs=1e-12)
    assert [now.nit for now in seen] == list(result.history["iteration"])
    assert all([x.shape for x in now.x] == [block.shape for block in problem.blocks] for now in seen)
    assert seen[-1].certificate.critical == result.certificate.critical


def test_presolve_can_be_switched_off():
    problem = residual_form()
    on, off = solve(problem, tol=1e-7), solve(problem, tol=1e-7, presolve=False)
    assert "off" in off.presolve
    assert on.success
    assert off.success
    assert on.fun == pytest.approx(off.fun, rel=1e-6)
    np.testing.assert_allclose(on.z, off.z, atol=1e-3 * np.abs(off.z).max())


def test_algorithm_1_runs_on_what_was_stated():
    problem = residual_form()
    result = solve(problem, method=IPDS("sound"), max_iter=20)
    by_hand = list(zip(range(20), iterate(problem, method=IPDS("sound")), strict=False))[-1][1]
    assert "as stated" in result.presolve
    np.testing.assert_array_equal(result.state.z, by_hand.z)


def test_a_start_near_the_solution_stays_there():
    problem = residual_form()
    first = solve(problem, tol=1e-10)
    again = solve(problem, first.x, first.z, tol=1e-7)
    assert again.success
    assert again.nit <= 2


def test_iterate_yields_states_of_the_problem_as_stated():
    problem = residual_form()
    state = next(iterate(problem))
    assert [x.shape for x in state.x] == [block.shape for block in problem.blocks]
    assert state.z.shape == problem.shape


@pytest.mark.parametrize("make", [residual_form, program])
def test_a_solve_that_was_cut_goes_on_to_the_same_bits(make, tmp_path):
    options = {"tol": 1e-12, "max_iter": 60, "check_every": 2, "seed": 0}
    undisturbed = solve(make(), **options)

    class Cut(Exception):
        pass

    def stop(now):
        if now.nit >= 2:
            raise Cut

    with pytest.raises(Cut):
        solve(make(), **options, checkpoint=Checkpoint(tmp_path / "a", every=0.0), callback=stop)
    resumed = solve(make(), **options, checkpoint=tmp_path / "a")
    for a, b in zip((*resumed.x, resumed.z), (*undisturbed.x, undisturbed.z), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(Exception, match="presolve"):
        solve(make(), **options, checkpoint=tmp_path / "a", presolve=False)


def test_other_libraries_keep_what_applies():
    torch = pytest.importorskip("torch", reason="optional extra")
    problem = Problem(
        [
            Block(h=L1(3.0), A=torch.asarray(-G), shape=N),
            Block(f=Quadratic(1.0), shape=M),
        ],
        b=torch.asarray(-Y),
    )
    result = solve(problem)
    assert result.success
    assert type(result.x[0]) is torch.Tensor
    assert "torch" in result.presolve
    assert result.fun == pytest.approx(solve(residual_form()).fun, rel=1e-3)


def test_a_set_on_the_wrong_block_does_not_matter():
    A, b = rng.standard_normal((3, N)), rng.standard_normal(3)
    forms = [
        Problem([Block(f=FIT, h=L1(1.0), A=A, shape=N)], b=b),
        Problem([Block(f=FIT, h=L1(1.0), A=-1.0, shape=N), Block(h=Affine(A, b), shape=N)]),
        Problem([Block(h=Affine(A, b), A=-1.0, shape=N), Block(f=FIT, h=L1(1.0), shape=N)]),
        Problem([Block(f=FIT, h=Affine(A, b), A=-1.0, shape=N), Block(h=L1(1.0), shape=N)]),
    ]
    values = [solve(problem, tol=1e-6).fun for problem in forms]
    np.testing.assert_allclose(values, values[0], rtol=1e-4)


def test_nonconvex_terms_join_their_variable():
    problem = Problem([Block(f=FIT, A=-1.0, shape=N), Block(h=Cardinality(5), shape=N)])
    result = solve(problem, method=AcceleratedIPDS())
    assert result.success
    assert np.count_nonzero(result.x[1]) <= 5
    assert "moved" in result.presolve
