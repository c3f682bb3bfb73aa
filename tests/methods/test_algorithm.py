"""Algorithm 1: the package's iterates against a literal transcription, products counted, array libraries swapped."""

import array_api_strict as strict
import numpy as np
import pytest

import problems
from ipds import Block, Parameters, Problem, Status, iterate, solve
from ipds.functions import L1, Box, Quadratic
from ipds.methods import IPDS
from ipds.operators import Identity, Matrix, Operator
from problems import start_of, take

BI = Parameters(xi=0.3, delta=0.1, sigma=1.0, theta2=0.95)
OVER = Parameters(xi=0.3, delta=0.04, sigma=1.6, theta2=1.0, p=0.5)
SU = Parameters(xi=0.05, delta=0.01, sigma=0.1, theta2=1.5)


def scalar_b() -> Problem:
    return Problem([Block(h=L1(1.0), A=-2.0, shape=(3, 2)), Block(h=L1(0.5), shape=(3, 2))], b=1.0)


def matrix_free_last() -> Problem:
    M = problems.conditioned(6, 9, 3.0)
    return Problem(
        [
            Block(h=Box(), A=-1.0, shape=(2, 3)),
            Block(h=L1(0.3), A=problems.matrix_free(M), shape=(3, 3), name="v"),
        ]
    )


CASES = {
    "2 blocks, BI, matrix-shaped, smooth": (problems.sparse_pca, BI),
    "2 blocks, BI, over-relaxed": (problems.sparse_pca, OVER),
    "2 blocks, BI, no smooth term": (problems.robust_regression, BI),
    "2 blocks, SU": (problems.surjective, SU),
    "2 blocks, SU, no smooth term": (lambda: problems.surjective(60.0, smooth=False), SU),
    "2 blocks, SU, matrix-free": (matrix_free_last, SU),
    "2 blocks, scalar b": (scalar_b, BI),
    "3 blocks, BI, sparse": (problems.three_blocks, BI),
    "3 blocks, BI, kappa 1.3": (lambda: problems.three_blocks(1.3), BI),
    "5 blocks, SU": (problems.five_blocks, SU),
}


def same(state, expected, tolerance=1e-10):
    pairs = [*zip(state.x, expected.x, strict=True), (state.x_breve, expected.x_breve), (state.z, expected.z)]
    for ours, theirs in pairs:
        np.testing.assert_allclose(
            ours, theirs, rtol=tolerance, atol=tolerance * max(1.0, np.abs(theirs).max())
        )
    np.testing.assert_allclose([state.beta, state.mu], [expected.beta, expected.mu], rtol=1e-12)


@pytest.mark.parametrize("scaled", [False, True], ids=["z", "z-hat"])
@pytest.mark.parametrize("case", CASES)
def test_iterates_equal_a_literal_transcription(case, scaled):
    build, parameters = CASES[case]
    problem, beta0 = build(), 80.0
    x0, z0 = start_of(problem)
    states = take(iterate(problem, x0, z0, IPDS(parameters, beta0=beta0, scaled_multiplier=scaled)), 60)
    expected = problems.reference(problem, x0, z0, parameters, beta0, 60)
    assert [state.t for state in states] == list(range(1, 61))
    for state, target in zip(states, expected, strict=True):
        same(state, target)


class Counting(Operator):
    """An operator that counts its products."""

    def __init__(self, inner: Operator):
        self.inner, self.applied, self.adjoints = inner, 0, 0

    def output_shape(self, shape):
        return self.inner.output_shape(shape)

    def apply(self, x):
        self.applied += 1
        return self.inner.apply(x)

    def adjoint(self, y):
        self.adjoints += 1
        return self.inner.adjoint(y)

    def norm(self):
        return self.inner.norm()

    def extremes(self, shape):
        return self.inner.extremes(shape)


@pytest.mark.parametrize("scaled", [False, True])
def test_each_product_is_taken_once_per_iteration(scaled):
    G = problems.rng().standard_normal((5, 4))
    maps = [Counting(Matrix(G)), Counting(Matrix(-G)), Counting(Identity(1.0))]
    shapes = [4, 4, 5]
    problem = Problem([Block(h=L1(1.0), A=A, shape=n) for A, n in zip(maps, shapes, strict=True)], b=1.0)
    states = iterate(problem, *start_of(problem), IPDS(BI, scaled_multiplier=scaled))
    next(states)
    for A in maps:
        A.applied = A.adjoints = 0
    take(states, 25)
    assert [(A.applied, A.adjoints) for A in maps] == [(25, 25)] * 3


@pytest.mark.parametrize("build", [problems.robust_regression, problems.sparse_pca, problems.surjective])
def test_iterates_are_the_same_on_another_array_library(build):
    problem = build()
    x0, z0 = start_of(problem)
    ours = take(iterate(problem, x0, z0, IPDS(SU, beta0=300.0)), 30)
    moved = Problem([moved_block(block) for block in problem.blocks], b=as_strict(problem.b))
    start = [as_strict(xi) for xi in x0], as_strict(z0)
    theirs = take(iterate(moved, *start, IPDS(SU, beta0=300.0)), 30)
    assert type(theirs[-1].x[0]).__module__.startswith("array_api_strict")
    for a, b in zip(ours, theirs, strict=True):
        for u, v in zip([*a.x, a.x_breve, a.z], [*b.x, b.x_breve, b.z], strict=True):
            np.testing.assert_allclose(u, np.asarray(v), rtol=1e-9, atol=1e-10)


def as_strict(x):
    return strict.asarray(x) if isinstance(x, np.ndarray) else x


def moved_block(block):
    f = block.f
    if f is not None:  # rebuild the smooth term around arrays of the other library
        f = type(f)(as_strict(f._data.D if hasattr(f, "_data") else f.Q.matrix))
    return Block(f=f, h=block.h, A=as_strict(block.A), shape=block.shape, name=block.name)


def test_a_step_changes_nothing_it_was_given():
    problem = problems.five_blocks()
    x0, z0 = start_of(problem)
    x_copy, z_copy, b_copy = [xi.copy() for xi in x0], z0.copy(), problem.b.copy()
    method = IPDS(SU, beta0=50.0)
    setup, carry = method.init(problem, tuple(x0), z0)
    carry, first = method.step(setup, carry)
    before = [xi.copy() for xi in first.x]
    _, second = method.step(setup, carry)
    _, again = method.step(setup, carry)
    for u, v in zip([*x0, z0, problem.b, *first.x], [*x_copy, z_copy, b_copy, *before], strict=True):
        np.testing.assert_array_equal(u, v)
    same(again, second, 0.0)
    same(take(iterate(problem, x0, z0, method), 2)[1], second, 0.0)


def test_a_local_lipschitz_constant_is_found_by_backtracking():
    class Quartic:
        lipschitz = None

        def __call__(self, x):
            return float(np.sum(x**4)) / 4

        def grad(self, x):
            return x**3

    # from a flat start (curvature 3e-4) to x = 50^(1/3), where it is 41: x³ = 50 balances the slope of the ℓ1 norm
    problem = Problem([Block(f=Quartic(), A=-1.0, shape=6), Block(h=L1(50.0), shape=6)], b=-10.0)
    parameters = Parameters(xi=0.05, delta=2.0, theta2=0.95)
    start = [np.full(6, 0.01), np.full(6, -9.99)]
    states = take(iterate(problem, start, None, IPDS(parameters, beta0=5.0)), 1000)
    assert all(np.isfinite(state.x[0]).all() for state in states)
    np.testing.assert_allclose(states[-1].x[0], 50 ** (1 / 3), rtol=1e-3)


def test_an_explicit_beta0_below_the_bound_warns_and_is_used():
    problem = problems.sparse_pca()
    with pytest.warns(UserWarning, match="below the theory's bound"):
        state = next(iterate(problem, method=IPDS(BI, beta0=1e-3)))
    assert state.beta == 1e-3


@pytest.mark.parametrize("parameters", ["sound", BI])
def test_the_default_beta0_respects_the_bound(parameters):
    problem = problems.sparse_pca()
    method = IPDS(parameters)
    state = next(iterate(problem, method=method))
    parameters = solve(problem, method=method, max_iter=1).parameters
    assert state.beta >= problem.blocks[-1].f.lipschitz / parameters.delta


@pytest.mark.parametrize("scaled", [False, True], ids=["z", "z-hat"])
def test_the_move_of_the_paper_s_stopping_rule_is_its_formula(scaled):
    problem = problems.three_blocks()
    method = IPDS(BI, 80.0, scaled_multiplier=scaled, stopping="paper")
    before, state = take(iterate(problem, *start_of(problem), method), 4)[-2:]
    moves = np.concatenate([np.ravel(y - x) for x, y in zip(before.x, state.x, strict=True)])
    expected = np.linalg.norm(state.z - before.z) + state.beta * np.linalg.norm(moves)
    assert state.moved == pytest.approx(expected, rel=1e-9)
    assert next(iterate(problem, *start_of(problem), IPDS(BI, 80.0))).moved == -np.inf


def test_the_paper_s_stopping_rule_ends_a_run_and_claims_nothing():
    """The rule is in units of the objective: a problem in small units rests at once, uncertified."""
    G, y = problems.rng().standard_normal((2, 30, 30))
    problem = Problem([Block(h=Box(-1.0, 1.0), A=-G, shape=30), Block(h=L1(1e-8), shape=30)], b=-y[0])
    result = solve(problem, method=IPDS("sound", stopping="paper"), tol=1e-4)
    assert result.status is Status.AT_REST
    assert not result.success
    assert result.certificate.relative > 1e-2
    assert 0 <= result.state.moved <= 1e-4
    with pytest.raises(ValueError, match="'certificate' or 'paper'"):
        IPDS(stopping="none")


def test_a_certified_point_waits_for_the_paper_s_rule_and_is_a_success_then():
    w, y = 1e3, np.array([3.0, -0.5, 1.0, 0.2])  # in large units the certificate comes first
    problem = Problem([Block(f=Quadratic(w * np.eye(4), -w * y), A=-1.0, shape=4), Block(h=L1(w), shape=4)])
    early = solve(problem, method=IPDS(), tol=1e-3)
    late = solve(problem, method=IPDS(stopping="paper"), tol=1e-3)
    assert (early.status, late.status) == (Status.CONVERGED, Status.CONVERGED)
    assert late.nit > early.nit
    assert late.state.moved <= 1e-3
    limited = solve(problem, method=IPDS(stopping="paper"), tol=1e-3, max_iter=early.nit)
    assert limited.success  # certified, whatever the rule says
    assert limited.state.moved > 1e-3
