"""Fit a correction on one part of a benchmark, and write the subject and the other part's list."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.held_out import write_held_out
from equiview.benchmarks.partial import without_images
from equiview.data.items import Items
from equiview.data.labels import UNKNOWN
from equiview.data.relevance import Relevance
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.io.progress import Progress
from equiview.making import Job, Outcome, Task
from equiview.making.card import Input
from equiview.making.work import Work
from equiview.mitigation.folder import encoder_input, whole_name
from equiview.mitigation.split import parts
from equiview.mitigation.vectors.fit import METHODS, Fitted
from equiview.mitigation.vectors.settings import GroupMaking, HubMaking, NullMaking, VectorMaking
from equiview.search.scaling import comparable
from equiview.store import stored
from equiview.subjects import Encoder
from equiview.subjects.correction import Correction
from equiview.subjects.load import load_encoder
from equiview.subjects.mitigated import Mitigation, Sides
from equiview.subjects.trained import Part

LEAST = 10
"""Texts or images that a group needs in the part that is fitted on."""
NAMED = 5
"""Languages that are named as changed most."""


class Making(Job):
    """A correction to fit: what those of texts, of images and of people have in common."""

    by: str = "language"
    """The attribute by which items are told apart, where the correction does so."""
    sides: Sides = ("text",)
    """What is corrected."""
    audit: str = "prevalence"
    """The audit that judges it."""

    def __init__(self, settings: VectorMaking, subject: Encoder, benchmark: Benchmark) -> None:
        self.settings, self.benchmark = settings, benchmark
        self.subject = subject
        self.tried: list[dict[str, float]] = []
        if subject.similarity == "maxsim":
            raise InputError(f"{subject.name}: has a vector a token; corrections need one vector a text")
        self.fit, self.kept = parts(benchmark, settings.share, settings.apart, settings.seed)

    @classmethod
    def named(cls, settings: Any) -> Self:
        """The fitting of these settings, with encoder and benchmark loaded by name."""
        return cls(settings, load_encoder(settings.subject), load_benchmark(settings.benchmark))

    @property
    def images(self) -> Items:
        """The images that are fitted on."""
        return self.benchmark.images.take(self.fit)

    @abstractmethod
    def fitted(self, progress: Progress) -> Correction:
        """Fit it, to vectors ready to compare."""

    def by_method(self, data: Fitted, plain: Correction) -> Correction:
        """Fit by the method of the settings."""
        if isinstance(self.settings, NullMaking):
            chosen = self.settings
            data = replace(data, rounds=chosen.rounds, most=chosen.most, seed=chosen.seed, tried=self.tried)
        return METHODS[self.settings.method](data, plain, self.settings.strength)

    def changed(self, correction: Correction, tried: Sequence[Mapping[str, float]]) -> str:
        """What it changes, in a line; `tried` is what the card says was."""
        return _changed(correction)

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The encoder and the benchmark."""
        return {"encoder": encoder_input(self.subject), "benchmark": Input.of(self.benchmark)}

    def plan(self) -> list[Task]:
        """What is encoded to fit it, and what is kept."""
        return [
            Task("images to fit on", len(self.fit), "images"),
            Task("images held out", len(self.kept), "images"),
        ]

    def make(self, work: Work) -> Outcome:
        """Fit, and write the subject."""
        work.stage("correction", lambda folder: self._write(work, folder))
        place = work.folder
        audit = f"--benchmark held-out:{place} --audit {self.audit}"
        return Outcome(
            before={
                "Changed": self.changed(
                    Correction.read(place / Mitigation.made), Mitigation.read(place).tried
                )
            },
            after={
                "Judge it": f"equiview audit mitigated:{place} {audit}",
                "And what it was": f"equiview audit {self.subject.name} {audit}",
            },
        )

    def _write(self, work: Work, folder: Path) -> None:
        self.fitted(work.progress).save(folder / Mitigation.made)
        encoder = encoder_input(self.subject)
        card = Mitigation(
            method=self.settings.method,
            strength=self.settings.strength,
            by=self.by,
            sides=self.sides,
            parent=Part(name=encoder.name, fingerprint=encoder.fingerprint),
            data=Part(name=self.benchmark.name, fingerprint=self.benchmark.fingerprint),
            settings=self.settings.model_dump(mode="json", exclude={"subject", "benchmark"}),
            versions=dict(self.subject.versions),
            tried=tuple(self.tried),
        )
        card.save(folder, folder)
        write_held_out(folder, whole_name(self.settings.benchmark), self.benchmark, self.kept.tolist())

    def vectors(self, encoder: Encoder, items: Items, progress: Progress) -> NDArray[np.float32]:
        """Vectors of items, `(len(items), width)`, ready to compare."""
        found = comparable(encoder, items, progress)
        assert not isinstance(found, TokenVectors)
        return found


class Fitting(Making):
    """A correction of texts by language."""

    def __init__(self, settings: VectorMaking, subject: Encoder, benchmark: Benchmark) -> None:
        super().__init__(settings, subject, benchmark)
        if isinstance(settings, HubMaking) and len(self.fit) > settings.keep:
            chosen = np.random.default_rng(settings.seed).choice(self.fit, settings.keep, replace=False)
            self.fit = np.sort(chosen)
        self._check_languages()

    @cached_property
    def part(self) -> Benchmark:
        """The part that is fitted on; texts of no image are no part of it."""
        chosen = without_images(self.benchmark, self.benchmark.images.ids[_others(self.fit, self.benchmark)])
        relevance = chosen.need_relevance()
        used = np.unique(relevance.items)
        if len(used) == relevance.n_items:
            return chosen
        texts = chosen.need_texts().take(used)
        rows = np.searchsorted(used, relevance.items)
        pairs = Relevance.from_pairs(
            relevance.queries, rows, n_queries=relevance.n_queries, n_items=len(used)
        )
        return Benchmark(chosen.name, chosen.images, texts, pairs)

    @cached_property
    def counts(self) -> pl.DataFrame:
        """How many texts each language has in that part: language, texts."""
        texts = self.part.need_texts().table
        return texts.group_by("language", maintain_order=True).agg(texts=pl.len()).sort("language")

    def _check_languages(self) -> None:
        if len(self.counts) < 2:
            raise InputError(
                f"benchmark {self.benchmark.name!r}: its texts are in {self.counts['language'][0]!r} alone; "
                "a correction by language needs two languages or more"
            )
        few = self.counts.filter(pl.col("texts") < LEAST)
        if len(few):
            named = ", ".join(f"{language} {texts}" for language, texts in few.iter_rows())
            raise InputError(
                f"benchmark {self.benchmark.name!r}: the part that is fitted on has too few texts in "
                f"{named}; each language needs {LEAST}. Add texts, remove the language, or raise --share"
            )

    def plan(self) -> list[Task]:
        """What is encoded to fit it, and what is kept."""
        images, held_out = super().plan()
        return [images, Task("their texts", int(self.counts["texts"].sum()), "texts"), held_out]

    def fitted(self, progress: Progress) -> Correction:
        """By the method of the settings."""
        encoder = stored(self.subject)
        texts = self.part.need_texts()
        images, vectors = (self.vectors(encoder, items, progress) for items in (self.part.images, texts))
        plain = Correction.none(
            self.counts["language"].to_list(), images.shape[1], cosine=encoder.similarity == "cosine"
        )
        if isinstance(self.settings, HubMaking):
            plain = replace(plain, nearest=self.settings.nearest)
        data = Fitted(
            images, vectors, plain.rows_of(texts.table["language"].to_list()), self.part.need_relevance()
        )
        return self.by_method(data, plain)


class ImageFitting(Making):
    """A correction of images by an attribute of theirs, such as the country they are of."""

    sides = ("image",)

    def __init__(self, settings: GroupMaking, subject: Encoder, benchmark: Benchmark) -> None:
        super().__init__(settings, subject, benchmark)
        self.by = settings.by
        self.audit = "association" if "trials" in benchmark.tables else "social"
        self.known = known_groups(self.images, settings.by)

    def fitted(self, progress: Progress) -> Correction:
        """By the method of the settings, to the images whose group is known."""
        rows = self.known.is_not_null().arg_true().to_numpy()
        vectors = self.vectors(stored(self.subject), self.images.take(rows), progress)
        groups = self.known.drop_nulls()
        plain = Correction.none(
            sorted(groups.unique()), vectors.shape[1], cosine=self.subject.similarity == "cosine"
        )
        unmatched = Relevance.from_pairs([], [], n_queries=len(rows), n_items=len(rows))
        return self.by_method(Fitted(vectors, vectors, plain.rows_of(groups.to_list()), unmatched), plain)


def fitting(settings: VectorMaking) -> Making:
    """The fitting of these settings: of texts by language, or of images by an attribute of theirs."""
    if isinstance(settings, GroupMaking) and settings.by != "language":
        return ImageFitting.named(settings)
    return Fitting.named(settings)


def known_groups(images: Items, by: str) -> pl.Series:
    """The value of an attribute of each image that is fitted on, null where it is not known.

    InputError for an attribute that images lack, fewer than two values, and a value of too few images.
    """
    known = images.labels(by, UNKNOWN)
    counts = known.drop_nulls().value_counts().sort(by)
    if len(counts) < 2:
        there = f"{counts[by][0]!r} alone" if len(counts) else "no known value"
        raise InputError(
            f"{images.source}: attribute {by!r} of the images to fit on has {there}; comparing groups takes "
            "two or more"
        )
    few = counts.filter(pl.col("count") < LEAST)
    if len(few):
        named = ", ".join(f"{value!r} {count}" for value, count in few.iter_rows())
        raise InputError(
            f"{images.source}: attribute {by!r}: the part that is fitted on has too few images of {named}; "
            f"each group needs {LEAST}. Add images, leave the cells of that group empty, or raise --share"
        )
    return known


def _others(rows: NDArray[np.int64], benchmark: Benchmark) -> NDArray[np.int64]:
    """The rows of images that are not among `rows`."""
    return np.setdiff1d(np.arange(len(benchmark.images)), rows)


def _changed(correction: Correction) -> str:
    """The languages or groups whose scores or vectors are changed most."""
    if correction.shifts.any():
        of, unit = correction.shifts[:-1].astype(float), "in score"
    elif not correction.by_group:
        erased = np.eye(correction.width) - correction.maps[:1].sum(axis=0)
        rank = int(np.linalg.matrix_rank(erased, tol=1e-3)) if len(correction.maps) else 0
        return f"{rank} of {correction.width} dimensions, of all alike"
    else:
        of, unit = np.linalg.norm(correction.moves[:-1], axis=1), "in length"
    order = np.argsort(-np.abs(of), kind="stable")[:NAMED]
    named = [f"{correction.languages[row]} {of[row]:+.3f}" for row in order if of[row]]
    return f"{', '.join(named)} ({unit})" if named else "nothing"
