"""A solve that was cut off goes on to the same bits, by every method, on every library."""

import array_api_strict
import numpy as np
import pytest

import problems
from checkpoints import Killed, assert_same, cut, run
from ipds import Block, Checkpoint, Problem, Status, methods, solve
from ipds.functions import (
    L1,
    L21,
    Box,
    Cardinality,
    LeastSquares,
    PCAReconstruction,
    Rank,
    Separable,
    Stiefel,
    smooth,
)
from ipds.methods import (
    IPDS,
    RADMM,
    SPGM,
    AcceleratedIPDS,
    FixedPenaltyADMM,
    ManPG,
    NewtonALM,
    RiemannianALM,
    Subgradient,
)
from ipds.methods.faces import LowRankIPDS
from ipds.methods.reordered import Reordered
from ipds.methods.reweighted import ReweightedEigenvectors
from ipds.solving import checkpoint
from ipds.solving.stopping import Stagnation


def on_stiefel(d=10, r=2):
    D = problems.rng().standard_normal((20, d))
    f = smooth(
        lambda Y: -0.5 * float(np.sum((D @ Y) ** 2)) / 20, lambda Y: -D.T @ (D @ Y) / 20, lipschitz=4.0
    )
    return Problem(
        [Block(f=f, h=Stiefel(), A=-1.0, shape=(d, r), name="Y"), Block(h=L1(0.2), shape=(d, r), name="V")]
    )


def convex():
    g = problems.rng(3)
    f = LeastSquares(g.standard_normal((9, 6)), g.standard_normal(9))
    return Problem([Block(f=f, A=-1.0, shape=6), Block(h=L1(0.3), shape=6)])


def piecewise():
    """f looks quadratic at the start and is none later: what evaluates it changes during the run."""
    y = np.array([3.0, -4.0, 5.0, 1.0])

    def value(x):
        return 0.5 * float(np.sum((x - y) ** 2)) + float(np.sum(np.maximum(x - 2.0, 0.0) ** 3))

    def grad(x):
        return x - y + 3 * np.maximum(x - 2.0, 0.0) ** 2

    return Problem([Block(f=smooth(value, grad), shape=4, A=-1.0), Block(h=L1(0.1), shape=4)])


def last_is_not_convex():
    g = problems.rng(4)
    return Problem(
        [
            Block(h=L1(1.0), A=g.standard_normal((8, 8)), shape=8),
            Block(f=problems.concave(5), h=Box(-1.0, 1.0), A=g.standard_normal((8, 5)), shape=5),
            Block(h=Cardinality(2), A=g.standard_normal((8, 4)), shape=4),
        ],
        b=g.standard_normal(8),
    )


def low_rank(n=90):
    _, M, _ = problems.lowrank_data(n, 3, 0.1, 1.0, 0)
    return Problem([Block(h=Rank(3), shape=M.shape), Block(h=L1(1.0), shape=M.shape)], b=M)


def norms(n=60, d=6):
    G = problems.rng(5).standard_normal((n, d))
    return Problem([Block(h=Stiefel(), A=-G, shape=(d, 2)), Block(h=L21(1.0), shape=(n, 2))])


CASES = {
    "IPDS sound": (problems.surjective, IPDS("sound")),
    "IPDS practical": (problems.five_blocks, IPDS("practical")),
    "IPDS scaled multiplier": (problems.three_blocks, IPDS("sound", scaled_multiplier=True)),
    "accelerated": (problems.sparse_pca, AcceleratedIPDS()),
    "accelerated, a phase is over": (problems.sparse_pca, AcceleratedIPDS(beta0=1e-3)),
    "accelerated, annealing": (problems.sparse_pca, AcceleratedIPDS("thorough")),
    "accelerated, f moved": (problems.three_blocks, AcceleratedIPDS()),
    "accelerated, not quadratic": (piecewise, AcceleratedIPDS()),
    "accelerated, rank": (low_rank, AcceleratedIPDS()),
    "rank, by factors": (low_rank, LowRankIPDS()),
    "reweighted eigenvectors": (norms, ReweightedEigenvectors()),
    "auto, reweighted eigenvectors first": (norms, "auto"),
    "RADMM": (on_stiefel, RADMM("tuned")),
    "SPGM": (on_stiefel, SPGM("tuned")),
    "Subgradient": (on_stiefel, Subgradient("tuned")),
    "RiemannianALM": (on_stiefel, RiemannianALM()),
    "ManPG": (on_stiefel, ManPG()),
    "NewtonALM": (convex, NewtonALM()),
    "FixedPenaltyADMM": (convex, FixedPenaltyADMM("he-yuan-2012")),
    "Reordered": (last_is_not_convex, Reordered(IPDS("practical"), 0)),
    "auto": (problems.robust_regression, "auto"),
    "auto, reordered": (last_is_not_convex, "auto"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_solve_that_was_killed_goes_on_to_the_same_bits(case, tmp_path):
    make, method = CASES[case]
    options = {"method": method, "seed": 1, "tol": 0.0, "check_every": 7}
    most = 800 if "annealing" in case else 120
    undisturbed = solve(make(), max_iter=most, **options)
    path = tmp_path / "run.ckpt"
    for after in (2, 30, most // 2):
        cut(make, path, after, max_iter=most, **options)
    seen = []
    result = solve(
        make(), checkpoint=path, max_iter=most, callback=lambda now: seen.append(now.nit), **options
    )
    assert seen[0] >= most // 2 - 7  # it did go on, and did not begin again
    assert_same(result, undisturbed)


def test_the_start_of_the_next_prox_is_kept_too(tmp_path):
    """The prox of the rank of a large matrix starts from the last one."""
    method = AcceleratedIPDS()
    options = {"make": lambda: low_rank(400), "max_iter": 24, "check_every": 8, "method": method}
    undisturbed = run(None, **options)
    cut(options["make"], tmp_path / "a", 16, seed=1, tol=1e-13, max_iter=24, check_every=8, method=method)
    assert b'"carry/warm/0"' in (tmp_path / "a").read_bytes()
    assert_same(run(tmp_path / "a", **options), undisturbed)


def test_every_method_is_among_the_cases():
    kinds = {type(method) for _, method in CASES.values()}
    assert kinds >= {
        getattr(methods, name) for name in methods.__all__ if isinstance(getattr(methods, name), type)
    } - {
        methods.Method,
        methods.State,
        methods.NewtonALM,  # at an end within ten steps: cut after four in `test_presolve`
    }


def test_the_history_and_the_number_of_writes(tmp_path, monkeypatch):
    """One write at the first check, one every so many iterations, one at the end."""
    written = []
    original = checkpoint.write
    monkeypatch.setattr(checkpoint, "write", lambda *args: (written.append(1), original(*args)))
    run(Checkpoint(tmp_path / "a", every=1e6, iterations=20), max_iter=70)
    assert len(written) == 4  # at 1, 30, 50, and at the end
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "a.previous"]


class Counted:
    """½‖Dx - 1‖², counting its gradients: the count is no part of what the function is."""

    def __init__(self, D):
        self.D, self.calls = D, 0
        self.lipschitz = float(np.linalg.norm(D, 2) ** 2)

    def __call__(self, x):
        return 0.5 * float(np.sum((self.D @ x - 1) ** 2))

    def grad(self, x):
        self.calls += 1
        return self.D.T @ (self.D @ x - 1)

    def __getstate__(self):
        return {"D": self.D}


def test_a_finished_solve_is_returned_at_once_and_goes_on_under_higher_limits(tmp_path):
    f = Counted(problems.rng().standard_normal((20, 10)))
    options = {
        "make": lambda: Problem([Block(f=f, A=-1.0, shape=10), Block(h=L1(0.3), shape=10)]),
        "method": IPDS("sound"),
        "check_every": 5,
    }
    path = tmp_path / "a"
    first = run(path, **options, max_iter=40)
    before = f.calls
    again = run(path, **options, max_iter=40)
    assert f.calls - before < 10  # to begin, but no step
    assert first.status is Status.MAX_ITER
    assert_same(again, first)
    longer = run(path, **options, max_iter=80)
    assert_same(longer, run(None, **options, max_iter=80))
    looser = run(path, **options, max_iter=80, tol=1e3)
    assert (looser.status, looser.nit) == (Status.CONVERGED, 80)


@pytest.mark.parametrize("stop", [StopIteration, KeyboardInterrupt, ZeroDivisionError])
def test_stopped_by_the_callback_by_ctrl_c_or_by_an_error_it_goes_on(stop, tmp_path):
    def callback(now):
        if now.nit == 21:
            raise stop

    path, seen = Checkpoint(tmp_path / "a", every=1e6), []
    if stop is ZeroDivisionError:
        with pytest.raises(stop) as caught:
            run(path, check_every=7, callback=callback)
        assert (caught.value.result.nit, caught.value.result.status) == (21, Status.FAILED)
    else:
        run(path, check_every=7, callback=callback)
    result = run(path, check_every=7, callback=lambda now: seen.append(now.nit))
    assert seen[0] == 28
    assert_same(result, run(None, check_every=7))


def test_auto_resumes_in_its_second_method(tmp_path, monkeypatch):
    """The first one stalls, as no certificate is exactly zero."""
    make = problems.robust_regression
    monkeypatch.setattr(Stagnation, "CHECKS", 3)
    monkeypatch.setattr(Stagnation, "ITERATIONS", 30)
    options = {"make": make, "tol": 0.0, "max_iter": 900, "x0": problems.start_of(make())[0]}
    undisturbed = run(None, **options)
    path, seen = tmp_path / "a", []

    def callback(now):
        seen.append(now.nit)
        if now.nit == 40 and sorted(seen) != seen:  # the second one began at 1 again
            raise Killed

    with pytest.raises(Killed):
        run(Checkpoint(path, every=0.0), callback=callback, **options)
    assert b'"1/history"' in path.read_bytes()  # arrays of the second run
    assert_same(run(path, **options), undisturbed)


def test_auto_resumes_after_one_method_has_handed_over_to_the_next(tmp_path, monkeypatch):
    methods = [IPDS("practical"), AcceleratedIPDS("fast")]
    monkeypatch.setattr("ipds.solving.call.candidates", lambda *problems: methods)
    monkeypatch.setattr(
        "ipds.solving.call.handover", lambda method, following, problem: 20 if following else None
    )
    options = {"make": convex, "max_iter": 60, "check_every": 5, "tol": 0.0}
    undisturbed = run(None, **options)
    assert undisturbed.nit > 20
    cut(convex, tmp_path / "a", 35, seed=1, tol=0.0, max_iter=60, check_every=5)
    assert b'"1/history"' in (tmp_path / "a").read_bytes()
    assert_same(run(tmp_path / "a", **options), undisturbed)


@pytest.mark.parametrize("name", ["strict", "torch", "jax", "single"])
def test_arrays_of_other_libraries_come_back_as_they_were(name, tmp_path):
    like = {"strict": array_api_strict, "single": np}.get(name) or pytest.importorskip(
        name, reason="optional extra"
    )
    like = like.numpy if name == "jax" else like
    g = problems.rng(2)
    G, y = (like.asarray(a, dtype=like.float32) for a in (g.standard_normal((12, 5)), g.standard_normal(12)))

    problem = Problem([Block(h=Box(-1.0, 1.0), A=G, shape=5), Block(h=L1(0.5), A=-1.0, shape=12)], b=y)
    options = {"make": lambda: problem, "check_every": 3, "max_iter": 30}
    undisturbed = run(None, **options)
    cut(options["make"], tmp_path / "a", 12, tol=1e-13, seed=1, max_iter=30, check_every=3)
    result = run(tmp_path / "a", **options)
    assert type(result.x[0]) is type(G)
    assert_same(result, undisturbed)


def test_what_a_function_keeps_for_itself_does_not_count(tmp_path):
    """The same objects, used before: cached norms, plans and back ends must not make them strangers."""
    pytest.importorskip("torch", reason="PyTorch is an optional extra")
    g = problems.rng()
    blocks = [
        Block(
            f=PCAReconstruction(g.standard_normal((9, 4))),
            h=Separable([(slice(0, 2), L1(1.0)), (slice(2, 4), Box(-1.0, 1.0))]),
            A=g.standard_normal((4, 4)),
            shape=(4, 2),
        ),
        Block(f=smooth(lambda x: (x**2).sum()), h=L1(0.1), shape=(4, 2)),
    ]
    path = tmp_path / "a"
    problem = Problem(blocks)
    first = run(path, lambda: problem, max_iter=20)
    assert run(path, lambda: problem, max_iter=40).nit > first.nit
