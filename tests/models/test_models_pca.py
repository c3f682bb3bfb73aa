"""Sparse PCA: orthonormal, truthful about variance, sparse input, alpha's scale, the path, the ℓ0 variant."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipds.functions.covariance import Covariance
from ipds.models import SparsePCA, _few_features, sparse_pca
from ipds.models._few_features import Guess, on_few_features
from ipds.models._orthonormal import ColumnCardinality, orthonormal_on_support


def blocks(m: int = 300, seed: int = 0) -> np.ndarray:
    """Three factors on disjoint features of falling variance, and noise."""
    rng = np.random.default_rng(seed)
    loadings = np.zeros((3, 20))
    for k in range(3):
        loadings[k, 5 * k : 5 * k + 4] = 3.0 - k
    return rng.standard_normal((m, 3)) @ loadings + 0.1 * rng.standard_normal((m, 20))


def digits() -> np.ndarray:
    return load_digits().data[:400] / 16


def test_the_planted_factors_are_found() -> None:
    model = SparsePCA(n_components=3, alpha=0.3).fit(blocks())
    for k, component in enumerate(model.components_):
        assert np.array_equal(np.flatnonzero(component), np.arange(5 * k, 5 * k + 4))
    assert model.result_.success


@pytest.mark.parametrize("formulation", ["variance", "reconstruction"])
def test_components_are_orthonormal_and_sparse(formulation: str) -> None:
    X = digits()
    model = SparsePCA(6, alpha=0.05, formulation=formulation).fit(X)
    C = model.components_
    assert np.allclose(C @ C.T, np.eye(6), atol=1e-12)
    assert 0 < np.count_nonzero(C) < 0.7 * C.size
    assert np.all(C[np.arange(6), np.abs(C).argmax(axis=1)] > 0)
    scores = model.transform(X)
    assert np.allclose(model.transform(model.inverse_transform(scores)), scores)


def test_both_formulations_reach_like_objectives() -> None:
    X = blocks()
    first = SparsePCA(3, alpha=0.3).fit(X).components_
    second = SparsePCA(3, alpha=0.3, formulation="reconstruction").fit(X).components_
    assert np.allclose(first, second, atol=1e-3)


def test_without_penalty_it_is_pca() -> None:
    X = blocks()
    model, pca = SparsePCA(3, alpha=0.0).fit(X), PCA(3, svd_solver="full").fit(X)
    assert np.allclose(np.abs(model.components_ @ pca.components_.T), np.eye(3), atol=1e-5)
    assert np.allclose(model.explained_variance_, pca.explained_variance_, rtol=1e-6)
    assert np.allclose(model.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-6)


def test_explained_variance_is_what_the_components_explain() -> None:
    X = digits()
    model = SparsePCA(6, alpha=0.1).fit(X)
    scores = model.transform(X)
    # what a component adds: the variance of its score after regression on those before it
    for k in range(6):
        before = scores[:, :k]
        left = (
            scores[:, k] - before @ np.linalg.lstsq(before, scores[:, k], rcond=None)[0]
            if k
            else scores[:, 0]
        )
        assert model.explained_variance_[k] == pytest.approx(left @ left / (len(X) - 1))
    assert model.explained_variance_.sum() <= scores.var(axis=0, ddof=1).sum() + 1e-12
    total = X.var(axis=0, ddof=1).sum()
    assert np.allclose(model.explained_variance_ratio_, model.explained_variance_ / total)


def test_sparse_input_gives_what_dense_input_gives() -> None:
    X = blocks() * (np.random.default_rng(1).random((300, 20)) < 0.6)
    dense, sparse = SparsePCA(3, alpha=0.2).fit(X), SparsePCA(3, alpha=0.2).fit(sp.csr_array(X))
    assert np.allclose(dense.components_, sparse.components_, atol=1e-5)
    assert np.allclose(dense.explained_variance_, sparse.explained_variance_, rtol=1e-5)
    assert np.allclose(dense.transform(X), sparse.transform(sp.csr_array(X)), atol=1e-4)
    assert dense.alpha_max(X) == pytest.approx(sparse.alpha_max(sp.csr_array(X)))


def test_wide_sparse_input_is_never_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 6000), density=0.002, rng=rng, format="csr")
    rows, columns = np.repeat(np.arange(200), 8), np.tile(np.arange(8), 200)
    topic = sp.csr_array((np.ones(1600), (rows, columns)), shape=(400, 6000))
    X = sp.csr_array(X + topic)

    dense = sp.csr_array.toarray

    def refuse(matrix: sp.csr_array, *args: object, **kwargs: object) -> np.ndarray:
        """Data; the covariance of a few features may be."""
        assert max(matrix.shape) < 400, "made dense"
        return dense(matrix, *args, **kwargs)

    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    monkeypatch.setattr(sp.csr_array, "todense", refuse)
    model = SparsePCA(2, alpha=0.05).fit(X)
    assert set(np.flatnonzero(model.components_[0])) <= set(range(8))
    assert model.alpha_max(X) > 0


def test_alpha_does_not_depend_on_the_number_of_samples() -> None:
    X = blocks()
    once, thrice = SparsePCA(3, alpha=0.2).fit(X), SparsePCA(3, alpha=0.2).fit(np.vstack([X, X, X]))
    assert np.allclose(once.components_, thrice.components_, atol=1e-4)


def test_alpha_max_leaves_single_features() -> None:
    X = digits()
    model = SparsePCA(4)
    top = model.alpha_max(X)
    model.set_params(alpha=top).fit(X)
    assert np.all(np.count_nonzero(model.components_, axis=1) == 1)
    chosen = np.flatnonzero(model.components_.any(axis=0))
    assert X.var(axis=0)[chosen].sum() == pytest.approx(np.sort(X.var(axis=0))[-4:].sum(), rel=0.02)
    assert SparsePCA(1).alpha_max(X[:, 20:21]) == 0.0


def test_the_path_grows_sparser() -> None:
    X = blocks()
    alphas = [1.0, 0.01, 0.1]
    path = SparsePCA(3).path(X, alphas)
    assert list(path.alphas) == alphas
    assert path.components.shape == (3, 3, 20)
    nonzeros = path.nonzeros.sum(axis=1)
    assert nonzeros[1] >= nonzeros[2] >= nonzeros[0]
    ratio = path.explained_variance_ratio.sum(axis=1)
    assert ratio[1] >= ratio[2] - 1e-6
    alone = SparsePCA(3, alpha=0.1).fit(X)
    assert np.allclose(np.abs(path.components[2] @ alone.components_.T), np.eye(3), atol=1e-2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # ℓ0 may stall short of 1e-4
def test_sparsity_bounds_the_nonzeros_of_each_component() -> None:
    model = SparsePCA(3, sparsity=4).fit(blocks())
    assert np.all(np.count_nonzero(model.components_, axis=1) <= 4)
    assert np.allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-10)
    for k, component in enumerate(model.components_):
        assert np.array_equal(np.flatnonzero(component), np.arange(5 * k, 5 * k + 4))


def test_warm_start_begins_at_the_last_solution() -> None:
    X = digits()
    model = SparsePCA(4, alpha=0.05, warm_start=True).fit(X)
    first = model.n_iter_
    again = model.fit(X)
    assert again.n_iter_ <= max(20, first // 2)


def test_constant_columns_get_no_loading() -> None:
    X = blocks()
    X[:, 7] = 3.0
    model = SparsePCA(3, alpha=0.1).fit(X)
    assert np.all(model.components_[:, 7] == 0)
    nothing = SparsePCA(2).fit(np.ones((10, 4)))
    assert np.all(nothing.explained_variance_ratio_ == 0)


def test_more_components_than_samples() -> None:
    X = np.random.default_rng(0).standard_normal((5, 8))
    model = SparsePCA(6, alpha=0.1).fit(X)
    assert np.allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-10)
    assert np.all(model.explained_variance_[4:] < 1e-3)


def test_pipeline_and_names() -> None:
    pipe = make_pipeline(StandardScaler(), SparsePCA(2, alpha=0.1)).fit(blocks())
    assert list(pipe.get_feature_names_out()) == ["sparsepca0", "sparsepca1"]
    assert pipe.transform(blocks()).shape == (300, 2)


def test_orthonormal_within_a_support() -> None:
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((30, 5)))[0]
    V = np.where(rng.random((30, 5)) < 0.5, V, 0.0)
    found = orthonormal_on_support(V)
    assert found is not None
    assert np.allclose(found.T @ found, np.eye(5), atol=1e-13)
    assert np.all(found[V == 0] == 0)
    assert orthonormal_on_support(np.array([[1.0, 1.0], [0.0, 0.0]])) is None  # no such matrix
    assert orthonormal_on_support(np.array([[1.0, 0.0], [0.0, 0.0]])) is None


def test_column_cardinality_is_row_cardinality_of_the_transpose() -> None:
    h, v = ColumnCardinality(2), np.random.default_rng(0).standard_normal((6, 3))
    x = h.prox(v, 1.0)
    assert np.all(np.count_nonzero(x, axis=0) == 2)
    assert h(x) == 0
    assert h(v) == np.inf
    assert np.all(np.abs(x).sum(axis=0) == np.sort(np.abs(v), axis=0)[-2:].sum(axis=0))
    assert np.array_equal(h.prox_jacobian(v, 1.0), x != 0)
    assert not ColumnCardinality(4).is_idle((6, 3))  # of rows, it were: they have three entries
    assert ColumnCardinality(4).is_idle((4, 30))


def test_few_loadings_of_each_component_are_not_said_to_be_any() -> None:
    model = SparsePCA(n_components=3, sparsity=4).fit(blocks())
    assert "does not constrain" not in model.result_.message


@pytest.mark.parametrize("sparse", [False, True])
def test_wide_data_begin_with_the_features_that_matter(sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is one of the whole problem, certified there, and not worse than without."""
    rng = np.random.default_rng(0)
    X = 0.05 * rng.standard_normal((80, 300))
    X[:, :20] += rng.standard_normal((80, 1))
    X[:, 20:40] += 0.7 * rng.standard_normal((80, 1))
    data = sp.csr_array(X) if sparse else X
    whole = SparsePCA(n_components=2, alpha=0.1, standardize=False).fit(data)
    monkeypatch.setattr(_few_features, "WIDE", 100)
    solved: list[tuple[int, ...]] = []
    solve = sparse_pca.SparsePCA._solve
    monkeypatch.setattr(
        sparse_pca.SparsePCA,
        "_solve",
        lambda self, problem, *a, **k: (solved.append(problem.shape), solve(self, problem, *a, **k))[1],
    )
    model = SparsePCA(n_components=2, alpha=0.1, standardize=False).fit(data)
    assert solved == [(40, 2), (300, 2)]
    assert model.result_.success
    assert model.result_.x[0].shape == (300, 2)
    assert model.result_.fun <= whole.result_.fun + 1e-3 * abs(whole.result_.fun)
    assert np.flatnonzero(model.components_.any(axis=0)).max() < 40


def test_features_that_the_first_working_set_lacks_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a guess that sees the weaker of two factors alone, the other one's features come in as well."""
    rng = np.random.default_rng(0)
    D = 0.05 * rng.standard_normal((80, 300))
    D[:, :20] += rng.standard_normal((80, 1))
    D[:, 15:40] += 0.7 * rng.standard_normal((80, 1))
    X, start = Covariance("test", D, center=True), np.zeros((300, 1))
    start[38:40] = np.sqrt(0.5)
    model = SparsePCA(1, alpha=0.1)
    model.alpha_ = 0.1
    seen = np.abs(X.apply(start)).max(axis=1) / 80 >= 0.1
    assert not seen[:15].all()
    monkeypatch.setattr(_few_features, "WIDE", 100)
    found = on_few_features(model, X, Guess(start, start), trial=1000)
    assert found is not None
    assert np.flatnonzero(found.V).min() < 15
    left = np.abs(X.apply(found.Y) / -80 - found.z).max(axis=1)
    assert np.all(np.abs(X.apply(found.Y)[~found.V.any(axis=1)]) / 80 <= 0.1 * (1 + 1e-3))
    assert np.all(left[np.abs(found.z).max(axis=1) < 0.09] == 0.0)


def test_a_fit_makes_the_gram_matrix_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, ...]] = []
    gram = Covariance._gram
    monkeypatch.setattr(Covariance, "_gram", lambda self: (made.append(self.shape), gram(self))[1])
    model = SparsePCA(3).fit(blocks())
    assert made == [(300, 20)]
    assert model.alpha_ > 0
