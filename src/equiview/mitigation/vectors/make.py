"""Fit a correction on one part of a benchmark, and write the subject and the other part's list."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.held_out import write_held_out
from equiview.benchmarks.partial import without_images
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
from equiview.mitigation.vectors.settings import HubMaking, VectorMaking
from equiview.search.scaling import comparable
from equiview.store import stored
from equiview.subjects import Encoder
from equiview.subjects.correction import Correction
from equiview.subjects.load import load_encoder
from equiview.subjects.mitigated import Mitigation
from equiview.subjects.trained import Part

LEAST = 10
"""Texts that a language needs in the part that is fitted on."""
NAMED = 5
"""Languages that are named as changed most."""


class Fitting(Job):
    """A correction to fit."""

    def __init__(self, settings: VectorMaking, subject: Encoder, benchmark: Benchmark) -> None:
        self.settings, self.benchmark = settings, benchmark
        self.subject = subject
        if subject.similarity == "maxsim":
            raise InputError(f"{subject.name}: has a vector a token; corrections need one vector a text")
        self.fit, self.kept = parts(benchmark, settings.share, settings.apart, settings.seed)
        if isinstance(settings, HubMaking) and len(self.fit) > settings.keep:
            chosen = np.random.default_rng(settings.seed).choice(self.fit, settings.keep, replace=False)
            self.fit = np.sort(chosen)
        self._check_languages()

    @classmethod
    def named(cls, settings: VectorMaking) -> Fitting:
        """The fitting of these settings, with encoder and benchmark loaded by name."""
        return cls(settings, load_encoder(settings.subject), load_benchmark(settings.benchmark))

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

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The encoder and the benchmark."""
        return {"encoder": encoder_input(self.subject), "benchmark": Input.of(self.benchmark)}

    def plan(self) -> list[Task]:
        """What is encoded to fit it, and what is kept."""
        return [
            Task("images to fit on", len(self.fit), "images"),
            Task("their texts", int(self.counts["texts"].sum()), "texts"),
            Task("images held out", len(self.kept), "images"),
        ]

    def make(self, work: Work) -> Outcome:
        """Fit, and write the subject."""
        work.stage("correction", lambda folder: self._write(work, folder))
        place = work.folder
        audit = f"--benchmark held-out:{place} --audit prevalence"
        return Outcome(
            before={"Changed most": _changed(Correction.read(place / Mitigation.made))},
            after={
                "Judge it": f"equiview audit mitigated:{place} {audit}",
                "And what it was": f"equiview audit {self.subject.name} {audit}",
            },
        )

    def _write(self, work: Work, folder: Path) -> None:
        correction = self._fitted(work.progress)
        correction.save(folder / Mitigation.made)
        encoder = encoder_input(self.subject)
        card = Mitigation(
            method=self.settings.method,
            strength=self.settings.strength,
            parent=Part(name=encoder.name, fingerprint=encoder.fingerprint),
            data=Part(name=self.benchmark.name, fingerprint=self.benchmark.fingerprint),
            settings=self.settings.model_dump(mode="json", exclude={"subject", "benchmark"}),
            versions=dict(self.subject.versions),
        )
        card.save(folder, folder)
        write_held_out(folder, whole_name(self.settings.benchmark), self.benchmark, self.kept.tolist())

    def _fitted(self, progress: Progress) -> Correction:
        encoder = stored(self.subject)
        texts = self.part.need_texts()
        images, vectors = (comparable(encoder, items, progress) for items in (self.part.images, texts))
        assert not isinstance(images, TokenVectors)
        assert not isinstance(vectors, TokenVectors)
        plain = Correction.none(
            self.counts["language"].to_list(), images.shape[1], cosine=encoder.similarity == "cosine"
        )
        if isinstance(self.settings, HubMaking):
            plain = replace(plain, nearest=self.settings.nearest)
        data = Fitted(
            images, vectors, plain.rows_of(texts.table["language"].to_list()), self.part.need_relevance()
        )
        return METHODS[self.settings.method](data, plain, self.settings.strength)


def _others(rows: NDArray[np.int64], benchmark: Benchmark) -> NDArray[np.int64]:
    """The rows of images that are not among `rows`."""
    return np.setdiff1d(np.arange(len(benchmark.images)), rows)


def _changed(correction: Correction) -> str:
    """The languages whose scores or vectors are changed most."""
    if correction.shifts.any():
        of, unit = correction.shifts[:-1], "in score"
    else:
        of, unit = np.linalg.norm(correction.moves[:-1], axis=1), "in length"
    order = np.argsort(-np.abs(of), kind="stable")[:NAMED]
    named = [f"{correction.languages[row]} {of[row]:+.3f}" for row in order if of[row]]
    return f"{', '.join(named)} ({unit})" if named else "no language of its own"
