from pathlib import Path

import polars as pl
import pytest

from equiview.api import audit
from equiview.audits.execute import execute
from equiview.audits.knowledge import KNOWLEDGE
from equiview.benchmarks import load_benchmark
from equiview.data.estimates import Estimates
from equiview.data.figures import Chart, Gallery
from equiview.data.observations import Observations
from equiview.data.run import Run
from equiview.data.verdict import Verdict
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.report import lay_out
from equiview.report.published import beside
from tests.audits import steps
from tests.audits.knowledge.quizzes import Knowing, Model, observed, quiz
from tests.benchmarks import layouts

QUICK = {"knowledge": {"replicates": 300}}


def judged(model: Model, size: int = 300, **settings: object) -> Verdict:
    configured = KNOWLEDGE.configure({"replicates": 300} | settings)
    observations = KNOWLEDGE.observe(model, quiz(size), configured, silent)
    return KNOWLEDGE.judge(steps.measured(KNOWLEDGE, observations, configured), configured)


def test_a_language_in_which_less_is_known_is_named() -> None:
    verdict = judged(Model(weak="sw"))
    assert verdict.finding == "biased"
    assert "questions in Swahili (by " in verdict.answer
    assert "less often than the same questions in the other languages" in verdict.answer
    assert verdict.effect is not None
    assert verdict.effect.quantity.keys == {"language": "sw"}


def test_the_same_answers_in_every_language_are_fair() -> None:
    verdict = judged(Model())
    assert verdict.finding == "fair"
    assert "Of what is right in one language 100% is right in another" in verdict.answer


def test_too_few_questions_and_mere_guesses_decide_nothing() -> None:
    few = judged(Model(weak="sw"), size=40)
    assert (few.finding, few.effect) == ("unclear", None)
    assert few.answer == "Unclear: only 40 questions, at least 100 are needed."
    guessing = judged(Model(share=0.25, weak="sw"))
    assert guessing.finding == "unclear"
    assert "than what the same letters get right when they are dealt to other questions" in guessing.answer
    close = judged(Model(weak="sw", lost=0.1))
    assert close.finding == "unclear"
    assert "not all are shown to be within" in close.answer


def test_sampled_answers_are_told_from_lost_knowledge_by_repeats() -> None:
    model = Model(share=1.0, noise=0.4)
    model.sampled = True  # type: ignore[misc]
    once = judged(model, size=4000)
    assert once.finding == "unclear"
    assert "whether languages or sampling take that cannot be judged: ask with repeats=3" in once.answer
    settings = KNOWLEDGE.configure({"replicates": 300, "repeats": 4})
    observations = KNOWLEDGE.observe(model, quiz(600), settings, silent)
    assert len(observations["answers"]) == 600 * (4 + 3)
    estimates = steps.measured(KNOWLEDGE, observations, settings)
    sampling, lost = estimates.one("lost to sampling"), estimates.one("lost consistency")
    assert sampling.value > 0.04
    assert abs(lost.value) < 0.03
    assert KNOWLEDGE.judge(estimates, settings).finding != "biased"


def test_two_repeats_are_refused() -> None:
    with pytest.raises(InputError, match="2 repeats tell too little"):
        KNOWLEDGE.configure({"repeats": 2})


def test_replies_that_cannot_be_read_are_said_and_shown() -> None:
    verdict = judged(Model(said="no idea"))
    assert verdict.limits[0] == "100% of the replies could not be read and count as wrong."
    assert any("unread 100.0% (most in German, 100.0%)" in line for line in verdict.evidence)
    settings = KNOWLEDGE.configure({"replicates": 300})
    observations = KNOWLEDGE.observe(Model(said="no idea"), quiz(100), settings, silent)
    estimates = steps.measured(KNOWLEDGE, observations, settings)
    figures = {figure.name: figure for figure in steps.drawn(KNOWLEDGE, observations, estimates, settings)}
    assert isinstance(figures["unread"], Gallery)
    assert set(figures["unread"].table["text"]) == {"no idea"}
    assert "known-in-few" not in figures


def test_replies_in_letters_that_no_rule_reads_show_no_bias() -> None:
    def verdict(observations: Observations) -> Verdict:
        configured = KNOWLEDGE.configure({"replicates": 300})
        return KNOWLEDGE.judge(steps.measured(KNOWLEDGE, observations, configured), configured)

    unread = observed([[1, 1, -1 if row % 5 == 0 else 1] for row in range(300)])
    found = verdict(unread)
    assert found.finding == "unclear"
    assert found.answer.startswith("Unclear: of the replies 20% in French could not be read")
    assert found.effect is None or found.effect.quantity.metric != "shift"
    # A reply that is empty, or that the service refused, is no answer in any letters.
    for column, text in (("text", " "), ("stopped", "refused")):
        silent = pl.when(pl.col("rule") == "unread").then(pl.lit(text)).otherwise(column).alias(column)
        tables = dict(unread.tables) | {"answers": unread["answers"].with_columns(silent)}
        found = verdict(Observations(tables))
        assert found.finding == "biased"
        assert "questions in French (by 15.0 points" in found.answer
    # What is wrong in another language is shown beside what cannot be read.
    weak = observed([[int(row % 3 > 0), 1, -1 if row % 5 == 0 else 1] for row in range(300)])
    assert "questions in German (by " in verdict(weak).answer


def test_a_quiz_without_regions_leaves_out_what_takes_them() -> None:
    rows = [(1, 1, 1), (1, 1, 0), (0, 0, 0)] * 50
    observations = observed(rows)
    settings = KNOWLEDGE.configure({"replicates": 300})
    estimates = steps.measured(KNOWLEDGE, observations, settings)
    names = [figure.name for figure in steps.drawn(KNOWLEDGE, observations, estimates, settings)]
    assert "consistency-by-region" not in names
    assert "consistency-by-pair" in names
    assert estimates.maybe("local advantage") is None
    assert KNOWLEDGE.judge(estimates, settings).finding == "biased"
    with pytest.raises(InputError, match="has no English or no regions"):
        KNOWLEDGE.tables["table-1"](estimates)


def test_the_plan_counts_what_would_be_asked() -> None:
    settings = KNOWLEDGE.configure({"prompt": "cot-english"})
    assert KNOWLEDGE.plan is not None
    [plan] = KNOWLEDGE.plan(Model(), quiz(10, ("de", "en")), settings)
    assert (plan.requests, plan.pictures, plan.output_tokens) == (20, 0, 8000)
    assert plan.input_tokens > 20 * 50


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on a small copy of KnowRecall, in the layout of the release."""
    place = tmp_path_factory.mktemp("knowrecall")
    layouts.knowrecall(place)
    benchmark = load_benchmark(f"knowrecall:{place}")
    return execute(Knowing(benchmark), benchmark, ["knowledge"], place / "run", settings=QUICK)


def test_a_run_stands_beside_the_published_rows_and_in_their_layout(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert beside([run]) == [], "asked in words of ours"
    settings = run.manifest.settings["knowledge"]
    for prompt, title, published in (
        ("paper", "KnowRecall (Table 1)", "68.3% 69.2% 64.4% 85.9%"),
        (
            "cot-local",
            "KnowRecall, chain of thought in the local language (Table 3)",
            "72.3% 72.6% 68.8% 89.3%",
        ),
        ("cot-english", "KnowRecall, chain of thought in English (Table 3)", "73.1% 71.6% 69.0% 89.8%"),
    ):
        monkeypatch.setitem(settings, "prompt", prompt)
        (table,) = beside([run])
        assert table.title == title
        assert table.rows[0][1] is True
        assert table.rows[-1] == ("GPT-4o", False, tuple(published.split()))
    for name in ("table-1", "table-3"):
        table = lay_out([run], f"knowledge.{name}")
        assert table.columns == ["system", "EN", "LOC", "GLO", "Consistency"]
        assert len(table) == 1


def test_pictures_of_the_examples_are_kept(run: Run) -> None:
    pictures = pl.read_parquet(run.folder / "observations" / "knowledge.pictures.parquet")
    assert pictures["picture"].null_count() == 0


def test_embedded_encoders_answer_the_embedded_quiz_as_they_were_trained(tmp_path: Path) -> None:
    runs = {
        name: audit(
            f"choice:pictogram:{name},template={{option}}",
            "pictograms-quiz",
            ["knowledge"],
            tmp_path / name,
            cache=False,
            settings=QUICK,
        )
        for name in ("skewed", "aligned")
    }
    numbers = {name: run.estimates.of("knowledge") for name, run in runs.items()}
    assert [run.verdicts[0].finding for run in runs.values()] == ["biased", "unclear"]
    for setting in ("EN", "LOC", "GLO"):
        assert numbers["aligned"].one("accuracy", setting=setting).low > 0.7
    assert gap(numbers["skewed"]) > 0.3
    assert abs(gap(numbers["aligned"])) < 0.05
    for name, least, most in (("skewed", 0.4, 0.5), ("aligned", 0.9, 1.0)):
        assert least < numbers[name].one("consistency", over="all-questions").value < most
    # Even aligned names differ: languages agree on nearly all wrong answers, and less on right ones.
    assert 0 < numbers["aligned"].one("lost consistency").value < 0.05
    figures = runs["skewed"].figures("knowledge")
    assert [figure.name for figure in figures] == [
        "accuracy-by-setting", "accuracy-by-language", "shift-by-language", "consistency-by-region",
        "consistency-by-pair", "lost-consistency", "known-in-how-many", "known-in-few",
    ]  # fmt: skip
    few = figures[-1]
    assert isinstance(few, Gallery)
    assert len(few.pictures) == few.table["group"].n_unique()
    assert all(isinstance(figure, Chart) for figure in figures[:-1])


def gap(estimates: Estimates) -> float:
    return estimates.one("accuracy", setting="EN").value - estimates.one("accuracy", setting="GLO").value
