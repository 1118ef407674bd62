"""Which of COCO's classes captions name, on captions one can read."""

from __future__ import annotations

from pathlib import Path

import pytest

from equiview.errors import InputError
from equiview.text.things import coco_things, read_things

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
        ("A man surfing beside skiers", {"person"}),
        ("two taxis and three neckties", {"car", "tie"}),
        ("She talks on her cell", {"cell phone"}),
        ("a prison cell door", set()),
        ("a hot-dog stand in a café’s yard", {"hot dog"}),
        ("", set()),
    ],
)
def test_classes_named_by_a_caption(caption: str, named: set[str]) -> None:
    assert coco_things().named(caption) == named


def test_every_class_names_itself_and_its_plural() -> None:
    words = coco_things()
    assert len(words.classes) == COCO_CLASSES
    for name in words.classes:
        assert words.named(f"a photo of the {name}") == {name}, name
        plural = name if name in PLURAL else f"{name}es" if name.endswith(("s", "ch", "sh")) else f"{name}s"
        assert words.named(f"several {IRREGULAR.get(name, plural)}") == {name}, name


def test_mentions_say_where_they_stand() -> None:
    caption = "The skier's skis"
    assert [(m.name, caption[m.start : m.end]) for m in coco_things().mentions(caption)] == [
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
        read_things(path)


def test_words_of_other_languages_are_found_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "words.toml"
    path.write_text('language = "de"\n[nouns]\nHund = ["Hund", "Hunde"]\n[plurals]\nkatzen = "katze"\n')
    assert read_things(path).named("Zwei Hunde!") == {"Hund"}
    assert read_things(path).named("Hunds") == set()
    path.write_text('language = "ja"\n[classes]\ndog = ["犬"]\ncat = ["猫"]\n')
    assert read_things(path).named("黒い犬が走る") == {"dog"}


CHANGED = [
    # caption, named before by amplification, named before by removal, named now
    ("A skier on a hill", {"skis"}, {"person"}, {"person"}),
    ("Two men surfing", {"surfboard"}, {"person"}, {"person"}),
    ("Kids skateboarding", {"skateboard"}, {"person"}, {"person"}),
    ("two taxis", {"car"}, set(), {"car"}),
    ("silk neckties", {"tie"}, set(), {"tie"}),
    ("a frisbe in the air", {"frisbee"}, set(), {"frisbee"}),
    ("talking on a cell", {"cell phone"}, set(), {"cell phone"}),
    ("A glass of wine", set(), {"wine glass"}, {"wine glass"}),
    ("a brown terrier", set(), {"dog"}, {"dog"}),
    ("a gravel driveway seen from a van", set(), {"truck"}, {"truck"}),
    ("a clock tower", {"clock"}, set(), set()),
    ("a train station", {"train"}, set(), set()),
    ("an orange", set(), {"orange"}, {"orange"}),
]
"""What one list changed, and for whom; amplification leaves people out of what is named."""


@pytest.mark.parametrize(("caption", "amplification", "removal", "now"), CHANGED)
def test_what_one_list_changed(
    caption: str, amplification: set[str], removal: set[str], now: set[str]
) -> None:
    assert coco_things().named(caption) == now
    assert amplification != now - {"person"} or removal != now
