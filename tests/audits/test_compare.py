import numpy as np
import pytest

from equiview.audits.compare import COLUMNS, _of_ratios, compare
from equiview.audits.execute import execute
from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from equiview.subjects import load_subject
from tests.conftest import write_world


def run_of(folder, name, out):
    subject, benchmark = load_subject(f"embeddings:{folder}"), load_benchmark(f"folder:{folder}")
    return execute(name, subject, benchmark, ["prevalence"], out)


@pytest.fixture
def runs(tmp_path):
    made = []
    for name, skew in (("even", 0.0), ("skewed", 4.0)):
        made.append(
            run_of(write_world(tmp_path / name, skew=skew, images=120), name, tmp_path / f"run-{name}")
        )
    return made


def test_the_difference_is_of_the_second_less_the_first_and_lies_in_its_interval(runs):
    table = compare(runs)
    assert table.columns == list(COLUMNS)
    row = table.filter(metric="DLBKL@10 [grouping=tier]").row(0, named=True)
    assert (row["a"], row["b"], row["n"]) == ("even", "skewed", 120)
    assert row["difference"] == pytest.approx(row["value_b"] - row["value_a"])
    assert row["low"] < row["difference"] < row["high"]
    assert row["low"] > 0
    assert row["p_holm"] < 0.01
    values = [run.estimates.one("DLBKL@10", grouping="tier")["value"] for run in runs]
    assert [row["value_a"], row["value_b"]] == pytest.approx(values)


def test_a_ratio_is_compared_as_a_ratio():
    # Cultural and semantic wins of 200 trials: SP is 60/120 for the first and 20/160 for the second.
    first = np.repeat([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [60, 120, 20], axis=0)
    second = np.repeat([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [20, 160, 20], axis=0)
    options = {"clusters": np.arange(200), "replicates": 2000, "seed": 0}
    row = _of_ratios(first, second, options)
    assert (row["value_a"], row["value_b"]) == (0.5, 0.125)
    assert row["difference"] == -0.375
    assert row["low"] < -0.375 < row["high"] < 0
    assert row["p"] < 0.01
    assert _of_ratios(first, first, options)["p"] == 1


def test_a_run_against_its_twin_differs_in_nothing(tmp_path):
    folder = write_world(tmp_path / "w")
    twins = [run_of(folder, name, tmp_path / name) for name in ("one", "two")]
    table = compare(twins)
    assert table["difference"].abs().max() == 0
    assert table["p_holm"].min() == 1


def test_runs_over_other_items_do_not_compare(tmp_path, runs):
    other = run_of(write_world(tmp_path / "o", images=30), "other", tmp_path / "run-o")
    with pytest.raises(InputError, match="only runs over the same items, with an audit in common, compare"):
        compare([runs[0], other])


def test_comparing_needs_two_different_runs(runs):
    with pytest.raises(InputError, match="at least two"):
        compare(runs[:1])
    with pytest.raises(InputError, match="two runs are of 'even'"):
        compare([runs[0], runs[0]])
