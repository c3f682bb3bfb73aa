"""Statements of far.py as models."""

from __future__ import annotations

from ipds import Variable, minimize
from ipds.functions import smooth
from ipds.modelling import diff, huber, sum_squares


def prices(d):
    x = Variable(3000, name="x")
    return minimize(sum_squares(x - d.y) + 1600 * sum_squares(d.D @ x)), x


def season(d):
    x = Variable(1500, name="x")
    return minimize(sum_squares(d.seen * (x - d.y)) + 1e4 * sum_squares(diff(diff(x)))), x


def track(d):
    x = Variable((120, 2), name="x")
    return minimize(huber(x - d.y, 10.0) + 5 * sum_squares(diff(diff(x)))), x


def streams(d):
    x, slow = Variable((d.N.shape[1], 3), name="x"), 0.03 * d.free / d.room**4
    times = smooth(lambda y: float(d.free @ y + slow @ y**5), lambda y: d.free + 5 * slow * y**4)
    return minimize(times(x.sum(axis=1)), [x >= 0, d.N @ x == d.ends]), x


def charging(d):
    x = Variable((20, 24), name="x")
    return minimize(0.5 * sum_squares(d.base + x.sum(axis=0)), [x >= 0, x <= 7, x.sum(axis=1) == d.need]), x


FAR = {
    "trend of prices": prices,
    "season in kelvin": season,
    "track on a map": track,
    "streams on roads": streams,
    "charging in valleys": charging,
}
