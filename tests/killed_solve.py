"""A solve that saves itself at every check, to be killed from outside: `python killed_solve.py CASE PATH OUT`.

OUT gets the answer once the solve is finished: iterations, history and the bytes of every block.
"""

import hashlib
import os
import sys

import numpy as np

import problems
from ipds import Checkpoint, Result, solve
from ipds.methods import IPDS, AcceleratedIPDS

CASES = {
    "accelerated": (problems.sparse_pca, {"d": 60, "r": 4}, AcceleratedIPDS("thorough")),
    "sound": (problems.five_blocks, {}, IPDS("sound")),
    "auto": (problems.robust_regression, {"m": 120, "d": 60}, "auto"),
}


def answer(result: Result) -> str:
    """Everything but the seconds, as one line."""
    mark = hashlib.sha256()
    for array in (
        *result.x,
        result.z,
        *(result.history[name] for name in result.history if name != "seconds"),
    ):
        mark.update(np.ascontiguousarray(array).tobytes())
    return f"{result.method} {result.status.name} {result.nit} {result.fun!r} {mark.hexdigest()}"


def begin(case: str, path: str | None) -> Result:
    make, size, method = CASES[case]
    saved = None if path is None else Checkpoint(path, every=0.0)
    return solve(
        make(**size), method=method, seed=0, tol=1e-14, max_iter=1500, check_every=5, checkpoint=saved
    )


if __name__ == "__main__":
    case, path, out = sys.argv[1:]
    line = answer(begin(case, path))
    with open(f"{out}.part", "w") as file:
        file.write(line)
    os.replace(f"{out}.part", out)  # whole or not at all: a kill may come between the two
