"""Metrics: pure functions of NumPy arrays, one notion a file, nothing of the project imported.

Each returns one value per query (or trial, or sample), so that intervals and paired tests can follow;
a metric over nothing raises `equiview.errors.UndefinedMetricError`.
"""

from equiview.metrics.association import self_preference, win_rates, wins
from equiview.metrics.correlation import pearson, spearman
from equiview.metrics.individual import fairness_ratio, gap_bound, similarity_gap, text_distance
from equiview.metrics.parity import cross_lingual_gaps, gap_parts, gini, group_rate_gap
from equiview.metrics.prevalence import dlbkl, group_exposure, lbkl, single_group_share
from equiview.metrics.ranking import accuracy_at_k, average_precision_at_k, ndcg_at_k, recall_at_k
from equiview.metrics.silhouette import silhouette_samples

__all__ = [
    "accuracy_at_k",
    "average_precision_at_k",
    "cross_lingual_gaps",
    "dlbkl",
    "fairness_ratio",
    "gap_bound",
    "gap_parts",
    "gini",
    "group_exposure",
    "group_rate_gap",
    "lbkl",
    "ndcg_at_k",
    "pearson",
    "recall_at_k",
    "self_preference",
    "silhouette_samples",
    "similarity_gap",
    "single_group_share",
    "spearman",
    "text_distance",
    "win_rates",
    "wins",
]
