"""From landmarks on disk to a page: pictograms described and translated by models of a few rules."""

import json

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from equiview.audits.base import AUDITS
from equiview.audits.execute import execute
from equiview.audits.memory import MEMORY
from equiview.audits.memory.asking import plan, questions_of
from equiview.audits.memory.models import scorers_of, translators_of
from equiview.benchmarks import load_benchmark
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.progress import silent
from equiview.report import page
from equiview.store import StoredAnswerer
from equiview.subjects import load_subject
from tests.audits import steps
from tests.audits.memory import rules
from tests.benchmarks.layouts import data
from tests.chat_server import chat_server, environment
from tests.conftest import write_world

RULES = "tests.audits.memory.rules"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return rules.write(tmp_path_factory.mktemp("visrecall"))


def configured(place, **options):
    given = {"translator": f"{RULES}:Translator:{place}", "scorer": "pictogram:english", "replicates": 100}
    return MEMORY.configure(given | options)


def observed(place, way="", **options):
    subject = load_subject(f"{RULES}:Describer:{way}")
    return MEMORY.observe(subject, load_benchmark(f"visrecall:{place}"), configured(place, **options), silent)


@pytest.fixture(scope="module")
def plain(place):
    return observed(
        place, second_translator=f"{RULES}:Translator:{place}|short", second_scorer="pictogram:aligned"
    )


def clip_scores(place, texts):
    """Of each text, its score with each landmark, by the encoder alone."""
    benchmark = load_benchmark(f"visrecall:{place}")
    encoder = load_subject("pictogram:english")
    table = pl.DataFrame({"id": [str(n) for n in range(len(texts))], "text": texts, "language": "en"})
    vectors = [encoder.embed(items).astype(float) for items in (Items("text", table), benchmark.images)]
    units = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in vectors]
    return 2.5 * np.maximum(units[0] @ units[1].T, 0)


def test_every_landmark_is_described_in_every_language_twice(plain):
    descriptions = plain["descriptions"]
    assert (
        descriptions.select("landmark_id", "language", "prompt").n_unique() == len(descriptions) == 12 * 3 * 2
    )
    assert descriptions["category"].unique().to_list() == ["described"]
    assert (descriptions["detected"] == descriptions["language"]).all()


def test_scores_are_those_of_the_texts_in_english(place, plain):
    known = rules.english_names(place)
    for translator, before in (("first", rules.BEFORE["en"]), ("second", "")):
        texts = [before + known[str(n)] for n in range(12)]
        expected = clip_scores(place, texts)
        rows = plain["scores"].filter(translator=translator, scorer="first", language="de", prompt=1)
        assert rows["score"].to_list() == pytest.approx(expected.diagonal().tolist(), abs=1e-6)
        others = (expected.sum(axis=1) - expected.diagonal()) / 11
        assert rows["other"].to_list() == pytest.approx(others.tolist(), abs=1e-6)
    english = plain["scores"].filter(translator="second", scorer="first", language="en", prompt=0)
    expected = clip_scores(place, [rules.BEFORE["en"] + known[str(n)] for n in range(12)])
    assert english["score"].to_list() == pytest.approx(expected.diagonal().tolist(), abs=1e-6)


def test_settings_are_known_beforehand(place, plain):
    known = rules.english_names(place)
    scores = clip_scores(place, [rules.BEFORE["en"] + known[str(n)] for n in range(12)]).diagonal()
    nothing = clip_scores(place, [rules.BEFORE["en"] + "nothing"])[0]
    arabic = np.array([scores[n] if n % 3 else nothing[n] for n in range(12)])
    expected = {
        "EN": scores.mean(),
        "LOC": scores.mean(),  # of the Arabic regions all landmarks are known in Arabic
        "GLO": np.mean([*arabic[::3], *scores[1::3], *scores[2::3], *arabic[2::3]]),
    }
    estimates = steps.measured(MEMORY, plain, configured(place))
    for setting, value in expected.items():
        assert estimates.one("score", setting=setting).value == pytest.approx(value, abs=1e-6)
    both = np.minimum(scores[::3], arabic[::3]).sum()
    row = estimates.one("consistency", region="de", language="ar")
    assert row.value == pytest.approx((both / scores[::3].sum() + both / arabic[::3].sum()) / 2)
    assert estimates.one("consistency", region="ar", language="en").value == pytest.approx(1)
    assert estimates.one("language adherence").value == 1


def test_the_command_of_inspect_asks_and_reads_alike(place, tmp_path, monkeypatch):
    from inspect_ai import eval as inspect_eval

    from equiview.inspect_tasks import visrecall

    foreign = {
        "de": "Ein hoher Turm aus Eisen, der weit über die Stadt ragt.",
        "ar": "I am sorry, but I cannot.",
    }
    english = "A tall tower of iron that stands high above the roofs of the town."

    def said(prompt, pictures, model):
        (language,) = [code for prompted, code in languages.items() if prompted == prompt]
        return foreign.get(language, english)

    settings = configured(place)
    questions = questions_of(load_benchmark(f"visrecall:{place}"), settings)
    languages = {asked.request.prompt: asked.language for asked in questions}
    with chat_server(said) as server:
        for name, value in environment(server.url).items():
            monkeypatch.setenv(name, value)
        (log,) = inspect_eval(
            visrecall(str(place)),
            model="openai-api/loopback/sayer",
            log_dir=str(tmp_path),
            display="none",
        )
    (score,) = log.results.scores
    reported = {name: metric.value for name, metric in score.metrics.items()}
    finished = MEMORY.observe(
        load_subject(f"inspect-log:{tmp_path}"), load_benchmark(f"visrecall:{place}"), settings, silent
    )
    estimates = steps.measured(MEMORY, finished, settings)
    assert reported["language adherence"] == estimates.one("language adherence").value == pytest.approx(2 / 3)
    for category in ("described", "refused", "empty"):
        assert reported[category] == estimates.one("share", category=category, language=None).value


def test_a_second_model_changes_what_it_changes(place, plain):
    estimates = steps.measured(MEMORY, plain, configured(place))
    for variant in ("second translator", "second scorer"):
        for setting in ("EN", "LOC", "GLO"):
            first = estimates.one("score", setting=setting)
            second = estimates.one("score", setting=setting, variant=variant)
            change = estimates.one("score change", setting=setting, variant=variant)
            assert change.value == pytest.approx(second.value - first.value)
        change = estimates.one("consistency change", variant=variant).value
        second = estimates.one("consistency", variant=variant).value
        assert change == pytest.approx(second - estimates.one("consistency").value)
    assert estimates.one("score change", setting="EN", variant="second translator").value == 0


@pytest.mark.parametrize(
    ("way", "category", "scored"),
    [
        ("refuses", "refused", False),
        ("filtered", "refused", False),
        ("empty", "empty", False),
        ("cut", "cut off", True),
        ("english", "wrong language", True),
    ],
)
def test_what_a_reply_is_decides_whether_it_has_a_score(place, way, category, scored):
    observations = observed(place, way)
    german = observations["descriptions"].filter(language="de")
    assert set(german["category"]) == {category}
    scores = observations["scores"].filter(language="de")["score"]
    assert scores.null_count() == (0 if scored else len(scores))
    estimates = steps.measured(MEMORY, observations, configured(place))
    assert estimates.one("share", language="de", category=category).value == 1
    assert estimates.one("missing", language="de").value == (0 if scored else 1)
    assert (estimates.maybe("score", language="de") is None) == (not scored)
    told = estimates.maybe("language adherence", language="de")
    expected = {"refuses": 1, "cut": 1, "english": 0}
    assert (told.value if told else None) == expected.get(way)


def test_translations_that_cannot_be_read_are_counted_and_have_no_score(place):
    observations = observed(place, translator=f"{RULES}:Translator:{place}|loses")
    lost = observations["translations"].filter(language="de")
    assert set(lost["problem"]) == {"no JSON object with a translation"}
    assert observations["scores"].filter(language="de")["score"].null_count() == 24
    estimates = steps.measured(MEMORY, observations, configured(place))
    assert estimates.one("failed translations", translator="first").value == 0.5


def test_english_needs_no_translation_and_no_translator(place):
    observations = observed(place, languages=("en",), translator="")
    assert len(observations["translations"]) == 0
    assert observations["scores"]["score"].null_count() == 0
    assert observations["models"].rows() == [
        ("translator", "first", "none", None),
        ("scorer", "first", "pictogram:english", None),
    ]


def test_descriptions_are_scored_as_they_are_where_nobody_translates(place):
    observations = observed(place, translator="none")
    assert len(observations["translations"]) == 0
    german = observations["scores"].filter(language="de", prompt=0)
    texts = observations["descriptions"].filter(language="de", prompt=0)["text"].to_list()
    assert german["score"].to_list() == pytest.approx(clip_scores(place, texts).diagonal().tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"translator": ""}, "setting 'translator' is empty"),
        ({"translator": "pictogram:aligned"}, "is an encoder; it must be a model that answers"),
        ({"translator": "nobody:there"}, "no subject is named 'nobody'"),
        ({"scorer": f"{RULES}:Mute"}, "is a model that answers; it must be an encoder"),
        ({"languages": ("sw",)}, "names no landmark in sw; it has: en, de, ar"),
        ({"prompts": "no/such.toml"}, "no such file"),
        ({"scorer_run": "no/such/run"}, "holds no run"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(place, options, message):
    subject = load_subject(f"{RULES}:Mute")  # it would say that it failed
    with pytest.raises(InputError, match=message):
        MEMORY.observe(subject, load_benchmark(f"visrecall:{place}"), configured(place, **options), silent)


def test_a_benchmark_without_landmarks_is_refused(place):
    subject = load_subject(f"{RULES}:Mute")
    with pytest.raises(InputError, match="has no table 'landmarks'"):
        MEMORY.observe(subject, load_benchmark("pictograms"), configured(place), silent)
    with pytest.raises(InputError, match="takes a model that answers, but"):
        AUDITS.get("memory").check_subject(load_subject("pictogram:aligned"))


def test_a_model_that_fails_says_how_many_requests_have_no_answer(place):
    subject = load_subject(f"{RULES}:Mute")
    with pytest.raises(InputError, match=r"71 of 72 requests have no answer"):
        MEMORY.observe(subject, load_benchmark(f"visrecall:{place}"), configured(place), silent)


def test_a_plan_counts_requests_and_tokens(place):
    subject = load_subject(f"{RULES}:Describer")
    options = configured(place, second_translator=f"{RULES}:Translator:{place}|short")
    described, *translated = plan(subject, load_benchmark(f"visrecall:{place}"), options)
    assert (described.model, described.requests, described.pictures) == (f"{RULES}:Describer", 72, 0)
    assert described.output_tokens == 72 * 220
    assert described.input_tokens > 72 * 40
    assert [part.requests for part in translated] == [48, 48]
    assert [part.purpose for part in translated] == ["translations"] * 2
    assert len(plan(subject, load_benchmark(f"visrecall:{place}"), configured(place, translator="none"))) == 1


def test_a_run_has_tables_figures_and_published_numbers_beside_it(place, tmp_path):
    subject, benchmark = load_subject(f"{RULES}:Describer"), load_benchmark(f"visrecall:{place}")
    world = write_world(tmp_path / "world")
    encoder, images = load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{world}")
    quick = {"individual": {"replicates": 100}}
    scorer = execute(encoder, images, ["individual"], tmp_path / "scorer", settings=quick)
    options = configured(
        place, second_translator=f"{RULES}:Translator:{place}|short", scorer_run=str(scorer.folder)
    )
    given = {"memory": options.model_dump(exclude={"seed"})}
    run = execute(subject, benchmark, ["memory"], tmp_path / "run", settings=given)
    assert not run.failures
    names = [figure.name for figure in run.figures("memory")]
    assert names == [
        *("score-by-language", "shift-by-language", "consistency", "adherence-by-language"),
        *("categories-by-language", "score-by-length", "examples"),
    ]
    figure = run.figures("memory")[0]
    assert f"The scorer was audited itself: embeddings:{world} on " in figure.see
    estimates = run.estimates.of("memory")
    table = MEMORY.tables["table-2"](estimates)
    assert table.columns == ["EN", "LOC", "GLO", "Consist.", "LangAd (%)"]
    assert table.row(0)[0] == round(100 * estimates.one("score", setting="EN").value, 1)
    both = MEMORY.tables["table-5"](estimates)
    assert both["translator"].to_list() == ["first", "second"]
    assert both["EN"].null_count() == 1
    assert both["GLO"][1] == round(
        estimates.one("score", setting="GLO", variant="second translator").value, 4
    )
    content = page([run], None).decode()
    assert "Descriptions on VisRecall (Table 2)" not in content  # these are of T's scorer, jina-clip-v2
    assert 'dir="rtl"' in content


def test_a_table_of_two_translators_needs_two(place):
    estimates = steps.measured(MEMORY, observed(place), configured(place))
    with pytest.raises(InputError, match="the run has one translator"):
        MEMORY.tables["table-5"](estimates)


def test_refusals_are_shown(place):
    observations = observed(place, "refuses")
    options = configured(place)
    figures = steps.drawn(MEMORY, observations, steps.measured(MEMORY, observations, options), options)
    shown = next(figure for figure in figures if figure.name == "unscored")
    assert len(shown.table) == 12
    assert set(shown.table["text"]) == {"Ich kann keine Orte beschreiben."}
    assert shown.see.startswith("12 of 24")


def test_the_prompts_of_a_user_are_asked(place, tmp_path):
    for language in rules.LANGUAGES:
        for number in range(3):
            path = tmp_path / language / f"{number}.j2"
            path.parent.mkdir(exist_ok=True)
            path.write_text("{{ landmark_name }}?")
    observations = observed(place, prompts=str(tmp_path))
    assert observations["descriptions"]["prompt"].max() == 2


def test_a_landmark_that_is_not_named_in_a_language_is_not_asked_in_it(tmp_path):
    place = rules.write(tmp_path, 6)
    path = place / "landmark_list.json"
    landmarks = json.loads(path.read_text())
    landmarks[0]["wikipedia_de"] = ""
    path.write_text(json.dumps(landmarks))
    observations = observed(place)
    assert len(observations["descriptions"]) == (6 * 3 - 1) * 2
    estimates = steps.measured(MEMORY, observations, configured(place))
    assert estimates.one("missing", language="de").n == 5


def test_predictions_in_the_released_layout_are_audited_alike(place, plain, tmp_path):
    predictions: dict = {}
    for row in plain["descriptions"].iter_rows(named=True):
        of_landmark = predictions.setdefault(row["landmark_id"], {})
        of_landmark.setdefault(row["language"], []).append(row["text"])
    predictions["3"]["de"][0] = "Error"  # as the released files say that a request failed
    path = tmp_path / "model.json"
    data(path, predictions)
    subject = load_subject(f"{RULES}:Released:{path}")
    again = MEMORY.observe(subject, load_benchmark(f"visrecall:{place}"), configured(place), silent)
    failed = (pl.col("landmark_id") == "3") & (pl.col("language") == "de") & (pl.col("prompt") == 0)
    assert again["descriptions"].filter(failed)["category"].to_list() == ["empty"]
    assert again["scores"].filter(failed)["score"].to_list() == [None]
    first = plain["scores"].filter(~failed, translator="first", scorer="first")
    assert_frame_equal(again["scores"].filter(~failed), first, abs_tol=1e-6)


def test_translations_in_the_released_layout_are_a_translator(place, plain, tmp_path):
    """Plain texts, English as it was, and "Error" where a translation failed."""
    texts = {tuple(row[:3]): row[3] for row in plain["translations"].filter(translator="first").select(
        "landmark_id", "language", "prompt", "text").rows()}  # fmt: skip
    released: dict = {}
    for row in plain["descriptions"].iter_rows(named=True):
        cell = row["landmark_id"], row["language"], row["prompt"]
        of_landmark = released.setdefault(row["landmark_id"], {})
        of_landmark.setdefault(row["language"], []).append(texts.get(cell, row["text"]))
    released["3"]["de"][1] = "Error"
    path = tmp_path / "model_translated_openai.json"
    data(path, released)
    again = observed(place, translator=f"answers:{path}")
    problems = again["translations"].drop_nulls("problem")
    assert problems.select("landmark_id", "language", "prompt", "problem").rows() == [
        ("3", "de", 1, "failed in the file")
    ]
    failed = (pl.col("landmark_id") == "3") & (pl.col("language") == "de") & (pl.col("prompt") == 1)
    first = plain["scores"].filter(~failed, translator="first", scorer="first")
    assert_frame_equal(again["scores"].filter(~failed), first, abs_tol=1e-6)


def test_translators_share_the_budget_of_the_subject(place):
    subject = load_subject(f"{RULES}:Describer")
    options = configured(place, second_translator="none")
    subject.budget = object()
    translators = translators_of(subject, options)
    assert translators["first"].budget is subject.budget
    assert translators["second"] is None


def test_vectors_of_the_scorer_are_kept_where_answers_are(place, monkeypatch, tmp_path):
    monkeypatch.setenv("EQUIVIEW_CACHE", str(tmp_path))
    subject, options = load_subject(f"{RULES}:Describer"), configured(place)
    assert type(scorers_of(subject, options)["first"]).__name__ != "StoredEncoder"
    assert type(scorers_of(StoredAnswerer(subject), options)["first"]).__name__ == "StoredEncoder"
