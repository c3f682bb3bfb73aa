"""Those statements of the zoo as models that add up several kinds of terms and variables."""

from __future__ import annotations

import numpy as np
from zoo_models_blocks import BLOCKS

from ipds import Variable, minimize
from ipds.functions import L0, Binary, CappedSimplex, ElasticNet, L2Ball, Linf, Poisson, Rank, Sphere
from ipds.modelling import diff, huber, logistic, norm1, norm2, quad_form, sum_squares


def transfer(d):
    u, x = Variable((60, 1), name="u"), Variable((61, 2), name="x")
    return minimize(sum_squares(u), [x[0] == d.x0, x[1:] == x[:-1] @ d.A.T + u @ d.B, x[60] == 0]), u, x


def seasonal(d):
    s, q, o = Variable(120, name="s"), Variable(12, name="q"), Variable(120, name="o")
    bends = 10 * norm1(diff(diff(s))) + 0.5 * norm1(o)
    return minimize(0.5 * sum_squares(d.y - s - d.E @ q - o) + bends, [q.sum() == 0]), s, q, o


def huber_net(d):
    w, b = Variable(13, name="w"), Variable(name="b")
    return minimize(huber(d.X @ w + b - d.y, 0.3) + ElasticNet(0.5, 0.2)(w), [w >= -0.5, w <= 0.5]), w, b


def counts(d):
    x = Variable(60, name="x")
    return minimize(Poisson(d.y)(d.A @ x), [x >= 0]), x


def classified(d):
    x, w = Variable((40, 2), name="x"), Variable((39, 2), name="w")
    return minimize(logistic(-d.y * x[:, 0]) + 2 * sum_squares(w), [x[1:] == x[:-1] @ d.A.T + w]), x, w


def peak(d):
    u = Variable(36, name="u")
    bounds = [u >= 0, u.sum() == d.want.sum()]
    return minimize(5 * Linf(1.0)(d.base + u) + huber(u - d.want, 10.0), bounds), u


def capped_shares(d):
    x = Variable(24, name="x")
    return minimize(d.c @ x + CappedSimplex(3.0, 0.5)(d.A @ x), [x >= -1, x <= 1]), x


def in_a_ball(d):
    x = Variable(5, name="x")
    limits = [(x - x.mean()).sum() == 0, 1e4 * x[0] <= 5e6, 1e-3 * (d.G @ x) <= 1e6]
    return minimize(sum_squares(d.G @ x - d.y) + norm2(x) + L2Ball(0.5)(x), limits), x


def reduced_rank(d):
    X = Variable((7, 5), name="X")
    return minimize(sum_squares(d.G @ X - d.Y) + Rank(2)(X)), X


def few_levels(d):
    x, root = Variable(30, name="x"), np.sqrt(d.w)
    return minimize(sum_squares(root * (x - d.z)) + L0(1.5)(diff(x)), [x >= 0, x <= 4]), x


def on_a_sphere(d):
    x = Variable(7, name="x")
    return minimize(quad_form(x, 0.5 * d.Q) + d.c @ x + Sphere()(x)), x


def assignment(d):
    X = Variable((5, 5), name="X")
    sums = [X.sum(axis=0) == 1, X.sum(axis=1) == 1]
    return minimize(0.5 * sum_squares(X @ d.a - d.b) + Binary()(X), sums), X


MIXED = {
    "reduced rank": reduced_rank,
    "few levels": few_levels,
    "quadratic on a sphere": on_a_sphere,
    "nearest assignment": assignment,
    "least energy to rest": transfer,
    "trend, season": seasonal,
    "wine with a Huber loss": huber_net,
    "few counts": counts,
    "path that classifies": classified,
    "largest load": peak,
    "capped shares": capped_shares,
    "fit in a ball": in_a_ball,
    **BLOCKS,
}
