"""VisRecall's builder: which places and pictures it keeps, and that the reader of VisRecall reads them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from equiview.build.visrecall import VISRECALL
from equiview.build.visrecall.build import VisRecall
from equiview.errors import InputError
from equiview.making.make import make
from tests.build.world import World, landmarks, picture

SETTINGS = {"languages": ("en", "fr", "ja"), "per_language": 1, "fewest": 2, "most": 3}


def built(folder: Path, checker: World | None = None, **changes: object) -> dict[str, str]:
    """Build, and return why each place or picture was rejected."""
    settings = VISRECALL.settings.of(SETTINGS | {"places": folder / "in"} | changes)
    job = VisRecall(settings, {"checker": checker} if checker else {})
    make(VISRECALL, settings, folder / "out", job=job)
    rejected = pl.read_parquet(folder / "out" / "history.parquet").filter(~pl.col("passed"))
    return dict(zip(rejected["item_id"], rejected["reason"], strict=True))


def places(folder: Path) -> Path:
    """Three places with four pictures each; t3 is better known than t1, both are in France."""
    landmarks(folder)
    for name in ("t1", "t2", "t3"):
        for number in (2, 3, 4):
            picture(folder / "images" / name / f"{number}.png", number * 100 + ord(name[1]))
    path = folder / "landmarks.csv"
    rows = path.read_text(encoding="utf-8").split("\n")
    known = ["popularity", "10", "5", "90"]
    path.write_text(
        "\n".join(f"{row},{value}" for row, value in zip(rows, known, strict=True)), encoding="utf-8"
    )
    return folder


def test_the_best_known_place_of_each_language_is_kept(tmp_path: Path) -> None:
    places(tmp_path / "in")
    assert built(tmp_path) == {"t1": "its language has enough places"}
    listed = json.loads((tmp_path / "out" / "landmark_list.json").read_text(encoding="utf-8"))
    assert [(entry["landmark_id"], entry["domestic_language_code"]) for entry in listed] == [
        ("t3", "fr"),
        ("t2", "ja"),
    ]
    assert listed[1]["wikipedia_ja"] == "Red Pagodaの塔"
    files = json.loads((tmp_path / "out" / "image_list.json").read_text(encoding="utf-8"))
    assert files == {"t3": ["1.png", "2.png", "3.png"], "t2": ["1.png", "2.png", "3.png"]}
    for name, pictures in files.items():
        for file in pictures:
            assert (tmp_path / "out" / "images" / name / file).exists()


def test_pictures_that_are_broken_small_or_repeated_are_rejected(tmp_path: Path) -> None:
    places(tmp_path / "in")
    folder = tmp_path / "in" / "images" / "t3"
    (folder / "2.png").write_bytes(b"no picture")
    picture(folder / "3.png", 77, side=120)
    Image.open(folder / "1.png").resize((300, 280)).save(folder / "4.png")
    assert built(tmp_path) == {
        "t3/2.png": "it cannot be read",
        "t3/3.png": "it is too small",
        "t3/4.png": "it repeats another picture",
        "t3": "it has too few pictures",
    }  # t1 takes its place


def test_a_model_that_looks_rejects_pictures_of_something_else(tmp_path: Path) -> None:
    places(tmp_path / "in")
    rejected = built(tmp_path, World([], unlike=["t2/1.png"], seen=["t2/3.png"]))
    assert rejected["t2/1.png"] == "it does not show the place"
    assert rejected["t2/3.png"] == "it shows the inside or a detail"
    files = json.loads((tmp_path / "out" / "image_list.json").read_text(encoding="utf-8"))
    assert files["t2"] == ["2.png", "4.png"]


def test_places_without_a_title_in_every_language_are_rejected(tmp_path: Path) -> None:
    places(tmp_path / "in")
    assert built(tmp_path, languages=("en", "fr"))["t2"] == "its language is not among the languages"
    shutil.rmtree(tmp_path / "out")
    with pytest.raises(
        InputError, match=r"no place is left; most often: it has no title in every language \(3\)"
    ):
        built(tmp_path, languages=("en", "fr", "ja", "ar"))


def test_the_same_places_make_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        places(tmp_path / name / "in")
        built(tmp_path / name)
    out = tmp_path / "a" / "out"
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) >= 10
    for path in files:
        assert path.read_bytes() == (tmp_path / "b" / "out" / path.relative_to(out)).read_bytes()
