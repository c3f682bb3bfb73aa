"""Bad input: one clear error each, before any iteration, naming the block and what was expected."""
# ruff: noqa: E501 (tables, one case per line)

import numpy as np
import pytest
import scipy.sparse as sp

import problems
from ipds import AssumptionError, Block, Parameters, Problem, Variable, iterate, solve
from ipds.functions import L0, L1, PSD, Affine, Box, LeastSquares, Linear, Rank, Stiefel, smooth
from ipds.methods import IPDS
from ipds.operators import FiniteDifference, Matrix

NAN = np.array([1.0, np.nan, 0.0])


class Unmoved(L1):
    """An ℓ1 norm that must not be iterated on: only the check of the starting point may take its prox."""

    def prox(self, v, step):
        assert step == 1.0, "an iteration has begun"
        return super().prox(v, step)


def pair(b=0.0, first=None, last=None):
    """Two vector blocks of length 3, x and v, with replaced arguments."""
    x = {"h": Unmoved(1.0), "A": -1.0, "shape": 3, "name": "x", **(first or {})}
    v = {"h": Unmoved(1.0), "A": 1.0, "shape": 3, "name": "v", **(last or {})}
    return Problem([Block(**x), Block(**v)], b=b)


class NoGradient:
    def __call__(self, x):
        return 0.0


class WrongGradient(NoGradient):
    def grad(self, x):
        return np.zeros(7)


class WrongProx:
    is_convex = True

    def __call__(self, x):
        return 0.0

    def prox(self, v, step):
        return v[:2]


class WrongAdjoint:
    def apply(self, x):
        return x[:2]

    def adjoint(self, y):
        return y


class Nothing(WrongAdjoint):
    def apply(self, x):
        return None


class WrongOperator:
    def apply(self, x):
        return x[:, None] * np.ones((1, 2))

    def adjoint(self, y):
        return y[:, 0]


G = np.ones((4, 3))

CONSTRUCTION = {
    "matrix columns": (lambda: pair(first={"A": np.ones((3, 5))}), ValueError, r"block 'x' of shape \(3,\).*3x5.*length 5"),
    "matrix rows": (lambda: pair(first={"A": G}), ValueError, r"block 'v': A x has shape \(3,\).*shape \(4,\).*block 'x'"),
    "sparse rows": (lambda: pair(last={"A": sp.csr_array(G)}), ValueError, r"block 'v': A x has shape \(4,\).*\(3,\)"),
    "b": (lambda: pair(b=np.zeros(4)), ValueError, r"block 'x': A x has shape \(3,\).*shape \(4,\) \(from b\)"),
    "LinearOperator input": (
        lambda: pair(first={"A": problems.matrix_free(np.ones((3, 5)))}), ValueError, r"block 'x'.*\(3, 5\).*3 entries",
    ),
    "LinearOperator output": (
        lambda: pair(first={"A": problems.matrix_free(np.ones((5, 3)))}), ValueError, r"block 'x'.*\(5, 3\).*\(3,\)",
    ),
    "operator": (lambda: pair(first={"A": FiniteDifference()}), ValueError, r"block 'v'.*\(3,\).*\(2,\)"),
    "user operator": (lambda: pair(first={"A": WrongOperator()}), ValueError, r"block 'v'.*\(3,\).*\(3, 2\)"),
    "NaN in b": (lambda: pair(b=NAN), ValueError, "b contains NaN"),
    "infinite b": (lambda: pair(b=np.inf), ValueError, "b must be finite"),
    "complex b": (lambda: pair(b=1j * np.ones(3)), TypeError, "b must hold real numbers"),
    "list b": (lambda: pair(b=[1, 2, 3]), TypeError, "b must be a number or an array, got list; pass numpy.asarray"),
    "sparse b": (lambda: pair(b=sp.csr_array(G)), TypeError, r"b must be a dense array.*b.toarray\(\)"),
    "dates as b": (lambda: pair(b=np.array(["2020-01-01"] * 3, "M8[D]")), TypeError, "b holds dates"),
    "user operator's adjoint": (lambda: pair(first={"A": WrongAdjoint()}), ValueError, r"block 'x'.*adjoint returns shape \(2,\).*not \(3,\)"),
    "user operator without arrays": (lambda: pair(first={"A": Nothing()}), TypeError, "block 'x'.*apply must return an array, got NoneType"),
    "NaN in G": (lambda: LeastSquares(np.nan * G, np.ones(4)), ValueError, "LeastSquares: G: .*NaN"),
    "text as G": (lambda: LeastSquares("G", np.ones(4)), TypeError, "LeastSquares: G: expected .* got str"),
    "sparse weights": (lambda: L1(sp.csr_array(G)), TypeError, r"L1: lam must be a dense array.*lam.toarray\(\)"),
    "text b": (lambda: pair(b="0"), TypeError, "b must be a number or an array, got str"),
    "NaN in A": (lambda: pair(first={"A": np.diag(NAN)}), ValueError, "block 'x'.* A: .*NaN"),
    "NaN in sparse A": (lambda: pair(first={"A": sp.diags_array(NAN)}), ValueError, "block 'x'.*NaN"),
    "NaN as A": (lambda: pair(first={"A": np.nan}), ValueError, "block 'x'.*finite"),
    "complex A": (lambda: pair(first={"A": 1j * np.eye(3)}), TypeError, "block 'x'.*real"),
    "vector A": (lambda: pair(first={"A": np.ones(3)}), TypeError, r"block 'x': A must be.*shape \(3,\)"),
    "text A": (lambda: pair(first={"A": "I"}), TypeError, "block 'x': A must be a number.*got str"),
    "boolean A": (lambda: pair(first={"A": True}), TypeError, "block 'x': A must be a number.*got bool"),
    "class as A": (lambda: pair(first={"A": Matrix}), TypeError, "block 'x': A is the class Matrix"),
    "f not callable": (lambda: pair(first={"f": 3.0}), TypeError, "block 'x': f must be callable.*got float"),
    "f without grad": (lambda: pair(first={"f": NoGradient()}), TypeError, "block 'x': f has no gradient"),
    "f with a prox": (lambda: pair(first={"f": L1(1.0)}), TypeError, "block 'x': f has no gradient; .* pass it as h"),
    "h with a gradient": (lambda: pair(first={"h": Linear(1.0)}), TypeError, "block 'x': h must .* pass it as f"),
    "f a lambda": (lambda: pair(first={"f": lambda x: 0.0}), TypeError, r"block 'x': f has no gradient.*smooth\("),
    "f a class": (lambda: pair(first={"f": LeastSquares}), TypeError, "block 'x': f is the class LeastSquares"),
    "h a class": (lambda: pair(first={"h": L1}), TypeError, r"block 'x': h is the class L1.*L1\("),
    "h without prox": (lambda: pair(first={"h": abs}), TypeError, "block 'x': h must.*prox"),
    "f in place of h": (lambda: pair(first={"h": LeastSquares(G, np.ones(4))}), TypeError, "block 'x': h must.*prox"),
    "no shape": (lambda: Block(name="x"), TypeError, "block 'x': shape must be an int or a tuple"),
    "text shape": (lambda: Block(shape="33", name="x"), TypeError, "block 'x': shape must be"),
    "fractional shape": (lambda: Block(shape=(2.5,), name="x"), TypeError, "block 'x': shape must be"),
    "empty block": (lambda: Block(shape=(3, 0), name="x"), ValueError, r"block 'x'.*at least 1, got \(3, 0\)"),
    "negative shape": (lambda: Block(shape=-1, name="x"), ValueError, "block 'x'.*at least 1"),
    "name not text": (lambda: Block(shape=3, name=7), TypeError, "name must be a string, got int"),
    "no blocks": (lambda: Problem([]), ValueError, "at least one block"),
    "not blocks": (lambda: Problem([L1(1.0)]), TypeError, "Block objects, got L1"),
    "one block, not a list": (lambda: Problem(Block(shape=3)), TypeError, "list of ipds.Block"),
    "same name twice": (lambda: pair(last={"name": "x"}), ValueError, r"names must differ.*'x', 'x'"),
}  # fmt: skip

START = {
    "x0 shape": (pair, {"x0": [np.zeros(3), np.zeros(4)]}, ValueError, r"x0 of block 'v' has shape \(4,\).*\(3,\)"),
    "x0 count": (pair, {"x0": [np.zeros(3)]}, ValueError, "x0 has 1 entries.*2 blocks: x, v"),
    "x0 an array": (pair, {"x0": np.zeros((2, 3))}, TypeError, "x0 must be a list of 2 arrays"),
    "x0 NaN": (pair, {"x0": [np.zeros(3), NAN]}, ValueError, "x0 of block 'v' contains NaN"),
    "x0 complex": (pair, {"x0": [np.zeros(3), 1j * np.ones(3)]}, TypeError, "x0 of block 'v' must hold real numbers"),
    "x0 text": (pair, {"x0": [np.zeros(3), "abc"]}, ValueError, "x0 of block 'v' cannot be read"),
    "z0 shape": (pair, {"z0": np.zeros(2)}, ValueError, r"z0 has shape \(2,\).*constraint.*\(3,\)"),
    "z0 NaN": (pair, {"z0": NAN}, ValueError, "z0 contains NaN"),
    "NaN in a LinearOperator": (
        lambda: pair(first={"A": problems.matrix_free(np.diag(NAN))}), {}, ValueError, "block 'x'.*NaN",
    ),
    "f of another shape": (
        lambda: pair(first={"f": LeastSquares(np.ones((4, 5)), np.ones(4))}), {}, ValueError, r"block 'x' of shape \(3,\)",
    ),
    "gradient of another shape": (
        lambda: pair(last={"f": WrongGradient()}), {}, ValueError, r"block 'v': f.grad returns shape \(7,\).*\(3,\)",
    ),
    "f not finite": (
        lambda: pair(last={"f": smooth(lambda x: np.inf, lambda x: x, 1.0)}), {}, ValueError, "block 'v': f.*not finite",
    ),
    "h of another shape": (lambda: pair(first={"h": Stiefel()}), {}, ValueError, r"block 'x' of shape \(3,\): h.prox"),
    "weights of another shape": (lambda: pair(first={"h": L1(np.ones(5))}), {}, ValueError, r"block 'x'.*shape \(5,\) do not fit.*\(3,\)"),
    "rank of a vector": (lambda: pair(first={"h": Rank(1)}), {}, ValueError, r"block 'x'.*Rank: needs a matrix, got shape \(3,\)"),
    "cone of a vector": (lambda: pair(first={"h": PSD()}), {}, ValueError, r"block 'x'.*PSD: needs a square matrix, got shape \(3,\)"),
    "f without a value": (lambda: pair(first={"f": smooth(lambda x: None, lambda x: x)}), {}, TypeError, "fun must return a number, got NoneType"),
    "f of several values": (lambda: pair(first={"f": smooth(lambda x: x, lambda x: x)}), {}, TypeError, r"fun must return a number, got an array of shape \(3,\)"),
    "prox of another shape": (lambda: pair(first={"h": WrongProx()}), {}, ValueError, r"block 'x': h.prox returns shape \(2,\)"),
    "negative tol": (pair, {"tol": -1.0}, ValueError, "tol must be nonnegative.*-1.0"),
    "tol NaN": (pair, {"tol": np.nan}, ValueError, "tol must be nonnegative"),
    "tol text": (pair, {"tol": "small"}, TypeError, "tol must be a number, got 'small'"),
    "max_iter 0": (pair, {"max_iter": 0}, ValueError, "max_iter must be at least 1, got 0"),
    "max_iter fractional": (pair, {"max_iter": 1.5}, TypeError, "max_iter must be an integer, got 1.5"),
    "max_iter None": (pair, {"max_iter": None}, TypeError, "max_iter must be an integer, got None"),
    "check_every 0": (pair, {"check_every": 0}, ValueError, "check_every must be at least 1"),
    "time_limit negative": (pair, {"time_limit": -1.0}, ValueError, "time_limit must be nonnegative"),
    "callback": (pair, {"callback": 3}, TypeError, "callback must be callable, got int"),
    "method name": (pair, {"method": "simplex"}, ValueError, "method.*'auto'.*got 'simplex'"),
    "method class": (pair, {"method": IPDS}, TypeError, r"method is the class IPDS.*IPDS\("),
    "method None": (pair, {"method": None}, TypeError, "method.*None"),
    "not a problem": (lambda: L1(1.0), {}, TypeError, "problem must be an ipds.Problem, got L1"),
    "nonconvex last h": (lambda: pair(last={"h": L0(1.0)}), {}, AssumptionError, "block 'v' is last.*convex"),
    "zero last A": (lambda: pair(last={"A": 0.0}), {}, AssumptionError, "block 'v' is last.*A = 0"),
    "zero last A, no presolve": (
        lambda: pair(last={"A": np.zeros((3, 3))}), {"method": "auto", "presolve": False}, AssumptionError, "'v' is last.*A = 0"
    ),
    "no equation": (lambda: Problem([Block(h=L1(1.0), shape=3)]), {}, AssumptionError, "no equation.*presolve"),
    "idle block": (lambda: pair(first={"A": 0.0}), {}, AssumptionError, "block 'x'.*leave it out"),
    "sound without surjectivity": (
        lambda: Problem([Block(h=L1(1.0), shape=4), Block(h=L1(1.0), A=G, shape=3, name="v")]),
        {"method": IPDS("sound")}, AssumptionError, "condition BI or SU.*\n(.*\n)*.*'v' is not surjective",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CONSTRUCTION)
def test_construction(case):
    build, kind, message = CONSTRUCTION[case]
    with pytest.raises(kind, match=message):
        build()


@pytest.mark.parametrize("case", START)
def test_solve_refuses_before_any_iteration(case):
    build, options, kind, message = START[case]
    with pytest.raises(kind, match=message):
        solve(build(), **{"method": IPDS("practical"), **options})


def test_iterate_refuses_as_solve_does():
    with pytest.raises(TypeError, match=r"ipds\.Problem"):
        next(iterate(3))
    with pytest.raises(ValueError, match="x0 of block 'v' has shape"):
        next(iterate(pair(), [np.zeros(3), np.zeros(4)]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0.0}, "delta"),
        ({"sigma": 2.0}, "sigma"),
        ({"p": 1.0}, "p must"),
        ({"xi": -0.1}, "xi"),
        ({"theta1": np.nan}, "theta1"),
        ({"theta2": -1.0}, "theta2"),
    ],
)
def test_parameters_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        Parameters(**options)


@pytest.mark.parametrize(
    "options", [{"parameters": "fast"}, {"beta0": 0.0}, {"beta0": np.inf}, {"beta0": -1.0}]
)
def test_ipds_settings_out_of_range(options):
    with pytest.raises(ValueError, match="IPDS"):
        IPDS(**options)


def test_accepted_by_design():
    """What looks odd but is meant to work."""
    assert Problem(
        [Block(shape=np.int64(3)), Block(h=None, A=np.array(2.0), shape=[3])], b=np.float32(1)
    ).shape == (3,)
    assert (
        solve(
            pair(last={"h": L1(1.0)}, first={"h": L1(1.0)}), [[0, 0, 0], [1, 2, 3]], max_iter=np.int64(3)
        ).nit
        <= 3
    )


MISREAD = {
    "masked": (lambda a: np.ma.masked_array(a, mask=np.arange(a.size).reshape(a.shape) == 0), "masked array"),
    "complex": (lambda a: a + 1j, "not complex ones; stack its real and imaginary parts"),
    "matrix": (np.matrix, r"numpy\.matrix"),
    "object": (lambda a: a.astype(object), "holds objects"),
    "text": (lambda a: a.astype("U8"), "holds text"),
}
TAKERS = {
    "b": lambda a: Problem([Block(h=L1(1.0), shape=4), Block(h=L1(1.0), A=-1.0, shape=4)], b=a),
    "LeastSquares: y": lambda a: LeastSquares(np.eye(4), a),
    "L1: lam": L1,
    "Box: lo": lambda a: Box(a, 9.0),
    "Linear: c": Linear,
    "Affine: b": lambda a: Affine(np.eye(4), a),
    "the constant": lambda a: Variable(4) - a,
    "the matrix": lambda a: a.reshape(2, 2) @ Variable(2),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("kind", MISREAD)
@pytest.mark.parametrize("taker", TAKERS)
def test_data_that_would_be_misread_are_refused_with_the_remedy(kind, taker):
    spoil, words = MISREAD[kind]
    with pytest.raises(TypeError, match=words) as caught:
        TAKERS[taker](spoil(np.arange(1.0, 5.0)))
    assert str(caught.value).startswith(taker)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("kind", MISREAD)
def test_a_matrix_that_would_be_misread_is_refused(kind):
    spoil, words = MISREAD[kind]
    with pytest.raises(TypeError, match=words):
        LeastSquares(spoil(np.eye(4)), np.ones(4))
