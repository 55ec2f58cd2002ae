"""`thresher evaluate`."""

from __future__ import annotations

import json as json_
from typing import Any

from thresher.cli.data_options import READING, open_data
from thresher.cli.options import Data, Json, ModelFile, Positive, with_options
from thresher.cli.output import report_skipped

EXAMPLES = (
    "thresher evaluate model.thresher test.svm",
    "thresher evaluate model.thresher test.svm --positive 1",
    "thresher evaluate model.thresher test.svm --json",
)


@with_options(READING)
def evaluate(
    model: ModelFile,
    data: Data,
    positive: Positive = None,
    json: Json = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Measure a model on rows with labels.

    Prints accuracy, and the baseline: that of always predicting the most frequent label; precision, recall and f1 of
    each class; log loss for methods that have probabilities; ROC AUC and average precision for two classes. --json adds
    the confusion matrix, and its counts by pair of labels. Of numbers it prints R², RMSE, MAE, and the RMSE of always
    predicting the mean, with standard errors.
    """
    from thresher.evaluation.evaluation import evaluate as run
    from thresher.io.model_files import load_model

    trained = load_model(model)
    stream = open_data(data, **reading, naming=trained.naming)
    found = run(trained, stream, positive=positive, progress=not json)
    report_skipped(found)
    print(json_.dumps(found.to_dict()) if json else found)
