r"""
Trends with bends, calm here and lively there
=============================================

A piecewise polynomial with few knots: :math:`\min_x \tfrac12\|y - x\|^2 + \alpha\|D^{k+1}x\|_1`. With order 1 the trend
is a broken line, whose bends are found; higher orders follow curves. Unlike a spline or a moving average, the fit is as
smooth as the signal allows from place to place.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from ipds.models import TrendFilter

rng = np.random.default_rng(0)
# %%
# A signal that is calm on the left and lively on the right, at unequally spaced positions.
t = np.sort(rng.random(400))
truth = np.sin(20 * t**3) + (t > 0.3) * (t - 0.3)
y = truth + 0.25 * rng.standard_normal(len(t))

# %%
# The Bayesian criterion chooses alpha; the order is the user's.
fits = {k: TrendFilter(order=k).fit(t, y) for k in (0, 1, 3)}
for k, model in fits.items():
    error = np.sqrt(np.mean((model.trend_ - truth) ** 2))
    print(f"order {k}: error {error:.3f} (noise 0.25), {len(model.knots_)} knots, {model.result_.message}")

# %%
# Every fit with its knots; between samples and beyond the ends, `predict` goes on with the polynomial at hand.
line = np.linspace(0, 1, 1000)
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3), sharey=True, layout="constrained")
for axis, (k, model) in zip(axes, fits.items(), strict=True):
    axis.plot(t, y, ".", ms=2, color="0.7")
    axis.plot(t, truth, "k", lw=1, label="truth")
    axis.plot(line, model.predict(line), "r", lw=1.2, label="trend")
    axis.plot(model.knots_, model.predict(model.knots_), "bo", ms=3, mfc="none", label="knots")
    axis.set_title(f"order {k}, {len(model.knots_)} knots", fontsize=9)
axes[0].legend(fontsize=8)
figure.savefig("trend_filter.png", dpi=90, bbox_inches="tight")
print("figure: trend_filter.png")
