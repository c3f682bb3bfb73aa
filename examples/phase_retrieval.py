r"""
A sparse signal from intensities
================================

Only :math:`z \approx |Gv|^2` is measured, so that the sign, or the phase, is lost:
:math:`\min_v \tfrac{1}{2m}\||Gv|^2 - z\|^2 + \alpha a\|v\|_1`, on request with :math:`Dv \ge 0`.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from ipds.models import SparsePhaseRetrieval

rng = np.random.default_rng(1)
d, m = 60, 150
v = np.zeros(d)
v[10:14], v[30:33], v[45] = (0.3, 0.8, 0.8, 0.3), (0.5, 1.0, 0.5), 0.6  # a nonnegative spectrum: D = I
# %%
# Real and complex measurement matrices; the constraint v ≥ 0 also settles the sign.
real = rng.standard_normal((m, d))
complex_ = (real + 1j * rng.standard_normal((m, d))) / np.sqrt(2)
cases = [
    ("real, no constraint", real, None),
    ("real, v ≥ 0", real, np.eye(d)),
    ("complex, v ≥ 0", complex_, np.eye(d)),
]
# %%
# Every case starts from its own sparse spectral start, drawn dotted.
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3), sharey=True, layout="constrained")
for axis, (name, G, D) in zip(axes, cases, strict=True):
    z = np.abs(G @ v) ** 2 + 0.05 * rng.standard_normal(m)
    model = SparsePhaseRetrieval(alpha=0.002, D=D).fit(G, z)
    error = np.linalg.norm(model.coef_ - v) / np.linalg.norm(v)
    print(f"{name:20s} relative error {error:.4f}, {len(model.support_)} nonzeros, {model.result_.message}")
    axis.plot(v, "k", lw=3, alpha=0.25, label="truth")
    axis.plot(model.start_ * np.sign(model.start_ @ v), ":", lw=1, label="spectral start")
    axis.plot(model.coef_, "r", lw=1, label="estimate")
    axis.set_title(f"{name}: error {error:.3f}", fontsize=9)
axes[0].legend(fontsize=8)
figure.savefig("phase_retrieval.png", dpi=90, bbox_inches="tight")
print("figure: phase_retrieval.png")
