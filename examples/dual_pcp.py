r"""
Images that are not the digit
=============================

A third of the images are not zeros. Dual principal component pursuit looks for the directions in which most samples
vanish, :math:`\min_V \sum_i \|g_i^\top V\|_2` subject to :math:`V^\top V = I`; a sample's distance to the subspace
then tells whether it belongs. A plain SVD is pulled towards the outliers.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import roc_auc_score

from ipds.models import DualPCP

digits = load_digits()
rng = np.random.default_rng(0)
inliers = digits.data[digits.target == 0]
others = digits.data[digits.target != 0]
others = others[rng.choice(len(others), len(inliers) // 2, False)]
X = np.vstack([inliers, others])
X = X[:, X.std(axis=0) > 0.5]  # pixels that are blank in (almost) all images are normals of everything
X = X / np.linalg.norm(X, axis=1, keepdims=True)
is_inlier = np.arange(len(X)) < len(inliers)
# %%
# The zeros lie near a subspace of dimension 8 among 60-odd pixels.
dimension = 8
model = DualPCP(n_codimensions=X.shape[1] - dimension).fit(X)
svd = TruncatedSVD(dimension, algorithm="arpack").fit(X)
distance = {
    "DualPCP": model.distances_,
    "TruncatedSVD": np.linalg.norm(X - svd.inverse_transform(svd.transform(X)), axis=1),
}
print(f"{len(X)} images of {X.shape[1]} pixels, one third not zeros: {model.result_.message}")
# %%
# The two groups by their distances.
figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), sharey=True, layout="constrained")
for axis, (name, d) in zip(axes, distance.items(), strict=True):
    area = roc_auc_score(~is_inlier, d)
    print(f"{name:13s} area under the ROC curve of the distance: {area:.4f}")
    axis.hist([d[is_inlier], d[~is_inlier]], bins=30, stacked=True, label=["zeros", "other digits"])
    axis.set_title(f"{name}: area under the curve {area:.3f}")
    axis.set_xlabel(f"distance to the subspace of dimension {dimension}")
axes[0].legend()
figure.savefig("dual_pcp.png", dpi=90, bbox_inches="tight")
print("figure: dual_pcp.png")
