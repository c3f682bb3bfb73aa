"""No success is wrong: a quick sample of what `tests/properties/judge.py` tries in numbers."""

import pytest

from ipds.theory.proofs import falls, separates
from properties.judge import attempt, judged
from properties.known import contradictory, known
from properties.parts import parts
from properties.without_solution import infeasible, unbounded

FALSE_ONCE = (4243964, 5502446, 7000822)
"""A perfect fit; a block at zero whose size was taken from another block; an equation met to 5e-5 that moved the
objective by 2.6%: the judge, the certificate or the end of a run was wrong."""


@pytest.mark.parametrize("seed", [*range(20), *FALSE_ONCE])
def test_a_success_is_right(seed):
    end, wrong = judged(seed)
    assert not wrong, (end, wrong)


@pytest.mark.parametrize("seed", range(12))
def test_a_success_is_right_where_entries_are_known_beforehand(seed):
    end, wrong = judged(seed, build=known)
    assert not wrong, (end, wrong)


@pytest.mark.parametrize("seed", range(8))
def test_a_success_is_right_where_two_problems_in_one_have_units_of_their_own(seed):
    end, wrong = judged(seed, build=parts)
    assert not wrong, (end, wrong)


@pytest.mark.parametrize("seed", range(6))
def test_two_values_for_one_entry_are_no_success(seed):
    assert attempt(contradictory(seed), seconds=2.0).success is False


def test_an_objective_of_zero_hides_no_residual():
    """Iterates of 1e7 made a residual of 8 beside b of 5 look small, and the objective was zero."""
    assert attempt(infeasible(990128), seconds=2.0).success is False


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


def test_directions_that_interior_points_do_not_show():
    """They came to rest at a point without a gap; semismooth steps from there grow along the direction."""
    assert attempt(unbounded(910091), seconds=4.0).status.name == "UNBOUNDED"


def test_a_solution_at_zero_ends_the_run_although_nothing_is_left_to_compare_with():
    end, found = judged(7101809)
    assert (end, found) == ("CONVERGED", [])


def test_a_penalty_that_grows_for_ever_overflows_nothing():
    assert judged(9101066, seconds=20.0)[0] == "PENALTY_CEILING"


def test_where_nothing_is_minimised_large_blocks_hide_no_residual():
    """Terms of 1e7 that cancel made a residual of 118 beside b of 54 look small."""
    assert attempt(infeasible(13000219), seconds=2.0).status.name == "INFEASIBLE"
