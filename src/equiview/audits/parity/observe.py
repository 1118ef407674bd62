"""Match images with the captions of each language, and classify images by prompts in each language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.parity.answers import check_pivot
from equiview.audits.parity.coverage import LEFT_OUT, coverage_of, left_out_of
from equiview.audits.parity.coverage import SCHEMA as COVERAGE_SCHEMA
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.tasks import DIRECTIONS, JUDGED, NAMED
from equiview.benchmarks import Benchmark
from equiview.benchmarks.names import are_names, prompts_of_names
from equiview.benchmarks.parallel import Captions, captions_of
from equiview.benchmarks.prompts import Prompts, read_prompts, shipped_prompts
from equiview.data.items import Items, blind_order
from equiview.data.observations import Observations
from equiview.data.vectors import TokenVectors, Vectors, taken, values_of
from equiview.engine import Engine, Local, current_for
from equiview.errors import InputError, NotApplicableError
from equiview.io.notices import notice
from equiview.io.progress import Progress, silent
from equiview.io.tables import Column, schemas
from equiview.search import Targets, comparable, deciding_blocks, score_blocks
from equiview.search.sharded import SHARED_FROM
from equiview.subjects import Encoder

GROUPED = (*JUDGED, "group")
"""Attributes of images by which accuracy is broken down by default."""
MANY_VALUES = 40

SCHEMAS = schemas(
    matches=(
        Column("query_id", pl.String, "the image"),
        Column("direction", pl.String, " or ".join(DIRECTIONS)),
        Column("language", pl.String, "language of the captions"),
        Column("round", pl.Int32, "which caption of the image, from 1"),
        Column("rank", pl.Int32, "place of the right one among the candidates, from 1"),
        Column("candidates", pl.Int32, "how many candidates there were"),
    ),
    ahead=(
        Column("query_id", pl.String, "the image"),
        Column("language", pl.String, "language of the captions"),
        Column("round", pl.Int32, "which caption of the image, from 1"),
        Column("attribute", pl.String, "an attribute of images"),
        Column("value", pl.String, "a value of it"),
        Column("ahead", pl.Int32, "captions of images of that value ranked before the right one, above 0"),
    ),
    coverage=COVERAGE_SCHEMA.columns,
    predictions=(
        Column("query_id", pl.String, "the image"),
        Column("task", pl.String, "the attribute that was asked for"),
        Column("language", pl.String, "language of the prompts"),
        Column("paraphrase", pl.String, "how it was asked"),
        Column("truth", pl.String, "its label, be there a prompt for it or not"),
        Column("predicted", pl.String, "the value whose prompt is most similar"),
    ),
    prompts=(
        Column("task", pl.String, "the attribute that was asked for"),
        Column("language", pl.String, "language of the prompt"),
        Column("paraphrase", pl.String, "how it was asked"),
        Column("value", pl.String, "the value it stands for"),
        Column("text", pl.String, "its words"),
        Column("checked", pl.String, "who checked it"),
    ),
    groups=(
        Column("query_id", pl.String, "the image"),
        Column("attribute", pl.String, "an attribute of it"),
        Column("value", pl.String, "its value"),
    ),
) | {"left_out": LEFT_OUT}


def observe(
    subject: Encoder, benchmark: Benchmark, settings: ParitySettings, progress: Progress
) -> Observations:
    """Match images and captions within each language, and classify images where prompts fit their labels."""
    prompts, tasks, languages = asked_of(benchmark, settings)
    captions = _captions(benchmark, settings) if len(languages) > 1 else None
    groups = _groups(benchmark.images, prompts, settings)
    asked = {
        task: _in_languages(task_prompts, settings, least=_least_languages(task, groups))
        for task, task_prompts in tasks.items()
    }
    for task, table in asked.items():
        check_pivot(settings.pivot, sorted(set(table["language"])), task)
    image_vectors = comparable(subject, benchmark.images, progress)
    tables = {name: schema.table() for name, schema in SCHEMAS.items()} | {"groups": groups}
    if captions is not None:
        tables["matches"], tables["ahead"] = _match(
            subject, benchmark, settings, captions, groups, image_vectors, progress
        )
        tables["coverage"] = coverage_of(captions, common=settings.common)
    lacking = _lacking(benchmark, tasks, languages, settings)
    parts = [LEFT_OUT.table()]
    if NAMED in lacking and NAMED not in tasks:
        labels = benchmark.images.labels(NAMED)
        parts.append(left_out_of(NAMED, labels, set(labels), lacking[NAMED]))
    for done, (task, task_prompts) in enumerate(tasks.items(), start=1):
        truth = _labels(benchmark.images, task, task_prompts, settings)
        predicted = _classify(subject, benchmark.images, task_prompts, asked[task], truth, image_vectors)
        tables["predictions"] = pl.concat([tables["predictions"], predicted])
        tables["prompts"] = pl.concat([tables["prompts"], asked[task].select(tables["prompts"].columns)])
        spoken = set(asked[task]["language"])
        without = {code: reason for code, reason in lacking[task].items() if code not in spoken}
        parts.append(left_out_of(task, truth, task_prompts.values, without))
        progress("classifying", done, len(tasks))
    return Observations(tables | {"left_out": pl.concat(parts)})


def asked_of(
    benchmark: Benchmark, settings: ParitySettings
) -> tuple[dict[str, Prompts], dict[str, Prompts], set[str]]:
    """All prompts, those whose labels images have, and the languages in which captions are matched.

    InputError where neither captions nor labels compare two languages.
    """
    prompts = _prompts(benchmark, settings)
    tasks = _tasks(benchmark.images, prompts) if settings.zero_shot else {}
    captioned = benchmark.texts is not None and not are_names(benchmark.texts)
    languages = set(benchmark.need_texts().table["language"]) if captioned else set()
    if settings.languages:
        languages &= set(settings.languages)
    if len(languages) < 2 and not tasks:
        raise NotApplicableError(
            f"benchmark {benchmark.name!r} has captions in {', '.join(sorted(languages)) or 'no language'} "
            f"and no image label that prompts ask for ({', '.join(prompts)}); parity compares two languages "
            "or more"
        )
    return prompts, tasks, languages


def _prompts(benchmark: Benchmark, settings: ParitySettings) -> dict[str, Prompts]:
    """The shipped prompts and the benchmark's names of concepts, or those of the user in their place."""
    read = [read_prompts(Path(path)) for path in settings.prompts]
    named, _ = prompts_of_names(benchmark) if settings.zero_shot else (None, {})
    names = {} if named is None else {named.attribute: named}
    return dict(shipped_prompts()) | names | {prompts.attribute: prompts for prompts in read}


def _lacking(
    benchmark: Benchmark, tasks: Iterable[str], languages: Iterable[str], settings: ParitySettings
) -> dict[str, dict[str, str]]:
    """By task why languages of captions, of names or asked for may have no prompts."""
    expected = dict.fromkeys(sorted({*languages, *settings.languages}), "there are no prompts in it")
    found = {task: dict(expected) for task in tasks}
    _, of_names = prompts_of_names(benchmark) if settings.zero_shot else (None, {})
    if of_names := {
        language: reason
        for language, reason in of_names.items()
        if not settings.languages or language in settings.languages
    }:
        found[NAMED] = found.get(NAMED, {}) | of_names
    return found


def _tasks(images: Items, prompts: Mapping[str, Prompts]) -> dict[str, Prompts]:
    """Attributes that images have with labels of at least two values of the prompts."""
    return {
        name: task_prompts
        for name, task_prompts in prompts.items()
        if name in images.table.columns
        and task_prompts.values_of(images.table[name]).drop_nulls().n_unique() > 1
    }


def _captions(benchmark: Benchmark, settings: ParitySettings) -> Captions:
    """The captions that are matched; InputError for what is missing, before anything is run."""
    captions = captions_of(benchmark, settings.captions, settings.languages)
    check_pivot(settings.pivot, captions.languages, " and ".join(DIRECTIONS))
    if settings.common and not len(captions.complete):
        raise InputError(
            f"benchmark {benchmark.name!r}: no image has a caption in all of "
            f"{', '.join(captions.languages)}; choose languages, or set parity.common=false to give each "
            "language its own images"
        )
    return captions


def _match(
    subject: Encoder,
    benchmark: Benchmark,
    settings: ParitySettings,
    captions: Captions,
    groups: pl.DataFrame,
    image_vectors: Vectors,
    progress: Progress,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Ranks in both directions within each language, and which groups are ranked before the right caption.

    With `common`, only images captioned in all languages are candidates, so that all languages have equally
    many. An image with fewer captions than others repeats them, so that every round has all images.
    """
    texts = benchmark.need_texts()
    used = np.unique(captions.rows[captions.rows >= 0])
    text_vectors = comparable(subject, texts.take(used), progress)
    place = np.full(len(texts), -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    values, members = _membership(benchmark.images, groups)
    rounds = [
        (language, turn, images, rows)
        for column, language in enumerate(captions.languages)
        for turn, (images, rows) in enumerate(_rounds(captions, column, common=settings.common), start=1)
    ]
    asked = (
        (
            images,
            taken(text_vectors, place[rows]),
            blind_order(benchmark.images.ids[images]),
            blind_order(texts.ids[rows]),
        )
        for _, _, images, rows in rounds
    )
    if isinstance(image_vectors, TokenVectors):
        engine: Engine = Local()
    else:
        engine = current_for(image_vectors.size * len(used), SHARED_FROM, image_vectors.nbytes)
    found = engine.map(
        _matched, asked, shared=(image_vectors, members), size=lambda part: values_of(part[1]).nbytes
    )
    parts, parts_ahead = [], [SCHEMAS["ahead"].table()]
    for done, ((language, turn, images, _), (*ranks, ahead)) in enumerate(
        zip(rounds, found, strict=True), start=1
    ):
        image_ids = benchmark.images.ids[images]
        where = (pl.lit(language).alias("language"), pl.lit(turn, dtype=pl.Int32).alias("round"))
        parts += _ranked(image_ids, where, ranks)
        image, value = np.nonzero(ahead)
        counts = pl.DataFrame({"query_id": image_ids[image], "ahead": ahead[image, value]})
        of_value = values[value].select("attribute", "value")
        both = pl.concat([counts, of_value], how="horizontal")
        parts_ahead.append(both.select("query_id", *where, "attribute", "value", "ahead"))
        progress("matching", done, len(rounds))
    return pl.concat(parts), pl.concat(parts_ahead)


def _matched(
    part: tuple[NDArray[np.int64], Vectors, NDArray[np.int64], NDArray[np.int64]],
    image_vectors: Vectors,
    members: NDArray[np.float32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """`_ranks_both_ways` of one round: its images, the vectors of their texts, and the order of equals."""
    images, texts, by_image, by_text = part
    return _ranks_both_ways(taken(image_vectors, images), texts, by_image, by_text, members[images])


def _ranked(
    image_ids: pl.Series, where: tuple[pl.Expr, ...], ranks: Sequence[NDArray[np.int64]]
) -> list[pl.DataFrame]:
    """Rows of `matches` of one round, in each direction."""
    candidates = pl.lit(len(image_ids), dtype=pl.Int32).alias("candidates")
    return [
        pl.DataFrame({"query_id": image_ids, "rank": one_way.astype(np.int32)}).select(
            "query_id", pl.lit(direction).alias("direction"), *where, "rank", candidates
        )
        for direction, one_way in zip(DIRECTIONS, ranks, strict=True)
    ]


def _membership(images: Items, groups: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.float32]]:
    """Every value of every attribute, and which images have it, `(n_images, n_values)` of 0 and 1."""
    values = groups.select("attribute", "value").unique(maintain_order=True)
    members = np.zeros((len(images), len(values)), dtype=np.float32)
    at = groups.join(values.with_row_index("column"), on=["attribute", "value"], maintain_order="left")
    members[images.rows_of(at["query_id"]).to_numpy(), at["column"].to_numpy()] = 1
    return values, members


def _rounds(
    captions: Captions, column: int, *, common: bool
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The images of each round of one language, and the row of the text that each is matched with."""
    rows = captions.rows[:, column]
    counts = (rows >= 0).sum(axis=0)
    images = captions.complete if common else np.flatnonzero(counts)
    return [(images, rows[turn % counts[images], images]) for turn in range(captions.n_slots)]


def _ranks_both_ways(
    images: Vectors,
    texts: Vectors,
    by_image: NDArray[np.int64],
    by_text: NDArray[np.int64],
    members: NDArray[np.float32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """The rank of text i for image i, the rank of image i for text i, and what is ranked before text i.

    Equal scores rank in the order passed. `members` is `(n_images, n_groups)`, and so is the last result: how
    many texts of images of each group are ranked before the right one.
    """
    image_places, text_places = np.argsort(by_image), np.argsort(by_text)
    own = np.arange(len(texts))
    right = Targets(own, own, np.zeros_like(own))
    to_text, ahead = [], []
    for start, scores in deciding_blocks(images, texts, 0, right):
        before = _ranked_before(scores, start, text_places)
        to_text.append(1 + np.count_nonzero(before, axis=1))
        ahead.append(before.astype(np.float32) @ members if members.size else np.zeros((len(scores), 0)))
        if len(scores) == len(texts) and not isinstance(texts, TokenVectors):
            to_image = [1 + np.count_nonzero(_ranked_before(scores.T, 0, image_places), axis=1)]
            break
    else:
        blocks = deciding_blocks(texts, images, 0, right)
        to_image = [
            1 + np.count_nonzero(_ranked_before(scores, start, image_places), axis=1)
            for start, scores in blocks
        ]
    counts = np.concatenate(ahead).astype(np.int32)
    return np.concatenate(to_text), np.concatenate(to_image), counts


def _ranked_before(scores: NDArray[np.float32], start: int, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which columns are ranked before column `start` + i in row i, equal scores in the order of `places`.

    >>> _ranked_before(np.array([[0.5, 0.9, 0.5]], dtype=np.float32), 0, np.array([2, 1, 0])).tolist()
    [[False, True, True]]
    """
    right = start + np.arange(len(scores))
    right_scores = scores[np.arange(len(scores)), right][:, None]
    before = scores > right_scores
    for row in np.flatnonzero(np.count_nonzero(scores == right_scores, axis=1) > 1):
        before[row] |= (scores[row] == right_scores[row]) & (places < places[right[row]])
    return np.asarray(before)


def _least_languages(task: str, groups: pl.DataFrame) -> int:
    """How many languages a task takes: two to compare them, one to compare people or places by things."""
    return 1 if task == NAMED and groups["attribute"].is_in(JUDGED).any() else 2


def _in_languages(prompts: Prompts, settings: ParitySettings, *, least: int) -> pl.DataFrame:
    """The prompts of one attribute in the languages compared; InputError for fewer than `least`."""
    table = prompts.table.with_columns(task=pl.lit(prompts.attribute))
    if settings.languages:
        table = table.filter(pl.col("language").is_in(settings.languages))
    if table["language"].n_unique() < least:
        raise InputError(
            f"{prompts.source}: has prompts in {', '.join(prompts.languages)}; parity needs "
            f"{'one' if least == 1 else 'two'} of the languages asked for, or parity.zero_shot=false"
        )
    return table


def _classify(
    subject: Encoder,
    images: Items,
    prompts: Prompts,
    asked: pl.DataFrame,
    truth: pl.Series,
    image_vectors: Vectors,
) -> pl.DataFrame:
    """The value of one attribute predicted for each labelled image, by language and paraphrase."""
    ids = pl.concat_str(pl.lit("prompt"), "task", "language", "paraphrase", "value", separator=":")
    texts = Items("text", asked.select(ids.alias("id"), "text", "language"), prompts.source)
    # In a blind order, so that ties do not always go to the first value.
    order = blind_order(texts.ids)
    try:
        vectors = comparable(subject, texts.take(order), silent)
    except InputError as error:
        raise InputError(f"{error}; classification needs an encoder, or parity.zero_shot=false") from None
    labelled = truth.is_not_null().arg_true().to_numpy().astype(np.int64)
    if without := len(images) - len(labelled):
        notice(
            f"{images.source}: {without:,} of {len(images):,} images say no {prompts.attribute}; they are "
            "not classified"
        )
    image_ids, labels = images.ids[labelled], truth[labelled]
    shuffled = asked[order].with_row_index("column")
    groups = dict(shuffled.group_by(["language", "paraphrase"], maintain_order=True))
    columns = [part["column"].to_numpy() for part in groups.values()]
    blocks = [  # all scores at once are images times prompts
        np.stack([block[:, of].argmax(axis=1) for of in columns], axis=1)
        for _, block in score_blocks(taken(image_vectors, labelled), vectors)
    ]
    best = np.concatenate(blocks)
    parts = []
    for column, ((language, paraphrase), part) in enumerate(groups.items()):
        asked_as = {"task": prompts.attribute, "language": language, "paraphrase": paraphrase}
        answers = {"truth": labels, "predicted": part["value"][best[:, column]]}
        parts.append(pl.DataFrame({"query_id": image_ids, **asked_as, **answers}))
    return pl.concat(parts)


def _groups(images: Items, prompts: Mapping[str, Prompts], settings: ParitySettings) -> pl.DataFrame:
    """Each image's value of each attribute that accuracy is broken down by."""
    attributes = settings.attributes or [name for name in GROUPED if name in images.table.columns]
    parts = [SCHEMAS["groups"].table()]
    for name in attributes:
        images.attribute(name)  # InputError where there is none
        values = _labels(images, name, prompts.get(name), settings)
        if values.n_unique() > MANY_VALUES:
            raise InputError(
                f"{images.source}: attribute {name!r} has {values.n_unique()} values; parity takes at most "
                f"{MANY_VALUES}"
            )
        table = pl.DataFrame({"query_id": images.ids, "attribute": name, "value": values})
        parts.append(table.drop_nulls())
    return pl.concat(parts)


def _labels(images: Items, name: str, prompts: Prompts | None, settings: ParitySettings) -> pl.Series:
    """The value of the prompts that each image's label means; the label itself where they have none for it.

    Null where the label does not say of which group the image is.
    """
    labels = images.labels(name, settings.unknown, "parity.unknown")
    if prompts is None:
        return labels
    values = prompts.values_of(labels)
    return labels.zip_with(values.is_null(), values)
