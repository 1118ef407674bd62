"""Statistics: intervals, paired tests, correction and chance floors; pure functions of NumPy arrays.

Nothing of the project is imported but its errors. Everything random takes a `seed` and gives the same bytes
for it.
"""

from equiview.stats.bootstrap import BootstrapInterval, bootstrap_interval, bootstrap_means, interval
from equiview.stats.chance import (
    ChanceFloor,
    blind_rankings,
    chance_floor,
    chance_ndcg,
    chance_recall,
    chance_success,
)
from equiview.stats.correction import holm
from equiview.stats.correlation import Correlation, pearson_interval, spearman_interval
from equiview.stats.paired import sign_flip_test

__all__ = [
    "BootstrapInterval",
    "ChanceFloor",
    "Correlation",
    "blind_rankings",
    "bootstrap_interval",
    "bootstrap_means",
    "chance_floor",
    "chance_ndcg",
    "chance_recall",
    "chance_success",
    "holm",
    "interval",
    "pearson_interval",
    "sign_flip_test",
    "spearman_interval",
]
