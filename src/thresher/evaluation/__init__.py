"""Trained models on data: predictions, the selected columns, and metrics."""

from thresher.evaluation.evaluation import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
