"""Every method walks the path it walked before its code was rewritten, to the last bits a reordering allows."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))

from oracle_cases import CASES, METHODS, PRESETS, iterates, oracle

ORACLE = oracle()
RUNS = sorted({name.rsplit("/", 1)[0] for name in ORACLE})


def test_the_oracle_covers_every_case_and_method():
    cases, methods = (set(names) for names in zip(*(run.split("/") for run in RUNS), strict=True))
    assert cases == set(CASES)
    assert methods == set(METHODS | PRESETS)


@pytest.mark.parametrize("run", RUNS)
def test_iterates_are_the_recorded_ones(run):
    case, name = run.split("/")
    wanted = {int(key.rsplit("/", 1)[1]): x for key, x in ORACLE.items() if key.rsplit("/", 1)[0] == run}
    for t, found in enumerate(iterates(case, (METHODS | PRESETS)[name], max(wanted)), start=1):
        if t in wanted:
            scale = np.linalg.norm(wanted[t])
            np.testing.assert_allclose(
                found, wanted[t], rtol=1e-9, atol=1e-9 * scale, err_msg=f"iteration {t}"
            )
