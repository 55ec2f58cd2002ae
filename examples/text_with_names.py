"""Train on text, and see which words and pairs of words decide.

$ python text_with_names.py
mail: at
spam: free
spam: money
spam: free money
mail: lunch
spam: more free
accuracy 1.00
"""

import json
from pathlib import Path

from thresher import ShadowSOFS, evaluate, open_stream, train

# Stands for your file: JSON lines, CSV or Parquet with a column of text.
texts = ["Free money now", "Lunch at noon?", "More free money", "See you at lunch", "Free money again", "Meet at noon"]
rows = [{"label": ["spam", "mail"][number % 2], "text": text} for number, text in enumerate(texts * 50)]
Path("mail.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

model = ShadowSOFS(n_features_to_select=6)
train(model, open_stream("mail.jsonl", text="text", ngrams=(1, 2)))

# A weight above 0 is for the second class. Columns are hashes of names, so coef_ is sparse and very wide.
weights = dict(zip(model.coef_.indices, model.coef_.data, strict=True))
for name, column in zip(model.selected_names_, model.selected_, strict=True):
    print(f"{model.classes_[int(weights[column] > 0)]}: {name}")
print(f"accuracy {evaluate(model, 'mail.jsonl').accuracy:.2f}")  # the model remembers how text was read
