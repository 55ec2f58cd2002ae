"""Trained models on data: predictions, the selected columns, and metrics."""

from thresher.evaluation.base import Evaluation
from thresher.evaluation.class_evaluation import ClassEvaluation, ClassScores
from thresher.evaluation.evaluation import evaluate
from thresher.evaluation.mistakes import Mistake
from thresher.evaluation.number_evaluation import NumberEvaluation

__all__ = ["ClassEvaluation", "ClassScores", "Evaluation", "Mistake", "NumberEvaluation", "evaluate"]
