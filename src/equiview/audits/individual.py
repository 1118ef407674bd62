"""Individual fairness (F): do parallel captions relate alike to the same image, whatever their language.

For each image and each two languages: how much the similarity to the image changes with the language of the
caption (similarity gap), how far apart the captions lie (text distance), and their ratio. The largest ratio
is alpha-hat. The same captions are also held against a wrong image, drawn by seed (`shuffled`), which shows
what similarity a caption has by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits._individual_values import IMAGES, IndividualSettings, measure, values
from equiview.audits._individual_views import QUESTION, draw, judge
from equiview.audits.base import Audit, register
from equiview.benchmarks import Benchmark
from equiview.benchmarks.parallel import Captions, captions_of
from equiview.data.observations import Observations
from equiview.data.progress import Progress
from equiview.data.seeds import seed_for
from equiview.data.tables import Column, Schema
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.metrics import similarity_gap, text_distance
from equiview.subjects import Encoder

Floats = NDArray[np.float64]
BLOCK_BYTES = 32 * 2**20
MEASURED = ("gap", "distance", "chord", "ratio", "unit_ratio")

_RATIOS = (
    Column("ratio", pl.Float64, "mean of gap over distance, equal captions left out", nullable=True),
    Column("unit_ratio", pl.Float64, "mean of gap over chord, likewise", nullable=True),
    Column("largest_ratio", pl.Float64, "largest gap over distance", nullable=True),
    Column("largest_unit_ratio", pl.Float64, "largest gap over chord", nullable=True),
)
_WHICH = Column("images", pl.String, " or ".join(IMAGES))
SCHEMAS = {
    "languages": Schema(
        "languages",
        (
            Column("query_id", pl.String, "the image that is captioned"),
            Column("language", pl.String, "a language of its captions"),
            _WHICH,
            Column("pairs", pl.Int64, "pairs with captions in other languages"),
            Column("similarity", pl.Float64, "cosine of caption and image"),
            Column("gap", pl.Float64, "mean similarity gap to the other languages"),
            Column("distance", pl.Float64, "mean distance of the vectors as the encoder gives them"),
            Column("chord", pl.Float64, "mean distance of the vectors scaled to length 1"),
            *_RATIOS,
        ),
    ),
    "pairings": Schema(
        "pairings",
        (
            Column("language", pl.String, "one language"),
            Column("other", pl.String, "another"),
            _WHICH,
            Column("pairs", pl.Int64, "pairs of captions"),
            Column("equal", pl.Int64, "of these, with one and the same vector"),
            Column("gap", pl.Float64, "mean similarity gap"),
            Column("gap_sd", pl.Float64, "its standard deviation"),
            Column("distance", pl.Float64, "mean distance of the vectors as they are"),
            Column("chord", pl.Float64, "mean distance of the vectors scaled to length 1"),
            Column("chord_sd", pl.Float64, "its standard deviation"),
            *_RATIOS,
            Column("slope", pl.Float64, "largest ratio that the vectors' lengths allow, 2 / (|t| + |t'|)"),
        ),
    ),
    "pairs": Schema(
        "pairs",
        (
            Column("query_id", pl.String, "the image that is captioned"),
            Column("language", pl.String, "one language"),
            Column("other", pl.String, "another"),
            _WHICH,
            Column("text", pl.String, "the caption in the first"),
            Column("other_text", pl.String, "the caption in the other"),
            Column("gap", pl.Float64, "similarity gap"),
            Column("distance", pl.Float64, "distance of the vectors as they are"),
            Column("chord", pl.Float64, "distance of the vectors scaled to length 1; bounds the gap"),
            Column("length", pl.Float64, "length of the first vector"),
            Column("other_length", pl.Float64, "length of the other"),
        ),
    ),
}


def observe(
    subject: Encoder, benchmark: Benchmark, settings: IndividualSettings, progress: Progress
) -> Observations:
    """Hold every two languages' captions of an image against it, and against a wrong one."""
    captions = captions_of(benchmark, settings.captions, settings.languages)
    n_images = len(benchmark.images)
    if n_images < 2:
        raise InputError(f"benchmark {benchmark.name!r} has one image; shuffling takes two or more")
    image_vectors = subject.embed(benchmark.images, progress)
    used = np.unique(captions.rows[captions.rows >= 0])
    text_vectors = subject.embed(benchmark.texts.take(used), progress)
    if isinstance(image_vectors, TokenVectors) or isinstance(text_vectors, TokenVectors):
        raise InputError(
            "individual fairness is of one vector a caption; this encoder has one for each token"
        )
    place = np.full(len(benchmark.texts), -1, dtype=np.int64)
    place[used] = np.arange(len(used))

    work = _Work(captions, n_images, settings)
    for block in work.blocks(image_vectors.shape[1]):
        seen = _directions(image_vectors[block])
        wrong = _directions(image_vectors[work.shuffled[block]])
        for slot in range(captions.n_slots):
            rows = captions.rows[slot][:, block]
            raw = text_vectors[place[np.maximum(rows, 0)]].astype(np.float64)
            work.add(slot, block, rows >= 0, raw, (seen, wrong))
        progress("comparing captions", block.stop, n_images)
    return Observations("individual", work.tables(benchmark))


def _directions(vectors: NDArray[np.float32]) -> Floats:
    wide = vectors.astype(np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=-1, keepdims=True))


@dataclass
class _Sampled:
    """One language pair of one block, for the rows of the sample."""

    slot: int
    pair: int
    images: NDArray[np.int64]
    columns: dict[str, Floats]


class _Work:
    """Sums over pairs as they come by, so that memory does not grow with the number of language pairs."""

    def __init__(self, captions: Captions, n_images: int, settings: IndividualSettings) -> None:
        self.captions = captions
        self.n_images = n_images
        self.pairs = list(combinations(range(len(captions.languages)), 2))
        rng = np.random.default_rng(seed_for(settings.seed, "individual.shuffled"))
        order = rng.permutation(n_images)
        self.shuffled = np.empty(n_images, dtype=np.int64)
        self.shuffled[order] = np.roll(order, 1)  # one long cycle: no image keeps its own captions
        rng = np.random.default_rng(seed_for(settings.seed, "individual.sample"))
        total = captions.n_slots * len(self.pairs) * n_images
        size = min(settings.sample, total)
        drawn = np.sort(rng.choice(total, size, replace=False)) if size < total else np.arange(total)
        self.drawn, self.drawn_images = np.divmod(drawn, n_images)  # by slot and pair, then the image
        self.sampled: list[_Sampled] = []
        by_image = (len(IMAGES), len(captions.languages), n_images)
        by_pair = (len(IMAGES), len(self.pairs))
        names = ("n", "unequal", *MEASURED)
        self.of_image = {name: np.zeros(by_image) for name in (*names, "similarity", "slots")}
        self.of_pair = {name: np.zeros(by_pair) for name in (*names, "gap squared", "chord squared", "slope")}
        for name in ("largest ratio", "largest unit_ratio"):
            self.of_image[name] = np.full(by_image, np.nan)
            self.of_pair[name] = np.full(by_pair, np.nan)

    def blocks(self, width: int) -> Iterator[slice]:
        """Slices of images whose captions, scaled and not, fit in a block."""
        size = max(1, BLOCK_BYTES // (16 * width * len(self.captions.languages)))
        for start in range(0, self.n_images, size):
            yield slice(start, min(start + size, self.n_images))

    def add(
        self, slot: int, block: slice, there: NDArray[np.bool_], raw: Floats, images: tuple[Floats, Floats]
    ) -> None:
        """Take in one slot of one block: `raw` is `(n_languages, block, width)`, `there` says which exist."""
        lengths = np.linalg.norm(raw, axis=-1)
        units = raw / lengths[..., None]
        for which, seen in enumerate(images):
            cosine = np.einsum("lij,ij->li", units, seen)
            self.of_image["similarity"][which, :, block] += np.where(there, cosine, 0.0)
            self.of_image["slots"][which, :, block] += there
        for pair, (a, b) in enumerate(self.pairs):
            rows = np.flatnonzero(there[a] & there[b])
            if not len(rows):
                continue
            one, other = units[a][rows], units[b][rows]
            common = {
                "chord": text_distance(one, other, normalised=True),
                "distance": text_distance(raw[a][rows], raw[b][rows], normalised=True),
                "length": lengths[a][rows],
                "other_length": lengths[b][rows],
            }
            gaps = [similarity_gap(seen[rows], one, other, normalised=True) for seen in images]
            for which, gap in enumerate(gaps):
                self._sum(which, pair, block.start + rows, common | {"gap": gap})
            self._sample(slot, pair, block.start + rows, common, gaps)

    def _sum(self, which: int, pair: int, rows: NDArray[np.int64], found: dict[str, Floats]) -> None:
        unequal = (found["chord"] > 0) & (found["distance"] > 0)
        nothing = np.zeros(len(rows))
        found = found | {
            "n": np.ones(len(rows)),
            "unequal": unequal.astype(np.float64),
            "ratio": np.divide(found["gap"], found["distance"], out=nothing.copy(), where=unequal),
            "unit_ratio": np.divide(found["gap"], found["chord"], out=nothing.copy(), where=unequal),
        }
        for name in ("n", "unequal", *MEASURED):
            self.of_pair[name][which, pair] += found[name].sum()
            for language in self.pairs[pair]:
                self.of_image[name][which, language, rows] += found[name]
        for name in ("gap", "chord"):
            self.of_pair[f"{name} squared"][which, pair] += (found[name] ** 2).sum()
        slope = (2 / (found["length"] + found["other_length"])).max()
        self.of_pair["slope"][which, pair] = max(self.of_pair["slope"][which, pair], slope)
        for name in ("ratio", "unit_ratio"):
            ratio = np.where(unequal, found[name], np.nan)
            if unequal.any():
                before = self.of_pair[f"largest {name}"][which, pair]
                self.of_pair[f"largest {name}"][which, pair] = np.fmax(before, np.nanmax(ratio))
            for language in self.pairs[pair]:
                largest = self.of_image[f"largest {name}"]
                largest[which, language, rows] = np.fmax(largest[which, language, rows], ratio)

    def _sample(
        self, slot: int, pair: int, rows: NDArray[np.int64], found: dict[str, Floats], gaps: list[Floats]
    ) -> None:
        first, last = np.searchsorted(self.drawn, slot * len(self.pairs) + np.array([pair, pair + 1]))
        wanted = self.drawn_images[first:last]
        chosen = np.flatnonzero(np.isin(rows, wanted, assume_unique=True))
        if len(chosen):
            columns = {name: column[chosen] for name, column in found.items()}
            columns |= {f"gap {which}": gap[chosen] for which, gap in zip(IMAGES, gaps, strict=True)}
            self.sampled.append(_Sampled(slot, pair, rows[chosen], columns))

    def tables(self, benchmark: Benchmark) -> dict[str, pl.DataFrame]:
        """The three tables of the observations."""
        return {
            "languages": self._languages(benchmark.images.ids),
            "pairings": self._pairings(),
            "pairs": self._pairs(benchmark),
        }

    def _languages(self, ids: pl.Series) -> pl.DataFrame:
        sums = self.of_image
        which, language, image = np.nonzero(sums["n"])
        at = (which, language, image)
        codes = np.asarray(self.captions.languages)
        return pl.DataFrame(
            {
                "query_id": ids[image],
                "language": codes[language],
                "images": np.asarray(IMAGES)[which],
                "pairs": sums["n"][at].astype(np.int64),
                "similarity": sums["similarity"][at] / sums["slots"][at],
                **{name: sums[name][at] / sums["n"][at] for name in ("gap", "distance", "chord")},
                **_ratios(sums, at),
            }
        ).sort("images", "language", maintain_order=True)

    def _pairings(self) -> pl.DataFrame:
        sums = self.of_pair
        at = np.nonzero(sums["n"])
        which, pair = at
        codes = np.asarray(self.captions.languages)
        n = sums["n"][at]
        spread: dict[str, Floats] = {}
        for name in ("gap", "chord"):
            mean = sums[name][at] / n
            variance = np.maximum(sums[f"{name} squared"][at] / n - mean**2, 0) * n / np.maximum(n - 1, 1)
            spread |= {name: mean, f"{name}_sd": np.sqrt(variance)}
        return pl.DataFrame(
            {
                "language": codes[[self.pairs[p][0] for p in pair]],
                "other": codes[[self.pairs[p][1] for p in pair]],
                "images": np.asarray(IMAGES)[which],
                "pairs": n.astype(np.int64),
                "equal": (n - sums["unequal"][at]).astype(np.int64),
                "distance": sums["distance"][at] / n,
                **spread,
                **_ratios(sums, at),
                "slope": sums["slope"][at],
            }
        )

    def _pairs(self, benchmark: Benchmark) -> pl.DataFrame:
        texts, ids, codes = benchmark.texts.table["text"], benchmark.images.ids, self.captions.languages
        parts = []
        for one in self.sampled:
            a, b = self.pairs[one.pair]
            rows = self.captions.rows[one.slot]
            shared = {
                "query_id": ids[one.images],
                "language": [codes[a]] * len(one.images),
                "other": [codes[b]] * len(one.images),
                "text": texts[rows[a][one.images]],
                "other_text": texts[rows[b][one.images]],
                **{name: one.columns[name] for name in ("distance", "chord", "length", "other_length")},
            }
            parts += [
                pl.DataFrame(
                    shared | {"images": [which] * len(one.images), "gap": one.columns[f"gap {which}"]}
                )
                for which in IMAGES
            ]
        return pl.concat(parts).sort("images", "language", "other", maintain_order=True)


def _ratios(sums: dict[str, Floats], at: tuple[NDArray[np.int64], ...]) -> dict[str, pl.Series]:
    """Mean and largest ratios, null where every pair is of equal captions."""
    unequal = sums["unequal"][at]
    made = {}
    with np.errstate(invalid="ignore"):
        for name in ("ratio", "unit_ratio"):
            made[name] = pl.Series(sums[name][at] / unequal).fill_nan(None)
            made[f"largest_{name}"] = pl.Series(sums[f"largest {name}"][at]).fill_nan(None)
    return made


INDIVIDUAL = register(
    Audit(
        name="individual",
        question=QUESTION,
        source='F: "Assessing Multilingual Fairness in Pre-trained Multimodal Representations", section 3',
        settings=IndividualSettings,
        schemas=SCHEMAS,
        headline=(
            "relative gap",
            "similarity gap [images=matched]",
            "ratio [images=matched, vectors=unit]",
            "chord [images=matched]",
        ),
        observe=observe,
        values=values,
        measure=measure,
        draw=draw,
        judge=judge,
    )
)
