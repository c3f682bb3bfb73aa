"""What a user is told beside the status, and what wrong options are answered with."""

from __future__ import annotations

import numpy as np
import pytest

from ipds import Block, Problem, Status, Variable, minimize, solve
from ipds.functions import (
    L0,
    L1,
    Box,
    Cardinality,
    LeastSquares,
    Logistic,
    NonzeroColumns,
    NonzeroRows,
    RowCardinality,
    Simplex,
    smooth,
)
from ipds.modelling import hinge, logistic, norm1, sum_squares, term
from ipds.solving import remarks

x = Variable(3, name="x")
easy = minimize(sum_squares(x - 1) + norm1(x))
rng = np.random.default_rng(0)
Z = rng.standard_normal((30, 3))


@pytest.mark.parametrize(
    ("h", "idle"),
    [
        (Cardinality(8), True),
        (Cardinality(7), False),
        (RowCardinality(4), True),
        (RowCardinality(1), False),
        (NonzeroRows(4), True),
        (NonzeroRows(3), False),
        (NonzeroColumns(2), True),
        (NonzeroColumns(1), False),
        (Simplex(), False),
    ],
    ids=repr,
)
def test_sets_that_constrain_nothing_are_named(h, idle):
    X = Variable((4, 2), name="X")
    problem = minimize(sum_squares(X - 1) + h(X))
    said = f"{h!r} holds every block of shape (4, 2): it does not constrain 'X'"
    assert (said in str(problem.check())) == idle
    assert (said in problem.solve().message) == idle


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("penalty", [0.0, 1e-2])
def test_separated_classes_have_no_best_coefficients(penalty, seed):
    """Unless a penalty holds them back."""
    Z = np.random.default_rng(seed).standard_normal((30, 3))
    labels = np.sign(Z @ np.ones(3))
    terms = logistic(-labels * (Z @ x)) + (penalty * sum_squares(x) if penalty else 0.0)
    result = minimize(terms).solve(max_iter=300)
    grown = ("twice the answer would be lower still", "0 at a thousandth of the answer")
    assert any(words in result.message for words in grown) == (penalty == 0)
    assert result.success == (penalty > 0)


def test_what_grows_is_not_blamed():
    """Limits that come too soon are no sign of a problem without a best answer."""
    result = minimize(hinge(Z @ x) + norm1(x - 1)).solve(max_iter=1, tol=1e-12, method="ipds")
    assert result.status is Status.MAX_ITER
    assert "twice" not in result.message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_iters": 3}, "no option 'max_iters'; did you mean max_iter?"),
        ({"verbose": True}, "did you mean progress?"),
        ({"solver": "SCS"}, "did you mean method?"),
        ({"time_limits": 3}, "did you mean time_limit?"),
        ({"banana": 3}, "no option 'banana'; it has problem, x0, z0, method"),
    ],
)
def test_options_that_are_called_otherwise(options, words):
    with pytest.raises(TypeError) as caught:
        easy.solve(**options)
    assert words in str(caught.value)
    with pytest.raises(TypeError, match=r"did you mean|it has"):
        solve(easy, **options)


def test_a_result_to_start_from_belongs_to_the_model():
    with pytest.raises(TypeError, match=r"problem.solve\(warm_start=result\)"):
        solve(easy, warm_start=easy.solve())


@pytest.mark.parametrize("name", ["AcceleratedIPDS", "NewtonALM", "Newton"])
def test_methods_by_the_names_that_results_print(name):
    result = solve(easy, method=name)
    assert result.success
    assert name.lower()[:4] in result.method.lower()


def test_numpy_data_in_a_function_that_torch_differentiates():
    torch = pytest.importorskip("torch")
    problem = Problem([Block(f=smooth(lambda w: ((Z @ w) ** 2).sum()), h=Box(), shape=3)])
    with pytest.raises(ValueError, match=r"must be tensors too, G = torch.as_tensor\(G\)"):
        solve(problem, x0=[torch.ones(3, dtype=torch.float64)])


def test_the_wrapped_function_keeps_its_name_and_words():
    assert solve.__name__ == "solve"
    assert "certify the answer" in str(solve.__doc__)
    assert Problem([Block(f=LeastSquares(1.0, 1.0), h=L1(1.0), shape=2)]).check() is not None


def test_one_iteration_is_remarked_where_the_problem_is_not_convex():
    x, y = Variable(4, name="x"), np.array([3.0, 1.0, 0.1, 0.0])
    few = minimize(0.5 * sum_squares(x - y) + L0(0.1)(x))
    assert any("after one iteration" in remark for remark in remarks.certified(few, [y], 0.2, 1))
    assert not any("after one iteration" in remark for remark in remarks.certified(few, [y], 0.2, 2))
    convex = minimize(0.5 * sum_squares(x - y) + 0.1 * norm1(x))
    assert not any("after one iteration" in remark for remark in remarks.certified(convex, [y], 0.41, 1))


def test_a_set_of_one_s_own_is_not_called_a_small_penalty():
    class Lots:
        def __call__(self, x):
            return 0.0 if np.allclose(x, np.round(x)) else np.inf

        def prox(self, v, step):
            return np.round(v)

    x, y = Variable(3, name="x"), np.array([1.2, -0.7, 3.1])
    result = solve(minimize(sum_squares(x - y) + term(Lots(), x)))
    assert result.value(x).tolist() == [1.0, -1.0, 3.0]
    assert "too small to matter" not in result.message


def test_a_penalty_that_is_too_small_is_named():
    x, y = Variable(3, name="x"), np.array([1.2, -0.7, 3.1])
    for weight, small in ((1e-9, True), (0.1, False)):
        problem = minimize(sum_squares(x - y) + sum_squares(x) + L0(weight)(x))
        assert ("too small to matter" in solve(problem).message) == small


def test_an_answer_that_grew_until_the_objective_was_zero():
    y = np.sign(Z @ [1.0, 2.0, -1.0])
    far, there = (1e12 * np.array([1.0, 2.0, -1.0]),), (np.array([1.0, 2.0, -1.0]),)
    separable = Problem([Block(f=Logistic(Z, y), shape=3)])
    assert separable.objective(far) == 0.0
    (remark,) = remarks.overgrown(separable, far, 0.0)
    assert "a plane separates" in remark
    assert not remarks.overgrown(separable, there, float(separable.objective(there)))
    nothing = Problem([Block(h=Box(0.0, np.inf), A=np.array([[1.0, -2.0, 0.0]]), shape=3)], b=np.zeros(1))
    assert not remarks.overgrown(nothing, (np.array([2.0, 1.0, 0.0]),), 0.0)
    result = solve(separable, x0=far)
    assert result.status is Status.STALLED
    assert remark in result.message


@pytest.mark.parametrize("name", ["presolve", "progress"])
def test_words_are_no_choices(name):
    with pytest.raises(TypeError, match=f"{name} must be True or False, got 'no'"):
        solve(Problem([Block(h=L1(1.0), shape=2)]), **{name: "no"})
