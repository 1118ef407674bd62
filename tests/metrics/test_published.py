"""Tables of "Evaluating Perspectival Biases in Cross-Modal Retrieval" follow from one another by metrics."""

import json
from pathlib import Path

import numpy as np
import pytest

from equiview.metrics import pearson, self_preference, win_rates

PUBLISHED = json.loads((Path(__file__).parents[1] / "data" / "perspectival.json").read_text())
MODELS = PUBLISHED["by_country"]
KINDS = ("m_sem", "m_cul", "m_non")


def trials_won(percent: list[float]) -> np.ndarray:
    """Scores of 10,000 trials won in the proportions of a published row, in hundredths of a percent."""
    return np.repeat(np.eye(3), np.rint(100 * np.array(percent)).astype(int), axis=0)


def test_table_8_is_the_ratio_of_table_11() -> None:
    exact, others = 0, []
    for model in MODELS.values():
        for sem, cul, non, published in zip(*(model[kind] for kind in KINDS), model["sp"], strict=True):
            ours = self_preference(trials_won([sem, cul, non]))
            if round(ours, 2) == published:
                exact += 1
            else:
                others.append(abs(ours - published))
    assert exact == 109
    assert len(others) == 3
    assert max(others) < 0.01


def test_table_2_is_table_11_weighted_by_trials() -> None:
    trials = np.array(PUBLISHED["trials"])
    for name, overall in PUBLISHED["overall_wins"].items():
        pooled = []
        for country, n in enumerate(trials):
            won = trials_won([MODELS[name][kind][country] for kind in KINDS])
            pooled.append(n * win_rates(won))
        rates = 100 * np.sum(pooled, axis=0) / trials.sum()
        np.testing.assert_allclose(rates, [overall[kind] for kind in KINDS], atol=0.01)


@pytest.mark.parametrize("space", ["text", "image"])
def test_table_7_follows_from_table_8_within_its_rounding(space: str) -> None:
    rng = np.random.default_rng(0)
    for name, model in MODELS.items():
        published = PUBLISHED["silhouette_correlation"][name][space]
        sp, silhouette = np.array(model["sp"]), np.array(model[f"{space}_silhouette"])
        possible = [
            pearson(sp + rng.uniform(-0.005, 0.005, 16), silhouette + rng.uniform(-0.005, 0.005, 16))
            for _ in range(1000)  # values that would have been printed as these
        ]
        assert min(possible) - 0.005 <= published <= max(possible) + 0.005, name


@pytest.mark.parametrize("space", ["text", "image"])
def test_the_average_of_table_7(space: str) -> None:
    rows = PUBLISHED["silhouette_correlation"]
    mean = np.mean([row[space] for name, row in rows.items() if name != "Average"])
    assert mean == pytest.approx(rows["Average"][space], abs=0.005)
