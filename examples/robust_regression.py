r"""
Regression with ruined targets
==============================

A fifth of the targets is off by far, and only 8 of 100 features matter:
:math:`\min_{v,t} \|Gv + t - y\|_1` subject to :math:`\|v\|_0 \le s`.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import HuberRegressor, LassoCV

from ipds import plot
from ipds.models import RobustSparseRegressor

rng = np.random.default_rng(0)
m, d, s = 200, 100, 8
X, v = rng.standard_normal((m, d)), np.zeros(d)
v[rng.choice(d, s, False)] = rng.choice([-1, 1], s) * (0.5 + np.abs(rng.standard_normal(s)))
y = X @ v + 0.05 * rng.standard_normal(m)
ruined = rng.choice(m, m // 5, False)
y[ruined] += 30 * rng.standard_normal(len(ruined))

# %%
# The number of coefficients is found too, by an information criterion on the inliers.
model = RobustSparseRegressor().fit(X, y)
print(f"sparsity {model.sparsity_}, support right: {set(model.support_) == set(np.flatnonzero(v))}")
print(
    f"outliers found: {len(np.intersect1d(model.outliers_, ruined))} of {len(ruined)}, {model.result_.message}"
)
# %%
# Beside two estimators of scikit-learn: one robust but not sparse, one sparse but not robust.
fits = {
    "RobustSparseRegressor": model,
    "HuberRegressor": HuberRegressor(max_iter=1000).fit(X, y),
    "LassoCV": LassoCV().fit(X, y),
}
figure, axes = plt.subplots(2, 2, figsize=(10.5, 6.4), layout="constrained")
for axis, (name, fit) in zip(axes.flat, fits.items(), strict=False):
    error = np.linalg.norm(fit.coef_ - v) / np.linalg.norm(v)
    print(f"{name:22s} relative error {error:.4f}")
    plot.support(fit.coef_, v, ax=axis)
    axis.set_title(f"{name}: error {error:.3f}", fontsize=9)
chosen = model.selection_
last = axes[1, 1]
last.plot(list(chosen), list(chosen.values()), "o-", ms=3)
last.axvline(model.sparsity_, color="r", lw=0.8, label=f"chosen: {model.sparsity_}")
last.set_title("extended BIC of the inliers", fontsize=9)
last.set_xlabel("number of coefficients")
last.legend(frameon=False)
figure.savefig("robust_regression.png", dpi=90, bbox_inches="tight")
print("figure: robust_regression.png")
