r"""
Seven methods on one problem
============================

Sparse PCA of the digits of scikit-learn, :math:`\min_V -\|DV\|^2/(2m) + \alpha\|V\|_1` subject to
:math:`V^\top V = I`, stated by hand and solved from one start by the default method, by Algorithm 1 with practical and
with proved parameters, and by baselines. All are scored by one yardstick: the objective at a feasible point.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from ipds import Block, Problem, plot, solve
from ipds.functions import L1, PCAVariance, Stiefel
from ipds.methods import IPDS

# %%
# Two blocks and the equation -Y + V = 0: the variance and orthonormality on Y, the ℓ1 norm on V.
digits = load_digits().data / 16
shape = (digits.shape[1], 6)
problem = Problem(
    [
        Block(f=PCAVariance(digits, center=True), h=Stiefel(), A=-1.0, shape=shape, name="Y"),
        Block(h=L1(0.03), shape=shape, name="V"),
    ]
)
print(problem.check().summary())

# %%
# The same start, tolerance and time for everybody.
methods = {
    "auto": "auto",
    "IPDS practical": "ipds",
    "IPDS sound": IPDS("sound"),
    "Riemannian ALM": "rialm",
    "RADMM": "radmm",
    "SPGM": "spgm",
    "subgradient": "subgradient",
}
start = np.linalg.qr(np.random.default_rng(0).standard_normal(shape))[0]
results = {}
for name, method in methods.items():
    results[name] = solve(problem, [start, start], method=method, tol=1e-6, time_limit=4, max_iter=10**6)
    result = results[name]
    print(
        f"{name:15s} objective {result.fun:.6f}  relative certificate {result.certificate.relative:.1e}  "
        f"{result.seconds:.2f} s  {result.status.name}"
    )

# %%
# Left, the distance to the lowest objective any of them found; right, the components behind that objective.
best = min(results.values(), key=lambda r: r.fun)
figure = plt.figure(figsize=(11, 3.6), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[1.5, 1])
axis = plot.convergence(results, ax=left.subplots())
axis.set(xscale="log", ylim=(5e-8, 3))
components = best.x[1].T.reshape(-1, 8, 8)
for picture, loadings in zip(right.subplots(2, 3).flat, components, strict=True):
    top = np.abs(loadings).max()
    picture.imshow(loadings, cmap="RdBu_r", vmin=-top, vmax=top)
    picture.set(xticks=[], yticks=[])
right.suptitle(
    f"components: {np.count_nonzero(components)} of {components.size} loadings nonzero", fontsize=9
)
figure.savefig("methods.png", dpi=90, bbox_inches="tight")
print("figure: methods.png")
