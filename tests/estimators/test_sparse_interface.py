"""Results are scipy's sparse matrices or sparse arrays, as scikit-learn's `sparse_interface` is set."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn

from thresher import SOFS, datasets, open_stream
from thresher.features import TextHasher

KINDS = {"spmatrix": sp.csr_matrix, "sparray": sp.csr_array}

pytestmark = pytest.mark.skipif(
    "sparse_interface" not in sklearn.get_config(), reason="scikit-learn before 1.9 has no sparse_interface"
)


@pytest.fixture(params=KINDS)
def kind(request):
    with sklearn.config_context(sparse_interface=request.param):
        yield KINDS[request.param]


@pytest.fixture(scope="module")
def problem():
    return datasets.make_x1(300, random_state=0)


def test_weights(kind, problem):
    for labels in (problem[1], np.arange(300) % 3):
        model = SOFS(n_features_to_select=5).fit(problem[0], labels)
        assert type(model.coef_) is kind
        columns, weights = model._fitted_model().members()
        for row, expected in zip(model.coef_.toarray(), weights.T, strict=True):
            assert row[columns].tolist() == expected.tolist()


def test_selectors_return_as_those_of_scikit_learn(kind, problem):
    from sklearn.feature_selection import VarianceThreshold

    ours, theirs = SOFS(n_features_to_select=5).fit(*problem), VarianceThreshold().fit(*problem)
    for given in KINDS.values():
        X = given(problem[0])
        assert type(ours.transform(X)) is type(theirs.transform(X)) is given
        back = ours.inverse_transform(ours.transform(X))
        assert type(back) is kind
        assert isinstance(theirs.inverse_transform(theirs.transform(X)), sp.sparray) == (kind is sp.csr_array)
        assert (back[:, ours.get_support(indices=True)] != ours.transform(X)).nnz == 0


def test_streams_and_generated_rows(kind, tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:0.5 3:2\n-1 2:1\n")
    stream = open_stream(tmp_path / "rows.svm")
    X, *_ = stream.to_csr()
    assert type(X) is kind
    assert X.has_canonical_format
    assert X.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert [type(part[0]) for part in stream] == [kind]
    assert type(datasets.make_x1(10)[0]) is kind


def test_hashed_names_keep_wide_columns(kind):
    X = TextHasher().transform(["one two", "three", ""])
    assert type(X) is kind
    assert X.indices.dtype == X.indptr.dtype == np.int64
    assert type(TextHasher().transform([""])) is kind
