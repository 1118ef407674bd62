"""Rank a gallery of people for neutral prompts, and match images with their captions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.social.settings import ATTRIBUTES, BETWEEN, INTERSECTIONS, SocialSettings
from equiview.benchmarks import Benchmark
from equiview.benchmarks.neutral import check_neutral, neutral_prompts_of
from equiview.data.items import Items, blind_order
from equiview.data.labels import known_labels
from equiview.data.observations import Observations
from equiview.data.relevance import Relevance
from equiview.data.vectors import TokenVectors, Vectors
from equiview.errors import InputError, NotApplicableError
from equiview.io.progress import Progress
from equiview.io.tables import Column, schemas
from equiview.search import Block, Targets, ahead_within, best, comparable, per_block, ranks_within, unit
from equiview.subjects import Encoder

Rows = NDArray[np.int64]
PICTURED = 8
"""First results of a prompt whose pictures are kept."""
SAMPLED = 400
"""Further images whose pictures are kept, chosen by a hash of their names: the same for every system."""
TIES = 2
"""Ties at the cut are kept up to this many times its depth; the others are dropped in arbitrary order."""
DIRECTIONS = ("image-to-text", "text-to-image")
AHEAD = "ahead"
"""A further column of `matches`, List(Int32): candidates ranked before the right one, by `groups_of`."""
SCHEMAS = schemas(
    prompts=(
        Column("prompt_id", pl.String, "the prompt", unique=True),
        Column("language", pl.String, "its language"),
        Column("text", pl.String, "its words"),
        Column("concept", pl.String, "what it is about"),
        Column("vector", pl.Binary, "its direction, float16, little endian", nullable=True),
    ),
    images=(
        Column("image_id", pl.String, "the image", unique=True),
        Column("picture", pl.Binary, "a small picture, of some images", nullable=True),
        Column("vector", pl.Binary, "its direction, float16, little endian", nullable=True),
        Column("caption", pl.String, "its first caption", nullable=True),
    ),
    labels=(
        Column("image_id", pl.String, "the image"),
        Column("attribute", pl.String, "such as gender"),
        Column("value", pl.String, "as the benchmark says it"),
    ),
    rankings=(
        Column("prompt_id", pl.String, "the prompt"),
        Column("rank", pl.Int32, "place in the list, from 1; ties at the last cut are all there"),
        Column("image_id", pl.String, "the image there"),
        Column("score", pl.Float32, "similarity"),
    ),
    matches=(
        Column("direction", pl.String, " or ".join(DIRECTIONS)),
        Column("query_id", pl.String, "the image, or the caption"),
        Column("image_id", pl.String, "the image"),
        Column("rank", pl.Int32, "place of its best caption, or of the image, from 1"),
        Column("relevant", pl.Int32, "captions of the image among the candidates; 1 for a caption"),
        Column("candidates", pl.Int32, "captions in the language, or images"),
    ),
)


def observe(
    subject: Encoder, benchmark: Benchmark, settings: SocialSettings, progress: Progress
) -> Observations:
    """The top of the gallery for every prompt, and ranks of matches where there are captions.

    Raises InputError for images without the attributes, an attribute with one value, and a prompt that names
    an attribute.
    """
    labels = labels_of(benchmark.images, settings)
    prompts = _prompts(benchmark, settings, labels["attribute"].unique(maintain_order=True).to_list())
    images = benchmark.images.take(blind_order(benchmark.images.ids))
    vectors = comparable(subject, images, progress)
    asked = Items("text", prompts.rename({"prompt_id": "id"}), "neutral prompts")
    asked_vectors = comparable(subject, asked, progress)
    lists, first = rankings(asked_vectors, vectors, asked.ids, images.ids, settings, progress)
    members = membership(images.ids, labels)
    matches, captions = _matches(subject, benchmark, images, vectors, members, settings, progress)
    return Observations(
        {
            "prompts": prompts.with_columns(vector=_packed(asked_vectors, settings)),
            "images": _images(images, vectors, first, captions, settings),
            "labels": labels,
            "rankings": lists,
            "matches": matches,
        }
    )


def labels_of(images: Items, settings: SocialSettings) -> pl.DataFrame:
    """Whom images show: image_id, attribute, value; only of attributes with two known values or more."""
    present = [name for name in settings.attributes or ATTRIBUTES if name in images.table.columns]
    if absent := [name for name in settings.attributes if name not in present]:
        images.attribute(absent[0])
    if not present:
        others = ", ".join(name for name in images.table.columns if name not in ("id", "path", "picture"))
        raise NotApplicableError(
            f"{images.source}: images have none of {', '.join(ATTRIBUTES)}; name attributes of people with "
            f"the setting 'attributes' (there are: {others or 'none'})"
        )
    parts = {}
    for name in present:
        given = images.attribute(name).cast(pl.String)
        labels = images.labels(name, settings.unknown, "social.unknown")
        known = labels.drop_nulls().unique()
        part = pl.DataFrame(
            {"image_id": images.ids, "value": labels.fill_null(known_labels(given, ())).fill_null(given)}
        )
        part = part.drop_nulls().select("image_id", pl.lit(name).alias("attribute"), "value")
        if len(known) > 1:
            parts[name] = part
        elif name in settings.attributes or (name == present[-1] and not parts):
            values = repr(known[0]) if len(known) else "no known value"
            raise NotApplicableError(
                f"{images.source}: attribute {name!r} of the images has {values} only; comparing groups "
                "takes two"
            )
    for pair in settings.intersections:
        lacking = [name for name in pair.split(BETWEEN) if name not in parts]
        if lacking and pair not in INTERSECTIONS:
            raise InputError(
                f"intersection {pair!r} is of {lacking[0]!r}, which is not among the attributes audited "
                f"({', '.join(parts)}); name it with the setting 'attributes'"
            )
    return pl.concat(parts.values())


def groups_of(labels: pl.DataFrame) -> pl.DataFrame:
    """Every attribute and value that images have, in the order of their first image."""
    return labels.select("attribute", "value").unique(maintain_order=True)


def membership(images: pl.Series, labels: pl.DataFrame) -> NDArray[np.float32]:
    """Which images have each value of `groups_of`: `(n_images, n_values)` of 0 and 1."""
    values = groups_of(labels).with_row_index("column")
    places = pl.DataFrame({"image_id": images}).with_row_index("row")
    at = labels.join(values, on=["attribute", "value"]).join(places, on="image_id")
    members = np.zeros((len(images), len(values)), dtype=np.float32)
    members[at["row"].to_numpy(), at["column"].to_numpy()] = 1
    return members


def _prompts(benchmark: Benchmark, settings: SocialSettings, attributes: Sequence[str]) -> pl.DataFrame:
    table, source = neutral_prompts_of(benchmark, settings.prompts)
    languages = table["language"].unique(maintain_order=True).to_list()
    if settings.languages:
        table = table.filter(pl.col("language").is_in(settings.languages))
    if not len(table):
        raise InputError(
            f"{source}: there are no prompts in {', '.join(settings.languages)}; there are some in "
            f"{', '.join(languages)} (setting 'languages')"
        )
    check_neutral(table, attributes, source, settings.allowed)
    return table.select(column.name for column in SCHEMAS["prompts"].columns[:4])


def rankings(
    asked: Vectors,
    gallery: Vectors,
    prompts: pl.Series,
    images: pl.Series,
    settings: SocialSettings,
    progress: Progress,
) -> tuple[pl.DataFrame, Rows]:
    """The lists with ties at the cut, and the rows of the images among the first of any list."""
    depth = settings.depth(len(images))
    parts = []
    for done, part in per_block(_lists, asked, gallery, depth):
        parts.append(part)
        progress("ranking", done, len(prompts))
    prompt, rank, item, score = (np.concatenate(column) for column in zip(*parts, strict=True))
    table = pl.DataFrame(
        {
            "prompt_id": prompts[prompt],
            "rank": rank.astype(np.int32),
            "image_id": images[item],
            "score": score,
        }
    )
    return table, np.unique(item[rank <= PICTURED]).astype(np.int64)


def _lists(block: Block) -> tuple[Rows, Rows, NDArray[np.int32], NDArray[np.float32]]:
    """Prompt, rank, image and score of all that is ranked for the prompts of a block."""
    scores, depth = block.scores, block.k
    cut = best(scores, depth).scores[:, -1:]
    sizes = np.minimum((scores >= cut).sum(axis=1), TIES * depth)
    ranked = best(scores, int(sizes.max()))
    row, at = np.nonzero(np.arange(ranked.depth) < sizes[:, None])
    return row + block.start, at + 1, ranked.items[row, at], ranked.scores[row, at]


def _images(
    images: Items, vectors: Vectors, first: Rows, captions: dict[int, str], settings: SocialSettings
) -> pl.DataFrame:
    pictured = set(first.tolist()) | set(range(min(SAMPLED, len(images))))
    pictures = [images.thumbnail(row) if row in pictured else None for row in range(len(images))]
    words = [captions.get(row) for row in range(len(images))]
    columns = {"image_id": images.ids, "picture": pictures, "vector": _packed(vectors, settings)}
    return pl.DataFrame(columns | {"caption": words}, schema=SCHEMAS["images"].dtypes)


def _packed(vectors: Vectors, settings: SocialSettings) -> pl.Series:
    """Directions as float16, for token vectors that of their mean; null where they are not kept."""
    rows: list[bytes | None] = [None] * len(vectors)
    for row in range(len(vectors) if settings.vectors else 0):
        vector = np.asarray(vectors[row], dtype=np.float32)
        mean = vector.mean(axis=0) if isinstance(vectors, TokenVectors) else vector
        rows[row] = (unit(mean[None])[0] if mean.any() else mean).astype("<f2").tobytes()
    return pl.Series(rows, dtype=pl.Binary)


def _matches(
    subject: Encoder,
    benchmark: Benchmark,
    images: Items,
    vectors: Vectors,
    members: NDArray[np.float32],
    settings: SocialSettings,
    progress: Progress,
) -> tuple[pl.DataFrame, dict[int, str]]:
    """Ranks of matching in both directions, and the first caption of each image by row.

    `members` is `(n_images, n_groups)`; a caption is of the groups of its first image.
    """
    empty = SCHEMAS["matches"].table()
    if benchmark.texts is None or benchmark.relevance is None:
        return empty, {}
    texts, relevance = _captions(benchmark, images, settings.caption_language)
    if not len(relevance.queries):
        return empty, {}
    text_vectors = comparable(subject, texts, progress)
    parts = []
    image_of = np.zeros(len(texts), dtype=np.int64)
    image_of[relevance.items[::-1]] = relevance.queries[::-1]
    for direction in DIRECTIONS:
        of_image = direction == DIRECTIONS[0]
        pairs = relevance if of_image else relevance.reversed()
        queries, gallery = (vectors, text_vectors) if of_image else (text_vectors, vectors)
        found = []
        right = Targets(pairs.queries, pairs.items, np.zeros(pairs.n_items, dtype=np.int64))
        of_gallery = members[image_of] if of_image else members
        for done, ranks in per_block(_right, queries, gallery, 0, right, of_gallery):
            found.append(ranks)
            progress(f"matching {direction}", done, pairs.n_queries)
        rank, ahead = (np.concatenate(column) for column in zip(*found, strict=True))
        query_ids = (images if of_image else texts).ids[pairs.queries]
        image_ids = images.ids[pairs.queries if of_image else pairs.items]
        part = pl.DataFrame({"query_id": query_ids, "image_id": image_ids, "rank": rank})
        part = part.with_columns(ahead=pl.Series(list(ahead), dtype=pl.List(pl.Int32)))
        part = part.group_by("query_id", "image_id", maintain_order=True).agg(
            pl.col(AHEAD).sort_by("rank").first(),
            pl.col("rank").min(),
            pl.len().alias("relevant"),
            direction=pl.lit(direction),
            candidates=pl.lit(pairs.n_items),
        )
        parts.append(SCHEMAS["matches"].check(part.select(*empty.columns, AHEAD), "matches"))
    first = np.unique(relevance.queries, return_index=True)
    captions = {int(image): texts.texts[relevance.items[at]] for image, at in zip(*first, strict=True)}
    return pl.concat(parts), captions


def _right(block: Block, members: NDArray[np.float32]) -> tuple[Rows, NDArray[np.int32]]:
    """The rank of what is right for the queries of a block, and how many of each group are before it."""
    pairs = (block.scores, block.targets.queries, block.targets.items)
    return ranks_within(*pairs), ahead_within(*pairs, members)


def _captions(benchmark: Benchmark, images: Items, language: str) -> tuple[Items, Relevance]:
    """The captions of one language in a blind order, and their relevance to `images`."""
    texts, relevance = benchmark.need_texts(), benchmark.need_relevance()
    languages = texts.table["language"]
    there = languages.unique(maintain_order=True).to_list()
    chosen = language or ("en" if "en" in there else there[0])
    if chosen not in there:
        raise InputError(
            f"{texts.source}: there are no captions in {chosen!r} (setting 'caption_language'); there are "
            f"some in {', '.join(there)}"
        )
    rows = languages.eq(chosen).arg_true().to_numpy()
    rows = rows[blind_order(texts.ids[rows])]
    place = np.full(len(texts), -1)
    place[rows] = np.arange(len(rows))
    image_place = np.empty(len(images), dtype=np.int64)
    image_place[blind_order(benchmark.images.ids)] = np.arange(len(images))
    kept = place[relevance.items] >= 0
    pairs = Relevance.from_pairs(
        image_place[relevance.queries[kept]],
        place[relevance.items[kept]],
        n_queries=len(images),
        n_items=len(rows),
    )
    return texts.take(rows), pairs
