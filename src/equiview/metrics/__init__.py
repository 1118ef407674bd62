"""Metrics: pure functions of NumPy arrays, one notion a file, nothing of the project imported.

Each returns one value per query (or trial, or sample), so that intervals and paired tests can follow;
a metric over nothing raises `equiview.errors.UndefinedMetricError`.
"""

from equiview.metrics.amplification import amplification_of_counts, directional_amplification, directions
from equiview.metrics.association import preference_ratio, self_preference, win_rates, wins
from equiview.metrics.consistency import (
    answer_consistency,
    independent_consistency,
    independent_score_consistency,
    score_consistency,
)
from equiview.metrics.correlation import pearson, spearman
from equiview.metrics.individual import fairness_ratio, gap_bound, gap_ratio, similarity_gap, text_distance
from equiview.metrics.parity import (
    balanced_recall,
    cross_lingual_gaps,
    gap_parts,
    gini,
    gini_of_rows,
    group_rate_gap,
    group_rate_gaps,
    recall_in_pool,
)
from equiview.metrics.prevalence import divergences_at, dlbkl, group_exposure, lbkl, single_group_share
from equiview.metrics.ranking import accuracy_at_k, average_precision_at_k, ndcg_at_k, odmap_at_k
from equiview.metrics.silhouette import silhouette_samples
from equiview.metrics.skew import demographic_divergence, max_skew, ndkl, skew

__all__ = [
    "accuracy_at_k",
    "amplification_of_counts",
    "answer_consistency",
    "average_precision_at_k",
    "balanced_recall",
    "cross_lingual_gaps",
    "demographic_divergence",
    "directional_amplification",
    "directions",
    "divergences_at",
    "dlbkl",
    "fairness_ratio",
    "gap_bound",
    "gap_parts",
    "gap_ratio",
    "gini",
    "gini_of_rows",
    "group_exposure",
    "group_rate_gap",
    "group_rate_gaps",
    "independent_consistency",
    "independent_score_consistency",
    "lbkl",
    "max_skew",
    "ndcg_at_k",
    "ndkl",
    "odmap_at_k",
    "pearson",
    "preference_ratio",
    "recall_in_pool",
    "score_consistency",
    "self_preference",
    "silhouette_samples",
    "similarity_gap",
    "single_group_share",
    "skew",
    "spearman",
    "text_distance",
    "win_rates",
    "wins",
]
