"""Sets and losses of the modeller's own, permutations, changes counted and ranks in raw units of the zoo as models."""

from __future__ import annotations

from benchmarks.statements.pieces import Amount, Truncated

from ipds import Variable, minimize
from ipds.functions import L0, Binary, Rank, Stiefel
from ipds.modelling import diff, sum_squares, term


def diet(d):
    x = Variable(16, name="x")
    return minimize(d.price @ x + term(Amount(0.5, 2.0), x), [d.A @ x >= d.need]), x


def low_rank(d):
    X = Variable((20, 15), name="X")
    return minimize(sum_squares(d.W * X - d.T) + Rank(3)(X)), X


def truncated(d):
    x = Variable(2, name="x")
    return minimize(term(Truncated(), 1e3 * (d.G @ x) - d.y)), x


def permutation(d):
    X = Variable((8, 8), name="X")
    return minimize((d.C * X).sum() + Stiefel()(X), [X >= 0]), X


def changes(d):
    x = Variable(12, name="x")
    return minimize(0.5 * sum_squares(d.K @ x - d.y) + 0.4 * L0(1.0)(diff(x)) + Binary()(x)), x


PIECES = {
    "none or a range, own set": diet,
    "rank 3, units of rows and columns": low_rank,
    "truncated squares, own loss": truncated,
    "permutation, orthonormal": permutation,
    "changes of switches": changes,
}
