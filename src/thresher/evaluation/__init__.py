"""Trained models on data: predictions, the selected columns, and metrics."""

from thresher.evaluation.evaluation import ClassScores, Evaluation, evaluate
from thresher.evaluation.mistakes import Mistake

__all__ = ["ClassScores", "Evaluation", "Mistake", "evaluate"]
