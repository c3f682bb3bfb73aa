r"""
Four of thirty measurements
===========================

Which four of thirty measurements best tell malignant from benign tumours? A logistic regression with at most four
coefficients: :math:`\min_w \sum_i \log(1 + e^{-y_i x_i^\top w}) + \tfrac12\|w\|^2` subject to :math:`\|w\|_0 \le 4`.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from ipds import Variable, minimize, solve
from ipds.functions import Cardinality
from ipds.modelling import logistic, sum_squares

data = load_breast_cancer()
X, y = (data.data - data.data.mean(0)) / data.data.std(0), 2.0 * data.target - 1.0
# %%
# The model is one line; the answer comes with a certificate.
w = Variable(30, name="w")
result = solve(minimize(logistic(-y * (X @ w)) + 0.5 * sum_squares(w) + Cardinality(4)(w)))
print(result)
# %%
# What was chosen, and how well it separates.
weights, score = result.value(w), result.value(X @ w)
chosen = np.flatnonzero(weights)
right = np.mean(np.sign(score) == y)
figure, (left, middle) = plt.subplots(1, 2, figsize=(10, 3), layout="constrained", width_ratios=[1, 1.4])
left.barh([data.feature_names[j] for j in chosen], weights[chosen], color="#4477aa")
left.axvline(0.0, color="grey", linewidth=0.8)
left.set_title("weights of the four chosen")
for label, name, colour in ((-1, "malignant", "#cc6677"), (1, "benign", "#4477aa")):
    middle.hist(score[y == label], bins=40, range=(-12, 12), alpha=0.75, label=name, color=colour)
middle.set(title=f"{right:.1%} on the right side of 0", xlabel="score", ylabel="tumours")
middle.axvline(0.0, color="grey", linewidth=0.8)
middle.legend()
figure.savefig("four_measurements.png", dpi=90, bbox_inches="tight")
print("figure: four_measurements.png")
