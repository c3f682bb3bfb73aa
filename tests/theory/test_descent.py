"""The decrease inequality with the refined parameters, along runs on random problems."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
import scipy.sparse.linalg as spla

from ipds import Block, Parameters, Problem, iterate
from ipds.functions import (
    L0,
    L1,
    L2,
    L21,
    Binary,
    Box,
    Cardinality,
    LHalf,
    Linf,
    Quadratic,
    Simplex,
    Smooth,
    Sphere,
    Stiefel,
)
from ipds.methods import IPDS
from ipds.theory.descent import constants, decreases


class Waves(Smooth):
    """Σ a_k cos(ω_k x_k + φ_k): nonconvex, with |a_k|ω_k² = L."""

    def __init__(self, rng, shape, lipschitz):
        self.frequency, self.phase = rng.uniform(0.5, 3, shape), rng.uniform(0, 6, shape)
        self.height = lipschitz / self.frequency**2 * rng.choice([-1, 1], shape)
        self.lipschitz = float(lipschitz)

    def __call__(self, x):
        return float(np.sum(self.height * np.cos(self.frequency * x + self.phase)))

    def grad(self, x):
        return -self.height * self.frequency * np.sin(self.frequency * x + self.phase)


def conditioned(rng, rows, columns, kappa):
    """A matrix whose A Aᵀ has the condition κ, in a unit of its own."""
    U = np.linalg.qr(rng.standard_normal((rows, rows)))[0]
    V = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    squares = np.r_[1.0, rng.uniform(1 / kappa, 1, max(rows - 2, 0)), 1 / kappa][:rows]
    return 10 ** rng.uniform(-1, 1) * (U * np.sqrt(squares)) @ V[:, :rows].T


def unit(rng):
    return 10 ** rng.uniform(-1, 1)


def draw(rng, condition, kappa):
    """(problem, start): n = 2..5 blocks, nonconvex f and h, A dense, scalar or matrix-free, f_n zero or not."""
    matrix_blocks = condition == "BI" and kappa == 1.0 and rng.random() < 0.25
    if matrix_blocks:  # blocks are matrices, every A a multiple of the identity
        shape = (int(rng.integers(4, 8)), int(rng.integers(1, 4)))
        first = Block(f=Waves(rng, shape, unit(rng)), h=Stiefel(), A=-unit(rng), shape=shape)
        blocks, b, size, m = [first], unit(rng) * rng.standard_normal(shape), shape, None
        h = L21(unit(rng))
    else:
        m = int(rng.integers(2, 10))
        size = (m if condition == "BI" else m + int(rng.integers(0, 8)),)
        blocks, b = [], unit(rng) * rng.standard_normal(m)
        for _ in range(int(rng.integers(1, 5))):
            d = int(rng.integers(2, 10))
            sets = [
                Cardinality(int(rng.integers(1, d + 1))),
                Box(-1.0, 1.0),
                Binary(),
                L0(unit(rng)),
                Simplex(),
            ]
            others = [L1(unit(rng)), Sphere(), LHalf(unit(rng))]
            f = Waves(rng, d, unit(rng)) if rng.random() < 0.5 else None
            A = unit(rng) * rng.standard_normal((m, d))
            choices = [*sets, *others]
            blocks.append(Block(f=f, h=choices[rng.integers(len(choices))], A=A, shape=d))
        h = [L1, L2, Linf][rng.integers(3)](unit(rng))
    f = Waves(rng, size, 10 ** rng.uniform(-2, 1)) if rng.random() < 0.5 else None
    A = unit(rng) if m is None else conditioned(rng, m, size[0], kappa)
    if m is not None and rng.random() < 0.2:
        A = spla.aslinearoperator(A)
    problem = Problem([*blocks, Block(f=f, h=h, A=A, shape=size)], b)
    return problem, [block.h.prox(3 * rng.standard_normal(block.shape), 1.0) for block in problem.blocks]


def worst(problem, parameters, start, iterations):
    """The smallest slack of the inequality along a run, relative to the terms of it."""
    run = islice(iterate(problem, start, np.zeros(problem.shape), IPDS(parameters)), iterations)
    steps = list(decreases(problem, parameters, run))
    assert len(steps) == iterations - 3
    return min(s.slack / (abs(s.potential) + abs(s.following) + s.energy + s.tail + 1e-300) for s in steps)


KAPPAS = (1.0, 1.2, 1.5, 1.8, 3.0, 10.0, 40.0, 100.0)


@pytest.mark.filterwarnings("ignore:.*beta0")
@pytest.mark.parametrize("seed", range(10))
def test_the_decrease_holds_on_random_problems(seed):
    """Fifty problems each: 500 in all."""
    rng = np.random.default_rng(seed)
    known = {}
    for _ in range(50):
        kappa = KAPPAS[rng.integers(len(KAPPAS))]
        condition = "BI" if kappa < 2 and rng.random() < 0.6 else "SU"
        problem, start = draw(rng, condition, kappa)
        smooth = problem.blocks[-1].f is not None
        sigma = 1.0 if kappa < 1.6 and rng.random() < 0.3 else None
        key = (kappa, sigma, smooth)
        if key not in known:
            # eigenvalues of a random factor are known to rounding only
            known[key] = Parameters.sound(condition, kappa * (1 + 1e-9), sigma, smooth_last=smooth)
        assert constants(problem, known[key]).margin > 0
        assert worst(problem, known[key], start, 40) >= -1e-9


def test_parameters_beyond_the_rule_violate_it():
    """The test can fail: the printed parameters break the inequality of a positive ε₂ at once."""
    rng = np.random.default_rng(0)
    broken = Parameters(xi=0.5, delta=0.25, sigma=1.618, theta2=0.6)
    G, y = rng.standard_normal((60, 20)), rng.standard_normal(60)
    problem = Problem([Block(h=Cardinality(5), A=-G, shape=20), Block(h=L1(1.0), shape=60)], b=-y)
    run = islice(iterate(problem, method=IPDS(broken), seed=0), 40)
    claimed = [s.potential - s.following + s.tail - abs(s.energy) for s in decreases(problem, broken, run)]
    assert min(claimed) < 0


@pytest.mark.parametrize("kappa", [1.0, 1.5, 4.0])
@pytest.mark.parametrize("f", [None, Quadratic(0.1)], ids=["f = 0", "smooth"])
def test_half_the_margin_is_left_by_the_split_of_the_tail(kappa, f):
    """(a + e)² ≤ (1+η)a² + (1+1/η)e² multiplies S by 1 + η: ε₂ is left of every mode, and less with twice the η."""
    A = np.diag(np.sqrt([1.0, 1 / kappa]))
    problem = Problem([Block(h=Box(), A=-1.0, shape=2), Block(f=f, h=L1(1.0), A=A, shape=2)])
    p = Parameters.sound("SU", kappa, smooth_last=f is not None)
    k, nu = constants(problem, p), 1.0 if f is None else 2.0

    def least(eta):
        S = (1 + eta) * p.omega * p.sigma1 * kappa / (1 - k.tau)
        margins = []
        for b in (1 / kappa, 1.0):
            for ell in (0.0,) if f is None else (0.0, p.delta):
                T = p.theta2 * (1 + ell)
                own = T - ell / 2 - b / 2 - p.omega * p.gain / k.tau * (T - b) ** 2 / b
                turned = max(0.0, nu * S - 1 / (2 * p.delta)) * p.delta**2
                margins.append(own - turned - nu * S * ell**2)
        return min(margins)

    assert k.margin > 0
    assert least(0.0) == pytest.approx(2 * k.margin, rel=1e-6)
    assert least(k.eta) >= k.margin * (1 - 1e-9)
    assert k.eta == 1.0 or least(3 * k.eta) < k.margin
