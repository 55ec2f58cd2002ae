"""`thresher evaluate`."""

from __future__ import annotations

import json as json_

from thresher.cli.options import (
    Data,
    Delimiter,
    Format,
    Ignore,
    Json,
    Label,
    ModelFile,
    OnBadLine,
    Threads,
    Weight,
    ZeroBased,
    open_data,
)

EXAMPLES = ("thresher evaluate model.thresher test.svm", "thresher evaluate model.thresher test.svm --json")


def evaluate(
    model: ModelFile,
    data: Data,
    label: Label = None,
    weight: Weight = None,
    ignore: Ignore = None,
    delimiter: Delimiter = None,
    format: Format = "auto",
    zero_based: ZeroBased = None,
    on_bad_line: OnBadLine = "error",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Measure a model on rows with labels.

    Prints accuracy, and precision, recall and f1 of each class; log loss for methods that have probabilities; ROC AUC
    and average precision for two classes, of which the second is the positive one. --json adds the confusion matrix.
    """
    from thresher.cli.console import report_skipped
    from thresher.evaluation import evaluate as run
    from thresher.io.model_files import load_model

    trained = load_model(model)
    stream = open_data(
        data, format=format, label=label, weight=weight, ignore=ignore, delimiter=delimiter, on_bad_line=on_bad_line,
        zero_based=zero_based, threads=threads,
    )  # fmt: skip
    found = run(trained, stream, progress=not json)
    report_skipped(found.skipped, found.n_skipped)
    print(json_.dumps(found.to_dict()) if json else found)
