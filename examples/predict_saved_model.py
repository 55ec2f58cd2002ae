"""Load a model and predict new rows: from a file to a file, and in memory.

$ python predict_saved_model.py
label,probability_-1,probability_1
labels [1, 1, -1]
probability of label 1 [1.0, 1.0, 0.0]
"""

from pathlib import Path

from thresher import ShadowSOFS, convert, datasets, load, save, train, write_predictions

# Stands for the day before: a model that was trained and saved.
columns = {"n_features": 2_000, "n_informative": 20, "n_noise": 30}
model = ShadowSOFS(n_features_to_select=20)
train(model, datasets.make_x2(4_000, **columns))
save(model, "model.thresher")

# Stands for new rows: a file, and a matrix. No code is run when a model is loaded.
new = datasets.make_x2(3, start=4_000, **columns)
convert(new, "new.svm")
model = load("model.thresher")

write_predictions(model, "new.svm", "labels.csv", probabilities=True)
print(Path("labels.csv").read_text().splitlines()[0])

X, _, _ = new.to_csr()
print("labels", model.predict(X).tolist())
print("probability of label 1", model.predict_proba(X)[:, 1].round(2).tolist())
