"""Those statements of the zoo as models that add up several kinds of terms and variables."""

from __future__ import annotations

from zoo_models_blocks import BLOCKS

from ipds import Variable, minimize
from ipds.functions import CappedSimplex, ElasticNet, L2Ball, Linf, Poisson
from ipds.modelling import diff, huber, logistic, norm1, norm2, sum_squares


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


MIXED = {
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
