"""Captions without what was removed, by annotated phrases, by words, by a parser; and prompts."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from equiview.build.removal.captions import phrases_naming, prompted, prompts, rewritten, without
from equiview.build.removal.edits import (
    ALONE,
    BROKEN,
    DONE,
    PRONOUN,
    SUBJECT,
    UNCLEAR,
    Editor,
    Refused,
    edited,
    fault,
)
from equiview.build.removal.parsed import spacy_editor, spacy_phrases
from equiview.build.removal.sources import Caption
from equiview.errors import InputError
from equiview.text.things import coco_things
from tests.build.removal.world import DOG, coco, source_of

WORDS = coco_things()


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


def reworded(caption: str, removed: str, editor: Editor = edited) -> str:
    """The caption that is left, or why none is."""
    try:
        return rewritten(Caption(caption), [removed], WORDS, editor)
    except Refused as why:
        return str(why)


@pytest.mark.parametrize(
    ("caption", "removed", "expected"),
    [
        ("Two dogs fighting over a frisbee", "frisbee", "Two dogs fighting"),
        ("Two dogs on grass are playing Frisbee.", "frisbee", "Two dogs on grass."),
        ("A man is riding a horse on the beach.", "horse", "A man is on the beach."),
        ("A man in a hat rides a horse.", "horse", "A man in a hat."),
        ("A woman is holding an umbrella and smiling.", "umbrella", "A woman is smiling."),
        ("A woman smiles while holding an umbrella.", "umbrella", "A woman smiles."),
        ("A boy tries to catch a frisbee in a park.", "frisbee", "A boy in a park."),
        ("A box sits on the back of a truck near a house.", "truck", "A box sits near a house."),
        ("A field covered with sheep near a barn.", "sheep", "A field near a barn."),
        ("A man is in a car.", "car", ALONE),
        ("A man riding a horse.", "horse", ALONE),
        ("A man and a dog are walking in the snow.", "dog", "A man is walking in the snow."),
        ("A dog and a man walk in the snow.", "dog", UNCLEAR),
        ("A cat and a dog sit on a mat.", "mat", "A cat and a dog sit on a mat."),
        ("A cat, a dog, and a mouse in a box.", "dog", "A cat and a mouse in a box."),
        ("A man throws a ball and a dog watches him.", "dog", "A man throws a ball."),
        ("A man reads as a dog sleeps.", "dog", "A man reads."),
        ("A man stands by a dog that is wearing a hat.", "dog", "A man stands."),
        ("A black and white dog is playing with an orange ball in snow.", "dog", SUBJECT),
        ("A black and white dog is playing with an orange ball in snow.", "sports ball", (
            "A black and white dog is playing in snow.")),
        ("A man chases a cat to catch it.", "cat", PRONOUN),
        ("A player raises his gloved hand in the air.", "baseball glove", "A player in the air."),
        ("A boy is skateboarding down a ramp.", "skateboard", DONE),
        ("A batter touches his mitt with a gloved hand.", "baseball glove", ALONE),
    ],
)  # fmt: skip
def test_a_phrase_goes_with_all_that_needs_it(caption: str, removed: str, expected: str) -> None:
    assert reworded(caption, removed) == expected


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("on are playing Frisbee.", BROKEN),
        ("A man with.", BROKEN),
        ("A dog with and a cat.", BROKEN),
        ("A child with a mask is holding.", BROKEN),
        ("A man and is walking.", BROKEN),
        ("A man.", ALONE),
        ("His dog in the snow.", PRONOUN),
        ("A man with a dog.", ""),
        ("In a park, two men are talking.", ""),
        ("Two men are talking", ""),
    ],
)
def test_what_reads_badly_is_seen(caption: str, expected: str) -> None:
    assert fault(caption) == expected


@given(st.text(max_size=60))
def test_any_caption_is_edited_or_refused(text: str) -> None:
    assert reworded(f"{text} a dog on a horse {text}", "horse")


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


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline of spaCy that learnt to parse one caption, saved as any other."""
    rows = [
        ("a", "DET", 1, "det"),
        ("man", "NOUN", 1, "ROOT"),
        ("and", "CCONJ", 1, "cc"),
        ("the", "DET", 8, "det"),
        ("very", "ADV", 5, "advmod"),
        ("old", "ADJ", 8, "amod"),
        ("and", "CCONJ", 5, "cc"),
        ("tired", "ADJ", 5, "conj"),
        ("dog", "NOUN", 1, "conj"),
    ]
    words, pos, heads, deps = map(list, zip(*rows, strict=True))
    nlp = spacy.blank("en")
    nlp.add_pipe("morphologizer")
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    known = [Example(nlp.make_doc(" ".join(words)), Doc(nlp.vocab, words, pos=pos, heads=heads, deps=deps))]
    spacy.util.fix_random_seed(0)
    nlp.initialize(lambda: known)
    for _ in range(60):
        nlp.update(known)
    place = tmp_path_factory.mktemp("pipeline")
    nlp.to_disk(place)
    return place


def test_a_parser_says_which_words_belong_to_the_phrase(pipeline: Path) -> None:
    """spaCy's phrases are taken in place of ours, the smallest around the word."""
    caption = Caption("a man and the very old and tired dog")
    for find, expected in ((None, "dog"), (spacy_phrases(str(pipeline)), "the very old and tired dog")):
        spans = phrases_naming(caption, {"dog"}, WORDS, find)
        assert [caption.text[start:end] for start, end in spans] == [expected]


def test_a_parser_says_what_goes_along(pipeline: Path) -> None:
    """Of what is joined one part goes with what joined it; what was the subject cannot."""
    edit = spacy_editor(str(pipeline))
    assert reworded("a man and the very old and tired dog", "dog", edit) == ALONE
    text = "a man and the very old and tired dog"
    assert [text[start:end] for start, end in edit(text, [(33, 36)])[0]] == text.split()[2:]
    assert reworded(text, "person", edit) in (SUBJECT, UNCLEAR, ALONE)


def test_a_pipeline_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    spacy.blank("en").to_disk(tmp_path)
    with pytest.raises(InputError, match="has no parser, so it finds no noun phrases"):
        spacy_phrases(str(tmp_path))
    with pytest.raises(InputError, match=r"en_none: is no pipeline of spaCy that can be loaded \(\[E050\]"):
        spacy_phrases("en_none")


def test_a_prompt_names_all_that_is_kept() -> None:
    assert len(set(prompts())) == 80
    assert all(prompt.count("{}") == 1 for prompt in prompts())
    said = {prompted(["cat", "apple", "person"], Random(seed)) for seed in range(300)}
    assert len(said) > 60
    assert all("a cat, an apple and a person" in text for text in said)


def test_a_caption_of_enormous_length_is_refused_at_once(tmp_path):
    name = coco(tmp_path, {1: [DOG]}, captions=["a dog and a man on a horse " * 6000])
    with pytest.raises(InputError, match=r"has 16[0-9],[0-9]+ characters; at most 10,000"):
        source_of(name)
