"""One table of all metrics drives the tests that hold for every one of them.

A public function of `equiview.metrics` without a row here is a failing test. `NAME:VARIANT` is a further row
for the same function.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from equiview import metrics
from equiview.errors import MetricInputError, UndefinedMetricError

Rows = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Case:
    """How to call a metric on arrays that have one row per query, and what comes back.

    `result` is "rows" (one result a row, from that row alone), "together" (one a row, from all of them) or
    "pooled" (one result for all rows). `missing` says that nan is no error but a value that is missing, and
    `elementwise` that arrays may have any number of dimensions.
    """

    call: Callable[..., Any]
    draw: Callable[[np.random.Generator, int], Rows]
    result: str
    low: float
    high: float
    missing: bool = False
    elementwise: bool = False


def rankings(rng: np.random.Generator, n: int) -> Rows:
    relevant = rng.random((n, 12)) < 0.3
    return relevant, relevant.sum(axis=1) + rng.integers(1, 4, n)


def relevant_only(rng: np.random.Generator, n: int) -> Rows:
    return rankings(rng, n)[:1]


def groups(rng: np.random.Generator, n: int) -> Rows:
    return (rng.integers(0, 4, (n, 9)),)


def trials(rng: np.random.Generator, n: int) -> Rows:
    return (rng.integers(0, 5, (n, 3)) / 4,)  # quarters, so that there are ties


def series(rng: np.random.Generator, n: int) -> Rows:
    return rng.integers(0, 9, n) / 4, rng.integers(0, 9, n) / 4


def clustered(rng: np.random.Generator, n: int) -> Rows:
    labels = np.arange(n) % 3
    return rng.integers(-8, 9, (n, 5)) / 4 + labels[:, None], labels


def parallel(rng: np.random.Generator, n: int) -> Rows:
    image, text, other = (rng.integers(1, 9, (n, 5)) / 4 for _ in range(3))
    other[:, 0] += 2.25  # no pair of captions is the same
    return image, text, other


def captions(rng: np.random.Generator, n: int) -> Rows:
    return parallel(rng, n)[1:]


def reaches(rng: np.random.Generator, n: int) -> Rows:
    lengths = rng.integers(1, 9, n) / 4
    return lengths * rng.integers(0, 5, n) / 4, lengths


def answers(rng: np.random.Generator, n: int) -> Rows:
    return (rng.integers(0, 2, (n, 3)),)


def grouped(rng: np.random.Generator, n: int) -> Rows:
    return rng.integers(0, 2, n), np.arange(n) % 3 % 2


def grouped_columns(rng: np.random.Generator, n: int) -> Rows:
    return rng.integers(0, 2, (n, 3)), np.arange(n) % 3 % 2


def grouped_twice(rng: np.random.Generator, n: int) -> Rows:
    return (rng.integers(0, 2, n), *grouped(rng, n))


def amounts(rng: np.random.Generator, n: int) -> Rows:
    return (rng.integers(0, 9, n) / 4,)


def replicates(rng: np.random.Generator, n: int) -> Rows:
    return (rng.integers(1, 9, (n, 5)) / 4,)


def rates(rng: np.random.Generator, n: int) -> Rows:
    return rng.integers(0, 5, n) / 4, rng.integers(1, 5, n) / 4


def ranked(rng: np.random.Generator, n: int) -> Rows:
    return rng.integers(1, 13, n), np.full(n, 12)


def before(rng: np.random.Generator, n: int) -> Rows:
    return rng.integers(0, 5, (n, 2)), rng.integers(0, 2, n)


def scores(rng: np.random.Generator, n: int) -> Rows:
    return (rng.integers(0, 5, (n, 3)) / 4,)


def answered(rng: np.random.Generator, n: int) -> Rows:
    return rng.integers(0, 3, n), rng.integers(0, 4, n), np.arange(n) % 3 % 2


def counted(rng: np.random.Generator, n: int) -> Rows:
    true, given = rng.integers(0, 9, (2, n, 2, 3))
    return true, given, np.full((n, 2), 9)


def counted_truth(rng: np.random.Generator, n: int) -> Rows:
    true, _, people = counted(rng, n)
    return true, people


def ndcg(relevant: Any, n_relevant: Any) -> Any:
    return metrics.ndcg_at_k(relevant, 10, n_relevant=n_relevant)


def precision(relevant: Any, n_relevant: Any, **options: Any) -> Any:
    return metrics.average_precision_at_k(relevant, 10, n_relevant=n_relevant, **options)


SHARES = [0.1, 0.2, 0.3, 0.4]
EPS_LIMIT = -np.log(1e-9)

TABLE = {
    "accuracy_at_k": Case(partial(metrics.accuracy_at_k, k=2), relevant_only, "rows", 0, 1),
    "ndcg_at_k": Case(ndcg, rankings, "rows", 0, 1),
    "ndcg_at_k:retrieved": Case(
        partial(metrics.ndcg_at_k, k=10, ideal="retrieved"), relevant_only, "rows", 0, 1
    ),
    "average_precision_at_k": Case(precision, rankings, "rows", 0, 1),
    "average_precision_at_k:relevant": Case(
        partial(precision, denominator="relevant"), rankings, "rows", 0, 1
    ),
    "average_precision_at_k:cutoff": Case(
        partial(metrics.average_precision_at_k, k=10, denominator="cutoff"), relevant_only, "rows", 0, 1
    ),
    "lbkl": Case(partial(metrics.lbkl, n_groups=4), groups, "rows", -1e-8, EPS_LIMIT),
    "lbkl:prior": Case(partial(metrics.lbkl, n_groups=4, prior=SHARES), groups, "rows", -1e-8, EPS_LIMIT),
    "divergences_at": Case(
        lambda lists: metrics.divergences_at(lists, 4, [2])[0],
        groups,
        "rows",
        -1e-8,
        EPS_LIMIT,
    ),
    "dlbkl": Case(partial(metrics.dlbkl, n_groups=4), groups, "rows", -1e-8, EPS_LIMIT),
    "dlbkl:pool": Case(
        partial(metrics.dlbkl, n_groups=4, prior="pool", pool_shares=SHARES), groups, "rows", -1e-8, EPS_LIMIT
    ),
    "group_exposure": Case(partial(metrics.group_exposure, n_groups=4), groups, "rows", 0, 1),
    "group_exposure:log2": Case(
        partial(metrics.group_exposure, n_groups=4, discount="log2"), groups, "rows", 0, 1
    ),
    "single_group_share": Case(metrics.single_group_share, groups, "rows", 0, 1),
    "wins": Case(metrics.wins, trials, "rows", 0, 1),
    "wins:all": Case(partial(metrics.wins, ties="all"), trials, "rows", 0, 1),
    "wins:split": Case(partial(metrics.wins, ties="split"), trials, "rows", 0, 1),
    "win_rates": Case(metrics.win_rates, trials, "pooled", 0, 1),
    "self_preference": Case(metrics.self_preference, trials, "pooled", 0, np.inf),
    "preference_ratio": Case(metrics.preference_ratio, rates, "rows", 0, 4, missing=True, elementwise=True),
    "silhouette_samples": Case(metrics.silhouette_samples, clustered, "together", -1, 1),
    "silhouette_samples:sqeuclidean": Case(
        partial(metrics.silhouette_samples, metric="sqeuclidean"), clustered, "together", -1, 1
    ),
    "silhouette_samples:cosine": Case(
        partial(metrics.silhouette_samples, metric="cosine"), clustered, "together", -1, 1
    ),
    "pearson": Case(metrics.pearson, series, "pooled", -1, 1),
    "spearman": Case(metrics.spearman, series, "pooled", -1, 1),
    "similarity_gap": Case(metrics.similarity_gap, parallel, "rows", 0, 2),
    "text_distance": Case(metrics.text_distance, captions, "rows", 0, np.inf),
    "text_distance:unit": Case(partial(metrics.text_distance, unit=True), captions, "rows", 0, 2),
    "fairness_ratio": Case(metrics.fairness_ratio, parallel, "rows", 0, np.inf),
    "fairness_ratio:unit": Case(partial(metrics.fairness_ratio, unit=True), parallel, "rows", 0, 1),
    "gap_ratio": Case(metrics.gap_ratio, rates, "rows", 0, 4),
    "gap_bound": Case(metrics.gap_bound, reaches, "rows", 0, np.sqrt(2) + 1e-12),
    "cross_lingual_gaps": Case(metrics.cross_lingual_gaps, answers, "pooled", -1, 1, missing=True),
    "group_rate_gap": Case(metrics.group_rate_gap, grouped, "pooled", -1, 1),
    "group_rate_gaps": Case(metrics.group_rate_gaps, grouped_columns, "pooled", -1, 1),
    "gap_parts": Case(metrics.gap_parts, grouped_twice, "pooled", -1, 1),
    "recall_in_pool": Case(partial(metrics.recall_in_pool, pool=4, k=2), ranked, "rows", 0, 1),
    "balanced_recall": Case(partial(metrics.balanced_recall, sizes=[9, 5], each=3), before, "rows", 0, 1),
    "answer_consistency": Case(metrics.answer_consistency, answers, "pooled", 0, 1),
    "independent_consistency": Case(metrics.independent_consistency, answers, "pooled", 0, 1),
    "independent_score_consistency": Case(metrics.independent_score_consistency, scores, "pooled", 0, 1),
    "score_consistency": Case(metrics.score_consistency, scores, "pooled", 0, 1),
    "odmap_at_k": Case(partial(metrics.odmap_at_k, k=10), relevant_only, "rows", 0, 1),
    "skew": Case(partial(metrics.skew, pool_shares=SHARES), groups, "rows", -np.inf, np.log(10)),
    "max_skew": Case(partial(metrics.max_skew, pool_shares=SHARES), groups, "rows", 0, np.log(10)),
    "ndkl": Case(partial(metrics.ndkl, pool_shares=SHARES), groups, "rows", 0, np.log(10)),
    "demographic_divergence": Case(metrics.demographic_divergence, amounts, "pooled", 0, np.log(30)),
    "directional_amplification": Case(metrics.directional_amplification, answered, "pooled", -1, 1),
    "directional_amplification:reference": Case(
        partial(metrics.directional_amplification, variant="reference"), answered, "pooled", -1, 1
    ),
    "amplification_of_counts": Case(
        metrics.amplification_of_counts, counted, "rows", -1, 1, elementwise=True
    ),
    "directions": Case(metrics.directions, counted_truth, "rows", -1, 1, elementwise=True),
    "gini": Case(metrics.gini, amounts, "pooled", 0, 1),
    "gini_of_rows": Case(metrics.gini_of_rows, replicates, "rows", 0, 1, missing=True),
}

every_metric = pytest.mark.parametrize("case", TABLE.values(), ids=TABLE.keys())


def draw(case: Case, n: int = 30) -> Rows:
    arrays = case.draw(np.random.default_rng(5), n)
    for array in arrays:
        array.setflags(write=False)  # a metric that writes into its input fails
    return arrays


def test_the_table_has_every_public_metric_and_no_other() -> None:
    public = {name for name in metrics.__all__ if not isinstance(getattr(metrics, name), type)}
    assert {name.partition(":")[0] for name in TABLE} == public


@every_metric
def test_the_result_has_its_shape_and_bounds(case: Case) -> None:
    result = case.call(*draw(case))
    if case.result == "pooled":
        assert isinstance(result, float) or result.shape in {(3,), (3, 3)}
    else:
        assert result.shape[0] == 30
    values = np.asarray(result)
    assert values.dtype == np.float64
    assert not np.isnan(values).any()
    assert np.isfinite(values).all() or np.isinf(case.low)
    assert values.min() >= case.low
    assert values.max() <= case.high


@every_metric
def test_the_order_of_rows_does_not_matter(case: Case) -> None:
    arrays = draw(case)
    order = np.random.default_rng(6).permutation(30)
    before, after = case.call(*arrays), case.call(*(array[order] for array in arrays))
    expected = before if case.result == "pooled" else before[order]
    np.testing.assert_allclose(after, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name, case in TABLE.items() if case.result == "rows"])
def test_a_row_is_measured_by_itself(name: str) -> None:
    case = TABLE[name]
    arrays = draw(case)
    alone = np.concatenate([case.call(*(array[i : i + 1] for array in arrays)) for i in range(30)])
    np.testing.assert_allclose(alone, case.call(*arrays), rtol=1e-12, atol=1e-12)


@every_metric
def test_input_types_and_memory_order_do_not_matter(case: Case) -> None:
    arrays = draw(case)
    expected = case.call(*arrays)
    narrow = {"b": np.bool_, "i": np.int8, "f": np.float32}
    for others in (
        [array.tolist() for array in arrays],
        [np.asfortranarray(array) for array in arrays],
        [array.astype(narrow[array.dtype.kind]) for array in arrays],
        [np.repeat(array, 2, axis=0)[::2] for array in arrays],
    ):
        np.testing.assert_allclose(case.call(*others), expected, rtol=1e-12, atol=1e-12)


@every_metric
def test_nothing_to_measure_is_an_error(case: Case) -> None:
    with pytest.raises(UndefinedMetricError) as error:
        case.call(*(array[:0] for array in draw(case)))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", [name for name, case in TABLE.items() if not case.elementwise])
def test_a_wrong_number_of_dimensions_is_an_error(name: str) -> None:
    case = TABLE[name]
    arrays = draw(case)
    for wrong in ([array[None] for array in arrays], [array[0] for array in arrays]):
        with pytest.raises(MetricInputError):
            case.call(*wrong)


def with_value(case: Case, value: float) -> list[np.ndarray]:
    """The arrays with `value` in row 7 of the first."""
    arrays = [array.copy() for array in draw(case)]
    arrays[0] = arrays[0].astype(float)
    arrays[0][(7, *[0] * (arrays[0].ndim - 1))] = value
    return arrays


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        (name, bad)
        for name, case in TABLE.items()
        for bad in (np.nan, np.inf, -np.inf)
        if not (case.missing and np.isnan(bad))
    ],
)
def test_a_value_that_is_not_finite_is_an_error(name: str, bad: float) -> None:
    case = TABLE[name]
    with pytest.raises(MetricInputError) as error:
        case.call(*with_value(case, bad))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", [name for name, case in TABLE.items() if case.missing])
def test_a_missing_value_costs_its_own_row_alone(name: str) -> None:
    case = TABLE[name]
    result = np.asarray(case.call(*with_value(case, np.nan)))
    if case.result == "rows":
        assert np.flatnonzero(np.isnan(result)).tolist() == [7]
    else:
        assert np.isfinite(result).all()
