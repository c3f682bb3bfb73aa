"""Methods: how a problem is solved.

`base` says what a method is: `setup, carry = init(problem, x0, z0)`, then `carry, state = step(setup, carry)` again
and again. `ipds` is Algorithm 1 of the paper (with `schedules` and `practical`), `accelerated` the first-order
engine, `newton` second-order steps for convex problems, `faces` those for nonconvex ones, `baselines` what to compare
with. `choosing` says which of them `auto` takes; `reweighted` and `selections` serve sums of norms over orthonormal
columns, `either_sign` and `reordered` wrap other methods.
"""

from __future__ import annotations

from ..theory.state import State
from .accelerated import AcceleratedIPDS
from .base import Method
from .baselines.fixed_penalty import FixedPenaltyADMM
from .baselines.manpg import ManPG
from .baselines.radmm import RADMM
from .baselines.rialm import RiemannianALM
from .baselines.spgm import SPGM
from .baselines.subgradient import Subgradient
from .choosing import candidates, named
from .ipds import IPDS
from .newton import NewtonALM

__all__ = [
    "IPDS",
    "RADMM",
    "SPGM",
    "AcceleratedIPDS",
    "FixedPenaltyADMM",
    "ManPG",
    "Method",
    "NewtonALM",
    "RiemannianALM",
    "State",
    "Subgradient",
    "candidates",
    "named",
]
