"""Which of COCO's classes captions name, on captions one can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from equiview.build.removal.words import coco_words, read_words
from equiview.errors import InputError

COCO_CLASSES = 80
PLURAL = {"skis", "scissors", "sheep", "broccoli"}
IRREGULAR = {"knife": "knives", "mouse": "mice", "person": "people"}


@pytest.mark.parametrize(
    ("caption", "named"),
    [
        ("A man riding a wave on top of a surfboard.", {"person", "surfboard"}),
        ("Two women's bikes lean against a fire hydrant", {"person", "bicycle", "fire hydrant"}),
        ("A hot dog on a paper plate", {"hot dog"}),
        ("The dog has a hot dog", {"dog", "hot dog"}),
        ("a teddy bear on a bed", {"teddy bear", "bed"}),
        ("An orange cat sleeps", {"cat"}),
        ("An orange and a banana", {"orange", "banana"}),
        ("Peeled oranges", {"orange"}),
        ("People wait at the bus stop", {"person"}),
        ("A train station with no one in it", set()),
        ("knives, forks and spoons", {"knife", "fork", "spoon"}),
        ("A glass of wine beside a wine bottle", {"wine glass", "bottle"}),
        ("Sheep and geese in a field", {"sheep", "bird"}),
        ("A tennis player on a tennis court with a racquet", {"person", "tennis racket"}),
        ("a couple of pizzas beside a couple", {"pizza", "person"}),
        ("a baseball cap and a baseball", {"sports ball"}),
        ("passenger jets", {"airplane"}),
        ("a glass bus", {"bus"}),
        ("a computer mouse and a keyboard", {"mouse", "keyboard"}),
        ("the catwalk of a carpenter", set()),
        ("", set()),
    ],
)
def test_classes_named_by_a_caption(caption: str, named: set[str]) -> None:
    assert coco_words().named(caption) == named


def test_every_class_names_itself_and_its_plural() -> None:
    words = coco_words()
    assert len(words.classes) == COCO_CLASSES
    for name in words.classes:
        assert words.named(f"a photo of the {name}") == {name}, name
        plural = name if name in PLURAL else f"{name}es" if name.endswith(("s", "ch", "sh")) else f"{name}s"
        assert words.named(f"several {IRREGULAR.get(name, plural)}") == {name}, name


def test_mentions_say_where_they_stand() -> None:
    caption = "The skier's skis"
    assert [(m.name, caption[m.start : m.end]) for m in coco_words().mentions(caption)] == [
        ("person", "skier's"),
        ("skis", "skis"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[classes]\ncat = ['cat']\ndog = ['cat']", "'cat' is a word of 'cat' and of 'dog'"),
        ("[classes]\ncat = ['!']", "'!' holds no word"),
        ("[classes]\ncat = 'cat'", "classes.cat"),
        ("classes = 3", "classes"),
        ("cat", "is not TOML"),
        ("[classes]\ncat = ['cat']\n[words]\na = 1", "words"),
    ],
)
def test_a_wrong_file_is_a_clear_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "words.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"words\.toml: .*" + message.replace("(", r"\(")):
        read_words(path)
