"""Metrics: pure functions of NumPy arrays, one notion a file, nothing of the project imported.

Each returns one value per query (or trial, or sample), so that intervals and paired tests can follow;
a metric over nothing raises `UndefinedMetricError`.
"""

from equiview.metrics.association import self_preference, win_rates, wins
from equiview.metrics.correlation import pearson, spearman
from equiview.metrics.errors import MetricInputError, UndefinedMetricError
from equiview.metrics.prevalence import dlbkl, group_exposure, lbkl, single_group_share
from equiview.metrics.ranking import accuracy_at_k, average_precision_at_k, ndcg_at_k, recall_at_k
from equiview.metrics.silhouette import silhouette_samples

__all__ = [
    "MetricInputError",
    "UndefinedMetricError",
    "accuracy_at_k",
    "average_precision_at_k",
    "dlbkl",
    "group_exposure",
    "lbkl",
    "ndcg_at_k",
    "pearson",
    "recall_at_k",
    "self_preference",
    "silhouette_samples",
    "single_group_share",
    "spearman",
    "win_rates",
    "wins",
]
