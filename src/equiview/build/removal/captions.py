"""Captions of pictures without objects: phrases dropped, or a prompt (O, section 3.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from equiview.build.removal.sources import Caption
from equiview.errors import InputError
from equiview.extras import require
from equiview.text.things import Things

Span = tuple[int, int]
Phrases = Callable[[str], list[Span]]
"""The noun phrases of a caption, as character spans."""
DETERMINERS = frozenset(
    [
        "a",
        "an",
        "the",
        "his",
        "her",
        "their",
        "its",
        "some",
        "several",
        "many",
        "two",
        "three",
        "four",
        "five",
        "six",
        "another",
        "one",
        "this",
        "that",
        "these",
        "those",
        "both",
        "each",
        "every",
        "no",
        "all",
    ]
)
BETWEEN = 3
"""Words that may stand between a determiner and its noun."""
STOPS = (
    "in|on|at|of|with|and|or|to|from|by|near|over|under|behind|beside|into|is|are|was|were|has|have|holding|"
    "riding|wearing|standing|sitting|playing|walking|eating|looking|flying|lying|laying|running"
)
SEVERAL = re.compile(
    r"\b(?:(?:a|an|the|some|two|three|four)\s+)?(?:(?:large|small|big|huge|long|whole)\s+)?"
    r"(?:couple|group|bunch|pair|lot|number|herd|flock|crowd|row|pile|stack|variety|family|team)s?\s+of\s+"
    rf"(?P<between>(?!(?:{STOPS})\s)[a-z'-]+\s+)?$"
)
"""Words that belong to the noun after them: a couple of dogs."""
ENDS = frozenset(STOPS.split("|"))
"""Words that end a noun phrase."""
JOINING = frozenset(
    ["a", "an", "the", "and", "or", "in", "on", "at", "of", "with", "to", "by", "is", "are", "some"]
)
"""Words without meaning of their own."""


def phrases_naming(
    caption: Caption, names: Collection[str], words: Things, phrases: Phrases | None = None
) -> list[Span]:
    """The noun phrases of a caption that name a class of `names`: those annotated, where any are.

    Otherwise words are looked for, and the smallest phrase around each, by default as `simple_phrases` does.
    """
    if caption.links is not None:
        return [(start, end) for start, end, name in caption.links if name in names]
    mentions = [mention for mention in words.mentions(caption.text) if mention.name in names]
    if not mentions:
        return []
    spans = phrases(caption.text) if phrases else simple_phrases(caption.text, words)
    named: list[Span] = []
    for mention in mentions:
        around = [span for span in spans if span[0] <= mention.start and mention.end <= span[1]]
        named.append(min(around, key=lambda span: span[1] - span[0], default=(mention.start, mention.end)))
    return named


def without(caption: str, dropped: Sequence[Span]) -> str | None:
    """A caption without these parts; None when only joining words are left.

    Grammar is not corrected, as in O: "riding a horse" stays "riding".

    >>> without("A man with a red tie is riding a horse.", [(31, 38)])
    'A man with a red tie is riding.'
    >>> without("Two dogs.", [(0, 8)]) is None
    True
    """
    if not dropped:
        return caption
    left = "".join(
        letter for place, letter in enumerate(caption) if not any(a <= place < b for a, b in dropped)
    )
    text = re.sub(r"(?:[,;]\s*)*\s+([.,;!?])", r"\1", " ".join(left.split()))
    text = re.sub(r"[,;](?=[.,;!?])", "", text).strip(" ,;")
    return text if set(re.findall(r"\w+", text.lower())) - JOINING else None


def simple_phrases(caption: str, words: Things) -> list[Span]:
    """Noun phrases around the words of classes, without a parser: from a determiner up to the noun.

    At most three words may stand between, without words that end a phrase ("on", "riding").

    >>> from equiview.text.things import coco_things
    >>> text = "the small brown dog on a sofa"
    >>> [text[a:b] for a, b in simple_phrases(text, coco_things())]
    ['the small brown dog', 'a sofa']
    """
    return [
        (_start_of_phrase(caption[: mention.start].lower(), mention.start), mention.end)
        for mention in words.mentions(caption)
    ]


def _start_of_phrase(before: str, noun: int) -> int:
    """Where the phrase of the noun after `before` begins: at its determiner, or else at the noun."""
    start = noun
    for distance, word in enumerate(reversed(list(re.finditer(r"\S+", before)))):
        if word[0] in DETERMINERS:
            start = word.start()
            continue
        between = re.fullmatch("[a-z'-]+", word[0]) and word[0] not in ENDS
        if start < noun or distance >= BETWEEN or not between:
            break
    several = SEVERAL.search(before[:start])
    return several.start() if several and (start == noun or not several["between"]) else start


def spacy_phrases(model: str) -> Phrases:
    """Noun phrases by a spaCy pipeline, named or a path; InputError for an unusable one or without parser."""
    spacy = require("spacy", "spacy")
    try:
        pipeline: Any = spacy.load(model)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{model}: is no pipeline of spaCy that can be loaded ({' '.join(str(error).split())[:120]})"
        ) from None
    if "parser" not in pipeline.pipe_names:
        raise InputError(f"{model}: has no parser, so it finds no noun phrases; choose a pipeline with one")

    def find(caption: str) -> list[Span]:
        return [(chunk.start_char, chunk.end_char) for chunk in pipeline(caption).noun_chunks]

    return find


def prompted(kept: Sequence[str], rng: Random) -> str:
    """A random prompt, of 80, with the kept classes.

    >>> prompted(["dog", "orange"], Random(3))
    'a snapshot of a dog and an orange in everyday life'
    """
    names = [f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in kept]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return rng.choice(prompts()).replace("{}", listed)


@cache
def prompts() -> tuple[str, ...]:
    """The 80 prompts, ours: O's are not published with its text."""
    text = files("equiview.build.removal").joinpath("word_data", "prompts.txt").read_text("utf-8")
    return tuple(line for line in text.splitlines() if line)
