"""The audit from asking to the answer, on questions and captions whose truth is known."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from labs.error_rates.amplification import (
    LEAN,
    Says,
    answering,
    captioning,
    captions,
    leaning,
    questions,
    revealing,
)

from equiview.audits.amplification import AMPLIFICATION
from equiview.audits.amplification.cider import cider
from equiview.audits.execute import execute
from equiview.benchmarks import Benchmark
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.metrics import demographic_divergence, directional_amplification
from equiview.studies.compare import compare
from tests.audits import steps
from tests.audits.amplification.worlds import QUICK, Known, audited


@pytest.fixture(scope="module")
def asked():
    return questions(400, np.random.default_rng(0))


@pytest.fixture(scope="module")
def captioned():
    return captions(200, np.random.default_rng(0))


def answers(world, lean=LEAN, right=0.6, seed=1):
    return Says(answering(leaning(lean), right)(world.women, world.truth, np.random.default_rng(seed)))


def caption(world, lean=LEAN, right=0.6, seed=1):
    return Says(captioning(leaning(lean), right)(world.women, world.truth, np.random.default_rng(seed)))


def test_answers_that_lean_more_than_people_are_biased(asked):
    *_, verdict, _ = audited(answers(asked, lean=0.95, right=0.5), asked.data)
    assert verdict.finding == "biased"
    assert verdict.answer.startswith("Yes: what is said goes with gender more than what people say, by ")
    assert verdict.effect.quantity.keys == {"attribute": "gender"}
    assert verdict.advice


def test_right_answers_are_fair_and_amplify_nothing(asked):
    subject = Says(asked.data.tables["questions"]["answer"].to_list())
    _, estimates, verdict, _ = audited(subject, asked.data)
    assert verdict.finding == "fair"
    assert estimates.one("amplification", attribute="gender").value == 0
    assert estimates.one("DBA", attribute="gender", variant="paper").value == 0


def test_refusing_to_answer_about_one_group_is_not_fair(asked):
    right = asked.data.tables["questions"]["answer"].to_list()
    women = np.flatnonzero(asked.women == 1)
    said = list(right)
    for place in women[::2]:
        said[place] = "I cannot answer that."
    _, estimates, verdict, _ = audited(Says(said), asked.data)
    assert verdict.finding == "unclear"
    assert verdict.answer == (
        "Unclear: too little is known of replies that are missing or none of people's answers, by gender "
        "(female 50%, male 0%)."
    )
    assert estimates.one("uncounted replies", attribute="gender", group="female").n == len(women)
    for place in range(0, len(said), 4):  # of all alike
        right[place] = "I cannot answer that."
    _, estimates, verdict, _ = audited(Says(right), asked.data)
    assert not len(estimates.by(("attribute", "group"), "uncounted replies").table)
    assert verdict.finding == "fair"


def test_answers_to_other_questions_decide_nothing(asked):
    *_, verdict, _ = audited(answers(asked, right=0.0), asked.data)
    assert verdict.finding == "unclear"
    assert "no better than those to other images" in verdict.answer


def test_numbers_are_those_of_the_metrics(asked):
    subject = answers(asked, lean=0.6)
    observed, estimates, _, _ = audited(subject, asked.data)
    table = asked.data.tables["questions"].join(
        asked.data.images.table, left_on="image_id", right_on="id", maintain_order="left"
    )
    codes = {name: place for place, name in enumerate(sorted({*table["answer"], *subject.said}))}
    true, given = ([codes[answer] for answer in column] for column in (table["answer"], subject.said))
    group = (table["gender"] == "male").cast(pl.Int64).to_numpy()
    for variant in ("paper", "reference"):
        expected = directional_amplification(true, given, group, variant=variant)
        assert estimates.one("DBA", attribute="gender", variant=variant).value == pytest.approx(expected)
    levels = [observed["replies"].filter(pl.Series(group == place))["score"].mean() for place in (0, 1)]
    for name, level in zip(("female", "male"), levels, strict=True):
        assert estimates.one("accuracy", attribute="gender", group=name).value == pytest.approx(level)
    divergence = estimates.one("KL of accuracy", attribute="gender")
    assert divergence.value == pytest.approx(demographic_divergence(levels))
    assert 0 < divergence.p <= 1
    assert divergence.chance > 0


def test_captions_that_other_words_give_away_are_biased(captioned):
    rng = np.random.default_rng(1)
    subject = Says(revealing(captioned.women, captioned.truth, rng))
    _, estimates, verdict, _ = audited(subject, captioned.data)
    assert verdict.finding == "biased"
    assert "captions without its words reveal gender more than human captions do" in verdict.answer
    lic = estimates.one("LIC", attribute="gender")
    replies, humans = (
        estimates.one("leakage", attribute="gender", of=source).value for source in ("replies", "humans")
    )
    assert lic.value == pytest.approx(replies - humans)
    assert lic.low > 0.05


def test_a_persons_captions_are_not_biased(captioned):
    *_, verdict, _ = audited(caption(captioned, right=0.8), captioned.data)
    assert verdict.finding in {"fair", "unclear"}


def test_the_mean_over_groups_of_values_is_the_estimate(captioned):
    observed, estimates, _, settings = audited(caption(captioned), captioned.data)
    values = steps.valued(AMPLIFICATION, observed, settings)
    for metric in ("amplification", "LIC"):
        expected = estimates.one(metric, attribute="gender").value
        assert values.mean(metric, attribute="gender") == pytest.approx(expected)


def test_lic_over_seeds_is_the_mean_of_the_tests(captioned):
    observed, estimates, _, _ = audited(caption(captioned), captioned.data)
    rows = observed["leakage"].filter(~pl.col("shuffled"))
    score = (rows["guess"] == rows["group"]) * rows["confidence"]
    means = (
        rows.with_columns(score=score)
        .group_by("source", "seed", maintain_order=True)
        .agg(pl.col("score").mean())
    )
    by_source = [means.filter(source=source)["score"].to_numpy() for source in ("replies", "humans")]
    row = estimates.one("LIC over seeds", attribute="gender")
    assert row.value == pytest.approx((by_source[0] - by_source[1]).mean())
    assert row.n == 10


def people(data: Benchmark, **columns) -> Benchmark:
    table = data.images.table.with_columns(**columns)
    return Benchmark(
        data.name, Items("image", table), data.texts, data.relevance, tables=data.tables, schemas=data.schemas
    )


def test_only_images_of_known_people_are_asked_about(asked):
    gender = asked.data.images.table["gender"].to_list()
    gender[:3] = [None, "Both", "unsure"]
    data = people(asked.data, gender=pl.Series(gender))
    subject = Known(dict(zip(data.tables["questions"]["question_id"], answers(asked).said, strict=True)))
    _, estimates, verdict, _ = audited(subject, data)
    assert len(subject.asked) == 394
    counts = {row.quantity.keys["what"]: row.n for row in estimates.by("what", "left out")}
    assert counts["images without gender"] == 1
    assert counts["images whose gender is excluded"] == 2
    assert counts["questions about images of nobody known"] == 6
    assert "6 questions about images of nobody known" in " ".join(verdict.evidence)


def test_requests_say_what_is_asked(asked, captioned):
    subject = Known({})
    with pytest.raises(InputError):
        audited(subject, asked.data)
    first = subject.asked[0]
    assert (first.id, first.image, first.question) == ("q0", 0, "What is there?")
    assert first.prompt == "What is there?\nAnswer the question using a single word or phrase."
    with pytest.raises(InputError):
        audited(subject, captioned.data, prompt="Say what you see.")
    assert (subject.asked[0].id, subject.asked[0].prompt) == ("i0", "Say what you see.")


def test_the_plan_counts_what_would_be_asked(asked):
    settings = AMPLIFICATION.configure({})
    (plan,) = AMPLIFICATION.plan(Known({}), asked.data, settings)
    assert (plan.requests, plan.pictures, plan.model) == (400, 400, "known")
    assert len(plan.asked) == 400  # by which it is known how many answers are kept
    plain, japanese = (
        AMPLIFICATION.plan(Known({}), asked.data, settings.model_copy(update={"prompt": prompt}))[0]
        for prompt in ("What is that?", "これは何ですか？")  # 13 bytes, and 24 of 8 letters
    )
    assert japanese.input_tokens - plain.input_tokens == 400 * (6 - 4)


def test_missing_replies_are_an_error_or_counted(captioned):
    said = dict(zip(captioned.data.images.ids, caption(captioned).said, strict=True))
    subject = Known({name: text for name, text in said.items() if name not in {"i1", "i7"}})
    with pytest.raises(InputError, match="2 failed, the first of them 'i1'"):
        audited(subject, captioned.data)
    observed, estimates, verdict, _ = audited(subject, captioned.data, count_missing=True)
    assert observed["replies"]["score"].null_count() == 2
    assert estimates.one("CIDEr").n == 198
    assert "2 requests without a reply" in " ".join(verdict.evidence)


def test_cider_within_groups_is_that_of_each_group_s_captions_alone(captioned):
    subject = caption(captioned)
    observed, *_ = audited(subject, captioned.data, cider_within="gender")
    whole, *_ = audited(subject, captioned.data)
    people = captioned.data.images.table["gender"].to_numpy()
    texts = captioned.data.texts.table["text"].to_list()  # five of each image, in order
    for group in ("female", "male"):
        rows = np.flatnonzero(people == group)
        humans = [texts[5 * row : 5 * row + 5] for row in rows]
        expected = cider([subject.said[row] for row in rows], humans, "en")
        np.testing.assert_allclose(observed["replies"]["score"].to_numpy()[rows], expected)
        assert not np.allclose(whole["replies"]["score"].to_numpy()[rows], expected)
    with pytest.raises(InputError, match="cider_within: no image has 'shoes'"):
        audited(subject, captioned.data, cider_within="shoes")


def test_captions_are_not_fair_where_people_tie_nothing_and_images_are_few():
    """Leakage alone does not show it; what the captions lean on is told from 200 images of each group on."""
    world = captions(300, np.random.default_rng(3), lean=0.0)
    *_, estimates, verdict, _ = audited(caption(world, lean=0.0), world.data)
    assert estimates.one("amplification", attribute="gender").judged is False
    assert verdict.finding == "unclear"
    assert "too little is known of what replies tie to gender, which people tie to nothing" in verdict.answer


def test_nothing_replied_is_an_error_though_missing_replies_are_counted(captioned):
    with pytest.raises(InputError, match="200 failed"):
        audited(Known({}), captioned.data, count_missing=True)


@pytest.mark.parametrize(
    ("columns", "given", "said"),
    [
        ({"gender": pl.lit("female")}, {}, "one value or none \\(female\\)"),
        ({"gender": pl.lit(None, pl.String)}, {}, "one value or none \\(none\\)"),
        ({}, {"attributes": ["shoes"]}, "no attribute 'shoes'"),
        ({}, {"task": "questions"}, "has no table 'questions'"),
        ({}, {"language": "de"}, "has a caption in 'de'"),
    ],
)
def test_what_cannot_be_asked_is_said(captioned, columns, given, said):
    with pytest.raises(InputError, match=said) as error:
        audited(caption(captioned), people(captioned.data, **columns), **given)
    assert "\n" not in str(error.value)


def test_an_attribute_of_one_value_is_left_out_where_another_has_two(captioned):
    data = people(captioned.data, skin=pl.lit("light"))
    _, estimates, _, _ = audited(caption(captioned), data)
    assert estimates.one("left out", what="attributes of one value or none: skin").n == 1
    with pytest.raises(InputError, match="attribute 'skin' has one value"):
        audited(caption(captioned), data, attributes=["skin"])


def test_images_without_people_are_no_benchmark_of_this_audit(captioned):
    data = captioned.data
    bare = Benchmark(data.name, Items("image", data.images.table.select("id")), data.texts, data.relevance)
    with pytest.raises(InputError, match=r"no attribute of people .*people=DIR"):
        audited(caption(captioned), bare)


def test_questions_without_human_answers_are_counted_or_an_error(asked):
    data = asked.data
    few = {
        "questions": data.tables["questions"],
        "answers": data.tables["answers"].filter(pl.col("question_id") != "q0"),
    }
    with_few = Benchmark("few", data.images, tables=few, schemas=data.schemas)
    said = dict(zip(data.tables["questions"]["question_id"], answers(asked).said, strict=True))
    _, estimates, _, _ = audited(Known(said), with_few)
    assert estimates.one("left out", what="questions without a human answer").n == 1
    none = {**few, "answers": few["answers"].clear()}
    with pytest.raises(InputError, match="no question in 'en'"):
        audited(answers(asked), Benchmark("none", data.images, tables=none, schemas=data.schemas))


def test_yes_no_and_numbers_are_not_tested_for_amplification(asked):
    data = asked.data
    kinds = pl.Series(["yes/no", "number", "other", "other"] * 100)
    tables = {**data.tables, "questions": data.tables["questions"].with_columns(answer_type=kinds)}
    observed, estimates, *_ = audited(
        answers(asked), Benchmark("kinds", data.images, tables=tables, schemas=data.schemas)
    )
    assert observed["tasks"]["query_id"].n_unique() == 200
    assert estimates.one("DBA", attribute="gender", variant="paper").n == 200
    assert estimates.one("accuracy").n == 400


def test_the_most_frequent_answers_are_tested(asked):
    observed, *_ = audited(answers(asked), asked.data, top=2)
    most = asked.data.tables["questions"]["answer"].value_counts(sort=True)["answer"][:2].to_list()
    assert set(observed["tasks"]["task"]) == set(most)


def test_small_groups_are_not_judged(captioned):
    _, estimates, verdict, _ = audited(caption(captioned), captioned.data, least=120)
    assert verdict.finding == "unclear"
    assert "no attribute has two groups with 120 images" in verdict.answer
    assert estimates.maybe("LIC", attribute="gender") is None


def test_attributes_without_words_are_said(captioned):
    skin = pl.Series(["light", "dark"] * 100)
    _, estimates, verdict, _ = audited(caption(captioned), people(captioned.data, skin=skin))
    assert "No list says which words reveal skin; none were masked." in verdict.limits
    assert estimates.one("LIC", attribute="skin").p_holm is not None


def test_captions_of_a_language_without_nouns_are_still_guessed_from(captioned):
    texts = captioned.data.texts.table.with_columns(language=pl.lit("sv"))
    data = captioned.data
    swedish = Benchmark(data.name, data.images, Items("text", texts), data.relevance)
    _, estimates, verdict, _ = audited(caption(captioned), swedish, language="sv")
    assert estimates.maybe("amplification", attribute="gender") is None
    assert estimates.maybe("LIC", attribute="gender") is not None
    assert "200 captions of whose language no nouns are known" in " ".join(verdict.evidence)
    assert "No list says which words reveal gender; none were masked." in verdict.limits


def test_groups_without_a_question_that_counts_are_left_out_of_it(asked):
    gender = asked.data.images.table["gender"].to_list()
    gender[:40] = ["other gender"] * 40
    data = people(asked.data, gender=pl.Series(gender))
    kinds = pl.Series(["number"] * 80 + ["other"] * 320)
    tables = {**data.tables, "questions": data.tables["questions"].with_columns(answer_type=kinds)}
    data = Benchmark("kinds", data.images, tables=tables, schemas=data.schemas)
    _, estimates, *_ = audited(answers(asked), data)
    groups = set(estimates.by("group", "amplification", attribute="gender").table["group"])
    assert groups == {"female", "male"}
    assert len(estimates.by("group", "accuracy", attribute="gender")) == 3


def test_nouns_of_another_language_than_the_captions_are_refused(captioned, tmp_path):
    path = tmp_path / "nouns.toml"
    path.write_text('language = "de"\n[nouns]\nHund = ["Hund"]\n')
    with pytest.raises(InputError, match=r"set amplification.nouns"):
        audited(caption(captioned), captioned.data, nouns=str(path))


@pytest.mark.parametrize("prompt", ["{other}", "{", "{0}"])
def test_prompts_that_cannot_be_filled_are_refused(prompt):
    with pytest.raises(InputError, match=r"setting 'prompt'"):
        AMPLIFICATION.configure({"prompt": prompt})


def test_the_same_replies_give_the_same_numbers(captioned):
    first, second = (audited(caption(captioned), captioned.data) for _ in range(2))
    for name, table in first[0].tables.items():
        assert table.equals(second[0][name])
    assert first[1].table.equals(second[1].table)
    assert first[2] == second[2]


def test_runs_are_kept_drawn_and_compared(captioned, tmp_path):
    runs = [
        execute(
            caption(captioned, lean=lean, right=right), captioned.data, ["amplification"], tmp_path / name,
            name=name, settings={"amplification": QUICK},
        )
        for name, lean, right in (("leaning", 0.95, 0.4), ("alike", 0.2, 0.9))
    ]  # fmt: skip
    names = {figure.name for figure in runs[0].figures("amplification")}
    assert names == {"leakage-of-gender", "what-goes-with-gender", "score-by-gender"}
    table = compare(runs)
    row = table.filter(metric="amplification", attribute="gender")
    assert row["difference"].item() < 0
    assert set(table["metric"]) == {"amplification", "LIC", "CIDEr"}


def test_questions_that_few_people_answered_are_noticed(asked, caplog):
    tables = asked.data.tables | {
        "answers": asked.data.tables["answers"].group_by("question_id", maintain_order=True).head(1)
    }
    subject = Says(asked.data.tables["questions"]["answer"].to_list())
    _, estimates, verdict, _ = audited(subject, replace(asked.data, tables=tables))
    assert "questions have at most 3 human answers" in caplog.text
    assert estimates.one("accuracy").value == 0
    assert verdict.finding == "unclear"
