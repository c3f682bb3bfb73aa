"""What people see while and after solving: progress in terminals and notebooks, HTML in notebooks."""

import io
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console
from rich.live import Live

from ipds import Block, Problem, solve
from ipds.functions import L1, LeastSquares, Stiefel
from ipds.methods import IPDS
from ipds.solving import progress


def problem(name="v"):
    f = LeastSquares(np.eye(3), np.array([3.0, -0.5, 1.0]))
    return Problem([Block(f=f, A=-1.0, shape=3, name="x"), Block(h=L1(1.0), shape=3, name=name)])


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Strict(HTMLParser):
    """Fails where a tag is left open or closed twice."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def text_of(html):
    parser = Strict()
    parser.feed(html)
    assert parser.open == []
    return " ".join(parser.text)


def test_a_result_without_a_check_shows_itself():
    class Breaks:
        lipschitz = 1.0
        calls = 0

        def __call__(self, x):
            return 0.5 * float(x @ x)

        def grad(self, x):
            self.calls += 1
            if self.calls > 4:  # in the first step
                raise ZeroDivisionError
            return x

    broken = Problem([Block(f=Breaks(), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)])
    with pytest.raises(ZeroDivisionError) as caught:
        solve(broken, method=IPDS("practical"))
    result = caught.value.result
    assert result.history["relative"].size == 0
    assert "not certified" in text_of(result._repr_html_())
    plot = pytest.importorskip("ipds.plot")
    pytest.importorskip("matplotlib").use("Agg")
    plot.summary(result)
    first = solve(problem(), max_iter=1)
    assert plot.convergence(first).get_yscale() == "linear"  # no gap to itself
    assert len(plot.convergence([first, result]).lines) == 2


def test_a_terminal_shows_every_quantity(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    solve(problem(), progress=True, method=IPDS("sound"), max_iter=30, time_limit=50)
    shown = screen.getvalue()
    for name in ("iteration", "objective", "feasibility", "certificate (→ 1e-04)", "β", "time", "left"):
        assert name in shown
    assert "≤ " in shown


def test_a_pipe_stays_quiet(capsys):
    solve(problem(), progress=True)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_notebook_gets_one_table_that_is_updated(monkeypatch):
    """By rich, which draws into a widget there."""
    shown = []
    monkeypatch.setattr(Live, "update", lambda self, table, refresh: shown.append(table))
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr(Live, "start", lambda self: None)
    monkeypatch.setattr(Live, "stop", lambda self: None)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    solve(problem(), progress=True, method=IPDS("sound"), max_iter=30)
    assert len(shown) == 5  # checks at 1, 10, 20, 30, and the end
    console = Console(file=io.StringIO(), width=160, force_jupyter=False)
    console.print(shown[-1])
    text = " ".join(console.file.getvalue().split())
    assert "iteration objective feasibility certificate (→ 1e-04)" in text
    assert " 30 " in text


def test_the_forecast_follows_the_certificate_or_the_limits():
    forecast = progress.Forecast(tol=1e-4, max_iter=1000, time_limit=None)
    for k in range(6):  # a factor ten every two seconds, from 10
        forecast.note(10 * k + 10, 2.0 * k + 2, 10.0 ** (1 - k))
    assert forecast.left() == "≤ 0 s" or forecast.left() == "≈ 0 s"
    forecast = progress.Forecast(tol=1e-6, max_iter=1000, time_limit=None)
    for k in range(6):
        forecast.note(10 * k + 10, 2.0 * k + 2, 10.0 ** (1 - k))
    assert forecast.left() == "≈ 4 s"  # 1e-4 now: two more factors
    flat = progress.Forecast(tol=1e-6, max_iter=200, time_limit=None)
    for k in range(6):
        flat.note(10 * k + 10, 2.0 * k + 2, 1.0)
    assert flat.left() == "≤ 28 s"  # 140 more iterations at 0.2 s


def test_results_are_html_tables():
    result = solve(problem())
    text = text_of(result._repr_html_())
    assert "✓ certified" in text
    assert f"{result.fun:.10g}" in text
    assert result.method in text
    assert "✗ not certified" in text_of(solve(problem(), max_iter=1, tol=1e-15)._repr_html_())
    assert "feasibility" in text_of(result.certificate._repr_html_())
    assert "stationarity of block 2" in text_of(result.certificate._repr_html_())


def test_problems_and_their_assumptions_are_html_tables():
    text = text_of(problem()._repr_html_())
    assert "L1(lam=1.0)" in text
    assert "constraint of shape (3,)" in text
    wrong = Problem([Block(h=L1(1.0), A=-1.0, shape=(3, 2)), Block(h=Stiefel(), shape=(3, 2), name="Y")])
    text = text_of(wrong.check()._repr_html_())
    assert "is not convex" in text
    assert "move block" in text
    assert "IPDS('sound')" in text
    assert repr(wrong.check()) == str(wrong.check())
    lines = text.splitlines()
    assert any("IPDS('practical')" in line and "lacks: h_n convex" in line for line in lines)
    assert any("AcceleratedIPDS()" in line and "yes limit" in line for line in lines)
    assert any("IPDS('sound')" in line and "h_n convex; h_n Lipschitz" in line for line in lines)


def test_names_are_escaped():
    nasty = "<script>alert('x')</script>"
    html = problem(nasty)._repr_html_() + problem(nasty).check()._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (99, "99 s"), (600, "10 min"), (7200, "2.0 h")])
def test_durations_are_as_exact_as_needed(seconds, words):
    assert progress._duration(seconds) == words
