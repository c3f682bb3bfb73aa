"""Matrices of one rank by their factors: projections, retractions and inner products against dense arithmetic."""

import numpy as np
import pytest

from ipds.functions import Rank
from ipds.functions.fixed_rank import FixedRank, near


@pytest.fixture
def face() -> FixedRank:
    rng = np.random.default_rng(0)
    found = Rank(3).face(rng.standard_normal((12, 3)) @ rng.standard_normal((3, 9)))
    assert found is not None
    return found


def test_tangent_parts_are_the_projection(face):
    d = np.random.default_rng(1).standard_normal((12, 9))
    parts = face.parts(d)
    P, Q = face.U @ face.U.T, face.V @ face.V.T
    expected = P @ d + d @ Q - P @ d @ Q
    assert np.allclose(face.dense(parts), expected)
    assert np.allclose(face.tangent(d), expected)
    assert np.isclose(parts.square, np.vdot(expected, expected))
    assert np.allclose(face.subgradient(d), d - expected)


def test_a_retraction_follows_its_tangent_to_first_order_and_keeps_the_rank(face):
    d = face.parts(np.random.default_rng(2).standard_normal((12, 9)))
    errors = []
    for step in (1e-2, 1e-3):
        moved = face.moved(d, step)
        errors.append(np.linalg.norm(moved.x - face.x - step * face.dense(d)))
        assert np.linalg.matrix_rank(moved.x, tol=1e-10) == 3
        assert np.allclose(moved.U.T @ moved.U, np.eye(3))
        assert np.allclose(moved.V.T @ moved.V, np.eye(3))
        # orthographic: the difference to x + step d is normal at x
        assert np.allclose(face.tangent(moved.x - face.x - step * face.dense(d)), 0, atol=1e-12)
    assert errors[1] < 0.02 * errors[0]  # second order


def test_inner_products_of_vectors_at_two_points(face):
    rng = np.random.default_rng(3)
    d = face.parts(rng.standard_normal((12, 9)))
    other = face.moved(d, 0.3)
    e = other.parts(rng.standard_normal((12, 9)))
    assert np.isclose(face.inner(d, other, e), np.vdot(face.dense(d), other.dense(e)))


def test_near_finds_a_matrix_of_that_rank_and_the_leading_part_of_others():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((40, 4)) @ rng.standard_normal((4, 30))
    assert np.allclose(near(x, 4, powers=0).x, x)
    noisy = x + 1e-3 * rng.standard_normal(x.shape)
    assert np.linalg.norm(near(noisy, 4).x - Rank(4).prox(noisy, 1.0)) < 1e-3 * np.linalg.norm(x) / 10
