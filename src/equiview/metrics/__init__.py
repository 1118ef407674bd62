"""Metrics: pure functions of NumPy arrays, one notion a file, nothing of the project imported.

Each returns one value per query (or trial, or sample), so that intervals and paired tests can follow;
a metric over nothing raises `UndefinedMetricError`.
"""

from equiview.metrics.errors import MetricInputError, UndefinedMetricError
from equiview.metrics.prevalence import dlbkl, group_exposure, lbkl, single_group_share
from equiview.metrics.ranking import accuracy_at_k, average_precision_at_k, ndcg_at_k, recall_at_k

__all__ = [
    "MetricInputError",
    "UndefinedMetricError",
    "accuracy_at_k",
    "average_precision_at_k",
    "dlbkl",
    "group_exposure",
    "lbkl",
    "ndcg_at_k",
    "recall_at_k",
    "single_group_share",
]
