"""The builder of triplets from end to end: what each step rejects, and what the reader of 3XCM reads back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.benchmarks.trials import NO_SEMANTIC
from equiview.build.xcm import XCM
from equiview.build.xcm.build import Xcm
from equiview.build.xcm.export import with_native
from equiview.build.xcm.steps import STEPS, kept, read_step
from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.errors import InputError
from equiview.io.progress import Progress
from equiview.making.make import make
from equiview.review import export_review
from equiview.review.layout import read_items
from equiview.subjects import Answerer
from tests.build.xcm.world import CONCEPTS, COUNTRIES, WORDS, concepts, folder
from tests.review.reviews import judge, opened, reviewers

GOOD = {"duplicate": "no", "concept": "yes", "country": "yes", "harmful": "no"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder(tmp_path / "photos")
    concepts(tmp_path / "concepts.csv")
    return tmp_path


def settings(place: Path, **changes: Any) -> Any:
    given = {"images": f"folder:{place}/photos", "concepts": place / "concepts.csv", "bits": 2}
    return XCM.settings.of(WORDS | given | changes)


def built(place: Path, out: str = "out", models: dict[str, Answerer] | None = None, **changes: Any) -> Path:
    chosen = settings(place, **changes)
    make(XCM, chosen, place / out, job=Xcm(chosen, models))
    return place / out


def rejected(out: Path) -> dict[str, str]:
    table = pl.read_parquet(out / "history.parquet").filter(~pl.col("passed"))
    return dict(table.select("item_id", "reason").iter_rows())


def files_of(out: Path) -> dict[str, bytes]:
    return {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}


def test_the_reader_of_3xcm_reads_back_what_was_made(place: Path) -> None:
    out = built(place, title="Flags", licence="CC0-1.0")
    read = load_benchmark(f"3xcm:{out}")
    table = kept(read_step(out, "people"))
    assert read.images.ids.to_list() == table["item_id"].to_list()
    assert read.images.table.select("concept", "country").equals(table.select("concept", "country"))
    for row, file in enumerate(table["file"]):
        assert read.images.encoded(row) == (out / file).read_bytes()
    trials = pl.read_parquet(out / "benchmark" / "test-00000-of-00001.parquet")
    columns = {"query_image_id": "query_image_id"} | {
        f"{prefix}_candidate_image_id": f"{role}_id"
        for role, prefix in {
            "semantic": "semantically_relevant",
            "cultural": "culturally_relevant",
            "nonrelevant": "non_relevant",
        }.items()
    }
    for ours, theirs in columns.items():
        assert read.tables["trials"][theirs].to_list() == trials[ours].to_list()
    named = with_native(table, kept(read_step(out, "concepts")).with_row_index("concept_id"))
    asked = named.unique(["concept", "country"], keep="first", maintain_order=True)
    assert read.need_texts().texts == asked["concept_in_native"].to_list()
    assert (read.licence, read.about) == ("CC0-1.0", "12 trials of 4 concepts: Flags")


def test_a_triplet_shares_only_what_it_should(place: Path) -> None:
    out = built(place)
    for row in pl.read_parquet(out / "benchmark" / "test-00000-of-00001.parquet").iter_rows(named=True):
        (asked, said, told, other) = (
            (row[f"{name}_concept"], row[f"{name}_country"])
            for name in (
                "query",
                "semantically_relevant_candidate",
                "culturally_relevant_candidate",
                "non_relevant_candidate",
            )
        )
        assert (said[0] == asked[0], said[1] == asked[1]) == (True, False)
        assert (told[0] == asked[0], told[1] == asked[1]) == (False, True)
        assert other[0] not in {asked[0], told[0]}
        assert other[1] not in {asked[1], said[1]}


def test_one_file_that_two_concepts_found_shows_both(place: Path) -> None:
    photos = place / "photos"
    for country in COUNTRIES[:2]:
        shutil.copy(photos / "pizza" / country / "1.png", photos / "automobile" / country / "1.png")
    both = {f"{country.lower()}-{number}-1-eng" for country in COUNTRIES[:2] for number in (0, 1)}
    for seed in range(4):
        trials = load_benchmark(f"3xcm:{built(place, str(seed), seed=seed)}").tables["trials"]
        asked = trials.filter(pl.col("concept").is_in(["pizza", "automobile"]))
        assert len(asked) == 6
        assert not {*asked["cultural_id"], *asked["nonrelevant_id"]} & both


def test_every_step_has_a_table_and_a_sheet(place: Path) -> None:
    out = built(place)
    for step in STEPS:
        assert (out / "steps" / f"{step}.parquet").exists()
        sheet = (out / "sheets" / f"{step}.html").read_text("utf-8")
        assert f"Step: {step}" in sheet
    assert sheet.count("<img") == 12 * 4  # each image with the three of its triplet
    counts = pl.read_csv(out / "counts.csv")
    assert dict(counts.iter_rows()) == {"concepts": 4} | dict.fromkeys(STEPS[1:], 12)
    assert "| images | 12 |" in (out / "README.md").read_text("utf-8")
    records = json.loads((out / "croissant.json").read_text("utf-8"))["recordSet"]
    assert [record["name"] for record in records] == ["benchmark", "image_metadata"]


def test_what_cannot_be_used_is_rejected_with_its_reason(place: Path) -> None:
    japan = place / "photos" / "pizza" / "Japan"
    shutil.copy(japan / "1.png", japan / "2.png")
    (japan / "3.png").write_bytes(b"no picture")
    Image.new("RGB", (10, 10)).save(japan / "4.png")
    (japan / "5.png").write_bytes((japan / "1.png").read_bytes()[:300])
    Image.open(japan / "1.png").resize((150, 150)).save(japan / "6.jpg")
    found = rejected(built(place))
    assert found == {
        "japan-0-2-eng": "its hash repeats another's",
        "japan-0-3-eng": "it is no picture",
        "japan-0-4-eng": "it is too small",
        "japan-0-5-eng": "it cannot be read",
        "japan-0-6-eng": "its hash repeats another's",
    }


def test_an_encoder_finds_concepts_and_images_that_say_the_same(place: Path) -> None:
    path = place / "concepts.csv"
    rows = path.read_text("utf-8")
    path.write_text(rows + rows.splitlines()[1].replace("pizza", "slice of pizza") + "\n", "utf-8")
    out = built(
        place,
        text_encoder="pictogram:aligned",
        same_concept=0.7,
        encoder="pictogram:aligned",
        same_image=0.99,
    )
    found = rejected(out)
    assert found["slice of pizza"] == "it says what another says"
    assert read_step(out, "concepts").filter(item_id="slice of pizza")["detail"][0].startswith("pizza (0.7")


class Seer(Answerer):
    """A model that lists concepts, names them, and sees in a picture the concepts of its folder."""

    fingerprint = "seer"

    def __init__(self, also: dict[str, list[str]] | None = None, spoiled: Sequence[str] = ()) -> None:
        super().__init__()
        self.also, self.spoiled = also or {}, spoiled
        self.asked: list[str] = []

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        for place, request in enumerate(requests):
            self.asked.append(request.id)
            yield place, Reply(self.said(request))

    def said(self, request: Request) -> str:
        if request.prompt.startswith("List "):
            return 'Here: ["Pizza", "automobile", "dog face", "deciduous tree", "pizza", "dog face"]'
        if request.prompt.startswith("Translate"):
            names = {name: f"{name} ({request.language})" for name in CONCEPTS.values()}
            return json.dumps({name: value for name, value in names.items() if name not in self.spoiled})
        name = request.id.removesuffix(":labels")
        own = list(CONCEPTS.values())[int(name.split("-")[1])]
        shown = [own, "no concept", *self.also.get(name, [])]
        return "I cannot." if name in self.spoiled else json.dumps(shown)


def test_a_model_lists_concepts_names_them_and_labels_images(place: Path) -> None:
    seer = Seer(also={"japan-0-1-eng": ["Automobile"]}, spoiled=["kenya-1-1-eng"])
    out = built(place, models={"writer": seer, "labeller": seer}, concepts=None, writer="chat:m", count=5)
    assert rejected(out) == {"kenya-1-1-eng": "what it shows cannot be read from the reply"}
    labels = dict(read_step(out, "labels").select("item_id", "labels").iter_rows())
    assert labels["japan-0-1-eng"] == ["pizza", "automobile"]
    read = load_benchmark(f"3xcm:{out}")
    assert "pizza (sw)" in read.need_texts().texts
    trials = read.tables["trials"].filter(query_image_id="japan-0-1-eng")
    shown = {f"{country.lower()}-1-1-eng" for country in COUNTRIES}
    assert not {*trials["cultural_id"], *trials["nonrelevant_id"]} & shown


def test_a_concept_that_nobody_can_name_is_left_out(place: Path) -> None:
    seer = Seer(spoiled=["pizza"])
    rows = pl.read_csv(place / "concepts.csv").with_columns(pl.lit("").alias("name_sw"))
    rows.write_csv(place / "concepts.csv")
    out = built(place, models={"writer": seer}, writer="chat:m")
    assert rejected(out) == {"pizza": "it has no name in every language"}
    assert [name for name in seer.asked if name.startswith("names")] == ["names 0:sw", "names 0:sw"]
    with pytest.raises(InputError, match=r"name_sw of 'pizza' \(4 lack\).* --writer"):
        built(place, "other")


def test_names_that_lack_and_no_model_are_an_error_before_anything_is_searched(place: Path) -> None:
    (place / "concepts.csv").write_text("concept\npizza\nautomobile\ndog face\n")
    with pytest.raises(InputError, match=r"without the name_de of 'pizza' \(3 lack\)"):
        built(place)
    assert not (place / "out" / "collected").exists()


def reviewed(out: Path, wrong: dict[str, dict[str, str]], skipped: Sequence[str] = ()) -> Path:
    """Three people judge all images of a build; returns their decisions."""
    with opened(out / "review", 3) as review:
        for number, item in review.items.items():
            for person in reviewers(review) if item.id not in skipped else ():
                judge(review, person, number, GOOD | wrong.get(item.id, {}))
    return export_review(out / "review", out.parent / "said.csv")[1]


def test_people_see_each_image_beside_those_like_it_and_what_they_reject_is_left_out(place: Path) -> None:
    out = built(place, people=3)
    items = {item.id: item for item in read_items(out / "review")}
    assert len(items) == 12
    assert [field.text for field in items["japan-0-1-eng"].fields] == ["pizza", "ピザ", "Japan"]
    before = files_of(out)
    wrong = {
        "kenya-3-1-eng": {"duplicate": "yes"},
        "japan-1-1-eng": {"concept": "no"},
        "japan-2-1-eng": {"country": "no"},
        "germany-3-1-eng": {"harmful": "yes"},
    }
    decisions = reviewed(out, wrong, skipped=["germany-0-1-eng"])
    built(place, people=3, decisions=decisions)
    assert rejected(out) == {
        "kenya-3-1-eng": "people: it repeats another",
        "japan-1-1-eng": "people: it does not show the concept",
        "japan-2-1-eng": "people: it is not of the country",
        "germany-3-1-eng": "people: it is harmful",
        "germany-0-1-eng": "people have not decided",
        "japan-3-1-eng": NO_SEMANTIC,
    }
    assert "Judged by 3 people" in (out / "README.md").read_text("utf-8")
    again = files_of(built(place, people=3))  # without them, it is as it was
    assert {name for name in before if before[name] != again[name]} <= {"maker.json"}


def test_what_one_build_collected_another_builds_from(place: Path) -> None:
    (place / "photos" / "pizza" / "Japan" / "0.png").write_bytes(b"no picture")
    first = read_step(built(place, bits=0), "images")
    out = built(place, "other", images=f"collected:{place}/out")
    again = read_step(out, "images")
    assert (len(first), len(again)) == (13, 12)
    columns = ["concept", "country", "query", "url", "sha256"]
    assert again.select(columns).equals(kept(first).select(columns))
    assert again["url"][0] == "pizza/Germany/1.png"
    with pytest.raises(InputError, match=r"steps/images\.parquet: no such file"):
        built(place, "third", images=f"collected:{place}/photos")


def test_decisions_of_another_build_are_refused(place: Path) -> None:
    decisions = reviewed(built(place, people=3), {})
    shutil.move(place / "out", place / "before")
    table = pl.read_csv(decisions)
    table.with_columns(item=pl.col("item").str.replace("japan", "peru")).write_csv(place / "peru.csv")
    with pytest.raises(InputError, match="peru-0-1-eng', an image that this build does not have"):
        built(place, people=3, decisions=place / "peru.csv")
    file = place / "photos" / "pizza" / "Japan" / "1.png"
    file.write_bytes((place / "photos" / "automobile" / "Japan" / "1.png").read_bytes())
    with pytest.raises(InputError, match="judged 'japan-0-1-eng', another image"):
        built(place, "third", people=3, decisions=decisions)
    with pytest.raises(InputError, match="decides about images that nobody judges"):
        built(place, "fourth", decisions=decisions)


def test_the_same_input_makes_the_same_bytes_and_what_is_done_is_not_done_again(place: Path) -> None:
    first = files_of(built(place, title="T", fetch={"parallel": 1}))
    assert files_of(built(place, "other", title="T")) == first
    (place / "out" / "collected" / "japan-0-1-eng.png").write_bytes(b"changed")
    built(place, title="T")  # nothing is read again
    (place / "out" / "benchmark" / "test-00000-of-00001.parquet").unlink()
    with pytest.raises(InputError, match=r"japan-0-1-eng\.png: was changed after it was collected"):
        built(place, title="T")


def test_a_step_that_leaves_nothing_says_why(place: Path) -> None:
    with pytest.raises(InputError, match=r"nothing is left after the step images; .*: it is too small"):
        built(place, smallest=200)


def test_one_country_too_few_leaves_no_triplet(place: Path) -> None:
    for name in CONCEPTS.values():
        shutil.rmtree(place / "photos" / name / "Kenya")
    with pytest.raises(InputError, match="no trial can be made; each needs three"):
        built(place)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"countries": ("Japan", "Kenya")}, "three countries at least"),
        ({"countries": ("Japan", "Kenya", "Germny")}, "did you mean 'Germany'"),
        ({"concepts": None}, "name one"),
        ({"label_prompt": "a photo"}, "hold {} once"),
        ({"images": "nowhere:x"}, "no provider is named 'nowhere'"),
        ({"images": "commons"}, "--contact YOUR-ADDRESS"),
        ({"images": "folder:"}, "needs a place after the colon"),
        ({"labeller": "pictogram:aligned"}, "needs the setting labelled"),
        ({"encoder": "answers:x.csv"}, "an encoder is needed"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(place: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        built(place, **changes)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_plan_counts_searches_and_images(place: Path) -> None:
    tables = api.plan_making(XCM, settings(place, people=3))
    (done,) = tables.values()
    assert dict(done.select("name", "count").iter_rows()) == {
        "search": 24, "fetch": 240, "compare": 240, "judge": 720
    }  # fmt: skip
