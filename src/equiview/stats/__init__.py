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
    chance_success,
)
from equiview.stats.combined import combined_interval
from equiview.stats.correction import holm
from equiview.stats.correlation import (
    Correlation,
    detectable_correlation,
    pearson_interval,
    spearman_fisher,
    spearman_interval,
    spearman_p,
)
from equiview.stats.exposure import MatchedExposure, matched_exposure
from equiview.stats.letters import letters_of
from equiview.stats.matched import MatchedFloor, matched_floor, rank_weights
from equiview.stats.means import mean_interval
from equiview.stats.normal import beyond_p, exceeds_p, normal_interval, wald_p
from equiview.stats.paired import sign_flip_test
from equiview.stats.permutation import column_permutations, permutation_p
from equiview.stats.proportions import (
    Proportions,
    difference_interval,
    difference_p,
    effective_n,
    paired_correlation,
    wilson_interval,
)
from equiview.stats.quantiles import QuantileInterval, maximum_interval, quantile_interval
from equiview.stats.ratios import LogRatio, mean_ratios, share_ratio
from equiview.stats.signs import sign_tail
from equiview.stats.simultaneous import joint_level, largest_deviations, widened
from equiview.stats.spreads import spread_test, spread_tests
from equiview.stats.squares import squares_interval
from equiview.stats.student import resampled_test, student_interval
from equiview.stats.symmetric import sign_flip_interval
from equiview.stats.tails import tail_p

__all__ = [
    "BootstrapInterval",
    "ChanceFloor",
    "Correlation",
    "LogRatio",
    "MatchedExposure",
    "MatchedFloor",
    "Proportions",
    "QuantileInterval",
    "beyond_p",
    "blind_rankings",
    "bootstrap_interval",
    "bootstrap_means",
    "chance_floor",
    "chance_ndcg",
    "chance_success",
    "column_permutations",
    "combined_interval",
    "detectable_correlation",
    "difference_interval",
    "difference_p",
    "effective_n",
    "exceeds_p",
    "holm",
    "interval",
    "joint_level",
    "largest_deviations",
    "letters_of",
    "matched_exposure",
    "matched_floor",
    "maximum_interval",
    "mean_interval",
    "mean_ratios",
    "normal_interval",
    "paired_correlation",
    "pearson_interval",
    "permutation_p",
    "quantile_interval",
    "rank_weights",
    "resampled_test",
    "share_ratio",
    "sign_flip_interval",
    "sign_flip_test",
    "sign_tail",
    "spearman_fisher",
    "spearman_interval",
    "spearman_p",
    "spread_test",
    "spread_tests",
    "squares_interval",
    "student_interval",
    "tail_p",
    "wald_p",
    "widened",
    "wilson_interval",
]
