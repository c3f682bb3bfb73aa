"""Methods: how a problem is solved."""

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
