"""Plans, grids, paths with outliers, landings and own functions of the zoo as models."""

from __future__ import annotations

import numpy as np

from ipds import Variable, minimize
from ipds.functions import Box, SecondOrderCone, smooth
from ipds.modelling import concatenate, diff, entropy, huber, kl_div, norm1, norm21, norm_inf, sum_squares

PUSH = np.array([[1.0, 0.0], [0.1, 1.0]]), np.array([[0.005, 0.1]])


def plan(d):
    P = Variable((15, 15), name="P")
    return minimize((d.C * P).sum() - 0.01 * entropy(P), [P.sum(axis=0) == d.a, P.sum(axis=1) == d.b]), P


def priced_plan(d):
    P = Variable((15, 15), name="P")
    sides = 0.5 * kl_div(P.sum(axis=0), d.a) + 0.5 * kl_div(P.sum(axis=1), d.b)
    return minimize((d.C * P).sum() - 0.01 * entropy(P) + sides), P


def grid(d):
    p, angle, flow = Variable(6, name="p"), Variable(20, name="angle"), Variable(len(d.limit), name="flow")
    cost = d.cost @ p + 0.01 * sum_squares(p) + Box(0.0, 120.0)(p) + Box(-d.limit, d.limit)(flow)
    balance = [d.plants @ p - d.B.T @ flow == d.demand, flow == d.strength * (d.B @ angle)]
    return minimize(cost, balance), p, flow, angle


def smoothed(d):
    X = Variable((200, 2), name="X")
    return minimize(huber(X - d.y, 1.0) + 2 * sum_squares(diff(diff(X, axis=0), axis=0))), X


def flight(d):
    places, speeds, thrust = (Variable((n, 3), name=name) for n, name in ((31, "x"), (31, "v"), (30, "u")))
    ends = [places[0] == d.place, speeds[0] == d.speed, places[30] == 0, speeds[30] == 0]
    rows = [speeds[1:] == speeds[:-1] + 0.5 * (thrust + d.fall), places[:, 2] >= 0]
    return (
        thrust,
        speeds,
        places,
        [*ends, *rows, places[1:] == places[:-1] + 0.25 * (speeds[:-1] + speeds[1:])],
    )


def landing(d):
    *variables, rows = flight(d)
    limits = SecondOrderCone()(concatenate([25.0 + 0 * variables[0][:, :1], variables[0]], axis=1))
    return minimize(norm21(variables[0]) + limits, rows), *variables


def least_peak(d):
    x, u = Variable((41, 2), name="x"), Variable((40, 1), name="u")
    moves = [x[1:] == x[:-1] @ PUSH[0] + u @ PUSH[1], x[0] == [0.0, 0.0], x[40] == [d.target, 0.0]]
    return minimize(norm_inf(u) + 0.01 * sum_squares(u), moves), u, x


def own_loss(d):
    x = Variable(10, name="x")
    f = smooth(lambda r: float(np.logaddexp(r, -r).sum()), np.tanh)
    return minimize(f(d.G @ x - d.y) + norm1(x)), x


def own_logarithms(d):
    w = Variable(300, name="w")
    f = smooth(lambda w: -float(np.log(d.c + w).sum()), lambda w: -1 / (d.c + w))
    return minimize(f(w), [w >= 0, w.sum() == 10]), w


STEPS = {
    "transport with little entropy": plan,
    "transport, masses at a price": priced_plan,
    "plants on a grid": grid,
    "path with points far off": smoothed,
    "landing, a cone": landing,
    "least largest thrust": least_peak,
    "own loss": own_loss,
    "own logarithms": own_logarithms,
}
