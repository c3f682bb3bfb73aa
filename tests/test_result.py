"""Results can be kept."""

import pickle

import numpy as np

from ipds import Block, Problem, Variable, minimize, solve
from ipds.functions import L1
from ipds.modelling import sum_squares


def test_a_result_can_be_pickled():
    problem = Problem([Block(h=L1(0.1), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)], b=1.0)
    result = solve(problem)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.x[1], result.x[1])
    assert again.certificate == result.certificate


def test_where_there_is_no_answer_no_certificate_is_printed():
    x = Variable(3, name="x")
    result = solve(minimize(sum_squares(x), [x >= 1, x.sum() == 2]))
    assert result.proof is not None
    assert "certificate none: result.proof says why there is no answer" in str(result)
