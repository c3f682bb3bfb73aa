"""No success is wrong: a quick sample of what `tests/properties/judge.py` tries in numbers."""

import pytest

from properties.judge import judged


@pytest.mark.parametrize("seed", range(20))
def test_a_success_is_right(seed):
    end, wrong = judged(seed)
    assert not wrong, (end, wrong)
