"""What a trained model does with data: predictions, the selected columns, and how good it is."""

from thresher.evaluation.evaluation import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
