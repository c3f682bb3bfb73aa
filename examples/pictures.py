r"""
Pictures of a solve
===================

What ``ipds.plot`` draws: the course of one solve, several methods side by side, and what was found of a sparse truth.
The problem is a regression under gross errors, :math:`\min_v \|Gv - y\|_1` subject to :math:`\|v\|_0 \leq 6`.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from ipds import Block, Problem, plot, solve
from ipds.functions import L1, Cardinality
from ipds.methods import IPDS, RADMM

rng = np.random.default_rng(0)
G, truth = rng.standard_normal((120, 60)), np.zeros(60)
truth[5::10] = [1.0, -1.0, 2.0, 0.5, -1.5, 1.0]
y = G @ truth + 0.1 * rng.standard_normal(120)
y[:24] += 20.0
problem = Problem(
    [Block(h=Cardinality(6), A=-G, shape=60, name="v"), Block(h=L1(1.0), shape=120, name="u")], b=-y
)
result = solve(problem)
print(result)

# %%
# One solve: the objective, the certificate with its parts and its target, and the penalty.
course = plot.summary(result)

# %%
# Several methods by any column of their histories, here the relative certificate; and the support that was found.
methods = {"IPDS": IPDS("practical"), "RADMM": RADMM("tuned")}
results = {"auto": result} | {name: solve(problem, method=method) for name, method in methods.items()}
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.6), layout="constrained")
plot.convergence(results, y="relative", ax=left).set_xscale("log")
plot.support(result.x[0], truth, ax=right)
figure.savefig("pictures.png", dpi=90, bbox_inches="tight")
print("figure: pictures.png")
