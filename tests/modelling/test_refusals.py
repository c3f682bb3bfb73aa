"""What the grammar does not have: each refusal names the piece as written, its shape, and what to write instead."""

import numpy as np
import pytest
import scipy.sparse.linalg as spl

import ipds
from ipds import Problem, Variable, minimize, solve
from ipds.functions import L1, PSD, Cardinality, LeastSquares, Nuclear, Quadratic, Rank, Stiefel
from ipds.modelling import (
    concatenate,
    diff,
    entropy,
    kl_div,
    log_det,
    norm1,
    norm2,
    quad_form,
    sum_squares,
    term,
)
from ipds.operators import FiniteDifference

v = Variable(6, name="v")
V = Variable((2, 3), name="V")
A = np.ones((4, 6))

REFUSED = [
    (lambda: v * v, TypeError, ["`v * v`", "(6,)", "quad_form"]),
    (lambda: V.T @ V, TypeError, ["`V.T @ V`", "(3, 2)", "Rank(r)(Z)"]),
    (lambda: v**2, TypeError, ["`v ** 2`", "sum_squares(v)"]),
    (lambda: abs(v), TypeError, ["`abs(v)`", "norm1(v)"]),
    (lambda: np.exp(v), TypeError, ["`numpy.exp(v)`", "Exponential()(v)"]),
    (lambda: np.sin(v), TypeError, ["`numpy.sin(v)`", "(6,)", "smooth(fun)"]),
    (lambda: np.linalg.norm(v), TypeError, ["norm2(v)"]),
    (lambda: 2 / v, TypeError, ["`2 / v`", "not affine"]),
    (lambda: v / 0.0, ZeroDivisionError, ["`v / 0`"]),
    (lambda: norm1(norm2(v)), TypeError, ["norm2(v)", "affine"]),
    (lambda: L1(1.0)(norm2(v)), TypeError, ["norm2(v)", "affine"]),
    (lambda: term(L1(1.0), norm2(v)), TypeError, ["norm2(v)", "affine"]),
    (lambda: -norm1(v), ValueError, ["`-norm1(v)`", "(6,)", "smooth"]),
    (lambda: norm1(v) - 2 * norm1(A @ v), ValueError, ["norm1(array(4, 6) @ v)", "(4,)"]),
    (lambda: A.T @ v, ValueError, ["`array(6, 4) @ v`", "(6,)", "`array(6, 4).T @ v`"]),
    (lambda: v @ A, ValueError, ["`v @ array(4, 6)`", "(6,)", "`array(4, 6) @ v`"]),
    (lambda: V @ A, ValueError, ["`V @ array(4, 6)`", "(2, 3)"]),
    (lambda: A * v, ValueError, ["`array(4, 6) * v`", "(6,)", "array(4, 6) @ v"]),
    (lambda: spl.aslinearoperator(np.ones((4, 5))) @ v, ValueError, ["@ v`", "(4, 5)", "(6,)"]),
    (lambda: FiniteDifference(axis=1) @ v, ValueError, ["FiniteDifference(axis=1) @ v", "(6,)"]),
    (lambda: diff(v, 2), ValueError, ["diff(diff(e))", "no axis 2"]),
    (lambda: v + np.ones(5), ValueError, ["`v + array(5)`", "(6,)", "(5,)"]),
    (lambda: v + np.ones((6, 1)), ValueError, ["(6, 6)", ".reshape"]),
    (lambda: v + np.array([np.nan] * 6), ValueError, ["finite"]),
    (lambda: Rank(1)(v), ValueError, ["`Rank(s=1)(v)`", "needs a matrix", "(6,)", ".reshape"]),
    (lambda: PSD()(V), ValueError, ["`PSD()(V)`", "square", "(2, 3)"]),
    (lambda: Stiefel()(V), ValueError, ["`Stiefel()(V)`", "no more columns than rows", "(2, 3)", ".T"]),
    (lambda: minimize(A @ v), ValueError, ["(4,)", "one number", "sum_squares(array(4, 6) @ v)"]),
    (lambda: L1(1.0)(v, V), TypeError, ["L1(lam=1.0)", "one expression", "concatenate"]),
    (lambda: v.reshape(5), ValueError, ["(6,)", "(5,)"]),
    (lambda: v[6:], IndexError, ["`v[6:]`", "none of the 6 entries of `v`"]),
    (lambda: V[0, 3], IndexError, ["`V[0, 3]`", "out of bounds", "(2, 3)"]),
    (lambda: 0 <= v <= 1, TypeError, ["`v >= 0`", "[lo <= x, x <= hi]"]),
    (lambda: v < 3, TypeError, ["<="]),
    (lambda: v != 3, TypeError, ["=="]),
    (lambda: V >> 0, TypeError, ["`V >> 0`", "the term PSD()(V)"]),
    (lambda: V << np.eye(2, 3), TypeError, ["`V << array(2, 3)`", "PSD()(array(2, 3) - V)"]),
    (lambda: Variable(6, nonneg=True), TypeError, ["'nonneg'", "`x >= 0`"]),
    (lambda: Variable(6, boolean=True), TypeError, ["'boolean'", "`Binary()(x)`"]),
    (lambda: Variable(6, size=3), TypeError, ["'size'", "a shape and a name"]),
    (lambda: norm1(v) <= 1, TypeError, ["`norm1(v)`", "L1Ball(r)(e)"]),
    (lambda: v <= norm1(v), TypeError, ["norm1(v)"]),
    (lambda: norm2(v) ** 2, TypeError, ["sum_squares(v)"]),
    (lambda: sum_squares(v) ** 0.5, TypeError, ["`sum_squares(v) ** 0.5`", "norm2(v)"]),
    (lambda: np.dot(A, v), TypeError, ["`numpy.dot(array(4, 6), v)`", "a @ v"]),
    (lambda: v * norm1(v), TypeError, ["`v * norm1(v)`", "number"]),
    (lambda: np.ones(6) * norm1(v), TypeError, ["`norm1(v)`", "L1(weights)(x)"]),
    (lambda: 0 * Cardinality(2)(v), ValueError, ["`Cardinality(s=2)(v)`", "leave it out"]),
    (lambda: L1(np.ones(4))(v), ValueError, ["L1", "(6,)", "(4,)"]),
    (lambda: Nuclear(1.0)(v), ValueError, ["Nuclear(lam=1.0)(v)", "(6,)"]),
    (lambda: LeastSquares(np.ones((4, 5)), np.ones(4))(v), ValueError, ["(v)", "(6,)", "5"]),
    (lambda: quad_form(v, np.eye(5)), ValueError, ["`v`", "(6,)", "(5, 5)"]),
    (lambda: kl_div(v, 2 * v), TypeError, ["`kl_div(v, 2 * v)`", "data"]),
    (lambda: minimize(v), ValueError, ["`v`", "(6,)", "`v.sum()`"]),
    (lambda: minimize(L1(1.0)), TypeError, ["L1(lam=1.0)", "call it on"]),
    (lambda: minimize("x"), TypeError, ["str"]),
    (lambda: minimize(3.0), ValueError, ["no variable"]),
    (lambda: minimize(entropy(v)), ValueError, ["`entropy(v)`", "(6,)", "`-entropy(v)`"]),
    (
        lambda: minimize(2 * log_det(V @ np.ones((3, 2)))),
        ValueError,
        ["`2 * log_det(V @ array(3, 2))`", "`-log_det("],
    ),
    (lambda: minimize(norm1(v), [Cardinality(2)(v)]), TypeError, ["Cardinality(s=2)(v)", "objective"]),
    (lambda: minimize(norm1(v), [1 <= 2]), TypeError, ["without variables"]),
    (lambda: minimize(norm1(v), [norm2(v) == 1]), TypeError, ["Sphere(r)(x)"]),
    (lambda: V.T @ V, TypeError, ["product of variables", "Stiefel()(X)"]),
    (lambda: (1j * A) @ v, TypeError, ["complex", "real and imaginary parts"]),
    (lambda: v - 1j * np.ones(6), TypeError, ["complex", "real and imaginary parts"]),
    (lambda: ipds.maximize(v.sum()), AttributeError, ["minimize(-objective)"]),
    (lambda: ipds.minimise(v.sum()), AttributeError, ["write minimize(objective)"]),
    (lambda: list(v.sum()), TypeError, ["single number"]),
    (lambda: minimize(norm1(v), [A.T @ np.ones(4) == 4]), TypeError, ["without variables"]),
    (
        lambda: minimize(norm1(v), [np.ones((8, 6)) @ v == np.arange(8.0)]),
        ValueError,
        ["8 equations in 6 unknowns"],
    ),
    (lambda: minimize(norm1(v), [0 * v[:2] == [0, 1]]), ValueError, ["row 1", "0 = 1", "(2,)"]),
    (lambda: minimize(norm1(v), [v >= 1, v <= 0]), ValueError, ["`v >= 1`", "`v <= 0`", "cross"]),
    (lambda: minimize(norm1(v) + norm1(Variable(2, name="v"))), ValueError, ["'v'", "different names"]),
    (lambda: Variable(0), ValueError, ["at least 1"]),
    (lambda: Variable("x"), TypeError, ["shape"]),
    (lambda: Variable(3, name=""), TypeError, ["name"]),
    (lambda: setattr(v, "shape", (3,)), AttributeError, ["do not change"]),
    (lambda: (A @ v).value, AttributeError, ["result.value(array(4, 6) @ v)"]),
    (lambda: minimize(norm1(v)).solve().value("v"), TypeError, ["got str", "variables are v"]),
    (lambda: solve(norm1(v)), TypeError, ["got Term", "minimize(objective, constraints)"]),
    (lambda: v < 3, TypeError, ["`v < 3`"]),
    (lambda: v <= np.ones(4), ValueError, ["`v <= array(4)`", "(6,)"]),
    (lambda: v <= np.inf, ValueError, ["infinity", "Box(lo, hi)(x)"]),
    (lambda: v - tuple([0.0] * 5), ValueError, ["`v - array(5)`"]),
    (lambda: v.max(), AttributeError, ["'max'", "the constraint v <= t"]),
    (lambda: (v - 1).trace(), AttributeError, ["(v - 1)[range(n), range(n)].sum()"]),
    (lambda: v.whatever, AttributeError, ["'whatever'"]),
    (lambda: np.mean(v + 1), TypeError, ["(v + 1).mean()"]),
    (lambda: np.max(v), TypeError, ["v <= t"]),
    (lambda: V.sum(axis=[0, 1]), ValueError, ["a tuple"]),
    (lambda: V.reshape("a"), ValueError, ["(2, 3)"]),
    (lambda: setattr(v, "value", 3), AttributeError, ["problem.point({v: array})"]),
    (lambda: Variable("x"), TypeError, ["Variable(name='x')"]),
    (lambda: norm1(v).value, AttributeError, ["result.value(norm1(v))"]),
    (lambda: norm1(v).sum(), AttributeError, ["one number", "'sum'"]),
    (lambda: norm1(v).shape, AttributeError, ["'Term'", "'shape'"]),
    (lambda: sum(norm1(v)), TypeError, ["`norm1(v)` is one number"]),
    (lambda: norm1(v) + np.ones(6), TypeError, ["`norm1(v)`", "ndarray"]),
    (lambda: np.ones(6) - norm1(v), TypeError, ["`norm1(v)`", "ndarray"]),
    (lambda: sum_squares([v, v]), TypeError, ["[v, v]", "concatenate"]),
    (lambda: concatenate(v, v), TypeError, ["concatenate([x, y])"]),
    (lambda: norm2(v, axis=0), ValueError, ["must be a matrix", "(6,)"]),
    (lambda: kl_div(v, [1, 2]), ValueError, ["`v`", "(6,)", "(2,)"]),
    (lambda: term(lambda x: x.sum(), v), TypeError, ["smooth(fun)"]),
    (lambda: term(L1, v), TypeError, ["the class L1"]),
    (lambda: term(None, v), TypeError, ["prox"]),
    (lambda: L1(v), TypeError, ["L1(...)(v)"]),
    (lambda: Cardinality(v), TypeError, ["Cardinality(...)(v)"]),
    (lambda: minimize(norm1), TypeError, ["norm1 is a function", "norm1(x)"]),
    (lambda: minimize(L1), TypeError, ["L1(...)(x)"]),
    (lambda: minimize([norm1(v)]), TypeError, ["sum([...])"]),
    (lambda: minimize(norm1(v), [[v >= 0]]), TypeError, ["flat list"]),
    (lambda: minimize(norm1(v), Cardinality(2)(v)), TypeError, ["is a term"]),
    (lambda: minimize(norm1(v), [norm1(v) + norm2(v)]), TypeError, ["is a term"]),
    (lambda: minimize(norm1(v), [v]), TypeError, ["==, <= or >="]),
    (lambda: minimize(norm1(v), True), TypeError, ["without variables"]),
    (lambda: minimize(norm1(v)).solve(warm_start=True), TypeError, ["an earlier solve", "got bool"]),
    (lambda: minimize(norm1(v - v[0])).point({}), ValueError, ["'v'", "(6,)", "none is given"]),
    (lambda: minimize(norm1(v)).point({v: np.ones(5)}), ValueError, ["'v'", "(5,)"]),
    (lambda: minimize(norm1(v), [v >= 1]).solve().dual(v >= 1), ValueError, ["problem.constraints[0]"]),
    (lambda: minimize(norm1(v), [v >= 1]).solve().dual([v >= 1]), ValueError, ["not a constraint"]),
    (lambda: Problem(norm1(v), [v >= 0]), TypeError, ["got Term", "minimize(objective, constraints)"]),
    (lambda: Problem(v), TypeError, ["got Variable", "minimize(objective, constraints)"]),
    (lambda: ipds.modelling.norm(v, 1), AttributeError, ["norm2(e), norm1(e) or norm_inf(e)"]),
    (lambda: ipds.modelling.nonsense, AttributeError, ["'nonsense'"]),
    (lambda: ipds.L1, AttributeError, ["it is in ipds.functions"]),
    (lambda: ipds.Parameter, AttributeError, ["warm_start"]),
    (lambda: 2 * L1(1.0), TypeError, ["L1(lam=1.0)(x)"]),
    (lambda: norm1(v) + L1(1.0), TypeError, ["`norm1(v)`", "L1(lam=1.0)(x)"]),
    (lambda: norm1(v) + L1, TypeError, ["L1(...)(x)"]),
    (lambda: Quadratic(np.eye(5))(v), ValueError, ["5x5", "(6,)"]),
]


@pytest.mark.parametrize(("write", "kind", "words"), REFUSED, ids=range(len(REFUSED)))
def test_refused_with_words(write, kind, words):
    with pytest.raises(kind) as caught:
        write()
    for word in words:
        assert word in str(caught.value)


def test_what_is_asked_of_expressions_does_not_stand_in_the_way_of_questions():
    for asked, name in ((v, "max"), (norm1(v), "sum"), (ipds.modelling, "norm")):
        assert not hasattr(asked, name)


def test_consistent_equations_with_too_many_rows_are_accepted():
    G = np.vstack([np.eye(6), np.ones((2, 6))])
    assert minimize(norm1(v), [G @ v == G @ np.arange(6.0)]).shape
