"""Faces: what is decided at a point, tangent spaces, subgradients, exchanges."""

import numpy as np
import pytest

from ipds.functions import (
    L0,
    L1,
    MCP,
    SCAD,
    Binary,
    CappedL1,
    Cardinality,
    Huber,
    LHalf,
    LogSum,
    LTwoThirds,
    NonzeroColumns,
    NonzeroRows,
    Rank,
    RowCardinality,
    Sphere,
    Stiefel,
)
from ipds.functions.faces import Coordinates, prox_point

SHAPE = (6, 5)
FUNCTIONS = [
    Cardinality(7),
    RowCardinality(2),
    NonzeroRows(3),
    NonzeroColumns(2),
    L0(0.3),
    L1(0.3),
    MCP(0.4, 2.5),
    SCAD(0.4, 3.0),
    CappedL1(0.4, 0.9),
    LHalf(0.3),
    LTwoThirds(0.3),
    LogSum(0.4, 0.5),
    Binary(-1.0, 2.0),
    Rank(2),
    Stiefel(),
    Sphere(2.0),
]


def point(h, seed=0):
    """A point of the domain that is a prox, so that nothing is decided by chance."""
    return h.prox(np.random.default_rng(seed).standard_normal(SHAPE), 1.0)


@pytest.mark.parametrize("h", FUNCTIONS, ids=repr)
def test_the_tangent_part_is_an_orthogonal_projection(h):
    face, rng = h.face(point(h)), np.random.default_rng(1)
    d, e = rng.standard_normal((2, *SHAPE))
    t = face.tangent(d)
    assert np.allclose(face.tangent(t), t, atol=1e-12)
    assert np.isclose(np.vdot(face.tangent(e), d), np.vdot(e, t))
    basis = [face.tangent(unit.reshape(SHAPE)).ravel() for unit in np.eye(30)]
    assert np.linalg.matrix_rank(np.array(basis), tol=1e-9) == face.dimension


@pytest.mark.parametrize("h", FUNCTIONS, ids=repr)
def test_the_face_leaves_its_tangent_space_to_second_order(h):
    x = point(h)
    face = h.face(x)
    d = face.tangent(np.random.default_rng(2).standard_normal(SHAPE))
    gaps = []
    for length in (1e-2, 1e-3):
        moved = x + length * d
        moved = moved if isinstance(face, Coordinates) else h.prox(moved, 1.0)
        assert np.isfinite(h(moved))
        assert np.array_equal(h.face(moved).label, face.label)
        gaps.append(np.linalg.norm(moved - x - length * d))
    assert gaps[1] <= 0.02 * gaps[0] + 1e-12  # of second order


@pytest.mark.parametrize("h", FUNCTIONS, ids=repr)
def test_a_subgradient_is_one_and_none_is_nearer(h):
    x, rng = point(h), np.random.default_rng(3)
    g = 0.3 * rng.standard_normal(SHAPE)
    s = h.face(x).subgradient(g)
    v, step = prox_point(h, x, s)  # x is the prox of x + step·s: s is a proximal subgradient
    assert np.allclose(h.prox(v, step), x, atol=1e-10)
    assert np.allclose((v - x) / step, s)
    along = h.face(x).tangent(rng.standard_normal(SHAPE))
    assert abs(np.vdot(h.face(x).subgradient(g + along) - s, s)) <= 1e-9 + 1e-9 * np.vdot(s, s)


@pytest.mark.parametrize("h", [h for h in FUNCTIONS if h.has_faces], ids=repr)
def test_h_on_its_free_entries(h):
    x = point(h)
    face = h.face(x)
    y = x.ravel()[face.free]
    assert np.array_equal(face.embed(y), x)
    smooth = face.smooth()
    moved = y + 1e-6 * np.random.default_rng(4).standard_normal(len(y))
    if smooth is None:
        assert h(face.embed(moved)) == h(x)
        return
    assert np.isclose(smooth(y), h(x))
    assert np.isclose(smooth(moved) - smooth(y), smooth.grad(y) @ (moved - y), rtol=1e-4, atol=1e-11)
    assert np.allclose(
        smooth.grad(moved) - smooth.grad(y), smooth.hessian(y) * (moved - y), rtol=1e-3, atol=1e-9
    )


def test_nothing_is_decided_where_entries_are_missing():
    x = np.zeros(SHAPE)
    x[0, 0] = 1.0
    assert all(h.face(x) is None for h in (Cardinality(2), RowCardinality(2), NonzeroRows(2), Rank(2)))
    assert Huber(1.0, 1.0).face(x) is None
    assert not Huber(1.0, 1.0).has_faces


def test_exchanges_stay_in_their_row():
    x = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    score = np.array([[9.0, 1.0, 2.0], [3.0, 0.0, 9.0]])
    exchanges = RowCardinality(1).face(x).neighbours(score, 2)
    assert [(j, list(rivals)) for j, rivals in exchanges] == [(3, [5]), (2, [0])]
    assert (
        len(Cardinality(2).face(x).neighbours(score, 10)) == 3
    )  # entries without a score are not worth a trial


def test_no_step_makes_a_wrong_slope_a_subgradient():
    x = np.array([0.0, 2.0])
    assert prox_point(MCP(1.0, 2.0), x, np.array([3.0, 0.0])) is None
