r"""
Models in one line
==================

Four objectives as ``minimize`` takes them, and what they find: a regression under gross errors with few
coefficients, the steps of a noisy signal, a noisy picture, and a path of solutions in which every solve goes on from
the one before.
"""

from __future__ import annotations

import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from ipds import Variable, minimize, solve
from ipds.functions import L1, Cardinality
from ipds.modelling import norm1, sum_squares, total_variation

rng = np.random.default_rng(0)
# %%
# One measurement in five is wrong by far; six coefficients count.
G, truth = rng.standard_normal((120, 60)), np.zeros(60)
truth[5::10] = [1.0, -1.0, 2.0, 0.5, -1.5, 1.0]
y = G @ truth + 0.1 * rng.standard_normal(120)
y[:24] += 20.0
x = Variable(60, name="x")
robust = solve(minimize(L1(1.0)(G @ x - y) + Cardinality(6)(x)))
print(robust)

# %%
# Steps, with squares and with absolute values as the loss: those are not moved by outliers.
steps = np.repeat([0.0, 2.0, 1.2, -1.0, 0.5], [60, 30, 50, 40, 70])
noisy = steps + 0.3 * rng.standard_normal(len(steps))
noisy[rng.integers(len(steps), size=15)] += 4.0
s = Variable(len(steps), name="s")
squares = solve(minimize(0.5 * sum_squares(s - noisy) + 2.0 * total_variation(s)))
absolute = solve(minimize(norm1(s - noisy) + 3.0 * total_variation(s)))
print(f"steps: {squares.message}; {absolute.message}")

# %%
# A picture with values between 0 and 1.
picture = np.zeros((48, 48))
picture[8:30, 10:24], picture[20:42, 28:40] = 1.0, 0.5
seen = picture + 0.25 * rng.standard_normal(picture.shape)
X = Variable(picture.shape, name="X")
flat = solve(minimize(0.5 * sum_squares(X - seen) + 0.35 * total_variation(X), [X >= 0, X <= 1]))
print(f"picture: {flat.message}")

# %%
# A path of 50 weights: what stays the same is written once, and every solve goes on from the last.
fit, result, path = 0.5 * sum_squares(G @ x - y), None, []
weights = np.geomspace(0.8, 0.01, 50) * np.abs(G.T @ y).max()
begun = time.perf_counter()
for weight in weights:
    result = minimize(fit + weight * norm1(x)).solve(warm_start=result)
    path.append(result.value(x))
print(f"path: 50 solves in {time.perf_counter() - begun:.2f} s")

# %%
# All four.
figure, ((few_ax, steps_ax), (picture_ax, paths_ax)) = plt.subplots(
    2, 2, figsize=(10, 6.5), layout="constrained"
)
few_ax.plot(truth, "ko", ms=5, mfc="none", label="truth")
few_ax.plot(robust.value(x), "r.", label="found")
few_ax.set_title("L1(1.0)(G @ x - y) + Cardinality(6)(x)")
few_ax.legend(fontsize=9)
steps_ax.plot(noisy, ".", ms=3, color="0.7")
steps_ax.plot(squares.value(s), "C0", lw=1, label="0.5 * sum_squares(s - y)")
steps_ax.plot(absolute.value(s), "r", lw=1, label="norm1(s - y)")
steps_ax.set_title("... + total_variation(s)")
steps_ax.legend(fontsize=9)
picture_ax.imshow(np.hstack([seen, flat.value(X)]), cmap="gray", vmin=0, vmax=1)
picture_ax.set_axis_off()
picture_ax.set_title("total_variation(X), [X >= 0, X <= 1]")
paths_ax.semilogx(weights, path, lw=1)
paths_ax.set_title("path of a lasso, warm-started")
paths_ax.set_xlabel("weight")
figure.savefig("modelling.png", dpi=90, bbox_inches="tight")
print("figure: modelling.png")
