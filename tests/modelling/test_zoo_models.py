"""Every statement of the zoo as a model: few lines, the same objective."""

import inspect
import math

import numpy as np
import pytest
from benchmarks.statements import ALL
from zoo_models import MODELS, model_of

STATEMENTS = {statement.name: statement for statement in ALL}


def point(shape, rng):
    """Entries between 0 and 1; a positive definite matrix where it is square."""
    x = rng.uniform(0.1, 0.9, size=shape)
    return x @ x.T + np.eye(shape[0]) if len(shape) == 2 and shape[0] == shape[1] <= 12 else x


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_same_objective_up_to_a_constant(name):
    statement = STATEMENTS[name]
    data = statement.data(0)
    problem, *variables = model_of(name)(data)
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(3):
        values = [point(v.shape, rng) for v in variables]
        blocks = problem.point(dict(zip(variables, values, strict=True)))
        mine = sum(_finite(block, x) for block, x in zip(problem.blocks, blocks, strict=True))
        one = [np.atleast_1d(x) for x in values]
        theirs = statement.objective(data, one if len(one) > 1 else one * 3)
        gaps.append(mine - theirs)
        size = 1 + abs(mine) + abs(theirs)
    assert max(gaps) - min(gaps) <= 1e-9 * size


def _finite(block, x):
    """f + h of a block without its sets."""
    total = 0.0 if block.f is None else block.f(x)
    parts = getattr(block.h, "parts", [(block.h, x.shape)])
    starts = np.cumsum([0] + [math.prod(shape) for _, shape in parts])
    for (h, shape), start in zip(parts, starts, strict=False):
        if not h.is_set:
            total += h(x.ravel()[start : start + math.prod(shape)].reshape(shape))
    return total


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.__name__)
def test_in_four_lines(model):
    assert len(inspect.getsource(model).splitlines()) - 1 <= 4
