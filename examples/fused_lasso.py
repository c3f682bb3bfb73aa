r"""
Fused lasso on a chain and on a grid
====================================

Coefficients that are equal along most edges of a graph:
:math:`\min_w \tfrac{1}{2m}\|Xw - y\|^2 + \alpha\sum_{(i,j)} |w_i - w_j|`. On a chain this finds the levels of a noisy
signal, on a grid the flat regions of a picture.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from ipds.models import FusedLasso

rng = np.random.default_rng(0)
# %%
# A signal with five levels. The samples are the coefficients themselves: X is the identity.
levels = np.repeat([0.0, 2.0, 1.2, -1.0, 0.5], [120, 60, 100, 80, 140])
n = len(levels)
y = levels + 0.4 * rng.standard_normal(n)
signal = FusedLasso(alpha=4.0 / n, fit_intercept=False).fit(sp.eye_array(n, format="csr"), y)
error = np.sqrt(np.mean((signal.coef_ - levels) ** 2))
print(
    f"signal: error {error:.3f} (noise 0.4), {signal.segments_.max() + 1} segments, {signal.result_.message}"
)

# %%
# A picture of coefficients seen through fewer random measurements than it has pixels.
side = 12  # a picture of coefficients; its pixels are the nodes of a grid
truth = np.zeros((side, side))
truth[2:6, 3:9], truth[8:11, 1:5] = 1.0, -1.0
nodes = np.arange(side * side).reshape(side, side)
across, down = (nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:])
edges = np.vstack([np.stack([i.ravel(), j.ravel()], axis=1) for i, j in (across, down)])
X = rng.standard_normal((120, side * side))  # fewer samples than coefficients
target = X @ truth.ravel() + 0.2 * rng.standard_normal(120)
graph = FusedLasso(alpha=0.02, edges=edges).fit(X, target)
found = graph.coef_.reshape(side, side)
error = np.linalg.norm(found - truth) / np.linalg.norm(truth)
print(f"graph: relative error {error:.3f}, 144 coefficients from 120 samples, {graph.result_.message}")

# %%
# Both estimates.
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3), width_ratios=[2, 1, 1], layout="constrained")
axes[0].plot(y, ".", ms=2, color="0.7")
axes[0].plot(levels, "k", lw=1, label="truth")
axes[0].plot(signal.coef_, "r", lw=1, label="fused lasso")
axes[0].legend()
axes[0].set_title("signal, its levels and the estimate", fontsize=9)
for axis, name, picture in zip(
    axes[1:], ("coefficients", "estimate from 120 samples"), (truth, found), strict=True
):
    axis.imshow(picture, cmap="RdBu_r", vmin=-1, vmax=1)
    axis.set_title(name, fontsize=9)
figure.savefig("fused_lasso.png", dpi=90, bbox_inches="tight")
print("figure: fused_lasso.png")
