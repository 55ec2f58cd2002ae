"""Trained models on data: predictions, the selected columns, and metrics."""

from thresher.evaluation.evaluation import ClassScores, Evaluation, evaluate

__all__ = ["ClassScores", "Evaluation", "evaluate"]
