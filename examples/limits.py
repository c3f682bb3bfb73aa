r"""
How much may be ruined
======================

A certificate says that a point is critical, not that it is the truth. Here the truth is known, and the data are made
worse step by step: the share of five draws in which each model finds the truth, beside the share that ends certified.
Where the first falls and the second does not, the data no longer determine the truth, or the start was too far from it.
"""

from __future__ import annotations

import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from ipds import plot
from ipds.models import DualPCP, RobustLowRank, RobustSparseRegressor, SparsePhaseRetrieval

warnings.simplefilter("ignore")  # a fit without a certificate warns: here it is counted
draws = 5
# %%
# Each task draws its data and returns whether the model found the truth, and whether it ended certified.


def regression(rng, share):
    """Five of 60 coefficients from 150 samples, a share of them with errors of size 30."""
    X, v = rng.standard_normal((150, 60)), np.zeros(60)
    v[rng.choice(60, 5, False)] = rng.choice([-1, 1], 5) * (0.5 + np.abs(rng.standard_normal(5)))
    y = X @ v + 0.05 * rng.standard_normal(150)
    y += 30 * rng.standard_normal(150) * (rng.permutation(150) < share * 150)
    model = RobustSparseRegressor(sparsity=5).fit(X, y)
    return set(model.support_) == set(np.flatnonzero(v)), model.result_.success


def low_rank(rng, share):
    """A 40 x 40 matrix of rank 2, a share of its entries with errors of size 10."""
    L = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 40))
    model = RobustLowRank(rank=2, max_iter=1000).fit(
        L + 10 * rng.standard_normal(L.shape) * (rng.random(L.shape) < share)
    )
    return np.linalg.norm(model.low_rank_ - L) < 0.01 * np.linalg.norm(L), model.result_.success


def subspace(rng, share):
    """150 samples in a subspace of 13 of 15 dimensions, and outliers off it."""
    basis = np.linalg.qr(rng.standard_normal((15, 13)))[0]
    outliers = rng.standard_normal((int(150 * share / (1 - share)), 15))
    model = DualPCP(n_codimensions=2).fit(np.vstack([rng.standard_normal((150, 13)) @ basis.T, outliers]))
    return np.linalg.norm(model.normals_ @ basis) < 1e-3, model.result_.success


def phase(rng, ratio):
    """Four of 30 coefficients from squared measurements, so many per unknown."""
    G, v = rng.standard_normal((int(30 * ratio), 30)), np.zeros(30)
    v[rng.choice(30, 4, False)] = rng.choice([-1, 1], 4) * (0.5 + rng.random(4))
    model = SparsePhaseRetrieval(alpha=0.002).fit(G, (G @ v) ** 2)
    error = min(np.linalg.norm(model.coef_ - sign * v) for sign in (-1, 1))
    return error < 0.05 * np.linalg.norm(v), model.result_.success


# %%
# Four tasks, each from easy to hopeless.
tasks = {
    "RobustSparseRegressor": (regression, "share of ruined targets", (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)),
    "RobustLowRank": (low_rank, "share of ruined entries", (0.2, 0.3, 0.4, 0.5)),
    "DualPCP": (subspace, "share of outliers", (0.5, 0.6, 0.7, 0.8, 0.9)),
    "SparsePhaseRetrieval": (phase, "measurements per unknown", (5.0, 4.0, 3.0, 2.0, 1.5, 1.0)),
}
figure, axes = plt.subplots(2, 2, figsize=(10.5, 6), sharey=True, layout="constrained")
for axis, (name, (task, label, levels)) in zip(axes.flat, tasks.items(), strict=True):
    found = np.array(
        [
            np.mean([task(np.random.default_rng(seed), level) for seed in range(draws)], axis=0)
            for level in levels
        ]
    )
    for k, what in enumerate(("truth found", "certified")):
        axis.plot(levels, found[:, k], "o" + plot.STYLES[k], color=plot.COLOURS[k], label=what)
    rates = ", ".join(f"{level:g} {share:.0%}" for level, share in zip(levels, found[:, 0], strict=True))
    print(f"{name}, {label}, truth found: {rates}")
    axis.set(title=name, xlabel=label, ylim=(-0.05, 1.05))
    if levels[0] > levels[-1]:
        axis.invert_xaxis()  # the hard side is on the right
axes[0, 0].legend()
figure.savefig("limits.png", dpi=90, bbox_inches="tight")
print("figure: limits.png")
