"""What is left of the forces on free entries: the same in any basis, and seen where large means hide it."""

import numpy as np
import pytest

from ipds import Block, Problem
from ipds.functions import L1, L2, Box
from ipds.theory.bases import ENTRIES, free_columns, leaning
from ipds.theory.certificate import certificate

g = np.random.default_rng(0)
A, z = g.standard_normal((20, 3)), g.standard_normal(20)


def test_neither_basis_nor_units_matter():
    felt = np.abs(z) + 0.1
    rows, basis = 10 ** g.uniform(-3, 3, 20), g.standard_normal((3, 3)) + 1e3
    other = leaning(rows[:, None] * A @ basis, z / rows, felt / rows)
    assert other == pytest.approx(leaning(A, z, felt), rel=1e-4)
    for unit in (1e-200, 1e200):
        assert leaning(A, unit * z, unit * felt) == pytest.approx(leaning(A, z, felt))


def test_it_is_the_cosine_between_multiplier_and_range():
    assert leaning(A, z, np.abs(z)) == pytest.approx(
        np.linalg.norm(np.linalg.qr(np.abs(z)[:, None] * A)[0].T @ np.sign(z)) / np.sqrt(20), rel=1e-6
    )
    upright = np.sign(z) * np.abs(z - A @ np.linalg.lstsq(A, z)[0])
    assert leaning(A, z - A @ np.linalg.lstsq(A, z)[0], np.abs(upright)) < 1e-12


@pytest.mark.parametrize("mean", [0.0, 1e4])
def test_a_fit_of_columns_far_from_zero_is_not_certified_where_it_is_wrong(mean):
    """w = 0 with the best b: the force on w is large beside what the spread of the columns adds up."""
    X, y = A + mean, A @ [1.0, -2.0, 0.5] + 0.1 * g.standard_normal(20)
    fit = np.column_stack([X, np.ones(20)])
    problem = Problem([Block(A=-fit, shape=4, name="w"), Block(h=L2(1.0), shape=20, name="u")], b=-y)
    best = np.linalg.lstsq(np.column_stack([A, np.ones(20)]), y)[0]
    best[3] -= mean * best[:3].sum()
    for w, right in ((np.array([0.0, 0.0, 0.0, y.mean()]), False), (best, True)):
        u = fit @ w - y
        slope = u / np.linalg.norm(u)
        found = certificate(problem, (w, u), -slope, (0 * w, slope))
        assert (found.relative < 1e-4) is right


def test_only_entries_on_which_nothing_else_acts_are_free():
    free, held = Block(A=A, shape=3), Block(h=Box(-1.0, 1.0), A=A, shape=3)
    last = Block(h=L1(1.0), shape=20)
    np.testing.assert_array_equal(free_columns(Problem([free, held, last], b=z), [z] * 3), A)
    assert free_columns(Problem([held, last], b=z), [z] * 2) is None
    many = Block(A=np.ones((20, ENTRIES + 1)), shape=ENTRIES + 1)
    assert free_columns(Problem([many, last], b=z), [z] * 2) is None
