r"""
Sparse PCA of handwritten digits
================================

Principal components of images use every pixel. With an ℓ1 penalty on the loadings they become strokes, and stay
orthonormal: :math:`\min_V -\|DV\|^2/(2m) + \alpha\|V\|_1` subject to :math:`V^\top V = I`.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from ipds import plot
from ipds.models import SparsePCA

X, shape = load_digits().data / 16, (8, 8)
# %%
# The weight ``alpha`` lies between 0 (plain PCA) and ``SparsePCA.alpha_max(X)`` (single pixels).
rows = {
    "PCA": PCA(8).fit(X),
    "SparsePCA": SparsePCA(8, alpha=0.03).fit(X),
}
# %%
# Explained variance is adjusted for the correlation of the scores, so that both rows can be compared.
titles = []
for name, model in rows.items():
    ratio = model.explained_variance_ratio_.sum()
    nonzeros = np.count_nonzero(np.abs(model.components_) > 0, axis=1)
    print(f"{name:22s} explains {ratio:.1%}, nonzeros per component {nonzeros}")
    titles += [f"{name}: {count} pixels" for count in nonzeros]
components = np.vstack([model.components_ for model in rows.values()])
figure = plot.images(components, shape, titles=titles, columns=8)
figure.savefig("sparse_pca.png", dpi=90, bbox_inches="tight")
print("figure: sparse_pca.png")
