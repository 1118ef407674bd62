"""Captions of pictures without objects: phrases dropped, or a prompt (O, section 3.3).

O drops the noun phrases that name what was removed and nothing else, and says that grammar may break:
`phrases_naming` and `without`. (Its line prints match(c without r), the classes that stay; text and example
mean the caption without r.) Ours is `rewritten`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from importlib.resources import files
from random import Random

from equiview.build.removal.edits import NAMED, NO_WORDS, PRONOUN, Editor, Refused, Span, fault
from equiview.build.removal.sources import Caption
from equiview.text.things import Things

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
    text = _tidy(left)
    return text if set(re.findall(r"\w+", text.lower())) - JOINING else None


def rewritten(caption: Caption, names: Collection[str], words: Things, editor: Editor) -> str:
    """A caption that reads well without what names a class of `names`; `Refused` says why there is none.

    Words derived from the name of a class name it too ("gloved"). A caption that names none stays as it is.

    >>> from equiview.build.removal.edits import edited
    >>> from equiview.text.things import coco_things
    >>> rewritten(Caption("A man on a horse is waving."), ["horse"], coco_things(), edited)
    'A man is waving.'
    """
    spans = naming(caption, names, words)
    if not spans:
        return caption.text
    dropped, changed = editor(caption.text, spans)
    if not dropped or re.search(r"\b(?:it|its)\b", caption.text[max(end for _, end in dropped) :]):
        raise Refused(PRONOUN if dropped else NAMED)
    text = caption.text
    parts = [*((span, "") for span in dropped), *changed.items()]
    for (start, end), new in sorted(parts, reverse=True):
        text = text[:start] + new + text[end:]
    text = _tidy(text)
    text = text[:1].upper() + text[1:]
    if not re.search(r"\w", text):
        raise Refused(NO_WORDS)
    if words.language == "en" and (why := fault(text)):
        raise Refused(why)
    if caption.links is None and naming(Caption(text), names, words):
        raise Refused(NAMED)
    return text


def naming(caption: Caption, names: Collection[str], words: Things) -> list[Span]:
    """What names a class of `names` in a caption: annotated phrases, or words and words derived from them."""
    if caption.links is not None:
        return [(start, end) for start, end, name in caption.links if name in names]
    found = [*words.mentions(caption.text), *words.derived(caption.text)]
    return sorted({(mention.start, mention.end) for mention in found if mention.name in names})


def _tidy(text: str) -> str:
    """A text without the spaces and commas that dropped parts leave."""
    text = re.sub(r"(?:[,;]\s*)*\s+([.,;!?])", r"\1", " ".join(text.split()))
    return re.sub(r"[,;](?=[.,;!?])", "", text).strip(" ,;")


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


def prompted(kept: Sequence[str], rng: Random) -> str:
    """A random prompt, of 80, with the kept classes.

    >>> prompted(["dog", "orange"], Random(3))
    'a snapshot of a dog and an orange in everyday life'
    """
    names = [with_article(name) for name in kept]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return rng.choice(prompts()).replace("{}", listed)


def with_article(name: str) -> str:
    """The name of a class after "a" or "an"."""
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


@cache
def prompts() -> tuple[str, ...]:
    """The 80 prompts, ours: O's are not published with its text."""
    text = files("equiview.build.removal").joinpath("word_data", "prompts.txt").read_text("utf-8")
    return tuple(line for line in text.splitlines() if line)
