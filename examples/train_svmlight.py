"""Train on svmlight text, test on other rows, save the model.

$ python train_svmlight.py
accuracy on new rows 0.98
the best ids: 1, 7, 16, 6, 14
"""

from thresher import ShadowSOFS, convert, datasets, evaluate, save, train

# Stands for your files: 20 of 2,000 columns decide the label.
columns = {"n_features": 2_000, "n_informative": 20, "n_noise": 30}
convert(datasets.make_x2(4_000, **columns), "train.svm")
convert(datasets.make_x2(1_000, start=4_000, **columns), "test.svm")

model = ShadowSOFS(n_features_to_select=20)
train(model, "train.svm")

print(f"accuracy on new rows {evaluate(model, 'test.svm').accuracy:.2f}")
# Columns count from 0, the ids of this file from 1.
print("the best ids:", ", ".join(str(column + 1) for column in model.selected_[:5]))
save(model, "model.thresher")
