"""Those statements of the zoo as models that are written with matrices for identities and copies by hand."""

from __future__ import annotations

from ipds import Variable, minimize
from ipds.functions import Linf
from ipds.modelling import norm1, sum_squares


def deviations(d):
    x = Variable(12, name="x")
    return minimize(0.5 * norm1(x) + norm1(d.A @ x - d.y)), x


def plan(d):
    x = Variable(300, name="x")
    return minimize(d.c @ x, [d.A @ x <= d.b, x >= 0, x <= 5]), x


def copied(d):
    x = Variable(12, name="x")
    return minimize(norm1(d.A @ x - d.y), [x >= 0, x <= 2]), x


def largest(d):
    x = Variable(12, name="x")
    return minimize(0.1 * sum_squares(x) + 0.02 * norm1(x) + Linf(1.0)(d.A @ x - d.y)), x


BLOCKS = {
    "LAD and L1, identity": deviations,
    "LP 200x300": plan,
    "LAD in a box": copied,
    "largest error": largest,
}
