"""A pool of captions: what is missing is translated, checked, flagged and reviewed, and read as XM3600 is."""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.build.xm3600 import XM3600
from equiview.build.xm3600.build import Pool
from equiview.errors import InputError
from equiview.making.make import make
from equiview.review.export import export_review
from equiview.review.layout import read_items
from tests.build.pools import WORDS, Speaker, pool
from tests.build.world import picture
from tests.chat_server import ChatServer, chat_server
from tests.processes import COMMAND, equiview, start
from tests.review.reviews import judge, opened, reviewers


def built(folder: Path, server: ChatServer, **changes: object) -> tuple[dict[str, int], pl.DataFrame]:
    """Build; what was left after each step, and the history."""
    given = {"pool": folder / "in", "translator": server.subject("m"), "languages": ("en", "fr", "de"),
             "reviewed": 0, "no_cache": True}  # fmt: skip
    settings = XM3600.settings.of(given | changes)
    made = make(XM3600, settings, folder / "out", job=Pool(settings))
    counts = made.outcome.tables["Left after each step"]
    return dict(counts.iter_rows()), pl.read_parquet(folder / "out" / "history.parquet")


def test_what_is_missing_is_translated_and_flagged_and_the_pool_is_read_as_the_release_is(
    tmp_path: Path,
) -> None:
    pool(tmp_path)
    with chat_server(speaker := Speaker()) as server:
        counts, history = built(tmp_path, server)
        model = server.subject("m").partition(",")[0]
    assert counts == {"images": 3, "captions of people": 5, "to translate": 5, "translated": 5}
    assert history["passed"].all()
    assert speaker.asked == {"translate": 5, "compare": 5}
    read = load_benchmark(f"xm3600:{tmp_path / 'out'}")
    texts = read.texts.table.select("id", "text", "translated_by")
    by = {name: (text, model) for name, text, model in texts.iter_rows()}
    assert len(by) == 10
    assert by["a-en-2"] == (WORDS["en"].format(1), None)
    assert by["a-fr-1"] == (WORDS["fr"].format(0), model)
    assert by["b-de-1"] == (WORDS["de"].format(3), None)
    assert by["c-en-1"] == (WORDS["en"].format(4), model)
    assert read.images.table["locale"].to_list() == ["und"] * 3
    assert read.images.pictures([0])[0].size == (240, 240)
    assert (tmp_path / "out" / "images" / "a.jpg").read_bytes().startswith(b"\xff\xd8")
    run = api.audit("pictogram:aligned", read, ["prevalence"], tmp_path / "run", cache=False,
                    settings={"prevalence": {"replicates": 100}})  # fmt: skip
    assert run.estimates.table.height


def test_a_jpeg_is_taken_over_as_it_is_and_a_locale_stays(tmp_path: Path) -> None:
    place = pool(tmp_path)
    buffer = io.BytesIO()
    Image.new("RGB", (9, 9), "red").save(buffer, "JPEG", quality=10)
    (place / "a.png").write_bytes(buffer.getvalue())
    images = pl.read_csv(place / "images.csv").with_columns(locale=pl.Series(["fr", None, "de"]))
    images.write_csv(place / "images.csv")
    with chat_server(Speaker()) as server:
        built(tmp_path, server)
    assert (tmp_path / "out" / "images" / "a.jpg").read_bytes() == buffer.getvalue()
    assert load_benchmark(f"xm3600:{tmp_path / 'out'}").images.table["locale"].to_list() == [
        "fr",
        "und",
        "de",
    ]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "the translation cannot be read"),
        (WORDS["en"].format(7), "the caption reads as English"),
        ("Чёрная собака спит перед дверью", "the caption is not in the script of the language"),
        (
            "Un strange chien noir dort devant la porte de la maison",
            "it means something else than the original",
        ),
    ],
)
def test_a_wrong_translation_is_asked_for_again_with_the_reason(
    tmp_path: Path, said: str, reason: str
) -> None:
    pool(tmp_path)
    with chat_server(Speaker(fr=said)) as server:
        counts, history = built(tmp_path, server, languages=("en", "fr"))
        assert any(reason in prompt for prompt in server.prompts)
    assert counts["to translate"] == counts["translated"] == 3
    rejected = history.filter(~pl.col("passed"))
    assert rejected["item_id"].to_list() == ["a-fr-1", "b-fr-1"]
    assert rejected["reason"].unique().to_list() == [reason]


def test_what_fails_every_time_is_left_out_and_keeps_its_number(tmp_path: Path) -> None:
    pool(tmp_path)
    with chat_server(Speaker(fr="", de="")) as server:
        counts, history = built(tmp_path, server, languages=("en", "fr", "de"), attempts=1, captions=2)
    assert counts["to translate"] == 7
    assert counts["translated"] == 1
    read = load_benchmark(f"xm3600:{tmp_path / 'out'}")
    assert read.texts.ids.to_list() == ["a-en-1", "a-en-2", "b-en-1", "b-de-1", "c-en-1", "c-fr-1"]
    assert len(history.filter(~pl.col("passed"))) == 6


def test_people_judge_translations_and_what_they_reject_is_left_out(tmp_path: Path) -> None:
    pool(tmp_path)
    with chat_server(Speaker()) as server:
        built(tmp_path, server, languages=("en", "fr"), captions=2, reviewed=5)
        items = {item.id: item for item in read_items(tmp_path / "out" / "review")}
        assert set(items) == {"a-fr-1", "a-fr-2", "b-fr-1", "c-en-1"}
        assert [(text.label, text.language) for text in items["c-en-1"].fields] == [
            ("French", "fr"), ("English", "en"),
        ]  # fmt: skip
        decisions = tmp_path / "said.decisions.csv"
        decisions.write_text("item,question,value\na-fr-1,fluency,no\nb-fr-1,fluency,yes\n")
        (tmp_path / "out").rename(tmp_path / "first")
        counts, _ = built(tmp_path, server, languages=("en", "fr"), captions=2, decisions=decisions)
        assert counts["people"] == 3
        ids = load_benchmark(f"xm3600:{tmp_path / 'out'}").texts.ids
        assert "a-fr-2" in ids
        assert "a-fr-1" not in ids
        for said, message in (
            ("nowhere,fluency,no,x", "rejects 'nowhere', which is no translation of this pool"),
            ("a-fr-1,fluency,no,x:y", "people judged another translation 'a-fr-1' than this pool has"),
        ):
            decisions.write_text(f"item,question,value,fingerprint\n{said}\n")
            (tmp_path / "out").rename(tmp_path / f"before {said[:5]}")
            with pytest.raises(InputError, match=message):
                built(tmp_path, server, languages=("en", "fr"), captions=2, decisions=decisions)


def test_an_export_of_the_review_is_taken_by_the_same_pool_and_refused_by_another(tmp_path: Path) -> None:
    place = pool(tmp_path)
    with chat_server(Speaker()) as server:
        built(tmp_path, server, languages=("en", "fr"), reviewed=5)
        with opened(tmp_path / "out" / "review", 3) as review:
            (number,) = (number for number, item in review.items.items() if item.id == "b-fr-1")
            for person in reviewers(review):
                judge(review, person, number, {"language": "yes", "fluency": "no", "relevance": "yes"})
        decisions = export_review(tmp_path / "out" / "review", tmp_path / "judged.csv")[1]
        (tmp_path / "out").rename(tmp_path / "first")
        counts, history = built(tmp_path, server, languages=("en", "fr"), decisions=decisions)
        assert (counts["translated"], counts["people"]) == (3, 2)
        rejected = history.filter(~pl.col("passed")).row(0, named=True)
        assert (rejected["item_id"], rejected["step"], rejected["detail"]) == ("b-fr-1", "people", "fluency")
        (tmp_path / "out").rename(tmp_path / "second")
        assert built(tmp_path, server, languages=("en", "de"), decisions=decisions)[0]["people"] == 3
        (tmp_path / "out").rename(tmp_path / "third")
        picture(place / "b.png", 99)
        with pytest.raises(InputError, match="people judged another translation 'b-fr-1' than this pool has"):
            built(tmp_path, server, languages=("en", "fr"), decisions=decisions)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (None, {"languages": ("en",)}, "languages"),
        (None, {"languages": ("en", "tlh")}, "tlh is none of the 36 of the layout"),
        (None, {"source": "sw"}, r"texts\.csv: no caption is in sw, the source"),
        ("a/b", {}, r"images\.csv: column 'id', row 1: 'a/b' names a file"),
    ],
)
def test_what_cannot_be_pooled_is_refused(
    tmp_path: Path, change: str | None, options: dict[str, object], message: str
) -> None:
    place = pool(tmp_path)
    if change:
        for name, column in (("images", "id"), ("texts", "image_id")):
            table = pl.read_csv(place / f"{name}.csv").with_columns(pl.col(column).replace("a", change))
            table.write_csv(place / f"{name}.csv")
    with chat_server(Speaker()) as server, pytest.raises(InputError, match=message):
        built(tmp_path, server, **options)


def test_a_broken_picture_is_named_before_anything_is_asked(tmp_path: Path) -> None:
    place = pool(tmp_path)
    (place / "b.png").write_bytes(b"\xff\xd8\xff no picture")
    with chat_server(Speaker()) as server:
        with pytest.raises(InputError, match=r"images\.csv, row 2: picture of 'b' cannot be read"):
            built(tmp_path, server)
        assert not server.requests


def test_captions_of_other_languages_and_images_without_any_are_noted(tmp_path: Path) -> None:
    place = pool(tmp_path)
    texts = pl.read_csv(place / "texts.csv").with_columns(pl.col("language").replace("fr", "yo"))
    texts.write_csv(place / "texts.csv")
    with chat_server(Speaker()) as server:
        counts, history = built(tmp_path, server, languages=("en", "de"))
    assert counts["images"] == 2
    assert dict(history.filter(~pl.col("passed")).select("item_id", "reason").iter_rows()) == {
        "t4": "its language is none of the 36 of the layout",
        "c": "it has no caption in a language of the layout",
    }


def test_the_command_says_what_it_costs_and_goes_on_after_a_kill_without_asking_twice(tmp_path: Path) -> None:
    pool(tmp_path)
    with chat_server(Speaker()) as server:
        environment = {"EQUIVIEW_CACHE": str(tmp_path / "cache"), "COLUMNS": "200"}
        model = server.subject("m", "connections=1,price_in=1000,price_out=1000")
        words = ["build", "xm3600", str(tmp_path / "in"), "--out", str(tmp_path / "out"),
                 "--translator", model, "--languages", "en,fr,de"]  # fmt: skip
        dry = equiview(*words, "--dry-run", **environment)
        assert dry.returncode == 0, dry.stderr
        assert not server.requests
        assert re.search(r"translate +│ 5 ", dry.stdout)
        assert re.search(r"pictures +│ 3 ", dry.stdout)
        process = start(COMMAND, words, tmp_path, environment=os.environ | environment)
        server.wait_for(answered=3)
        process.kill()
        process.join()
        assert not (tmp_path / "out" / "captions.jsonl").exists()
        done = equiview(*words, **environment)
        assert done.returncode == 0, done.stderr
        assert sum(count - 1 for count in Counter(server.prompts).values()) <= 1
    assert f"xm3600:{tmp_path / 'out'}" in done.stdout.replace("\n", "")
    assert "equiview review" in done.stdout
    assert len(load_benchmark(f"xm3600:{tmp_path / 'out'}").texts) == 10
