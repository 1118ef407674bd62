"""The page of nouns that name a class, and of those that name none, for correcting the list of words.

Nouns are found without a parser: the last word before one that joins phrases ("in", "riding"), before a comma
or the end. Some verbs are among them; readers of the page can tell.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from equiview.benchmarks.removals import CAPTIONS
from equiview.build.removal.captions import STOPS
from equiview.build.removal.sources import Sources
from equiview.io.progress import Progress
from equiview.io.tables import write_parquet
from equiview.io.templates import write_page
from equiview.text.things import Things

SHOWN = 300
"""Unmatched nouns on the page, the most frequent."""
FEW = 3
"""Fewest images with a noun for naming the class seen with it."""
END = re.compile(rf"([a-z][a-z'-]+)(?=\s*(?:[.,;:!?)]|$)|\s+(?:{STOPS})\b)")
"""The last word of a phrase."""

NO_NOUN = frozenset(
    f"""a an the one each other another there this that them it its some next up down away out off together
    front top side back filled full parked seen shown set sit {STOPS.replace("|", " ")}""".split()
)
"""Words at the end of phrases that are not nouns, or name nothing by themselves."""


@dataclass
class _Seen:
    """Counts from the captions: words of each class, and nouns of no class."""

    images: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    words: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    nouns: Counter[str] = field(default_factory=Counter)
    nouns_with: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    example: dict[str, str] = field(default_factory=dict)
    captions: list[tuple[str, str, str, list[str]]] = field(default_factory=list)


def write_words(out: Path, sources: Sources, words: Things, progress: Progress) -> None:
    """Write `captions.parquet`, with the classes that each caption names, and `words.html` to check them."""
    seen = _read(sources, words, progress)
    table = pl.DataFrame(seen.captions, schema=CAPTIONS.dtypes, orient="row")
    write_parquet(CAPTIONS.check(table, "captions"), out / "captions.parquet")
    named = sorted(set(seen.images) | set(seen.words), key=lambda name: (-seen.images[name], name))
    nouns = sorted(seen.nouns.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
    write_page(
        out / "words.html",
        *("equiview.build", "words.html"),
        classes=[(name, f"{seen.images[name]:,}", *_named(seen, name)) for name in named],
        nouns=[
            (noun, f"{count:,}", _seen_with(seen, noun, count, len(sources)), seen.example[noun])
            for noun, count in nouns
        ],
        all_nouns=len(seen.nouns),
    )


def _read(sources: Sources, words: Things, progress: Progress) -> _Seen:
    seen = _Seen()
    for row in range(len(sources)):
        present = sorted(set(sources.annotated(row)["object"]))
        seen.images.update(present)
        named: set[str] = set()
        nouns: dict[str, str] = {}
        for caption in sources.captions(row):
            mentions = caption.links
            if mentions is None:
                mentions = [(found.start, found.end, found.name) for found in words.mentions(caption.text)]
            for start, end, name in mentions:
                seen.words[name][caption.text[start:end].lower()] += 1
            classes = sorted({name for _, _, name in mentions})
            named.update(classes)
            seen.captions.append((caption.id, sources.images.ids[row], caption.text, classes))
            for noun in _nouns(caption.text, [(start, end) for start, end, _ in mentions]):
                nouns.setdefault(words.singular(noun), caption.text)
        seen.named.update(named & set(present))
        for noun, text in nouns.items():
            seen.nouns[noun] += 1
            seen.nouns_with[noun].update(present)
            seen.example[noun] = min(seen.example.get(noun, text), text, key=len)
        progress("reading captions", row + 1, len(sources))
    return seen


def _nouns(caption: str, matched: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Last words of phrases outside the matched parts.

    >>> list(_nouns("A man riding a wave on top of a surfboard.", [(2, 5)]))
    ['wave', 'surfboard']
    """
    for word in END.finditer(caption.lower()):
        inside = any(start < word.end() and word.start() < end for start, end in matched)
        if not inside and word[1] not in NO_NOUN:
            yield word[1]


def _named(seen: _Seen, name: str) -> tuple[str, str]:
    """The share of images with a class whose captions name it, and the words for it."""
    share = f"{seen.named[name] / seen.images[name]:.0%}" if seen.images[name] else ""
    return share, ", ".join(f"{word} {count:,}" for word, count in seen.words[name].most_common(12))


def _seen_with(seen: _Seen, noun: str, count: int, images: int) -> str:
    """The class most overrepresented in the images with a noun; empty for few images."""
    if count < FEW:
        return ""
    more = {name: both / count - seen.images[name] / images for name, both in seen.nouns_with[noun].items()}
    name = max(sorted(more), key=more.__getitem__, default="")
    return f"{name} ({seen.nouns_with[noun][name] / count:.0%})" if name and more[name] > 0 else ""
