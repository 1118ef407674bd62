"""Captions without what was removed, by annotated phrases, by words, by a parser; and prompts."""

from __future__ import annotations

import sys
from random import Random
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equiview.build.removal.captions import (
    phrases_naming,
    prompted,
    prompts,
    spacy_phrases,
    without,
)
from equiview.build.removal.sources import Caption
from equiview.build.removal.words import coco_words
from equiview.errors import InputError

WORDS = coco_words()


def left(text: str, *removed: str) -> str | None:
    return without(text, phrases_naming(Caption(text), removed, WORDS))


@pytest.mark.parametrize(
    ("caption", "removed", "expected"),
    [
        ("Two dogs fighting over a frisbee", "frisbee", "Two dogs fighting over"),  # the paper's example
        ("Two dogs fighting over a frisbee", "dog", "fighting over a frisbee"),
        ("Two dogs fighting over a frisbee", "cat", "Two dogs fighting over a frisbee"),
        ("A cat, a dog, and a mouse.", "dog", "A cat, and a mouse."),
        ("A man rides with the small brown horse.", "horse", "A man rides with."),
        ("a hot dog and a dog", "dog", "a hot dog and"),
        ("A couple of small dogs run", "dog", "run"),
        ("a couple of the dogs run", "dog", "run"),
        ("A couple of kids hug the dog", "dog", "A couple of kids hug"),
        ("The sea as a man approaches", "person", "The sea as approaches"),
        ("A trick with his skateboard", "skateboard", "A trick with"),
        ("A dog.", "dog", None),
        ("Dogs and the dog", "dog", None),
        ("Собака и кошка", "dog", "Собака и кошка"),
    ],
)
def test_phrases_that_name_what_was_removed_are_dropped(caption: str, removed: str, expected: str) -> None:
    assert left(caption, removed) == expected


@given(st.text(max_size=60))
def test_removing_nothing_changes_no_caption(text: str) -> None:
    assert left(text) == text


@given(st.sets(st.sampled_from(["dog", "cat", "person", "bed"]), min_size=1))
def test_what_is_left_names_nothing_that_was_removed(removed: set[str]) -> None:
    text = "A man and two cats with a dog on the old bed, a puppy, the cat's bed and a person"
    assert not WORDS.named(left(text, *removed) or "") & removed


def test_annotated_phrases_count_and_words_do_not() -> None:
    caption = Caption("An equestrian on her mount, a horse", ((17, 26, "animals"), (0, 13, "people")))
    assert phrases_naming(caption, {"animals"}, WORDS) == [(17, 26)]
    assert without(caption.text, [(17, 26)]) == "An equestrian on, a horse"
    assert not phrases_naming(caption, {"horse"}, WORDS)


def test_a_parser_says_which_words_belong_to_the_phrase(monkeypatch: pytest.MonkeyPatch) -> None:
    """spaCy's phrases are taken in place of ours, the smallest around the word."""

    def pipeline(text: str) -> SimpleNamespace:
        start = text.index("the very")
        return SimpleNamespace(noun_chunks=[SimpleNamespace(start_char=start, end_char=len(text))])

    spacy = ModuleType("spacy")
    pipeline.pipe_names = ["parser"]
    spacy.load = lambda _: pipeline
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    caption = Caption("a man and the very old and tired dog")
    spans = phrases_naming(caption, {"dog"}, WORDS, spacy_phrases("en"))
    assert [caption.text[a:b] for a, b in spans] == ["the very old and tired dog"]
    pipeline.pipe_names = []
    with pytest.raises(InputError, match="en: has no parser"):
        spacy_phrases("en")
    spacy.load = lambda name: (_ for _ in ()).throw(OSError(f"[E050] Can't find model '{name}'"))
    with pytest.raises(InputError, match=r"en: is no pipeline of spaCy that can be loaded \(\[E050\]"):
        spacy_phrases("en")


def test_a_prompt_names_all_that_is_kept() -> None:
    assert len(set(prompts())) == 80
    assert all(prompt.count("{}") == 1 for prompt in prompts())
    said = {prompted(["cat", "apple", "person"], Random(seed)) for seed in range(300)}
    assert len(said) > 60
    assert all("a cat, an apple and a person" in text for text in said)
