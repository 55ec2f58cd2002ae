"""Learn from batches as they come, and watch the error on rows before they are learned.

$ python stream_of_batches.py
10,000 rows, error 0.037 since the last line
20,000 rows, error 0.010 since the last line
30,000 rows, error 0.007 since the last line
40,000 rows, error 0.007 since the last line
50,000 rows, error 0.005 since the last line
"""

from thresher import ShadowSOFS, datasets

# Stands for your stream: each batch is a scipy matrix or an array, and labels.
batches = datasets.make_x2(50_000, n_features=100_000, n_informative=50, n_noise=50)

model = ShadowSOFS(n_features_to_select=50)
rows = mistakes = 0
for X, y in batches:
    model.partial_fit(X, y, classes=[-1, 1])
    if model.n_samples_seen_ - rows >= 10_000:
        error = (model.n_mistakes_ - mistakes) / (model.n_samples_seen_ - rows)
        rows, mistakes = model.n_samples_seen_, model.n_mistakes_
        print(f"{rows:,} rows, error {error:.3f} since the last line")
