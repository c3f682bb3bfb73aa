"""What every method promises the loop: a fixed setup, a carry of one structure, pure steps, inputs left alone."""

import copy
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))

from oracle_cases import CASES, METHODS, PRESETS

import problems
from checkpoints import same
from ipds import AssumptionError
from ipds.solving.saved import leaves, mapped

FEW = ("sparse_pca", "first_on_stiefel", "three_blocks", "lasso", "low_rank", "nonconvex_last", "heavy")
METHODS = METHODS | {"preset he-yuan-2012": PRESETS["preset he-yuan-2012"]}


def structure(carry):
    """Names of the leaves, with dtype and shape of arrays, kind of numbers."""
    found = {}

    def note(name, leaf):
        found[name] = (leaf.dtype, leaf.shape) if isinstance(leaf, np.ndarray) else type(leaf)
        return leaf

    mapped(note, carry, "carry")
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", FEW)
@pytest.mark.parametrize("name", METHODS)
def test_a_carry_keeps_its_structure_and_steps_are_pure(name, case):
    problem, method = CASES[case](), METHODS[name]
    x0, z0 = problems.start_of(problem)
    given = copy.deepcopy((x0, z0))
    try:
        setup, carry = method.init(problem, tuple(x0), z0)
    except AssumptionError:
        pytest.skip("the method cannot treat the problem")
    first = structure(carry)
    assert carry.t == 0
    assert len(leaves(carry, "carry")) == len(first)  # nothing but arrays and numbers
    for t in range(1, 21):
        before = copy.deepcopy(carry)
        _, again = method.step(setup, carry)
        assert same(before, carry)
        carry, state = method.step(setup, carry)
        assert same(again, state)
        assert structure(carry) == first
        assert carry.t == state.t == t
    assert same((tuple(x0), z0), (tuple(given[0]), given[1]))
