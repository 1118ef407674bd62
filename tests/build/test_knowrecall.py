"""KnowRecall's builder: each check rejects what it should, and nothing else; what is left can be audited."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from equiview.benchmarks import load_benchmark
from equiview.build.history import History
from equiview.build.knowrecall import KNOWRECALL
from equiview.build.knowrecall.build import KnowRecall
from equiview.build.knowrecall.candidates import Candidate
from equiview.build.knowrecall.rules import broken_rule
from equiview.build.landmarks import read_landmarks
from equiview.errors import InputError
from equiview.making.make import make
from tests.build.world import GOOD, SECOND, THIRD, World, landmarks, question

THREE = ["Lumiere", "Aurora", "Zenith"]
PHRASE = "was built by Gustave It was opened"
SETTINGS = {"languages": ("en", "fr", "ja"), "reviewed": 0, "writer": "world"}
PURPOSES = ("writer", "checker", "translator", "back_translator")


def job_of(folder: Path, world: World, **changes: object) -> KnowRecall:
    """A job with one model for everything."""
    settings = KNOWRECALL.settings.of(SETTINGS | {"places": folder / "in"} | changes)
    return KnowRecall(settings, dict.fromkeys(PURPOSES, world))


def built(folder: Path, world: World, **changes: object) -> tuple[dict[str, int], pl.DataFrame]:
    """Build with one model for everything; returns what was left after each step, and the history."""
    job = job_of(folder, world, **changes)
    made = make(KNOWRECALL, job.settings, folder / "out", job=job)
    counts = made.outcome.tables["Left after each step"]
    return dict(counts.iter_rows()), pl.read_parquet(folder / "out" / "history.parquet")


def reasons(history: pl.DataFrame) -> dict[str, str]:
    """Why each candidate was rejected last."""
    rejected = history.filter(~pl.col("passed"))
    return dict(zip(rejected["item_id"], rejected["reason"], strict=True))


def test_good_questions_become_a_benchmark_that_can_be_audited(tmp_path: Path) -> None:
    landmarks(tmp_path / "in")
    counts, _ = built(tmp_path, World([GOOD, SECOND, THIRD]))
    assert counts["places"] == 3
    assert counts["written"] == counts["judged"] == 9
    assert counts["selected"] == 6
    benchmark = load_benchmark(f"knowrecall:{tmp_path / 'out'}")
    table = benchmark.tables["questions"]
    assert sorted(table["language"].unique()) == ["en", "fr", "ja"]
    assert len(table) == 18
    for row in table.iter_rows(named=True):
        mark = {"en": "", "fr": "le ", "ja": "語 "}[row["language"]]
        assert row["options"][row["truth"]] in {f"{mark}Lumiere", f"{mark}Crepe"}
    assert benchmark.images.pictures([0])[0].size == (240, 240)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (question("  ", "Lumiere"), "the question is empty"),
        (question("Which fair?", "Lumiere", THREE), "there are not four options"),
        (question("Which fair?", "Lumiere", [*THREE, "aurora!"]), "options are empty or repeated"),
        (question("Which fair opened the iron tower?", "Lumiere"), "the question names the place"),
        (question("Which fair opened the Old One?", "Lumiere"), "the question names the place"),
        (question("Which fair does the article mention?", "Lumiere"), "the question refers to the article"),
        (question("Was the Lumiere a fair?", "Lumiere"), "the question holds its answer"),
        (question("What is this?", "Iron Tower", ["Iron Tower", *THREE]), "the answer names the place"),
        (question("What is so?", PHRASE, [PHRASE, *THREE]), "the answer is longer than a phrase"),
        (question("Which fair?", "Aurora", [*THREE, "Meridian"]), "the answer is not in the article"),
        (question("Which fair?", "Marche", [*THREE, "Dusk"]), "the answer is not among the options"),
        ({"question": "Which fair?"}, "the question cannot be read"),
    ],
)  # fmt: skip
def test_rules_reject_and_say_why(tmp_path: Path, wrong: object, reason: str) -> None:
    landmarks(tmp_path / "in", ["t1"])
    counts, history = built(tmp_path, World([wrong, GOOD]))
    assert counts["selected"] == 1
    assert reasons(history) == {"t1-1": reason}


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({"unclear": ["Crepe"]}, "it cannot be answered without options"),
        ({"guessed": ["Crepe"]}, "it is answered without the picture"),
        ({"seen": ["Crepe"]}, "the picture alone answers it"),
        ({"botched": {("ja", "Crepe"): 2}}, "it is not translated into every language"),
        ({"unlike": ["Crepe"]}, "it is not translated into every language"),
    ],
)
def test_checks_by_asking_reject_and_say_why(tmp_path: Path, known: dict[str, object], reason: str) -> None:
    landmarks(tmp_path / "in", ["t1"])
    counts, history = built(tmp_path, World([SECOND, GOOD], **known))
    assert counts["selected"] == 1
    assert reasons(history) == {"t1-1": reason}


def test_a_translation_that_failed_is_asked_for_again_with_the_reason(tmp_path: Path) -> None:
    landmarks(tmp_path / "in", ["t1"])
    world = World([GOOD], botched={("ja", "Lumiere"): 1})
    counts, history = built(tmp_path, world)
    assert counts["selected"] == 1
    assert world.asked["translate"] == 3  # French once, Japanese twice
    failed = history.filter(~pl.col("passed")).row(0, named=True)
    assert (failed["step"], failed["language"]) == ("translate", "ja")
    assert failed["reason"] == "the question is not in the script of the language"


def test_where_one_question_cannot_be_translated_the_next_of_its_place_follows(tmp_path: Path) -> None:
    landmarks(tmp_path / "in", ["t1"])
    world = World([GOOD, SECOND, THIRD], botched={("fr", "Lumiere"): 9})
    counts, history = built(tmp_path, world, attempts=1)
    assert counts["selected"] == 2
    chosen = history.filter(pl.col("passed"), step="select")["item_id"].to_list()
    assert chosen == ["t1-2", "t1-3"]


def test_a_question_that_repeats_another_of_its_place_is_rejected(tmp_path: Path) -> None:
    landmarks(tmp_path / "in", ["t1"])
    again = question("With which fair was the tower in this picture opened?", "Lumiere")
    _, history = built(tmp_path, World([GOOD, again]))
    assert reasons(history) == {"t1-2": "it repeats another question"}


def test_nothing_left_is_an_error_that_says_what_happened_most(tmp_path: Path) -> None:
    landmarks(tmp_path / "in")
    with pytest.raises(
        InputError, match=r"no question is left; most often: it is answered without the picture \(3\)"
    ):
        built(tmp_path, World([GOOD], guessed=["Lumiere"]))


def test_a_reply_without_questions_costs_its_place_alone(tmp_path: Path) -> None:
    landmarks(tmp_path / "in")
    world = World([GOOD])
    world.written["t2"] = []
    counts, history = built(tmp_path, world)
    assert counts["selected"] == 2
    assert reasons(history) == {"t2": "the reply holds no list of questions"}


def test_places_that_cannot_be_used_are_noted(tmp_path: Path) -> None:
    landmarks(tmp_path / "in")
    (tmp_path / "in" / "images" / "t3" / "1.png").unlink()
    _, history = built(tmp_path, World([GOOD]), languages=("en", "fr"))
    assert reasons(history) == {
        "t2": "its language is not among the languages",
        "t3": "it has no picture",
    }


def test_the_right_option_is_in_every_place_about_as_often(tmp_path: Path) -> None:
    place = landmarks(tmp_path, ["t1"])
    landmark = read_landmarks(place)[0]
    truths = [
        Candidate(f"q{n}", landmark, "", 0, "?", tuple("abcd"), 0).shuffled(0, 0).truth for n in range(400)
    ]
    assert all(70 <= truths.count(place) <= 130 for place in range(4))


def test_the_same_answers_make_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        landmarks(tmp_path / name / "in")
        built(tmp_path / name, World([GOOD, SECOND, THIRD]))
    files = sorted(
        p.relative_to(tmp_path / "a" / "out") for p in (tmp_path / "a" / "out").rglob("*") if p.is_file()
    )
    assert len(files) >= 6
    for file in files:
        assert (tmp_path / "a" / "out" / file).read_bytes() == (tmp_path / "b" / "out" / file).read_bytes()


def test_the_card_names_places_models_and_settings(tmp_path: Path) -> None:
    landmarks(tmp_path / "in")
    built(tmp_path, World([GOOD]))
    card = json.loads((tmp_path / "out" / "maker.json").read_text())
    assert card["models"]["writer"]["name"] == "World"
    assert card["inputs"]["places"]["name"] == "in"
    assert card["finished"]
    assert card["settings"]["languages"] == ["en", "fr", "ja"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("landmark_id,language,name\n../x,fr,X", r"row 1: '../x' names a folder"),
        ("landmark_id,language,name\nx,fr,X\nx,fr,Y", "repeats 'x' in rows 1 and 2"),
        ("landmark_id,name\nx,X", "column 'language'"),
        ("landmark_id,language,name", "holds no place"),
    ],
)
def test_a_wrong_table_of_places_is_a_clear_error(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "landmarks.csv").write_text(rows)
    with pytest.raises(InputError, match=message):
        read_landmarks(tmp_path)


def test_an_article_that_is_missing_is_named(tmp_path: Path) -> None:
    landmarks(tmp_path / "in")
    (tmp_path / "in" / "articles" / "t2.txt").unlink()
    with pytest.raises(InputError, match=r"t2\.txt: no such file"):
        built(tmp_path, World([GOOD]))


def test_a_history_counts_candidates_once_a_reason() -> None:
    history = History()
    for language in ("fr", "ja"):
        history.note("a", "translate", "unreadable", language=language)
    assert history.rejections().to_dicts() == [{"step": "translate", "reason": "unreadable", "candidates": 1}]


def test_reasons_are_no_formulas_in_the_table_of_rejections(tmp_path: Path) -> None:
    history = History()
    history.note("a", "judge", "=1+1")
    history.write(tmp_path, {"@sum": 1})
    assert (tmp_path / "rejections.csv").read_text().splitlines()[1:] == ["judge,'=1+1,1"]
    assert (tmp_path / "counts.csv").read_text().splitlines()[1:] == ["'@sum,1"]


def test_names_are_found_as_whole_words_only(tmp_path: Path) -> None:
    landmark = read_landmarks(landmarks(tmp_path, ["t1"]))[0]
    sound = Candidate(
        "q", landmark, "the fair Lumiere", 0, "Is this an ironic towering?", ("Lumiere", "b", "c", "d"), 0
    )
    assert broken_rule(sound) is None


def test_a_translation_into_another_language_is_rejected(tmp_path: Path) -> None:
    landmarks(tmp_path / "in", ["t1"])
    world = World([GOOD, SECOND])
    world.astray = {"Lumiere"}
    counts, history = built(tmp_path, world)
    assert counts["selected"] == 1
    wrong = history.filter(~pl.col("passed"), step="translate")
    assert set(wrong["reason"]) == {"the question reads as English"}
    assert set(wrong["language"]) == {"fr"}
