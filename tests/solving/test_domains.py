"""Problems with logarithms, exponentials and cones against CVXPY; searches and starts that stay inside the domain."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import (
    L1,
    PSD,
    Box,
    Cardinality,
    ColumnSimplex,
    Composed,
    DiagonalEquals,
    Differentiable,
    Entropy,
    Exponential,
    ExponentialCone,
    Hinge,
    KLDivergence,
    Linear,
    LogDet,
    LogisticLoss,
    NegativeLog,
    NonNegative,
    Poisson,
    Quantile,
    RowSimplex,
    SecondOrderCone,
    Simplex,
    SmoothSum,
    Sum,
    SumSquares,
)

rng = np.random.default_rng(0)
N = 8
COST, A, INSIDE = rng.random(N) + 0.1, rng.standard_normal((3, N)), rng.random(N) + 0.1
B = A @ INSIDE
G = rng.random((30, N))
COUNTS = rng.poisson(G @ INSIDE * 5).astype(float)
LABELS = np.sign(rng.standard_normal(30))
CENTRED = G - 0.5
S = np.cov(rng.standard_normal((40, 6)).T)
PRICES = rng.random((5, 4))
NOISY = np.corrcoef(rng.standard_normal((6, 40))) + 0.3 * rng.standard_normal((6, 6))


def models() -> dict[str, tuple[Any, Any]]:
    x, q = Variable(N), cp.Variable(N)
    X, Q = Variable((6, 6)), cp.Variable((6, 6), symmetric=True)
    P, R = Variable((5, 4)), cp.Variable((5, 4))
    W, M = cp.Variable((6, 6), PSD=True), 0.5 * (NOISY + NOISY.T)
    margins = cp.multiply(LABELS, CENTRED @ q)
    rows = A @ q - 1
    return {
        "barrier": (
            minimize(NegativeLog()(x) + Linear(COST)(x), [A @ x == B]),
            cp.Problem(cp.Minimize(-cp.sum(cp.log(q)) + COST @ q), [A @ q == B]),
        ),
        "entropy": (
            minimize(Entropy()(x) + Linear(COST)(x), [A @ x == B]),
            cp.Problem(cp.Minimize(-cp.sum(cp.entr(q)) + COST @ q), [A @ q == B]),
        ),
        "Poisson": (
            minimize(Poisson(COUNTS)(G @ x) + L1(0.3)(x)),
            cp.Problem(cp.Minimize(cp.sum(G @ q) - COUNTS @ cp.log(G @ q) + 0.3 * cp.norm1(q))),
        ),
        "divergence": (
            minimize(KLDivergence(COUNTS)(G @ x) + NonNegative()(x)),
            cp.Problem(cp.Minimize(cp.sum(cp.kl_div(COUNTS, G @ q))), [q >= 0]),
        ),
        "graphical lasso": (
            minimize(LogDet()(X) + Linear(S)(X) + L1(0.1)(X)),
            cp.Problem(cp.Minimize(-cp.log_det(Q) + cp.trace(S @ Q) + 0.1 * cp.sum(cp.abs(Q)))),
        ),
        "exponential": (
            minimize(Exponential()(G @ x - 3) + L1(0.1)(x) + SumSquares(0.01)(x)),
            cp.Problem(cp.Minimize(cp.sum(cp.exp(G @ q - 3)) + 0.1 * cp.norm1(q) + 0.01 * cp.sum_squares(q))),
        ),
        "logistic": (
            minimize(LogisticLoss(LABELS)(CENTRED @ x) + L1(0.5)(x)),
            cp.Problem(cp.Minimize(cp.sum(cp.logistic(-margins)) + 0.5 * cp.norm1(q))),
        ),
        "hinge": (
            minimize(Hinge()((LABELS[:, None] * CENTRED) @ x) + SumSquares(0.5)(x)),
            cp.Problem(cp.Minimize(cp.sum(cp.pos(1 - margins)) + 0.5 * cp.sum_squares(q))),
        ),
        "quantile": (
            minimize(Quantile(0.8)(G @ x - COUNTS) + L1(0.5)(x)),
            cp.Problem(
                cp.Minimize(
                    cp.sum(cp.maximum(0.8 * (G @ q - COUNTS), -0.2 * (G @ q - COUNTS))) + 0.5 * cp.norm1(q)
                )
            ),
        ),
        "second-order cone": (
            minimize(SumSquares()(x - 2) + SecondOrderCone()(A @ x - 1)),
            cp.Problem(cp.Minimize(cp.sum_squares(q - 2)), [cp.SOC(rows[0], rows[1:])]),
        ),
        "exponential cone": (
            minimize(SumSquares()(x - 2) + ExponentialCone()(A @ x - 1)),
            cp.Problem(cp.Minimize(cp.sum_squares(q - 2)), [cp.ExpCone(rows[0], rows[1], rows[2])]),
        ),
        "transport": (
            minimize(Linear(PRICES)(P) + RowSimplex(0.2)(P) + ColumnSimplex(0.25)(P) + Entropy(0.05)(P)),
            cp.Problem(
                cp.Minimize(cp.sum(cp.multiply(PRICES, R)) - 0.05 * cp.sum(cp.entr(R))),
                [cp.sum(R, axis=1) == 0.2, cp.sum(R, axis=0) == 0.25],
            ),
        ),
        "correlation matrix": (
            minimize(SumSquares(0.5, M)(X) + PSD()(X) + DiagonalEquals()(X)),
            cp.Problem(cp.Minimize(0.5 * cp.sum_squares(W - M)), [cp.diag(W) == 1]),
        ),
    }


MODELS = models()


@pytest.mark.parametrize("name", MODELS)
def test_models_against_cvxpy(name: str) -> None:
    model, reference = MODELS[name]
    result = solve(model, tol=1e-6, max_iter=20_000)
    assert result.success
    assert result.fun == pytest.approx(reference.solve(), rel=1e-5, abs=1e-5)


def smooth_problems() -> dict[str, tuple[Problem, Any]]:
    q, Q = cp.Variable(N), cp.Variable((6, 6), symmetric=True)
    log, count = Differentiable(NegativeLog()), Composed(Differentiable(Poisson(COUNTS)), G)
    det = SmoothSum([Differentiable(LogDet()), Linear(S)])
    return {
        "barrier": (
            Problem(
                [Block(f=SmoothSum([log, Linear(COST)]), A=-A, shape=N), Block(h=Box(0.0, 0.0), shape=3)],
                b=-B,
            ),
            cp.Problem(cp.Minimize(-cp.sum(cp.log(q)) + COST @ q), [A @ q == B]),
        ),
        "entropy": (
            Problem(
                [Block(f=Differentiable(Entropy()), h=Simplex(), A=-A, shape=N), Block(h=L1(3.0), shape=3)],
                b=0.1,
            ),
            cp.Problem(
                cp.Minimize(-cp.sum(cp.entr(q)) + 3 * cp.norm1(A @ q + 0.1)), [q >= 0, cp.sum(q) == 1]
            ),
        ),
        "Poisson": (
            Problem([Block(f=count, A=-1.0, shape=N), Block(h=L1(0.3), shape=N)]),
            cp.Problem(cp.Minimize(cp.sum(G @ q) - COUNTS @ cp.log(G @ q) + 0.3 * cp.norm1(q))),
        ),
        "graphical lasso": (
            Problem([Block(f=det, A=-1.0, shape=(6, 6)), Block(h=L1(0.1), shape=(6, 6))]),
            cp.Problem(cp.Minimize(-cp.log_det(Q) + cp.trace(S @ Q) + 0.1 * cp.sum(cp.abs(Q)))),
        ),
    }


SMOOTH = smooth_problems()


@pytest.mark.parametrize("method", ["accelerated", "ipds"])
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_functions_with_a_domain(name: str, method: str) -> None:
    """Every point that a method returns lies inside: searches turn back from infinite values."""
    problem, reference = SMOOTH[name]
    domain = problem.blocks[0].f.domain
    seen = []

    def look(intermediate_result: Any) -> None:
        seen.append(domain.contains(intermediate_result.x[0]))

    result = solve(problem, method=method, tol=1e-6, max_iter=20_000, callback=look)
    assert all(seen)
    assert len(seen) > 1
    assert result.success
    assert result.fun == pytest.approx(reference.solve(), rel=1e-5, abs=1e-5)


def test_a_start_outside_is_refused_with_the_reason() -> None:
    problem, _ = SMOOTH["barrier"]
    with pytest.raises(ValueError, match=r"every entry must be > 0; pass an x0 inside"):
        solve(problem, x0=[-np.ones(N), np.zeros(3)])


def test_a_sparse_portfolio() -> None:
    """max Σ log(r'x) over at most three shares: the joint prox of both sets, and a function with a domain."""
    returns = 1 + 0.05 * np.random.default_rng(1).standard_normal((50, N))
    f = Composed(Differentiable(NegativeLog()), returns)
    blocks = [Block(f=f, h=Sum([Cardinality(3), Simplex()]), A=-1.0, shape=N), Block(h=L1(1e-3), shape=N)]
    result = solve(Problem(blocks))
    assert result.success
    x = result.x[0]
    assert np.count_nonzero(x) <= 3
    assert x.sum() == pytest.approx(1.0)
    assert f(x) < f(np.full(N, 1 / N))
