"""Data sets in the layout of the Hugging Face hub, from a folder and from its local cache."""

import io
import json

import polars as pl
import pytest
from PIL import Image

from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from tests.benchmarks.layouts import LAYOUTS
from tests.benchmarks.test_xcm import release

COMMIT = "0123456789abcdef0123456789abcdef01234567"
AGES = ["0-2", "3-9", "more than 70"]


def jpeg(colour="red"):
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(buffer, "JPEG")
    return {"bytes": buffer.getvalue(), "path": None}


def write_captions(place, languages=("en", "fil", "no")):
    """Crossmodal-3600 as `floschne/xm3600` has it: a split for each language, pictures in all of them."""
    (place / "data").mkdir(parents=True)
    for language in languages:
        rows = {
            "image_id": ["00aa", "00bb"],
            "image_locale": ["fr", "sw"],
            "captions": [[f"{language} 1 of a", f"{language} 2 of a"], [f"{language} of b"]],
            "captions_tokenized": [["t"], ["t"]],
            "image": [jpeg(), jpeg("blue")],
        }
        pl.DataFrame(rows).write_parquet(place / "data" / f"{language}-00000-of-00001-ab12.parquet")
    (place / "README.md").write_text("---\nlanguage:\n- en\nlicense: cc-by-4.0\n---\n# XM3600\n")
    return place


def write_faces(place, configs=("0.25", "1.25"), *, named=True):
    """FairFace as `HuggingFaceM4/FairFace` has it: labels as numbers, their names in the file."""
    names = {"age": AGES, "gender": ["Male", "Female"], "race": ["Black", "Latino_Hispanic"]}
    features = {name: {"names": words, "_type": "ClassLabel"} for name, words in names.items()}
    said = json.dumps({"info": {"features": features | {"image": {"_type": "Image"}}}})
    for config in configs:
        (place / config).mkdir(parents=True)
        for split, n in (("train", 3), ("validation", 2)):
            labels = {"age": [2, 0, 1][:n], "gender": [0, 1, 1][:n], "race": [1, 0, 0][:n]}
            table = pl.DataFrame({"image": [jpeg()] * n, **labels, "service_test": [True] * n})
            path = place / config / f"{split}-00000-of-00001-cd34.parquet"
            table.write_parquet(path, metadata={"huggingface": said} if named else {})
    return place


def cached(home, write):
    """A data set in the hub's cache, as its library lays it out."""
    folder = home / "datasets--some--data"
    write(folder / "snapshots" / COMMIT)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(COMMIT)


def test_captions_of_every_split_are_one_pool(tmp_path):
    read = load_benchmark(f"hub:{write_captions(tmp_path / 'copy')}")
    assert read.about == "2 images, 9 captions in 3 languages, a part of the release"
    assert read.texts.ids.to_list()[:4] == ["00aa-en-1", "00aa-en-2", "00bb-en-1", "00aa-fil-1"]
    assert read.images.table["locale"].to_list() == ["fr", "sw"]
    assert [picture.size for picture in read.images.pictures()] == [(4, 4), (4, 4)]
    assert (read.name, read.source) == ("xm3600", "a folder in the hub's layout, copy")
    assert read.licence == "cc-by-4.0 by its card; the release: annotations CC BY 4.0, images CC BY 2.0"


def test_labels_that_are_numbers_are_read_by_their_names(tmp_path):
    place = write_faces(tmp_path / "faces")
    read = load_benchmark(f"hub:{place},config=0.25")
    assert read.images.table.drop("picture").rows() == [
        ("validation/1", "more than 70", "male", "Latino_Hispanic"),
        ("validation/2", "0-2", "female", "Black"),
    ]
    assert (read.name, read.licence, read.texts) == ("fairface-val", "CC BY 4.0", None)
    assert len(load_benchmark(f"hub:{place},config=1.25,split=train").images) == 3


def test_other_releases_are_read_as_they_are(tmp_path):
    LAYOUTS["knowrecall"](tmp_path / "quiz")
    quiz = load_benchmark(f"hub:{tmp_path / 'quiz'}")
    assert quiz.fingerprint == load_benchmark(f"knowrecall:{tmp_path / 'quiz'}").fingerprint
    trials = load_benchmark(f"hub:{release(tmp_path / 'trials')}")
    assert trials.fingerprint == load_benchmark(f"3xcm:{tmp_path / 'trials'}").fingerprint


def test_what_the_cache_holds_is_read_offline_and_its_commit_is_kept(tmp_path, monkeypatch, caplog):
    from huggingface_hub import constants

    cached(tmp_path, write_captions)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    read = load_benchmark("hub:some/data")
    assert read.source == f"https://huggingface.co/datasets/some/data/tree/{COMMIT}"
    assert f"hub:some/data: commit {COMMIT} is read; name it to stay with it" in caplog.text
    pinned = load_benchmark(f"hub:some/data@{COMMIT}")
    assert (pinned.fingerprint, pinned.source) == (read.fingerprint, read.source)
    with pytest.raises(InputError, match="hub:other/data@v1: is not in the local cache, and the hub cannot"):
        load_benchmark("hub:other/data@v1")


@pytest.mark.parametrize(
    ("write", "more", "message"),
    [
        (write_faces, "", r"holds the pictures in 2 ways; name one: config=0\.25 or 1\.25"),
        (write_faces, ",config=2", r"has no config '2'; it has 0\.25, 1\.25"),
        (write_faces, ",split=test", "has no split 'test'; it has train, validation"),
        (
            lambda place: write_faces(place, ["0.25"], named=False),
            "",
            "'age' holds numbers that the file has no",
        ),
        (
            lambda place: (place / "data").mkdir(parents=True),
            "",
            "holds no Parquet file; hub: reads Crossmodal",
        ),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, write, more, message):
    write(tmp_path / "copy")
    with pytest.raises(InputError, match=message):
        load_benchmark(f"hub:{tmp_path / 'copy'}{more}")


def test_what_is_no_data_set_is_said(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: is of no data set that is read; .* folder:DIR"):
        load_benchmark(f"hub:{tmp_path}")
    with pytest.raises(InputError, match="hub:nowhere: is neither a folder nor the name of a data set"):
        load_benchmark("hub:nowhere")
    with pytest.raises(InputError, match="benchmark 'hub' needs a data set"):
        load_benchmark("hub")
