"""Every method with what its theorem asks: Table 1 of the paper, and more, as data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .facts import (
    Facts,
    convex_smooth,
    has_reach,
    is_scaled_identity,
    is_stiefel,
    is_zero,
    prox_regular,
    weakly_convex,
)


class Requirement(NamedTuple):
    """An assumption and its test."""

    text: str
    holds: Callable[[Facts], bool]


class Theorem(NamedTuple):
    """A method's convergence theorem."""

    name: str
    reference: str
    needs: tuple[Requirement, ...]
    complexity: str
    """Iterations to an ε-critical point."""
    sigma: tuple[float, float] | None = None
    """Dual steps allowed: [1, 1], or the interval (low, high), closed on the side that is 1."""
    note: str = ""
    proved: bool = True
    """False: no theorem; the certificate is all there is."""

    def missing(self, facts: Facts) -> tuple[str, ...]:
        """The assumptions that do not hold."""
        return tuple(need.text for need in self.needs if not need.holds(facts))


def _smooth_before(facts: Facts) -> bool:
    return all(f is None for f in facts.f[:-1])


def _lipschitz_eliminated(facts: Facts) -> bool:
    block = facts.eliminated
    return block is not None and math.isfinite(block.h.lipschitz(block.shape))


def _gradients_reduced(facts: Facts) -> bool:
    whole = all(f is None or f.domain is None for f in facts.f)
    return GRADIENTS.holds(facts) or (facts.bounded and whole)


def _gentle_manifolds(facts: Facts) -> bool:
    """Whether the manifolds of a reduced problem have a reach, and its gradient along them a bound."""
    manifolds = [block.h for block in facts.remaining if block.h.is_manifold]
    moved = facts.eliminated is not None and facts.eliminated.f is not None
    return all(map(has_reach, manifolds)) and (facts.bounded or not (manifolds and moved))


def _bounded_last(facts: Facts) -> bool:
    return math.isfinite(facts.last.h.lipschitz(facts.last.shape))


TWO = Requirement("n = 2", lambda p: p.n == 2)
THREE = Requirement("n = 3", lambda p: p.n == 3)
SEVERAL = Requirement("n ≥ 2", lambda p: p.n >= 2)
GRADIENTS = Requirement("∇f_i Lipschitz", lambda p: all(f is None or f.lipschitz is not None for f in p.f))
CONVEX = Requirement(
    "f_i, h_i convex", lambda p: all(map(convex_smooth, p.f)) and all(h.is_convex for h in p.h)
)
CONVEX_SMOOTH_LAST = Requirement("f_n convex", lambda p: convex_smooth(p.f[-1]))
FIRST_CONVEX = Requirement("h_1 convex", lambda p: p.h[0].is_convex)
NO_F_BEFORE = Requirement("f_i = 0 for i < n", _smooth_before)
NO_H_BEFORE = Requirement("h_i = 0 for i < n", lambda p: all(map(is_zero, p.h[:-1])))
H_BEFORE_CONVEX = Requirement("h_i convex for i < n", lambda p: all(h.is_convex for h in p.h[:-1]))
H_BEFORE_REGULAR = Requirement("h_i prox-regular for i < n", lambda p: all(map(prox_regular, p.h[:-1])))
LAST_SMOOTH = Requirement("h_n = 0", lambda p: is_zero(p.h[-1]))
LAST_CONVEX = Requirement("h_n convex", lambda p: p.h[-1].is_convex)
LAST_LIPSCHITZ = Requirement("h_n Lipschitz", _bounded_last)
FEASIBLE = Requirement("b in the image of A", lambda p: p.feasible)
IDENTITY = Requirement("A_n = c·I", lambda p: is_scaled_identity(p.problem.operators[-1]))
SU = Requirement("A_n surjective", lambda p: p.surjective)
BI = Requirement("A_n bijective", lambda p: p.square and p.surjective)
BI_OR_SU = Requirement("A_n bijective or surjective", lambda p: p.surjective)
NOT_BI = Requirement(
    "A_n surjective, not bijective with κ < 2", lambda p: p.surjective and not (p.square and p.kappa < 2)
)
IN = Requirement("A_n injective", lambda p: p.injective)
IM = Requirement("Im A_i in Im A_n", lambda p: p.images_included)
ELIMINABLE = Requirement("a block with A = c·I or an isometry, h convex", lambda p: p.eliminated is not None)
LIPSCHITZ_ELIMINATED = Requirement(
    "its h Lipschitz (else it may end as PENALTY_CEILING)", _lipschitz_eliminated
)
GENTLE_MANIFOLDS = Requirement("no manifolds but Stiefel and spheres, forces bounded", _gentle_manifolds)
GRADIENTS_REDUCED = Requirement("∇f_i Lipschitz or other blocks bounded", _gradients_reduced)
FLOOR_REDUCED = Requirement(
    "objective bounded below or other blocks bounded", lambda p: p.bounded or p.has_floor
)
SOLVABLE = Requirement("a block with A = c·I, h convex Lipschitz", lambda p: p.solvable is not None)
OTHERS_ZERO = Requirement("other h_i = 0", lambda p: all(map(is_zero, p.others)))
OTHERS_SMOOTH_SETS = Requirement(
    "other h_i convex or Stiefel", lambda p: all(h.is_convex or is_stiefel(h) for h in p.others)
)
OTHERS_MANIFOLD = Requirement("other h_i manifolds", lambda p: all(h.is_manifold for h in p.others))
OTHERS_STIEFEL = Requirement("other h_i Stiefel", lambda p: all(map(is_stiefel, p.others)))
ALL_IDENTITY = Requirement("A_i = c_i·I", lambda p: all(map(is_scaled_identity, p.problem.operators)))

FLOOR = Requirement("objective bounded below", lambda p: p.has_floor)

TABLE_1 = (SEVERAL, GRADIENTS, LAST_CONVEX, LAST_LIPSCHITZ, FLOOR)

GOLDEN = (1 + math.sqrt(5)) / 2
"""Yang, Pong & Chen allow every dual step below the golden ratio; Table 1 of the paper prints [1, 2)."""

LINEARISED = "its theorem minimises every block exactly; linearised here"
UNVERIFIED = (
    "σ as in Table 1 of Yuan (2025); the source over-relaxes the dual step, by how much was not at hand"
)
NOTES = {
    **dict.fromkeys(("he-yuan-2012", "li-pong-2015", "yang-2017", "wang-2019"), LINEARISED),
    "yashtini-2020": UNVERIFIED,
    "yashtini-2021": f"{LINEARISED}; {UNVERIFIED}",
}
"""Where this package or the table it follows differs from a preset's source."""

PRESETS = {
    key: Theorem(f"FixedPenaltyADMM({key!r})", reference, needs, "O(ε⁻²)", sigma, NOTES.get(key, ""))
    for key, reference, needs, sigma in (
        ("he-yuan-2012", "He & Yuan, SINUM 50 (2012)", (TWO, GRADIENTS, CONVEX, FEASIBLE), (1, 1)),
        (
            "li-pong-2015",
            "Li & Pong, SIOPT 25 (2015)",
            (TWO, GRADIENTS, NO_F_BEFORE, LAST_SMOOTH, SU),
            (1, 1),
        ),
        (
            "yang-2017",
            "Yang, Pong & Chen, SIIMS 10 (2017)",
            (THREE, GRADIENTS, NO_F_BEFORE, FIRST_CONVEX, CONVEX_SMOOTH_LAST, LAST_SMOOTH, IDENTITY),
            (0, GOLDEN),
        ),
        (
            "yashtini-2020",
            "Yashtini, J. Glob. Optim. 84 (2022), arXiv:2009.05361",
            (TWO, GRADIENTS, LAST_SMOOTH, BI),
            (0, 1),
        ),
        (
            "yashtini-2021",
            "Yashtini, JOTA 190 (2021)",
            (SEVERAL, GRADIENTS, NO_H_BEFORE, LAST_SMOOTH, BI, IM),
            (0, 1),
        ),
        (
            "wang-2019",
            "Wang, Yin & Zeng, JSC 78 (2019)",
            (SEVERAL, GRADIENTS, H_BEFORE_REGULAR, LAST_SMOOTH, IN, IM),
            (1, 1),
        ),
        (
            "bot-2020",
            "Boţ & Nguyen, MOR 45 (2020)",
            (TWO, GRADIENTS, NO_F_BEFORE, LAST_SMOOTH, IDENTITY),
            (1, 2),
        ),
        (
            "bot-2019",
            "Boţ, Csetnek & Nguyen, SIOPT 29 (2019)",
            (TWO, GRADIENTS, NO_F_BEFORE, LAST_SMOOTH, SU),
            (0, 1),
        ),
        (
            "huang-2019",
            "Huang, Chen & Huang, ICML (2019)",
            (SEVERAL, GRADIENTS, NO_F_BEFORE, H_BEFORE_CONVEX, LAST_SMOOTH, BI),
            (1, 1),
        ),
    )
}
"""The fixed-penalty relatives of the paper's Table 1: which f and h may be there, the condition on A_n, and σ."""

THEOREMS = (
    Theorem("IPDS('sound')", "Yuan, ICLR (2025), corrected", (*TABLE_1, BI_OR_SU), "O(ε⁻³)"),
    Theorem(
        "IPDS('paper')",
        "Yuan, ICLR (2025)",
        (*TABLE_1, NOT_BI),
        "O(ε⁻³)",
        note="diverges where A_n is bijective",
    ),
    Theorem("IPDS('practical')", "this package", (SEVERAL, LAST_CONVEX), "none", proved=False),
    Theorem(
        "AcceleratedIPDS()",
        "this package; on manifolds close to Xu, Jiang, Liu & So, arXiv:2410.00482 (2024)",
        (ELIMINABLE, LIPSCHITZ_ELIMINATED, GRADIENTS_REDUCED, GENTLE_MANIFOLDS, FLOOR_REDUCED),
        "limit",
        note="to any ε; where β reaches its ceiling of 1e9 β⁰, to 2C_h/β of the equation",
    ),
    Theorem(
        "NewtonALM()",
        "Rockafellar, Math. Oper. Res. 1 (1976); Mehrotra, SIAM J. Optim. 2 (1992)",
        (SEVERAL, CONVEX, IDENTITY),
        "none",
        note="Rockafellar's asks for errors that can be summed and a penalty that comes to rest; interior-point steps "
        "with Mehrotra's corrector have none",
        proved=False,
    ),
    Theorem(
        "RADMM()",
        "Li, Ma & Srivastava (2022)",
        (TWO, GRADIENTS, SOLVABLE, OTHERS_MANIFOLD),
        "O(ε⁻⁴)",
        (1, 1),
        "β, γ, η tied to ε",
    ),
    Theorem("SPGM()", "Böhm & Wright, JOTA 188 (2021)", (GRADIENTS, SOLVABLE, OTHERS_ZERO), "O(ε⁻³)"),
    Theorem(
        "Subgradient(decay='diminishing')",
        "Li et al., SIOPT 31 (2021); Davis & Drusvyatskiy, SIOPT 29 (2019)",
        (GRADIENTS, SOLVABLE, OTHERS_SMOOTH_SETS),
        "O(ε⁻⁴)",
    ),
    Theorem(
        "RiemannianALM()",
        "Deng & Peng, IMA J. Numer. Anal. 43 (2023)",
        (GRADIENTS, SOLVABLE, OTHERS_MANIFOLD),
        "limit",
        note="its theorem solves every subproblem to a tolerance and lets β grow without end; this one does neither",
        proved=False,
    ),
    Theorem(
        "ManPG()",
        "Chen, Ma, So & Zhang, SIOPT 30 (2020)",
        (TWO, GRADIENTS, SOLVABLE, OTHERS_STIEFEL, ALL_IDENTITY),
        "O(ε⁻²)",
    ),
    *PRESETS.values(),
)

WEAKLY_CONVEX = Requirement("h_i weakly convex", lambda p: all(map(weakly_convex, p.h)))

RELATIVES = (
    Theorem(
        "ARADMM",
        "Deng, Jin, Hu & Wang, arXiv:2510.18617 (2025)",
        (TWO, GRADIENTS, SOLVABLE, OTHERS_MANIFOLD),
        "O(ε⁻³)",
        note="Riemannian steps without smoothing, a dual step that shrinks",
    ),
    Theorem(
        "PPG-ADMM",
        "Zhou, Shi, Guo, Cao & Abdel-Aty, arXiv:2504.12759 (2025)",
        (TWO, GRADIENTS, WEAKLY_CONVEX),
        "O(ε⁻²)",
        note="a perturbed multiplier in the place of any condition on A_n and of a smooth last block",
    ),
)
"""Methods that are not in this package and whose theorems may apply where none of ours does; by their abstracts."""
