"""Those statements of the zoo as models that have cones, logarithms and networks, and those of mixed terms."""

from __future__ import annotations

from zoo_models_mixed import MIXED

from ipds import Variable, minimize
from ipds.functions import PSD, L2Ball, NegativeLog
from ipds.modelling import nuclear, sum_squares


def largest_cut(d):
    X = Variable((8, 8), name="X")
    return minimize(-(d.L * X).sum() + PSD()(X), [X[d.i, d.i] == 1]), X


def least_nuclear(d):
    X = Variable((6, 5), name="X")
    return minimize(nuclear(X), [d.A @ X.reshape((30,)) == d.b]), X


def growth(d):
    x = Variable(10, name="x")
    return minimize(NegativeLog()(d.R @ x), [x >= 0, x.sum() == 1]), x


def mixtures(d):
    X = Variable((10, 4), name="X")
    return minimize(sum_squares(X @ d.A.T - d.Y), [X >= 0, X.sum(axis=1) == 1]), X


def thrusts(d):
    X, U = Variable((13, 4), name="X"), Variable((12, 2), name="U")
    balls, path = sum(L2Ball(1.0)(U[k]) for k in range(12)), X[1:] == X[:-1] @ d.A.T + U @ d.B.T
    return minimize(sum_squares(X) + 0.1 * sum_squares(U) + balls, [X[0] == d.x0, path]), X, U


def flow(d):
    x = Variable(2000, name="x")
    return minimize(d.c @ x, [d.A @ x == d.b, x >= 0, x <= d.cap]), x


CONES = {
    "largest cut": largest_cut,
    "least nuclear norm": least_nuclear,
    "growth of shares": growth,
    "mixtures": mixtures,
    "twelve bounded thrusts": thrusts,
    "cheapest flow": flow,
    **MIXED,
}
