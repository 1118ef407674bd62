"""`equiview build removal` as a person types it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from tests.build.removal.world import DOG, PERSON, coco
from tests.chat_server import chat_server
from tests.processes import equiview

typed = partial(equiview, "build", "removal", COLUMNS="100")


def test_it_says_what_was_made_what_was_rejected_and_what_it_was_filled_with(tmp_path: Path) -> None:
    name = coco(tmp_path / "in", {1: [DOG, PERSON], 2: [DOG]})
    done = typed(name, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    for wanted in (
        "pictures made │ 1",
        "its image has enough removals │ 1",
        "it is the only class of its image │ 1",
        "Filled with: inpaint by OpenCV's Telea",
        "split=removed",
    ):
        assert wanted in said


def test_every_setting_arrives(tmp_path: Path) -> None:
    name = coco(tmp_path / "in", {1: [DOG, PERSON]})
    done = typed(
        name, "--out", tmp_path / "out", "--fill", "blur", "--classes", "dog, person", "--keep-below", .3,
        "--along-above", .9, "--largest", .5, "--strict", "--grow", 2, "--per-image", 3,
        "--captions", "prompts", "--per-picture", 4, "--quality", 80, "--seed", 7, "--jobs", 2,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out/maker.json").read_text())["settings"] == {
        "rules": {"keep_below": 0.3, "along_above": 0.9, "largest": 0.5, "strict": True},
        "classes": ["dog", "person"], "grow": 2, "per_image": 3, "captions": "prompts", "per_picture": 4,
        "quality": 80, "seed": 7, "spacy": "",
    }  # fmt: skip


def test_defaults_are_those_of_the_paper(tmp_path: Path) -> None:
    typed(coco(tmp_path / "in", {1: [DOG, PERSON]}), "--out", tmp_path / "out")
    settings = json.loads((tmp_path / "out/maker.json").read_text())["settings"]
    assert settings["rules"] == {"keep_below": 0.4, "along_above": 0.8, "largest": 0.7, "strict": False}
    assert (settings["per_image"], settings["per_picture"], settings["captions"]) == (1, 1, "phrases")


def test_a_chat_model_writes_captions_and_is_asked_once(tmp_path: Path) -> None:
    name = coco(tmp_path / "in", {1: [DOG, PERSON]})
    with chat_server(lambda _prompt, _pictures, _model: "A quiet lawn.") as server:
        words = [name, "--captions", "model", "--captioner", server.subject("looker", "connections=1")]
        for out in ("one", "two"):
            done = typed(*words, "--out", tmp_path / out, EQUIVIEW_CACHE=str(tmp_path / "cache"))
            assert done.returncode == 0, done.stderr
        assert len(server.requests) == 1
        assert server.requests[0].pictures
    table = pl.read_parquet(tmp_path / "two/removals.parquet")
    assert table["captions"].to_list() == [["A quiet lawn."]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fill", "paint"], "no filling is named 'paint'"),
        (["--keep-below", 0.9], "setting rules: keep_below must not be above along_above"),
        (["--largest", 0], "setting rules.largest: input should be greater than 0"),
        (
            ["--captions", "poem"],
            "setting captions: input should be 'phrases', 'nouns', 'prompts' or 'model'",
        ),
        (["--captioner", "pictogram:aligned", "--captions", "model"], "'pictogram:aligned' is an encoder"),
        (["--captions", "model"], "captions by a model need a captioner"),
        (["--words", "none.toml"], "none.toml: no such file"),
        (["--model", "none.onnx"], "none.onnx: cannot be read"),
        (["--classes", "dragon"], "no class of 'coco-val2014' is named 'dragon'"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, words: list, message: str) -> None:
    name = coco(tmp_path / "in", {1: [DOG, PERSON]})
    done = typed(name, "--out", tmp_path / "out", *words)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert not (tmp_path / "out").exists()
