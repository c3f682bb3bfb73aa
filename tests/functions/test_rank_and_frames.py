"""Projections by decompositions: orthonormal frames, and low rank, warm and cold."""

from __future__ import annotations

import itertools
import math
from typing import Any

import array_api_strict
import numpy as np
import pytest

from ipds.functions import (
    Rank,
    Sphere,
    Stiefel,
)
from ipds.functions.truncation import dominant, leading


def _matrices(n: int, r: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    v = rng.standard_normal((n, r))
    deficient = v.copy()
    deficient[:, -1] = deficient[:, 0]
    cases = {f"condition 1e{k}": v * np.logspace(0, -k, r) for k in range(0, 20, 2)}
    cases |= {"zero": 0.0 * v, "deficient": deficient, "rank 1": np.ones((n, r))}
    cases |= {"1e-200": 1e-200 * v, "1e200": 1e200 * v, "1e-200 deficient": 1e-200 * deficient}
    return cases | {"subnormal": 1e-315 * v, "fortran": np.asfortranarray(v), "slice": v[::-1]}


@pytest.mark.parametrize("name", _matrices(4, 2))
def test_stiefel_is_orthonormal_for_any_input(name: str) -> None:
    for n, r in ((500, 20), (30, 30), (6, 1)):
        v = _matrices(n, r)[name]
        x = Stiefel().prox(v, 1.0)
        assert np.abs(x.T @ x - np.eye(r)).max() < 1e-12
        s = v / max(np.abs(v).max(), 1e-320)
        assert np.sum(s * x) >= np.linalg.svd(s, compute_uv=False).sum() * (1.0 - 1e-12) - 1e-12


@pytest.mark.parametrize(
    ("xp", "conditions", "most"), [(np, (5, 13, 27, 100), 10), (array_api_strict, (5, 100, 3e3), 5e4)]
)
def test_stiefel_keeps_its_digits_at_moderate_conditions(xp: Any, conditions: Any, most: float) -> None:
    rng = np.random.default_rng(0)
    for condition in conditions:
        v = np.linalg.qr(rng.standard_normal((6, 4)))[0] * np.geomspace(1, 1 / condition, 4)
        v = v @ np.linalg.qr(rng.standard_normal((4, 4)))[0]
        x = np.asarray(Stiefel().prox(xp.asarray(v), 1.0))
        assert np.abs(x.T @ x - np.eye(4)).max() < most * np.finfo(float).eps


def test_stiefel_in_single_precision() -> None:
    rng = np.random.default_rng(1)
    for condition in (1.0, 5.0, 40.0, 1e3, 1e9):
        v = (rng.standard_normal((50, 4)) * np.geomspace(1, 1 / condition, 4)).astype(np.float32)
        x = Stiefel().prox(v, 1.0)
        assert x.dtype == np.float32
        assert np.abs(x.T @ x - np.eye(4)).max() < 3e-6


def test_steepest_descent_is_along_the_gradient_of_the_canonical_metric() -> None:
    rng, h = np.random.default_rng(2), Stiefel()
    x, g = h.prox(rng.standard_normal((7, 3)), 1.0), rng.standard_normal((7, 3))
    found, d = h.steepest(x, g), h.tangent(x, rng.standard_normal((7, 3)))
    np.testing.assert_allclose(h.tangent(x, found), found)
    assert np.vdot(found, d - 0.5 * x @ (x.T @ d)) == pytest.approx(np.vdot(g, d))


def test_stiefel_shape_and_nan() -> None:
    with pytest.raises(ValueError, match="no more columns than rows"):
        Stiefel().prox(np.ones((2, 3)), 1.0)
    assert np.all(np.isnan(Stiefel().prox(np.array([[1.0], [math.nan]]), 1.0)))


@pytest.mark.parametrize("xp", [np, array_api_strict], ids=["numpy", "strict"])
def test_stiefel_tangent_is_the_orthogonal_projection(xp: Any) -> None:
    rng = np.random.default_rng(0)
    h = Stiefel()
    x = h.prox(xp.asarray(rng.standard_normal((6, 3))), 1.0)
    g = xp.asarray(rng.standard_normal((6, 3)))
    t = np.asarray(h.tangent(x, g))
    x, g = np.asarray(x), np.asarray(g)
    assert np.allclose(x.T @ t + t.T @ x, 0.0, atol=1e-14)
    assert np.allclose(h.tangent(x, t), t)
    normal = x @ (lambda m: m + m.T)(rng.standard_normal((3, 3)))
    assert abs(np.sum((g - t) * t)) < 1e-13
    assert np.allclose(h.tangent(x, normal), 0.0, atol=1e-13)
    # A step along t leaves the manifold at second order only.
    assert np.linalg.norm(h.prox(x + 1e-4 * t, 1.0) - x - 1e-4 * t) < 1e-7


@pytest.mark.parametrize("xp", [np, array_api_strict], ids=["numpy", "strict"])
def test_a_mirror_image_is_the_nearest_of_all_signed_permutations(xp: Any) -> None:
    rng = np.random.default_rng(1)
    signs = [np.array(s) for s in itertools.product((-1.0, 1.0), repeat=3)]
    for _ in range(20):
        x, y = (Stiefel().prox(rng.standard_normal((6, 3)), 1.0) for _ in range(2))
        nearest = min(
            (x[:, list(order)] * s for order in itertools.permutations(range(3)) for s in signs),
            key=lambda image: float(np.linalg.norm(image - y)),
        )
        assert np.allclose(np.asarray(Stiefel().mirror(xp.asarray(x), xp.asarray(y))), nearest, atol=1e-15)
    assert np.array_equal(Sphere().mirror(x, x), x)
    assert np.array_equal(Sphere().mirror(x, -x), -x)


def test_sphere_tangent() -> None:
    rng = np.random.default_rng(0)
    h = Sphere(2.0)
    x, g = h.prox(rng.standard_normal((3, 2)), 1.0), rng.standard_normal((3, 2))
    t = h.tangent(x, g)
    assert abs(np.sum(x * t)) < 1e-14
    assert np.allclose(g - t, x * np.sum(x * g) / 4.0)


def _spectra(m: int, n: int, s: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    low = rng.standard_normal((m, s)) @ rng.standard_normal((s, n))
    noise = rng.standard_normal((m, n))
    return {
        "gaussian": noise,
        "low rank": low,
        "low rank and noise": low + 0.1 * noise,
        "lower rank than s": np.outer(noise[:, 0], noise[0]),
        "fast decay": noise * np.logspace(0, -12, n),
        "zero": 0.0 * noise,
        "huge": 1e200 * noise,
        "tiny": 1e-200 * noise,
    }


@pytest.mark.parametrize("name", _spectra(3, 3, 1))
@pytest.mark.parametrize(
    ("m", "n", "s"), [(150, 150, 5), (60, 400, 2), (450, 420, 4), (30, 20, 12), (9, 9, 1)]
)
def test_rank_equals_the_full_decomposition(name: str, m: int, n: int, s: int) -> None:
    v = _spectra(m, n, s)[name]
    size = np.abs(v).max() or 1.0
    u, sigma, wt = np.linalg.svd(v / size, full_matrices=False)
    exact = (u[:, :s] * sigma[:s]) @ wt[:s]
    h = Rank(s)
    x = h.prox(v, 1.0) / size
    assert np.linalg.norm(x - exact) <= 1e-9 * max(np.linalg.norm(exact), 1e-300)
    assert np.linalg.norm(v / size - x) <= np.linalg.norm(sigma[s:]) + 1e-12 * sigma[0]
    assert h(h.prox(v, 1.0)) == 0.0


def test_rank_gives_the_same_twice() -> None:
    v = _spectra(450, 420, 4)["low rank and noise"]
    assert np.array_equal(Rank(4).prox(v, 1.0), Rank(4).prox(v, 1.0))


@pytest.mark.parametrize(
    "name", ["gaussian", "low rank and noise", "lower rank than s", "fast decay", "zero"]
)
def test_warm_rank_equals_cold_rank(name: str) -> None:
    rng = np.random.default_rng(1)
    h, v = Rank(4), _spectra(400, 420, 4)[name]
    basis = None
    for _ in range(4):
        v = v + 1e-3 * rng.standard_normal(v.shape)
        kept = v.copy()
        x, basis = h.prox_warm(v, 1.0, basis)
        assert np.linalg.norm(x - h.prox(v, 1.0)) <= 1e-8 * np.linalg.norm(v)
        assert np.array_equal(v, kept)


def test_warm_rank_survives_a_useless_basis() -> None:
    """A basis orthogonal to the new leading directions, and one of another shape."""
    h, n = Rank(2), 400
    v = np.diag(np.linspace(2.0, 1.0, n))
    stale = np.eye(n)[:, -8:]
    assert np.allclose(h.prox_warm(v, 1.0, stale)[0], h.prox(v, 1.0), atol=1e-9)
    assert np.allclose(h.prox_warm(v, 1.0, np.eye(n)[:, :3])[0], h.prox(v, 1.0), atol=1e-9)
    x, basis = h.prox_warm(v[:10, :10], 1.0)
    assert basis is None
    assert np.allclose(x, h.prox(v[:10, :10], 1.0))


@pytest.mark.parametrize("gain", [1.5, 3.0, 30.0])
def test_warm_rank_sees_a_new_direction(gain: float) -> None:
    """The old singular vectors are exact still, and a larger one has come that is orthogonal to all of the basis."""
    h, n = Rank(3), 400
    u, w = (np.linalg.qr(np.random.default_rng(k).standard_normal((n, n)))[0] for k in (0, 1))
    sigma = np.full(n, 0.1)
    sigma[:3] = 3.0, 2.0, 1.0
    _, basis = h.prox_warm((u * sigma) @ w.T, 1.0)
    _, basis = h.prox_warm((u * sigma) @ w.T, 1.0, basis)
    sigma[50] = gain
    v = (u * sigma) @ w.T
    x, _ = h.prox_warm(v, 1.0, basis)
    assert np.linalg.norm(x - h.prox(v, 1.0)) <= 1e-9 * np.linalg.norm(v)


def test_krylov_gives_up_rather_than_guess() -> None:
    v = np.random.default_rng(0).standard_normal((150, 150))
    start = np.linalg.qr(np.random.default_rng(1).standard_normal((150, 11)))[0]
    assert leading(v, 5, start, blocks=2) is None


def test_powers_find_the_leading_space() -> None:
    v = _spectra(150, 170, 5)["low rank and noise"]
    exact = np.linalg.svd(v)[0][:, :5]
    q = dominant(v @ v.T, np.linalg.qr(np.random.default_rng(1).standard_normal((150, 5)))[0])
    assert q is not None
    assert np.linalg.norm(q - exact @ (exact.T @ q)) <= 1e-10


@pytest.mark.parametrize("above", [1.01, 2.0, 30.0])
def test_powers_tell_an_invariant_space_from_the_leading_one(above: float) -> None:
    """The start is spanned by eigenvectors, but there is a larger one beside them, or one too near for a proof."""
    u = np.linalg.qr(np.random.default_rng(0).standard_normal((150, 150)))[0]
    w = np.full(150, 1e-3)
    w[:3] = 3.0, 2.0, 1.0
    assert dominant((u * w) @ u.T, u[:, :3]) is not None
    w[50] = above
    assert dominant((u * w) @ u.T, u[:, :3]) is None


def test_powers_give_up_without_a_gap() -> None:
    v = np.random.default_rng(0).standard_normal((150, 150))
    start = np.linalg.qr(np.random.default_rng(1).standard_normal((150, 5)))[0]
    assert dominant(v @ v.T, start) is None
