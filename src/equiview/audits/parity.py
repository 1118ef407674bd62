"""Parity (F): is accuracy equal across languages, and across people within and across languages.

Two kinds of tasks. Matching: each image among the captions of one language at a time, and each caption among
the images; no other language competes. Zero-shot classification, where images show people with labels: the
prompt of which value is most similar, in each language and paraphrase of the prompts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits._parity_answers import DIRECTIONS, ParitySettings
from equiview.audits._parity_values import measure, values
from equiview.audits._parity_views import QUESTION, draw
from equiview.audits._parity_words import judge
from equiview.audits.base import Audit, register
from equiview.benchmarks import Benchmark
from equiview.benchmarks.parallel import Captions, captions_of
from equiview.benchmarks.prompts import Prompts, read_prompts, shipped_prompts
from equiview.data.items import Items, blind_order
from equiview.data.observations import Observations
from equiview.data.progress import Progress
from equiview.data.tables import Column, Schema
from equiview.data.vectors import TokenVectors, Vectors
from equiview.errors import InputError
from equiview.search import score_blocks, unit
from equiview.subjects import Encoder

GROUPED = ("gender", "race", "age", "skin", "group")
"""Attributes by which accuracy is broken down when images have them and nothing else is asked for."""
MANY_VALUES = 40

SCHEMAS = {
    "matches": Schema(
        "matches",
        (
            Column("query_id", pl.String, "the image"),
            Column("direction", pl.String, " or ".join(DIRECTIONS)),
            Column("language", pl.String, "language of the captions"),
            Column("round", pl.Int32, "which caption of the image, from 1"),
            Column("rank", pl.Int32, "place of the right one among the candidates, from 1"),
            Column("candidates", pl.Int32, "how many candidates there were"),
        ),
    ),
    "predictions": Schema(
        "predictions",
        (
            Column("query_id", pl.String, "the image"),
            Column("task", pl.String, "the attribute that was asked for"),
            Column("language", pl.String, "language of the prompts"),
            Column("paraphrase", pl.String, "how it was asked"),
            Column("truth", pl.String, "its label"),
            Column("predicted", pl.String, "the value whose prompt is most similar"),
        ),
    ),
    "prompts": Schema(
        "prompts",
        (
            Column("task", pl.String, "the attribute that was asked for"),
            Column("language", pl.String, "language of the prompt"),
            Column("paraphrase", pl.String, "how it was asked"),
            Column("value", pl.String, "the value it stands for"),
            Column("text", pl.String, "its words"),
            Column("checked", pl.String, "who checked it"),
        ),
    ),
    "groups": Schema(
        "groups",
        (
            Column("query_id", pl.String, "the image"),
            Column("attribute", pl.String, "an attribute of it"),
            Column("value", pl.String, "its value"),
        ),
    ),
}


def observe(
    subject: Encoder, benchmark: Benchmark, settings: ParitySettings, progress: Progress
) -> Observations:
    """Match images and captions within each language, and classify images where prompts fit their labels."""
    prompts = _prompts(settings)
    tasks = _tasks(benchmark, prompts) if settings.zero_shot else {}
    codes = set(benchmark.texts.table["language"]) & set(
        settings.languages or benchmark.texts.table["language"]
    )
    if len(codes) < 2 and not tasks:
        raise InputError(
            f"benchmark {benchmark.name!r} has captions in {', '.join(sorted(codes)) or 'no language'} and "
            f"no image label that prompts ask for ({', '.join(prompts)}); parity compares two languages or "
            "more"
        )
    image_vectors = subject.embed(benchmark.images, progress)
    cosine = subject.similarity == "cosine"
    image_vectors = unit(image_vectors) if cosine else image_vectors
    matches = SCHEMAS["matches"].check(_empty("matches"), "matches")
    if len(codes) > 1:
        captions = captions_of(benchmark, settings.captions, settings.languages)
        matches = _match(subject, benchmark, captions, settings, image_vectors, progress)
    predictions, asked = _empty("predictions"), _empty("prompts")
    for done, given in enumerate(tasks.values(), start=1):
        found, table = _classify(subject, benchmark.images, given, settings, image_vectors)
        predictions, asked = pl.concat([predictions, found]), pl.concat([asked, table])
        progress("classifying", done, len(tasks))
    tables = {
        "matches": matches,
        "predictions": predictions,
        "prompts": asked,
        "groups": _groups(benchmark.images, prompts, settings),
    }
    return Observations("parity", tables)


def _empty(name: str) -> pl.DataFrame:
    return pl.DataFrame(schema={column.name: column.dtype for column in SCHEMAS[name].columns})


def _prompts(settings: ParitySettings) -> dict[str, Prompts]:
    """Ours, and those of the user, which replace ours of the same attribute."""
    own = [read_prompts(Path(path)) for path in settings.prompts]
    return dict(shipped_prompts()) | {prompts.attribute: prompts for prompts in own}


def _tasks(benchmark: Benchmark, prompts: dict[str, Prompts]) -> dict[str, Prompts]:
    """Attributes that images have with labels of at least two values of the prompts."""
    table = benchmark.images.table
    return {
        name: given
        for name, given in prompts.items()
        if name in table.columns and given.values_of(table[name]).drop_nulls().n_unique() > 1
    }


def _take(vectors: Vectors, rows: NDArray[np.int64]) -> Vectors:
    return vectors.take(rows) if isinstance(vectors, TokenVectors) else vectors[rows]


def _match(
    subject: Encoder,
    benchmark: Benchmark,
    captions: Captions,
    settings: ParitySettings,
    image_vectors: Vectors,
    progress: Progress,
) -> pl.DataFrame:
    """Ranks in both directions, every language by itself.

    With `common`, only images captioned in all languages are candidates, so that all have equally many. An
    image with fewer captions than another begins anew when they are used up, so that rounds are alike too.
    """
    if settings.common and not len(captions.complete):
        raise InputError(
            f"benchmark {benchmark.name!r}: no image has a caption in all of "
            f"{', '.join(captions.languages)}; choose languages, or set parity.common=false to give each "
            "language its own images"
        )
    used = np.unique(captions.rows[captions.rows >= 0])
    text_vectors = subject.embed(benchmark.texts.take(used), progress)
    if subject.similarity == "cosine":
        text_vectors = unit(text_vectors)
    place = np.full(len(benchmark.texts), -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    ids, text_ids = benchmark.images.ids, benchmark.texts.ids
    parts = []
    for at, code in enumerate(captions.languages):
        rows = captions.rows[:, at]
        counts = (rows >= 0).sum(axis=0)
        images = captions.complete if settings.common else np.flatnonzero(counts)
        seen = _take(image_vectors, images)
        by_image = blind_order(ids[images])
        for turn in range(captions.n_slots):
            texts = rows[turn % counts[images], images]
            said = _take(text_vectors, place[texts])
            by_text = blind_order(text_ids[texts])
            for direction, ranks in zip(DIRECTIONS, _own_ranks(seen, said, by_image, by_text), strict=True):
                parts.append(
                    pl.DataFrame(
                        {
                            "query_id": ids[images],
                            "direction": [direction] * len(images),
                            "language": [code] * len(images),
                            "round": np.full(len(images), turn + 1, dtype=np.int32),
                            "rank": ranks.astype(np.int32),
                            "candidates": np.full(len(images), len(images), dtype=np.int32),
                        }
                    )
                )
        progress("matching", at + 1, len(captions.languages))
    return pl.concat(parts)


def _own_ranks(
    images: Vectors, texts: Vectors, by_image: NDArray[np.int64], by_text: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rank of text i for image i, then of image i for text i; equal scores stand in the order given."""
    image_places, text_places = np.argsort(by_image), np.argsort(by_text)
    found = []
    for start, scores in score_blocks(images, texts):
        found.append(_ranks(scores, start, text_places))
        if len(scores) == len(texts) and not isinstance(texts, TokenVectors):
            return found[0], _ranks(scores.T, 0, image_places)
    other = [_ranks(scores, start, image_places) for start, scores in score_blocks(texts, images)]
    return np.concatenate(found), np.concatenate(other)


def _ranks(scores: NDArray[np.float32], start: int, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rank of column `start` + i in row i, equal scores in the order of `places`.

    >>> _ranks(np.array([[0.5, 0.9, 0.5]], dtype=np.float32), 0, np.array([2, 1, 0])).tolist()
    [3]
    """
    at = start + np.arange(len(scores))
    own = scores[np.arange(len(scores)), at][:, None]
    ranks = 1 + np.count_nonzero(scores > own, axis=1)
    for row in np.flatnonzero(np.count_nonzero(scores == own, axis=1) > 1):
        ranks[row] += np.count_nonzero((scores[row] == own[row]) & (places < places[at[row]]))
    return np.asarray(ranks, dtype=np.int64)


def _classify(
    subject: Encoder, images: Items, prompts: Prompts, settings: ParitySettings, image_vectors: Vectors
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Predictions of one attribute, and the prompts that made them."""
    asked = prompts.table.with_columns(task=pl.lit(prompts.attribute))
    if settings.languages:
        asked = asked.filter(pl.col("language").is_in(settings.languages))
    if asked["language"].n_unique() < 2:
        raise InputError(
            f"{prompts.source}: has prompts in {', '.join(prompts.languages)}; parity needs two of the "
            "languages asked for, or parity.zero_shot=false"
        )
    name = pl.concat_str(pl.lit("prompt"), "task", "language", "paraphrase", "value", separator=":")
    texts = Items("text", asked.select(name.alias("id"), "text", "language"), prompts.source)
    # Ties, as between values that an encoder cannot tell apart, are not to go to the first value.
    order = blind_order(texts.ids)
    asked = asked[order]
    try:
        vectors = subject.embed(texts.take(order))
    except InputError as error:
        raise InputError(f"{error}; classification needs an encoder, or parity.zero_shot=false") from None
    if subject.similarity == "cosine":
        vectors = unit(vectors)
    truth = prompts.values_of(images.table[prompts.attribute])
    known = truth.is_not_null().arg_true().to_numpy().astype(np.int64)
    seen = _take(image_vectors, known)
    scores = np.concatenate([block for _, block in score_blocks(seen, vectors)])
    parts = []
    key = ["language", "paraphrase"]
    for (language, paraphrase), part in asked.with_row_index("at").group_by(key, maintain_order=True):
        best = scores[:, part["at"].to_numpy()].argmax(axis=1)
        parts.append(
            pl.DataFrame(
                {
                    "query_id": images.ids[known],
                    "task": [prompts.attribute] * len(known),
                    "language": [language] * len(known),
                    "paraphrase": [paraphrase] * len(known),
                    "truth": truth[known],
                    "predicted": part["value"][best],
                }
            )
        )
    columns = [column.name for column in SCHEMAS["prompts"].columns]
    kept = prompts.table.filter(pl.col("language").is_in(asked["language"].unique().to_list()))
    return pl.concat(parts), kept.with_columns(task=pl.lit(prompts.attribute)).select(columns)


def _groups(images: Items, prompts: dict[str, Prompts], settings: ParitySettings) -> pl.DataFrame:
    """Each image's value of each attribute that accuracy is broken down by."""
    wanted = settings.attributes or [name for name in GROUPED if name in images.table.columns]
    parts = [_empty("groups")]
    for name in wanted:
        labels = images.attribute(name).cast(pl.String)
        given = prompts.get(name)
        meant = given.values_of(labels) if given else labels
        if not meant.drop_nulls().len():
            meant = labels  # other labels than the prompts know: they group images all the same
        if meant.n_unique() > MANY_VALUES:
            raise InputError(
                f"{images.source}: attribute {name!r} has {meant.n_unique()} values; parity takes at most "
                f"{MANY_VALUES}"
            )
        table = pl.DataFrame({"query_id": images.ids, "attribute": [name] * len(images), "value": meant})
        parts.append(table.drop_nulls())
    return pl.concat(parts)


def table_1(measured: pl.DataFrame, task: str = "gender", within: str = "race") -> pl.DataFrame:
    """Accuracy laid out as in F's Table 1: a row for each language and gender, a column for each race.

    `measured` is the table of estimates. Values are percentages; the third row of a language is the absolute
    gap, and `Average` is over all images. InputError when the run did not classify `task` by `within`.
    """
    rows = measured.filter(
        pl.col("metric").is_in(["accuracy", "accuracy (too few)"]) & (pl.col("audit") == "parity")
    )
    if "within" not in rows.columns or not len(cells := rows.filter(
        (pl.col("task") == task) & (pl.col("attribute") == task) & pl.col("group").is_not_null()
    )):  # fmt: skip
        raise InputError(
            f"the run has no accuracy of {task} by group; it needs labels of {task} and {within}"
        )
    cells = cells.with_columns(
        column=pl.when(pl.col("within").is_null()).then(pl.lit("Average")).otherwise(
            pl.col("within").str.strip_prefix(f"{within}=")
        )
    ).filter(pl.col("within").is_null() | pl.col("within").str.starts_with(f"{within}="))  # fmt: skip
    wide = cells.pivot("column", index=["language", "group"], values="value", maintain_order=True)
    columns = [*(name for name in wide.columns[2:] if name != "Average"), "Average"]
    parts = []
    for (language,), part in wide.group_by("language", maintain_order=True):
        gap = part.select(pl.lit(language).alias("language"), pl.lit("gap").alias("group"), *(
            (pl.col(name).max() - pl.col(name).min()).alias(name) for name in columns
        )).head(1)  # fmt: skip
        parts += [part.select("language", "group", *columns), gap]
    return pl.concat(parts).with_columns((pl.col(columns) * 100).round(1))


PARITY = register(
    Audit(
        name="parity",
        question=QUESTION,
        source='F: "Assessing Multilingual Fairness in Pre-trained Multimodal Representations", section 4',
        settings=ParitySettings,
        schemas=SCHEMAS,
        headline=(
            "R@1 [task=image-to-text]",
            "gap to pivot [task=image-to-text]",
            "R@1 [task=image-to-text, tier=low]",
            "R@1 [task=text-to-image]",
            *(f"{metric} [task={task}]" for task in GROUPED[:3] for metric in ("accuracy", "gap to pivot")),
        ),
        observe=observe,
        values=values,
        measure=measure,
        draw=draw,
        judge=judge,
    )
)
