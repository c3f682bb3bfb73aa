r"""
Sparse PCA of handwritten digits
================================

Principal components of images use every pixel. With an ℓ1 penalty on the loadings they become strokes, and stay
orthonormal: :math:`\min_V -\|DV\|^2/(2m) + \alpha\|V\|_1` subject to :math:`V^\top V = I`.
"""

from __future__ import annotations

import time

import matplotlib

matplotlib.use("Agg")
import numpy as np
import scipy.io
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer

from ipds import plot
from ipds.models import SparsePCA
from shared import arguments, find, mnist, save, verdict

args = arguments(__doc__)
X, shape = mnist(args.data, 2000)
# %%
# The weight ``alpha`` lies between 0 (plain PCA) and ``SparsePCA.alpha_max(X)`` (single pixels).
rows = {
    "PCA": PCA(8).fit(X),
    "SparsePCA": SparsePCA(8, alpha=0.1 if shape == (28, 28) else 0.03).fit(X),
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
save(figure, args, "sparse_pca")

# %%
# Given a folder with TDT2 (``--data``), the same model on news text as a sparse matrix of 36771 words.
path = find(args.data, "TDT2.mat", "the news text is left out")
if path is not None:
    text = scipy.io.loadmat(path)
    topics = text["gnd"].ravel()
    words = sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(sp.csr_array(text["fea"])))
    start = time.perf_counter()
    model = SparsePCA(5, alpha=4e-4).fit(words)
    print(f"TDT2 {words.shape}, never made dense: {time.perf_counter() - start:.1f} s, {verdict(model)}")
    scores = model.transform(words)
    for k, component in enumerate(model.components_):
        used = np.flatnonzero(component)
        used = used[np.argsort(-np.abs(component[used]))]
        labels, counts = np.unique(topics[np.argsort(-scores[:, k])[:200]], return_counts=True)
        loadings = " ".join(f"word {j} {component[j]:+.2f}" for j in used[:8])
        share = counts.max() / 200
        print(
            f"  {len(used):3d} words; top 200 documents: {share:.0%} of topic {labels[counts.argmax()]}; {loadings}"
        )
