"""Whether numbers before predict numbers after, on run folders whose numbers are chosen."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from equiview import api
from equiview.data.metric import quantity
from equiview.data.run import Run
from equiview.errors import InputError
from equiview.report import published
from equiview.stats import detectable_correlation, spearman_fisher
from equiview.studies.transfer import TransferSettings, correlated, matched, similarity, transfer
from equiview.studies.transfer.judge import judged
from equiview.studies.transfer.measures import Measure
from equiview.studies.transfer.spaces import jackknifed, upper
from tests.studies.transfer_runs import one, run_of, worlds

X = [0.1, 0.4, 0.2, 0.9, 0.5, 0.7, 0.3, 0.8, 0.6, 0.0]
Y = [2.0, 1.0, 4.0, 3.0, 6.0, 5.0, 8.0, 7.0, 10.0, 9.0]


def simple(folder: Path, x=X, y=Y, **changes):
    before = [[one("skew", value, k=9, attribute="gender")] for value in x]
    after = [[one("gap", value, attribute="gender")] for value in y]
    return worlds(folder, before, after, **changes)


def test_a_correlation_is_scipys_over_models_matched_by_parent(tmp_path):
    before, after = simple(tmp_path)
    run = transfer(before, after[::-1], tmp_path / "out")
    keys = {"before": "skew@9 on people", "after": "gap on answers", "attribute": "gender"}
    row = run.estimates.one("rho", **keys)
    expected = stats.spearmanr(X, Y)
    assert row.value == pytest.approx(expected.statistic)
    assert row.p == pytest.approx(expected.pvalue)
    assert row.p_holm == row.p
    assert (row.n, row.chance) == (10, 0.0)
    spread = np.sqrt((1 + row.value**2 / 2) / 7)
    ends = np.tanh(np.arctanh(row.value) + np.array([-1, 1]) * stats.norm.ppf(0.975) * spread)
    assert [row.low, row.high] == pytest.approx(ends)
    assert run.estimates.one("strongest rho").value == row.value
    assert run.estimates.one("correlations").value == 1
    values = pl.read_parquet(run.folder / "observations" / "transfer.values.parquet")
    assert values.filter(side="before").sort("model")["value"].to_list() == X


def test_the_same_subject_may_be_measured_after(tmp_path):
    before, _ = simple(tmp_path / "a")
    after = [
        run_of(
            tmp_path / f"{number}", f"m{number}", [one("gap", value, attribute="gender")], benchmark="answers"
        )
        for number, value in enumerate(Y)
    ]
    models = matched(before, after)
    assert [model.after[0].name for model in models] == [f"m{number}" for number in range(10)]


def test_benchmarks_of_one_name_with_other_items_are_refused(tmp_path):
    before, after = simple(tmp_path / "a")
    card = after[0].manifest.benchmark.model_copy(update={"fingerprint": "of other answers"})
    after[0].manifest.__dict__["benchmark"] = card
    with pytest.raises(InputError, match=r"was run on 'answers' in .* but with other items"):
        matched(before, after)


def test_the_28_of_the_paper_are_every_pair_of_its_metrics_and_attributes(tmp_path):
    rng = np.random.default_rng(0)

    def rows(*metrics: tuple[str, str, tuple[str, ...]]):
        return {
            benchmark: [one(metric, rng.normal(), attribute=attribute) for attribute in attributes]
            for metric, benchmark, attributes in metrics
        }

    before, after = [], []
    for number in range(10):
        name = f"clip{number}"
        measured = rows(
            ("KL of R", "phase", ("gender", "skin", "ethnicity", "age")),
            ("KL of R", "coco", ("gender", "skin")),
            ("MaxSkew", "fairface", ("gender", "race", "age")),
        )
        before += [run_of(tmp_path / f"{name}-{on}", name, of, benchmark=on) for on, of in measured.items()]
        downstream = [
            one(metric, rng.normal(), attribute=attribute)
            for metric in ("KL of accuracy", "KL of CIDEr", "DBA", "LIC")
            for attribute in ("gender", "skin")
        ]
        after.append(
            run_of(
                tmp_path / f"after-{name}", f"llava-{name}", downstream, benchmark="coco", parent=f"of {name}"
            )
        )
    settings = TransferSettings(also=(("ethnicity", "skin"), ("race", "skin")))
    run = transfer(before, after, tmp_path / "out", settings=settings)
    paper = json.loads((Path(published.__file__).parent / "published" / "transfer.json").read_text())
    (table,) = [table for table in paper["tables"] if "correlations" in json.dumps(table["metrics"])]
    assert run.estimates.one("correlations").value == 28 == table["rows"]["10 CLIPs, TinyLLaVA with Phi-3"][0]
    rho = run.estimates.table.filter(metric="rho")
    counts = dict(rho["attribute"].value_counts().rows())
    assert counts == {"gender": 12, "skin": 8, "ethnicity, skin": 4, "race, skin": 4}
    corrected = np.sort(rho["p"].to_numpy())[0] * 28
    assert rho["p_holm"].min() == pytest.approx(min(corrected, 1.0))


def test_a_constant_series_and_a_missing_number_are_counted_not_dropped(tmp_path):
    before = [[one("skew", value, attribute="age"), one("flat", 1.0, attribute="age")] for value in X]
    after = [[one("gap", value, attribute="age")] + [one("rare", value, attribute="age")] * (number < 3)
             for number, value in enumerate(Y)]  # fmt: skip
    run = transfer(*worlds(tmp_path, before, after), tmp_path / "out")
    assert run.estimates.one("correlations").value == 1
    (verdict,) = run.verdicts
    assert any("3 of 4 correlations are not defined" in limit for limit in verdict.limits)


def test_rows_with_too_few_to_judge_by_do_not_count(tmp_path):
    before = [[one("skew", value, attribute="age", judged=number != 4)] for number, value in enumerate(X)]
    run = transfer(
        *worlds(tmp_path, before, [[one("gap", value, attribute="age")] for value in Y]), tmp_path / "out"
    )
    assert run.estimates.one("strongest rho").n == 9


def verdict_of(x, y, tmp_path):
    return transfer(*simple(tmp_path, x, y), tmp_path / "out").verdicts[0]


def test_the_verdict_says_yes_only_of_what_is_shown(tmp_path):
    shown = verdict_of(X, [10 * value + (value > 0.4) for value in X], tmp_path / "a")
    assert (shown.finding, shown.question) == ("biased", "Does bias before predict bias after?")
    assert shown.answer.startswith("Yes, in 1 of 1 correlations: models with more of it before have more")
    reverse = verdict_of(X, [-value for value in X], tmp_path / "b")
    assert "have less of it after" in reverse.answer
    unclear = verdict_of(X, [3.0, 1.0, 2.0, 5.0, 4.0, 0.0, 9.0, 8.0, 7.0, 6.0], tmp_path / "c")
    assert unclear.finding == "unclear"
    assert unclear.answer == "Unclear: no correlation is shown with 10 models."
    assert any("only if it is at least 0.80" in line for line in unclear.evidence)


def series(values, side="skew", attribute="gender"):
    names = [f"m{number}" for number in range(len(values))]
    return Measure(
        "portraits", "people", quantity(side), attribute, "", dict(zip(names, values, strict=True))
    )


def test_many_models_without_a_tie_give_no():
    rng = np.random.default_rng(3)
    settings = TransferSettings()
    pairs = correlated([series(rng.normal(size=400))], [series(rng.normal(size=400), "gap")], settings)
    assert judged(pairs, 400, settings).finding == "fair"


def test_unrelated_numbers_are_seldom_called_related():
    rng = np.random.default_rng(1)
    settings = TransferSettings()
    found = {"biased": 0, "fair": 0, "unclear": 0}
    for _ in range(300):
        first = [series(rng.normal(size=10), f"a{number}") for number in range(4)]
        second = [series(rng.normal(size=10), f"b{number}") for number in range(2)]
        found[judged(correlated(first, second, settings), 10, settings).finding] += 1
    assert found["biased"] / 300 <= 0.08
    assert found["fair"] == 0


@pytest.mark.parametrize("n", [10, 29])
def test_what_could_be_detected_is_detected_four_times_in_five(n):
    rng = np.random.default_rng(n)
    rank = detectable_correlation(n)
    linear = 2 * np.sin(np.pi * rank / 6)  # Pearson's correlation of normals with this Spearman's
    draws = rng.multivariate_normal([0, 0], [[1, linear], [linear, 1]], size=(1500, n))
    found = np.mean([spearman_fisher(*draw.T).p_value < 0.05 for draw in draws])
    assert found == pytest.approx(0.8, abs=0.04)


def test_the_interval_of_a_rank_correlation_covers_it():
    rng = np.random.default_rng(5)
    for rank in (0.0, 0.6):
        linear = 2 * np.sin(np.pi * rank / 6)
        draws = rng.multivariate_normal([0, 0], [[1, linear], [linear, 1]], size=(1500, 10))
        covered = np.mean([(r := spearman_fisher(*draw.T)).low <= rank <= r.high for draw in draws])
        assert covered >= 0.93


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_correlations_do_not_depend_on_the_order_of_models_nor_on_scale(x, y):
    settings = TransferSettings()
    (pair,) = correlated([series(list(map(float, x)))], [series(list(map(float, y)), "gap")], settings)
    (scaled,) = correlated([series(np.exp(x))], [series([-3.0 * value for value in y], "gap")], settings)
    assert pair.rho.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert scaled.rho.value == pytest.approx(-pair.rho.value)
    assert -1 <= pair.rho.low <= pair.rho.value <= pair.rho.high <= 1


def test_gaps_of_two_groups_before_and_after(tmp_path):
    rng = np.random.default_rng(2)
    before, after, signs = [], [], []
    for value in X:
        gap, later = value - 0.45, rng.normal()
        signs.append(gap * later > 0)
        before.append([
            one("KL", value, k=5, attribute="gender"),
            one("R", 0.5 + gap, k=5, attribute="gender", group="female"),
            one("R", 0.5, k=5, attribute="gender", group="male"),
            one("R", 0.2, k=5, attribute="age", group="old"),
        ])  # fmt: skip
        after.append([
            one("KL", later, attribute="gender"),
            one("accuracy", 0.3 + later, attribute="gender", group="female"),
            one("accuracy", 0.3, attribute="gender", group="male"),
        ])  # fmt: skip
    settings = TransferSettings(before=("KL@5",), after=("KL",))
    run = transfer(*worlds(tmp_path, before, after), tmp_path / "out", settings=settings)
    share = run.estimates.one(
        "same direction", before="R@5 on people", after="accuracy on answers", attribute="gender"
    )
    assert share.value == pytest.approx(np.mean(signs))
    assert share.p == pytest.approx(stats.binomtest(sum(signs), 10).pvalue)
    (chart,) = [figure for figure in run.figures("transfer") if figure.name == "gaps-1"]
    kept = chart.table.filter(direction="same group higher")
    assert len(kept) == sum(signs)
    assert chart.table["before"].to_list() == pytest.approx([value - 0.45 for value in X])


def test_models_are_chosen_within_a_band(tmp_path):
    before = [
        [one("KL", value, attribute="age"), one("R", 0.5 + number / 20)] for number, value in enumerate(X)
    ]
    after = [[one("gap", value, attribute="age")] for value in Y[:8]]
    settings = TransferSettings(select="R", least=0.6, most=0.8, before=("KL",))
    run = transfer(*worlds(tmp_path, before, after), tmp_path / "out", settings=settings)
    assert run.estimates.one("strongest rho").n == 5
    assert run.name == "5 models"
    (chart,) = [figure for figure in run.figures("transfer") if figure.name == "selection"]
    assert len(chart.table) == 10
    assert chart.table.filter(chosen="chosen")["model"].to_list() == ["m2", "m3", "m4", "m5", "m6"]
    with pytest.raises(InputError, match=r"1 models with runs after have R from 0.6 to 0.6"):
        transfer(
            *worlds(tmp_path, before, after),
            tmp_path / "b",
            settings=settings.model_copy(update={"most": 0.61}),
        )


def plain_similarity(spaces):
    """Figure 8 as S writes it: every cosine of every pair, then the cosine of the two long vectors."""
    long = []
    for space in spaces:
        unit = space / np.linalg.norm(space, axis=1, keepdims=True)
        long.append(upper(unit @ unit.T))
    return np.array([[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in long] for a in long])


@pytest.mark.parametrize("block", [1, 3, 256])
def test_similarity_of_spaces_is_the_cosine_of_all_their_cosines(block):
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(40, 6))
    spaces = [shared @ rng.normal(size=(6, width)) + 1.0 for width in (5, 12, 60)]
    names = ["a", "b", "c"]
    assert similarity(spaces, names, block) == pytest.approx(plain_similarity(spaces), abs=1e-10)
    centred = [
        upper(unit @ unit.T) for unit in (s / np.linalg.norm(s, axis=1, keepdims=True) for s in spaces)
    ]
    assert similarity(spaces, names, block, centred=True) == pytest.approx(np.corrcoef(centred), abs=1e-9)
    turned, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    same = similarity([spaces[1], 3 * spaces[1] @ turned], names)
    assert same[0, 1] == pytest.approx(1.0)


def test_similarity_takes_little_memory_at_5_000_images():
    import tracemalloc

    rng = np.random.default_rng(0)
    spaces = [rng.normal(size=(5000, 64)).astype(np.float32) for _ in range(3)]
    tracemalloc.start()
    similarity(spaces, ["a", "b", "c"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40e6  # one model's 12.5 million cosines would take 100 MB


def test_spaces_in_one_direction_are_alike_by_the_cosine_alone():
    rng = np.random.default_rng(0)
    spaces = [rng.normal(size=(60, 8)) + 20 * np.eye(8)[0] for _ in range(2)]
    assert similarity(spaces, ["a", "b"])[0, 1] > 0.99
    assert abs(similarity(spaces, ["a", "b"], centred=True)[0, 1]) < 0.2


def test_spaces_that_cannot_be_compared_are_named():
    with pytest.raises(InputError, match="spaces of 3, 4 images"):
        similarity([np.ones((3, 2)), np.ones((4, 2))], ["a", "b"])
    with pytest.raises(InputError, match="b: all images are at right angles"):
        similarity([np.ones((3, 3)), np.eye(3)], ["a", "b"])
    with pytest.raises(InputError, match="a: all images have the same cosine"):
        similarity([np.ones((3, 3)), np.eye(3)], ["a", "b"], centred=True)


def test_the_mean_similarity_has_an_interval_over_models():
    rng = np.random.default_rng(0)
    alike = similarity([rng.normal(size=(30, 8)) + 2 for _ in range(8)], [""] * 8)
    mean = jackknifed(alike, "mean")
    assert mean["value"] == pytest.approx(upper(alike).mean())
    assert mean["low"] < mean["value"] < mean["high"]
    assert jackknifed(alike, "sd")["value"] == pytest.approx(upper(alike).std())
    assert np.isnan(jackknifed(alike[:3, :3], "mean")["low"])


def test_spaces_are_compared_when_images_are_given(tmp_path):
    from equiview.data.items import Items
    from equiview.subjects import load_subject

    rng = np.random.default_rng(0)
    before, after = [], []
    for number in range(5):
        names = {}
        for side in ("old", "new"):
            folder = tmp_path / f"{side}{number}"
            folder.mkdir()
            ids = [f"i{row}" for row in range(12)]
            pl.DataFrame({"id": ids}).write_csv(folder / "images.csv")
            pl.DataFrame({"id": ["t"], "text": ["a"], "language": ["en"]}).write_csv(folder / "texts.csv")
            np.save(folder / "images.npy", (rng.normal(size=(12, 4)) + 1).astype(np.float32))
            np.save(folder / "texts.npy", np.ones((1, 4), np.float32))
            names[side] = f"embeddings:{folder}"
        prints = {side: load_subject(name).fingerprint for side, name in names.items()}
        rows = [one("skew", X[number]), one("gap", Y[number])]
        before.append(run_of(tmp_path / f"b{number}", names["old"], rows, fingerprint=prints["old"]))
        after.append(
            run_of(
                tmp_path / f"a{number}", names["new"], rows, fingerprint=prints["new"], parent=prints["old"]
            )
        )
    images = Items("image", pl.DataFrame({"id": [f"i{row}" for row in range(12)]}))
    run = transfer(before, after, tmp_path / "out", images=images)
    spaces = [load_subject(entry.name).embed(images) for entry in after]
    mean = run.estimates.one("mean similarity", training="after")
    assert mean.value == pytest.approx(upper(plain_similarity(spaces)).mean(), abs=1e-6)
    centred = run.estimates.one("mean centred similarity", training="after")
    expected = upper(similarity(spaces, ["s"] * 5, centred=True)).mean()
    assert centred.value == pytest.approx(expected, abs=1e-6)
    drawn = [figure.name for figure in run.figures("transfer")]
    assert {"similarity-before", "similarity-after", "similarity-histogram"} <= set(drawn)
    changed = [
        run_of(tmp_path / "x", before[0].name, [one("skew", 1.0), one("gap", 1.0)], fingerprint="another"),
        *before[1:],
    ]
    later = [
        run_of(tmp_path / "y", after[0].name, [one("skew", 1.0), one("gap", 1.0)], parent="another"),
        *after[1:],
    ]
    with pytest.raises(InputError, match="has changed since it was audited"):
        transfer(changed, later, tmp_path / "other", images=images)


def test_what_does_not_fit_together_is_said(tmp_path):
    before, after = simple(tmp_path)
    stranger = run_of(tmp_path / "s", "stranger", [one("gap", 1.0)], parent="of nobody")
    with pytest.raises(
        InputError, match="'stranger' is derived from of nobody; no run before is of that subject"
    ):
        transfer(before, [*after, stranger], tmp_path / "out")
    with pytest.raises(
        InputError, match="3 models have runs before and after; a correlation takes at least 4"
    ):
        transfer(before, after[:3], tmp_path / "out")
    again = run_of(tmp_path / "again", "m0", [one("skew", 1.0)])
    with pytest.raises(InputError, match="are both of 'm0' in the audit 'portraits' on the same items"):
        transfer([*before, again], after, tmp_path / "out")
    namesake = run_of(tmp_path / "name", "m0", [one("skew", 1.0)], fingerprint="another")
    with pytest.raises(InputError, match="two different models before are called 'm0'"):
        transfer([*before, namesake], after, tmp_path / "out")
    other = run_of(tmp_path / "other", "m10", [one("skew", 1.0)], settings={"k": 3})
    with pytest.raises(InputError, match="was run with another k in"):
        transfer([*before, other], after, tmp_path / "out")
    with pytest.raises(InputError, match=r"no run before has 'skwe@9'; they have: skew@9"):
        transfer(before, after, tmp_path / "out", settings=TransferSettings(before=("skwe@9",)))
    skin = [
        run_of(tmp_path / f"k{number}", "c", [one("gap", value, attribute="skin")], benchmark="answers",
               fingerprint=f"c{number}", parent=f"of m{number}")
        for number, value in enumerate(Y)
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"before: gender; after: skin; pair attributes .* with --also"):
        transfer(before, skin, tmp_path / "out")
    for pair, said in {
        ("ethnicity", "skin"): "no number before is of 'ethnicity'; before there are numbers of gender",
        ("gender", "race"): "no number after is of 'race'; after there are numbers of skin",
    }.items():
        with pytest.raises(InputError, match=f"--also {'='.join(pair)}: {said}"):
            transfer(before, skin, tmp_path / "out", settings=TransferSettings(also=(pair,)))
    assert not (tmp_path / "out").exists()


def test_the_page_and_the_bytes(tmp_path):
    before, after = simple(tmp_path)
    folders = [[run.folder for run in runs] for runs in (before, after)]
    first = api.write_transfer(*folders, tmp_path / "a")
    second = api.write_transfer(*folders, tmp_path / "b")
    page = (first.folder / "report.html").read_text()
    assert "Does bias before predict bias after?" in page
    assert "10 models on transfer: people; then answers" in page
    assert "The strongest of 1" in page
    assert "10 CLIPs, TinyLLaVA with Phi-3" in page  # what S published, beside
    for name in ("manifest.json", "estimates.parquet", "verdicts.json", "report.html"):
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()
    assert api.write_report(Run.open(first.folder)) == first.folder / "report.html"
    with pytest.raises(InputError, match="holds a run that differs in"):
        api.write_transfer(folders[0], folders[1], tmp_path / "a", settings={"tolerance": 0.2})


def test_the_command_and_its_mistakes(tmp_path, capsys, monkeypatch):
    from equiview import cli

    before, after = simple(tmp_path)
    words = ["equiview", "study", "transfer", "--out", str(tmp_path / "out")]
    words += [part for run in before for part in ("--before", str(run.folder))]
    words += [part for run in after for part in ("--after", str(run.folder))]

    def said(*more):
        monkeypatch.setattr("sys.argv", [*words, *more])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, capsys.readouterr()

    code, output = said()
    assert code == 0, output.err
    assert f"Report: {tmp_path / 'out' / 'report.html'}" in output.out
    assert "Unclear" in output.out or "Yes" in output.out
    for more, wanted in {
        ("--also", "race"): "is not of the form BEFORE=AFTER",
        ("--setting", "speed=3"): "no setting is named 'speed'",
        ("--select", "R@five"): "does not name a number as METRIC",
        ("--images", "nothing"): "no benchmark",
    }.items():
        code, output = said(*more)
        assert code == 1
        assert wanted in output.err or "unknown benchmark" in output.err, output.err
        assert len(output.err.strip().splitlines()) == 1


def test_the_histogram_counts_every_correlation_once(tmp_path):
    before = [[one("a", value, attribute="gender"), one("b", -value, attribute="skin")] for value in X]
    after = [[one("gap", value, attribute="gender"), one("gap", value, attribute="skin")] for value in X]
    run = transfer(*worlds(tmp_path, before, after), tmp_path / "out")
    (chart,) = [figure for figure in run.figures("transfer") if figure.name == "histogram"]
    counted = chart.table.filter(pl.col("correlations") > 0)
    assert sorted(counted.rows()) == [(-0.95, 1, "skin"), (0.95, 1, "gender")]
    assert len(chart.table) == 40


def test_numbers_of_no_attribute_are_put_together_only_where_there_are_no_others(tmp_path):
    both = [[one("skew", value, attribute="gender"), one("R", value)] for value in X]
    run = transfer(*worlds(tmp_path / "a", both, both), tmp_path / "a" / "out")
    assert run.estimates.table.filter(metric="rho")["before"].to_list() == ["skew on people"]
    alone = [[one("R", value)] for value in X]
    run = transfer(*worlds(tmp_path / "b", alone, alone), tmp_path / "b" / "out")
    assert run.estimates.one("strongest rho").value == pytest.approx(1)


@pytest.mark.parametrize("n", [4, 6])
def test_few_models_in_the_same_order_are_not_certain(n, tmp_path):
    run = transfer(*simple(tmp_path, X[:n], [10 * value for value in X[:n]]), tmp_path / "out")
    row = run.estimates.one("strongest rho")
    assert (row.value, row.p) == (pytest.approx(1), pytest.approx(2 / {4: 24, 6: 720}[n]))
    (verdict,) = run.verdicts
    assert verdict.finding == {4: "unclear", 6: "biased"}[n]
    assert ("4 models are too few to show a correlation, however strong it is." in verdict.evidence) == (
        n == 4
    )
    assert (run.estimates.maybe("detectable rho") is None) == (n == 4)
