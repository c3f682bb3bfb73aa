"""No success is wrong: a quick sample of what `tests/properties/judge.py` tries in numbers."""

import pytest

from ipds.theory.proofs import falls, separates
from properties.judge import attempt, judged
from properties.without_solution import infeasible, unbounded


@pytest.mark.parametrize("seed", range(20))
def test_a_success_is_right(seed):
    end, wrong = judged(seed)
    assert not wrong, (end, wrong)


@pytest.mark.parametrize("seed", range(6))
def test_what_has_no_solution_is_called_so(seed):
    for build, name, proves in ((infeasible, "INFEASIBLE", separates), (unbounded, "UNBOUNDED", falls)):
        case = build(seed)
        result = attempt(case, seconds=2.0)
        assert (result.status.name, result.success) == (name, False)
        direction = result.proof.direction
        proved = (
            proves(case.problem, direction, result.x)
            if name == "INFEASIBLE"
            else proves(case.problem, direction)
        )
        assert proved is not None
