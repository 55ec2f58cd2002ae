"""`write_report`: a training run as a web page.

The page is one file: charts are SVG, drawn here, and its style sheet and script are inside. Its security policy allows
this one script, by its digest, and no connection at all.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from thresher.analysis import CrossValidation, Curve, Stability
from thresher.charts import as_svg, escape_controls
from thresher.charts.chart import Chart
from thresher.evaluation.base import Evaluation
from thresher.evaluation.class_evaluation import MOST_LABELS, ClassEvaluation
from thresher.evaluation.metrics import CLASS_METRICS
from thresher.evaluation.mistakes import Mistake
from thresher.evaluation.prediction import as_model
from thresher.io.atomic import atomic_file
from thresher.messages import count_noun, value_text
from thresher.model.description import features_of, settings
from thresher.model.labels import label_text
from thresher.model.model import Model
from thresher.report.chance import chance_chart, words_on_chance
from thresher.training.history import History

MOST_FEATURES = 2_000  # in the table: a browser sorts so many at once
_MANY_LABELS = 6  # beside which shares would not fit
_HERE = Path(__file__).parent
_UNIT = {"classes": "", "numbers": "an RMSE of "}  # of what a constant prediction reaches


def write_report(
    path: str | os.PathLike[str],
    model: Any,
    history: History | None = None,
    evaluation: Evaluation | CrossValidation | Sequence[Evaluation | CrossValidation] | None = None,
    curve: Curve | None = None,
    stability: Stability | None = None,
    *,
    title: str | None = None,
    command: str | None = None,
) -> None:
    """Write a web page on a training run: one file that needs no network. It appears whole or not at all.

    It needs jinja2, of the extra `report`.

    Parameters
    ----------
    path : path
        The file to write, such as "run.html".
    model : estimator or Model
        The trained model, whose settings and selected features are shown.
    history : History, optional
        What `train` returned: error and changes of members as rows went by, and the race of gamma="auto".
    evaluation : Evaluation or CrossValidation, optional
        What `evaluate` or `cross_validate` returned, or several of them.
    curve : Curve, optional
        What `path` returned: accuracy against the number of features.
    stability : Stability, optional
        What `stability` returned: how much the selection changes from sample to sample.
    title : str, optional
        The page's heading; by default the name of the estimator.
    command : str, optional
        The command that repeats the run; `thresher train` and `thresher path` give theirs. Without it, the page shows
        how the estimator is made in Python.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thresher import ShadowSOFS, datasets, evaluate, train, write_report
    >>> model = ShadowSOFS(50)
    >>> history = train(model, datasets.make_x1(2_000))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.html"
    >>> write_report(path, model, history, evaluate(model, datasets.make_x1(500, start=2_000)))
    >>> path.read_text()[:15]
    '<!doctype html>'
    """
    template = environment().get_template("template.html")
    trained = as_model(model)
    script, style = ((_HERE / name).read_text(encoding="utf-8") for name in ("table.js", "style.css"))
    several = [] if evaluation is None else evaluation if isinstance(evaluation, Sequence) else [evaluation]
    page = template.render(
        title=escape_controls(title or trained.method.estimator),
        method=trained.method.estimator,
        version=version("thresher"),
        written=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        figures=_figures(trained, history, several),
        learning=_learning(history, is_measured=bool(several)),
        race=_race(history),
        curve=None if curve is None else _curve(curve),
        evaluations=[_evaluation(each) for each in several],
        stability=None if stability is None else _stability(stability),
        chance=_chance(trained),
        features=_features(trained),
        settings=_settings(trained),
        command=escape_controls(command) if command is not None else None,
        constructor=escape_controls(_constructor(trained)),
        script=script,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=style,
    )
    with atomic_file(path) as file:
        file.write(page.encode())


def environment() -> Any:
    """Return jinja2's environment of the template; without jinja2, an error says how to install it."""
    try:
        jinja2 = importlib.import_module("jinja2")
    except ImportError:
        raise ImportError(
            "a report needs jinja2: install it with pip install 'thresher[report]'.", name="jinja2"
        ) from None
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["signed"] = _with_sign
    return made


def _with_sign(number: float, digits: int) -> str:
    return f"{number:+.{digits}f}".replace("-", "−")


def _chart_parts(chart: Chart, note: str = "") -> dict[str, Any]:
    """Return a chart for the template; its SVG is markup, in which every text is escaped."""
    markup = importlib.import_module("markupsafe").Markup
    return {"title": escape_controls(chart.title), "svg": markup(as_svg(chart)), "note": note}


def _figures(
    model: Model, history: History | None, evaluations: Sequence[Evaluation | CrossValidation]
) -> list[tuple[str, str]]:
    """Return the main figures at the top of the page, as (value, description)."""
    found = []
    for each in evaluations[:1]:
        evaluation, where = (
            (each.evaluation, ", cross-validated") if isinstance(each, CrossValidation) else (each, " on test data")
        )
        metric, baseline = evaluation.kind.main, evaluation.kind.baseline.phrase(evaluation.counts.baseline)
        found.append((metric.text(evaluation.main), f"{metric.words}{where}, {baseline}"))
    n_selected = len(model.members()[0])
    of = "" if model.naming is not None or model.n_features is None else f" of {model.n_features:,}"
    found.append((f"{n_selected:,}", f"features selected{of}"))
    if history is not None and history.rows:
        found.append((f"{history.n_rows_of_data():,}", f"rows learned{history.passes_in_words()}"))
        if history.score is not None:
            found.append(_figure_while_learning(history, history.score))
        found.append((_seconds(history.seconds[-1]), "training time"))
    else:
        found.append((f"{model.counters['n_samples']:,}", "rows learned"))
    return found


def _figure_while_learning(history: History, score: float) -> tuple[str, str]:
    if history.target == "numbers":
        baseline = "" if history.baseline is None else f", {history.kind.baseline.phrase(history.baseline)}"
        return history.kind.main.text(score), f"{history.kind.main.words} while learning{baseline}"
    baseline = "" if history.baseline is None else f", baseline {1 - history.baseline:.2%}"
    return f"{history.error[-1]:.2%}", f"error while learning{baseline}"


def _seconds(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"


def _learning(history: History | None, *, is_measured: bool) -> dict[str, Any] | None:
    if history is None:
        return None
    # Batch methods predict no rows; ShadowSOFS only those that it reads for the first time.
    has_few = history.error != [] and history.n_first_points() < 2
    charts = {} if has_few or len(history.rows) < 2 else history.charts()
    notes = {"error": history.words.note_on_error}
    words = []
    if history.grouped_by_label:
        words.append(
            "The rows came grouped by label, so the error and the loss while learning say nothing about new rows."
        )
    elif history.n_passes > 1 and history.n_first_points() < len(history.rows):
        words.append("The error is that of the first pass: later on, the model had seen the rows before.")
    elif history.n_passes > 1:
        words.append("From the second pass on, the model had seen the rows before.")
    if history.refitted:
        words.append("In the closing pass, the weights of the selected features were learned again.")
    if history.shuffled:
        words.append("The rows were learned in random order.")
    if history.interrupted:
        words.append("The training was stopped early.")
    if history.n_skipped:
        words.append(f"Skipped because they could not be read: {count_noun(history.n_skipped, 'line')}.")
    if has_few:
        words.append(f"There are too few rows for a curve: {history.n_rows_of_data():,}.")
    drawn = [_chart_parts(charts[kind], notes.get(kind, "")) for kind in ("error", "members", "loss") if kind in charts]
    # On rows that the model has not learned it can be better.
    remarks = [] if is_measured else [escape_controls(remark) for remark in history.remarks]
    return {"charts": drawn, "words": " ".join(words), "remarks": remarks} if drawn or words or remarks else None


def _race(history: History | None) -> dict[str, Any] | None:
    """Return the race of gamma="auto": a chart, and a row of mistakes for each γ, with None once it was dropped."""
    if history is None or not history.race:
        return None
    standings, chosen = history.race, history.chosen_gamma()
    rows = []
    for gamma in standings[0]["gamma"]:
        cells: list[dict[str, Any] | None] = []
        for standing in standings:
            if gamma in standing["gamma"]:
                mistakes = standing["mistakes"][standing["gamma"].index(gamma)]
                cells.append({"mistakes": f"{mistakes:,.10g}", "is_dropped": gamma in standing["dropped"]})
            else:
                cells.append(None)
        rows.append({"gamma": f"{gamma:g}", "is_chosen": gamma == chosen, "cells": cells})
    return {
        "chart": _chart_parts(_shorten_legend(history.charts()["race"])),
        "of": history.words.in_race,
        "n_rows": [f"{standing['rows']:,}" for standing in standings],
        "rows": rows,
        "chosen": None if chosen is None else f"{chosen:g}",
    }


def _shorten_legend(chart: Chart) -> Chart:
    """Return a chart of the race whose legend has two entries: the table has the rest."""
    others = [replace(line, name="" if k else "dropped on the way") for k, line in enumerate(chart.lines[:-1])]
    return replace(chart, lines=[*others, chart.lines[-1]])


def _curve(curve: Curve) -> dict[str, Any]:
    kind, main = curve.kind, curve.kind.main
    others = list(curve.columns().items())[2:]
    return {
        "chart": _chart_parts(curve.chart(), "The band is one standard error wide on each side."),
        "metric": main.words,
        "others": [words for words, _ in others],
        "rows": [
            (f"{n:,}", main.text(value), main.text(error), [cells[k] for _, cells in others], is_suggested)
            for k, (n, value, error, is_suggested) in enumerate(curve.points())
        ],
        "words": f"Measured on {escape_controls(curve.measured_on)}, {count_noun(curve.n_rows, 'row')}; the baseline, "
        f"always predicting {kind.constant}, has {_UNIT[kind.target]}{kind.baseline.text(curve.baseline)}. Suggested "
        "is the smallest number of features within one standard error of the best.",
        "remarks": [escape_controls(remark) for remark in curve.remarks],
    }


def _evaluation(given: Evaluation | CrossValidation) -> dict[str, Any]:
    if isinstance(given, CrossValidation):
        heading = f"{len(given.folds)}-fold cross-validation"
        found, errors = given.evaluation, given.standard_errors
    else:
        heading, found, errors = "Test data", given, None
    return {
        "heading": heading,
        "n_rows": count_noun(found.n_rows, "row"),
        "metrics": [(value, escape_controls(words + of)) for words, value, of in found.rows_of_metrics(errors)],
        "remarks": [escape_controls(remark) for remark in given.remarks],
        "charts": [_chart_parts(chart) for chart in found.charts().values()],
        "classes": _classes(found) if isinstance(found, ClassEvaluation) else None,
    }


def _classes(found: ClassEvaluation) -> dict[str, Any]:
    """Return what an evaluation of classes has beside metrics and charts."""
    names = [escape_controls(label_text(label)) for label in found.labels]
    return {
        "threshold": f"{names[1]} is predicted above a margin of {found.threshold:.4g}." if found.threshold else "",
        "labels": names,
        "has_many": len(names) > _MANY_LABELS,
        "confusion": [
            (name, [(f"{n:,}", n / max(1, sum(row)), k == j) for j, n in enumerate(row)])
            for k, (name, row) in enumerate(zip(names, found.confusion.tolist(), strict=True))
        ] if len(names) <= MOST_LABELS else None,
        "per_class": [(escape_controls(name), numbers) for name, *numbers in found.rows_of_classes()],
        "metrics": [metric.words for metric in CLASS_METRICS],
        "mistakes": [_mistake(each) for each in found.mistakes],
    }  # fmt: skip


def _stability(given: Stability) -> dict[str, Any]:
    return {
        "figures": [
            (f"{given.value:.3f}", "stability"),
            (f"{given.interval[0]:.3f} to {given.interval[1]:.3f}", "95 % interval"),
            (f"{given.n_always:,}", "features selected in all samples"),
            (f"{len(given.frequency):,}", "in at least one"),
            (f"{given.chance * 100:.0f} %", "the most that permuted labels reached"),
            (f"{given.n_above_chance:,}", "features exceed that"),
        ],
        "chart": _chart_parts(given.chart()),
        "words": f"From {given.n:,} random halves of the rows. 1 means that all give the same selection, about 0 that "
        "they agree no more than random selections would. The same halves with permuted labels show how often chance "
        "selects a feature.",
    }


def _mistake(given: Mistake) -> dict[str, Any]:
    """Return a wrong row; the share is the length of a bar beside the part."""
    largest = max(abs(part) for _, part in given.explanation) or 1.0
    return {
        "location": escape_controls(given.location),
        "label": escape_controls(label_text(given.label)),
        "predicted": escape_controls(label_text(given.predicted)),
        "probability": f"{given.probability * 100:.1f} %" if given.probability < 0.9995 else "more than 99.9 %",
        "parts": [(escape_controls(name), part, abs(part) / largest) for name, part in given.explanation],
    }


def _chance(model: Model) -> dict[str, Any] | None:
    words = words_on_chance(model)
    if words is None:
        return None
    chart = chance_chart(model)
    return {"words": words, "chart": None if chart is None else _chart_parts(chart)}


def _features(model: Model) -> dict[str, Any]:
    """Return the rows of the table; the share is the length of a bar beside the weight."""
    features = features_of(model, MOST_FEATURES)
    assert model.target is not None
    classes = [escape_controls(label_text(label)) for label in model.target.by_code]
    strongest = features.for_strongest_class()
    largest = max((abs(feature.weight) for feature in strongest), default=0.0) or 1.0
    rows = [
        {
            "rank": rank,
            "name": escape_controls(feature.name),
            "weight": feature.weight,
            "share": abs(feature.weight) / largest,
            "of": classes[feature.code if model.n_vectors > 1 else int(feature.weight > 0)] if classes else None,
            "q": feature.q,
            "frequency": feature.frequency,
        }
        for rank, feature in enumerate(strongest, 1)
    ]
    return {
        "rows": rows,
        "n": features.n,
        "has_q": features.q_values is not None,
        "has_frequency": features.frequency is not None,
        "chance": None if features.chance is None else f"{features.chance * 100:.0f} %",
        "has_many": model.n_vectors > 1,
        "classes": classes,
    }


def _settings(model: Model) -> list[tuple[str, str]]:
    return [
        (name.replace("_", " "), escape_controls(value_text(value)))
        for name, value in settings(model).items()
        if value is not None and name not in ("method", "mistakes_while_learning")
    ]


def _constructor(model: Model) -> str:
    """Return the Python expression that makes such an estimator: the parameters that differ from their defaults."""
    method = model.method
    changed = [
        f"{name}={value!r}"
        for name, value in model.parameters.items()
        if value != method.parameters[name].default and name != "progress"
    ]
    return f"{method.estimator}({', '.join(changed)})"
