"""Select columns, then train another model on just those.

$ python select_then_train.py
ShadowSOFS itself: 0.98
LinearSVC on the selection: 0.99
selected.csv has 4,000 rows of 20 columns
"""

from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from thresher import ShadowSOFS, datasets, write_selected

# Stands for your data: 20 of 2,000 columns decide the label.
columns = {"n_features": 2_000, "n_informative": 20, "n_noise": 30}
X, y, _ = datasets.make_x2(4_000, **columns).to_csr()
X_test, y_test, _ = datasets.make_x2(1_000, start=4_000, **columns).to_csr()

selector = ShadowSOFS(n_features_to_select=20).fit(X, y)
print(f"ShadowSOFS itself: {selector.score(X_test, y_test):.2f}")

# In one object, with LIBLINEAR on the selection.
pipeline = make_pipeline(ShadowSOFS(n_features_to_select=20), LinearSVC()).fit(X, y)
print(f"LinearSVC on the selection: {pipeline.score(X_test, y_test):.2f}")

# Or to a file that any other program can read: .svm, .csv, .parquet.
summary = write_selected(selector, datasets.make_x2(4_000, **columns), "selected.csv")
print(f"selected.csv has {summary.n_rows:,} rows of {selector.transform(X).shape[1]} columns")
