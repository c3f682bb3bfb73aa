"""Problems as modellers write them: what the zoo solves and checks."""

from .bent import STATEMENTS as BENT
from .blocks import STATEMENTS as BLOCKS
from .cones import STATEMENTS as CONES
from .counted import STATEMENTS as COUNTED
from .far import STATEMENTS as FAR
from .fits import STATEMENTS as FITS
from .matrices import STATEMENTS as MATRICES
from .mixed import STATEMENTS as MIXED
from .nonconvex import STATEMENTS as NONCONVEX
from .ordinary import STATEMENTS as ORDINARY
from .pieces import STATEMENTS as PIECES
from .programs import STATEMENTS as PROGRAMS
from .regression import STATEMENTS as REGRESSION
from .shares import STATEMENTS as SHARES
from .signals import STATEMENTS as SIGNALS
from .statement import Answer, Data, Statement, least
from .steps import STATEMENTS as STEPS

ALL: list[Statement] = [
    *REGRESSION,
    *FITS,
    *SIGNALS,
    *PROGRAMS,
    *SHARES,
    *MATRICES,
    *ORDINARY,
    *CONES,
    *BLOCKS,
    *MIXED,
    *STEPS,
    *FAR,
    *NONCONVEX,
    *COUNTED,
    *BENT,
    *PIECES,
]

__all__ = ["ALL", "Answer", "Data", "Statement", "least"]
