"""Results can be kept."""

import pickle

import numpy as np

from ipds import Block, Problem, solve
from ipds.functions import (
    L1,
)


def test_a_result_can_be_pickled():
    problem = Problem([Block(h=L1(0.1), A=-1.0, shape=3), Block(h=L1(1.0), shape=3)], b=1.0)
    result = solve(problem)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.x[1], result.x[1])
    assert again.certificate == result.certificate
