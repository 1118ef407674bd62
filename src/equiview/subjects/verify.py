"""A self-check of an encoder before a long run, on known pictures and captions.

They are 32 drawings of the embedded benchmark and their names in several languages. Each check reports what
was found and, if anything is wrong, what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks import load_benchmark
from equiview.data.items import Items
from equiview.data.vectors import TokenVectors, Vectors, values_of
from equiview.errors import InputError
from equiview.io.progress import Progress, silent
from equiview.search import top_k, unit
from equiview.subjects.base import Subject
from equiview.subjects.encoders.base import EmbeddingModel

CONCEPTS = (
    *("1f981", "1f993", "1f42a", "1f992", "1f418", "1f43c", "1f427", "1f989"),
    *("1f422", "1f40d", "1f988", "1f419", "1f980", "1f98b", "1f339", "1f33b"),
    *("1f335", "1f344", "1f34d", "1f353", "1f355", "1f354", "1f68c", "1f6b2"),
    *("1f680", "2602", "1f3b8", "1f3bb", "1f511", "2702", "1f451", "1f6cf"),
)
"""Concepts that any model of pictures knows, from a lion to a bed."""
LANGUAGES = ("en", "de", "ru", "zh", "ar", "hi", "sw")
SMALL = 8
"""Items of a small batch."""
LONG_WORDS = (16, 64, 256)
"""Lengths, in words, at which the check looks for truncation."""
EXACT, CLOSE = 1e-3, 0.05
"""Thresholds, as shares of the distance between items: rounding, and half precision."""
SURE = 0.001
"""Significance level of the test against guessing."""

Result = Literal["ok", "note", "looks wrong"]
Each: TypeAlias = list[NDArray[np.float64]]
"""The vectors of each item, `(tokens, width)`; one token where the encoder gives one vector an item."""


@dataclass(frozen=True)
class Check:
    """One check: its name, its result, what was seen, and what to do about it (empty if nothing)."""

    check: str
    result: Result
    seen: str
    advice: str = ""


def verify(subject: Subject, progress: Progress = silent) -> list[Check]:
    """Encode known pictures and captions and report what looks wrong.

    About 70 pictures and 350 short texts are encoded. Raises InputError for a subject that is not a model,
    such as result lists or stored vectors, and for what the model itself refuses.
    """
    if not isinstance(subject, EmbeddingModel):
        kind = subject.kind if subject.kind != "an encoder" else "stored vectors"
        raise InputError(
            f"{subject.name} is {kind}; only a model that encodes pictures and texts can be verified"
        )
    return _Trial(subject, progress).checks()


def _pairs() -> tuple[Items, dict[str, list[str]]]:
    """The known pictures, and their names by language, in one order."""
    benchmark = load_benchmark("pictograms")
    images = benchmark.images.table
    rows = [images["concept"].to_list().index(concept) for concept in CONCEPTS]
    names = benchmark.need_texts().table
    captions = {}
    for language in LANGUAGES:
        known = names.filter(pl.col("language") == language)
        of_concept = dict(zip(known["concept"], known["text"], strict=True))
        captions[language] = [of_concept[concept] for concept in CONCEPTS]
    return benchmark.images.take(rows), captions


class _Trial:
    """The checks of one model."""

    def __init__(self, model: EmbeddingModel, progress: Progress) -> None:
        self.model, self.progress = model, progress
        self.done = 0
        images, self.captions = _pairs()
        self.pictures = images.pictures()

    def images(self, pictures: Sequence[Any]) -> Vectors:
        """Vectors of pictures in one call."""
        self._tell()
        return self.model._as_vectors(self.model.encode_images(list(pictures)), len(pictures), "images")

    def texts(self, texts: Sequence[str], language: str = "en") -> Vectors:
        """Vectors of texts of one language in one call."""
        self._tell()
        return self.model._as_vectors(self.model.encode_texts_in(list(texts), language), len(texts), "texts")

    def _tell(self) -> None:
        self.done += 1
        self.progress("verifying", self.done, 8 + len(LANGUAGES) + 2 * (3 + SMALL) + len(LONG_WORDS))

    def checks(self) -> list[Check]:
        """Every check; later checks are skipped where vectors cannot be compared."""
        images = self.images(self.pictures)
        texts = {language: self.texts(captions, language) for language, captions in self.captions.items()}
        checks = [_widths(images, texts["en"]), _values(images, [*texts.values()])]
        if any(check.result == "looks wrong" for check in checks):
            return [*checks, Check("other checks", "note", "not made", "correct the above first")]
        checks += [
            self._ranks(images, texts),
            _lengths(images, texts["en"], self.model.similarity),
            *self._repeats("pictures", self.images, self.pictures, images),
            *self._repeats("texts", self.texts, self.captions["en"], texts["en"]),
        ]
        if not any(check.check.startswith("distinct") and check.result == "looks wrong" for check in checks):
            checks += [self._padded_texts(texts["en"]), self._padded_pictures(images)]
            checks += [self._case(images, texts["en"]), self._cut()]
        return checks

    def each(self, vectors: Vectors) -> Each:
        """The vectors of each item as they are compared: normalised for the cosine."""
        scaled = unit(vectors) if self.model.similarity == "cosine" else vectors
        rows = scaled if isinstance(scaled, TokenVectors) else scaled[:, None]
        return [np.asarray(row, dtype=np.float64) for row in rows]

    def hits(self, texts: Vectors, images: Vectors) -> int:
        """The number of texts with their own picture at rank 1."""
        if self.model.similarity == "cosine":
            texts, images = unit(texts), unit(images)
        return int((top_k(texts, images, 1).items[:, 0] == np.arange(len(texts))).sum())

    def _ranks(self, images: Vectors, texts: dict[str, Vectors]) -> Check:
        from scipy.stats import binom

        count = len(self.pictures)
        hits = {language: self.hits(vectors, images) for language, vectors in texts.items()}
        guessed = [name for name, hit in hits.items() if binom.sf(hit - 1, count, 1 / count) > SURE]
        seen = f"R@1 of {count}: " + ", ".join(f"{name} {hit / count:.0%}" for name, hit in hits.items())
        seen += f" (chance {1 / count:.0%})"
        if len(guessed) == len(hits):
            advice = "no better than guessing: are weights, preprocessing and both towers the right ones?"
            return Check("captions find pictures", "looks wrong", seen, advice)
        if guessed:
            advice = f"no better than guessing in {', '.join(guessed)}: fine if it was not trained on them"
            return Check("captions find pictures", "note", seen, advice)
        return Check("captions find pictures", "ok", seen)

    def _repeats(
        self, kind: str, encode: Callable[[Sequence[Any]], Vectors], items: Sequence[Any], whole: Vectors
    ) -> list[Check]:
        """Whether distinct items differ, and the same items agree when encoded again, reversed or singly."""
        encoded = self.each(whole)
        scale = _spacing(encoded)
        distinct = 1 + sum(_distance(encoded[row - 1], encoded[row]) > 1e-6 for row in range(1, len(items)))
        if scale <= 1e-6:
            return [
                Check(f"distinct {kind}", "looks wrong", "most neighbours have one and the same vector",
                      f"does the model read its {kind}?")
            ]  # fmt: skip
        few = items[:SMALL]
        first = self.each(encode(few))
        again = self.each(encode(few))
        backwards = self.each(encode(few[::-1]))[::-1]
        single = [self.each(encode([item]))[0] for item in few]
        return [
            Check(f"distinct {kind}", "ok", f"{len(items)} {kind}, as many vectors")
            if distinct == len(items)
            else Check(f"distinct {kind}", "note", f"some of {len(items)} {kind} share a vector",
                       f"can the model tell these {kind} apart?"),
            _agreement(f"{kind}, encoded again", first, again, scale, "switch off dropout and sampling"),
            _agreement(f"{kind}, in reverse order", first, backwards, scale,
                       "return vectors in the order of the items"),
            _agreement(f"{kind}, batch of 1 or {len(items)}", single, encoded[: len(few)], scale,
                       "an item's vector must not depend on its batch: evaluation mode, attention mask"),
        ]  # fmt: skip

    def _padded_texts(self, texts: Vectors) -> Check:
        few, long = self.captions["en"][:SMALL], " ".join(self.captions["en"])
        alone = self.each(self.texts(few))
        beside = self.each(self.texts([*few, long]))[: len(few)]
        advice = "padding changes vectors: pass the attention mask, leave padding out of pooling"
        return _agreement("texts beside a long one", alone, beside, _spacing(self.each(texts)), advice)

    def _padded_pictures(self, images: Vectors) -> Check:
        few = self.pictures[:2]
        large = self.pictures[2].resize((448, 224))
        alone, beside = self.each(self.images(few)), self.each(self.images([*few, large]))[: len(few)]
        advice = "padding changes vectors: pass the mask of patches or tokens"
        return _agreement("pictures beside a large one", alone, beside, _spacing(self.each(images)), advice)

    def _case(self, images: Vectors, texts: Vectors) -> Check:
        lower = self.texts([text.lower() for text in self.captions["en"]])
        upper = self.texts([text.upper() for text in self.captions["en"]])
        share = _furthest(self.each(lower), self.each(upper)) / _spacing(self.each(texts))
        if share <= EXACT:
            return Check("capital letters", "ok", "change no vector")
        count = len(self.pictures)
        small, capital = self.hits(lower, images) / count, self.hits(upper, images) / count
        seen = f"change vectors: R@1 {small:.0%} in lower case, {capital:.0%} in capitals"
        return Check("capital letters", "note", seen, "was the model trained on lower-cased texts?")

    def _cut(self) -> Check:
        words = " ".join(self.captions["en"]).split()
        begun = [" ".join((words * LONG_WORDS[-1])[:count]) for count in LONG_WORDS]
        scale = _spacing(self.each(self.texts(self.captions["en"])))
        for count, text in zip(LONG_WORDS, begun, strict=True):
            try:
                ends = [" ".join([text, *[word] * count]) for word in (words[0], words[1])]
                one, other = self.each(self.texts(ends))
            except InputError as error:
                return Check("long texts", "note", f"of {2 * count} words are refused ({error})",
                             "shorten your texts, or cut them in the model")  # fmt: skip
            if _distance(one, other) <= 1e-5 * scale:
                return Check("long texts", "note", f"are cut after at most {count} words",
                             "what a caption says further on is not audited")  # fmt: skip
        return Check("long texts", "ok", f"of {2 * LONG_WORDS[-1]} words are read beyond their middle")


def _widths(images: Vectors, texts: Vectors) -> Check:
    of_images, of_texts = (values_of(vectors).shape[1] for vectors in (images, texts))
    if of_images == of_texts:
        return Check("width", "ok", f"{of_images} numbers in each vector")
    return Check("width", "looks wrong", f"pictures {of_images} wide, texts {of_texts}",
                 "apply the projection of each tower into their common space")  # fmt: skip


def _values(images: Vectors, texts: Sequence[Vectors]) -> Check:
    bad = []
    for kind, parts in (("pictures", [images]), ("texts", texts)):
        rows = [values_of(part) for part in parts]
        broken = sum(int((~np.isfinite(part).all(axis=1)).sum()) for part in rows)
        zero = sum(int((~part.any(axis=1)).sum()) for part in rows)
        bad += [f"{broken} vectors of {kind} are not finite"] if broken else []
        bad += [f"{zero} vectors of {kind} are all zero"] if zero else []
    if bad:
        return Check("numbers", "looks wrong", "; ".join(bad),
                     "try dtype=float32 or bfloat16; are all weights loaded?")  # fmt: skip
    return Check("numbers", "ok", "all finite, no vector is all zero")


def _lengths(images: Vectors, texts: Vectors, similarity: str) -> Check:
    norms = [np.linalg.norm(values_of(part).astype(np.float64), axis=1) for part in (images, texts)]
    seen = ", ".join(
        f"{kind} {part.min():.3g} to {part.max():.3g}"
        for kind, part in zip(("pictures", "texts"), norms, strict=True)
    )
    if similarity == "cosine" or all(np.abs(part - 1).max() < 1e-2 for part in norms):
        return Check("lengths of vectors", "ok", f"{seen}; compared by {similarity}")
    return Check("lengths of vectors", "note", f"{seen}; {similarity} ranks longer ones higher",
                 "scale vectors to length 1 unless the model was trained without")  # fmt: skip


def _agreement(name: str, some: Each, others: Each, scale: float, advice: str) -> Check:
    share = _furthest(some, others) / scale
    if share <= EXACT:
        return Check(name, "ok", "the same vectors")
    seen = f"vectors differ by {share:.1%} of the distance between items"
    if share <= CLOSE:
        return Check(name, "note", seen, "half precision may explain it: try dtype=float32")
    return Check(name, "looks wrong", seen, advice)


def _furthest(some: Each, others: Each) -> float:
    return max(_distance(one, other) for one, other in zip(some, others, strict=True))


def _spacing(encoded: Each) -> float:
    """The median distance of neighbours in the list."""
    return float(np.median([_distance(encoded[row - 1], encoded[row]) for row in range(1, len(encoded))]))


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The Hausdorff distance of two sets of vectors."""
    from scipy.spatial.distance import cdist

    distances = cdist(one, other)
    return float(max(distances.min(axis=0).max(), distances.min(axis=1).max()))
