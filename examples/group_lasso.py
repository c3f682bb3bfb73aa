r"""
Overlapping groups select intervals
===================================

Windows of neighbouring features as groups, half overlapping:
:math:`\min_w \tfrac{1}{2m}\|Xw + t - y\|^2 + \alpha\sum_g \omega_g\|w_g\|_2`. What survives is a contiguous interval,
where the lasso picks single features.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Lasso

from ipds import plot
from ipds.models import OverlappingGroupLasso

rng = np.random.default_rng(0)
d, width = 80, 8
truth = np.zeros(d)
truth[20:36] = 1 + 0.3 * rng.standard_normal(16)
X = rng.standard_normal((50, d))
y = X @ truth + 0.5 * rng.standard_normal(50)
labels = np.where(X @ truth + 0.5 * rng.standard_normal(50) > 0, "up", "down")
# %%
# Windows of eight features, each shifted by four; the same groups for regression and for two classes.
groups = [list(range(i, i + width)) for i in range(0, d - width + 1, width // 2)]
fits = {
    "overlapping groups": OverlappingGroupLasso(groups, alpha=0.12).fit(X, y),
    "lasso": Lasso(alpha=0.15).fit(X, y),
    "overlapping groups, logistic": OverlappingGroupLasso(groups, alpha=0.03, loss="logistic").fit(X, labels),
}
# %%
# Circles are the truth.
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), sharey=True, layout="constrained")
for axis, (name, model) in zip(axes, fits.items(), strict=True):
    coefficients = model.coef_
    cosine = coefficients @ truth / np.linalg.norm(coefficients) / np.linalg.norm(truth)
    print(f"{name:30s} {np.count_nonzero(coefficients):3d} nonzeros, cosine with the truth {cosine:.3f}")
    plot.support(coefficients, truth, ax=axis)
    axis.set_title(f"{name}: cosine {cosine:.2f}", fontsize=9)
figure.savefig("group_lasso.png", dpi=90, bbox_inches="tight")
print("figure: group_lasso.png")
