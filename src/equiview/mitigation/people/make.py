"""Find directions of attributes on one part of the people; write the projection and the other part's list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from equiview.benchmarks import Benchmark
from equiview.benchmarks.prompts import Prompts, read_prompts, shipped_prompts
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress
from equiview.making import Task
from equiview.making.card import Input
from equiview.mitigation.people.fit import Doubles, calibrated, discrepancy, projection
from equiview.mitigation.people.settings import ProjectMaking
from equiview.mitigation.people.weight import Asked, Trial, asked_of, chosen_weight
from equiview.mitigation.vectors.make import Making, known_groups
from equiview.store import stored
from equiview.subjects import Encoder
from equiview.subjects.correction import Correction
from equiview.subjects.mitigated import Sides

SIDES: dict[str, Sides] = {"texts": ("text",), "images": ("image",), "both": ("image", "text")}


@dataclass(frozen=True)
class Shown:
    """Items that show values of an attribute: `of` has their `value`, and what must be alike in a pair."""

    items: Items
    of: pl.DataFrame


class Projecting(Making):
    """A projection to find."""

    settings: ProjectMaking
    audit = "social"

    def __init__(self, settings: ProjectMaking, subject: Encoder, benchmark: Benchmark) -> None:
        super().__init__(settings, subject, benchmark)
        self.by, self.sides = ", ".join(settings.by), SIDES[settings.side]
        self.groups = {name: known_groups(self.images, name) for name in settings.by}
        self.asked_for = (
            asked_of(benchmark, self.fit, settings.languages) if settings.weight_by == "ndkl" else None
        )
        self.shown = {
            source: list(getattr(self, f"_{source}")()) for source in dict.fromkeys(settings.directions)
        }

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The encoder, the benchmark, and prompts of the user's own."""
        asked = self.asked if "prompts" in self.shown else {}
        given = {
            f"prompts of {name}": Input(
                name=Path(asked[name].source).name, fingerprint=fingerprint(asked[name].table.write_csv())
            )
            for name in self.settings.by
            if name in asked
        }
        return super().inputs(progress) | given

    def changed(self, correction: Correction, tried: Sequence[Mapping[str, float]]) -> str:
        """How many dimensions are taken away: of the calibrated projection those that mostly are."""
        sizes = np.linalg.svd(np.eye(correction.width) - correction.maps[0], compute_uv=False)
        lost = int((sizes > self.settings.strength / 2).sum())
        line = f"{lost} of {correction.width} dimensions taken away from {self.settings.side}"
        for row in (row for row in tried if row["chosen"]):
            values = [
                f"{name} {tried[0][name]:.3f} to {row[name]:.3f}" for name in tried[0] if name != "chosen"
            ]
            line += f", with weight {row['weight']:g}: {', '.join(values)} where it is fitted"
        return line

    def plan(self) -> list[Task]:
        """What is encoded to find it, and what is kept."""
        *_, held_out = super().plan()
        tasks = [
            Task(f"{source} by {name}", len(shown.items), shown.items.kind + "s")
            for source, of_source in self.shown.items()
            for name, shown in zip(self.settings.by, of_source, strict=True)
        ]
        return [*tasks, held_out]

    @cached_property
    def asked(self) -> dict[str, Prompts]:
        """Prompts by attribute: the user's own, else those that come with equiview."""
        own = [read_prompts(Path(name)) for name in self.settings.prompts]
        for prompts in own:
            if prompts.attribute not in self.settings.by:
                raise InputError(
                    f"{prompts.source}: its prompts are of {prompts.attribute!r}, which is not projected out "
                    f"(--by is {','.join(self.settings.by)})"
                )
        return shipped_prompts() | {prompts.attribute: prompts for prompts in own}

    def fitted(self, progress: Progress) -> Correction:
        """The projection, calibrated by pairs of texts where the weight is above 0."""
        encoder = stored(self.subject)
        directions: list[Doubles] = []
        cells: list[Doubles] = []
        for source, of_source in self.shown.items():
            for shown in of_source:
                vectors = self.vectors(encoder, shown.items, progress).astype(np.float64)
                means = np.stack([part.mean(axis=0) for part in _split(vectors, shown.of.select("value"))])
                if source == "images":  # where groups differ; what all images have in common stays
                    directions.append(means - means.mean(axis=0))
                else:
                    directions.append(means)
                    cells += _cells(vectors, shown.of)
        plain = projection(np.concatenate(directions))
        width, strength = len(plain), self.settings.strength
        none = Correction.none((), width, cosine=encoder.similarity == "cosine")
        apart = discrepancy(cells) if cells else np.zeros_like(plain)

        def of(weight: float) -> Correction:
            found = calibrated(plain, apart, weight) if cells else plain
            blended = strength * found.T + (1 - strength) * np.eye(width)  # for row vectors: transposed
            return replace(none, maps=blended[None].astype(np.float32))

        weight = self.settings.weight
        if self.asked_for is not None:
            trial = self._trial(encoder, self.asked_for, progress)
            weight, tried = chosen_weight(trial, none, of, self.settings.weights, self.settings.price)
            self.tried += tried
        return of(weight)

    def _trial(self, encoder: Encoder, asked: Asked, progress: Progress) -> Trial:
        """What weights are judged by, as vectors."""
        prompts, captions, images = (
            self.vectors(encoder, items, progress) for items in (asked.prompts, asked.captions, self.images)
        )
        groups = [
            (known.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy()
            for known in self.groups.values()
        ]
        return Trial(prompts, captions, images, asked.shown, groups, self.sides)

    def _images(self) -> Iterator[Shown]:
        for groups in self.groups.values():
            rows = groups.is_not_null().arg_true().to_numpy()
            yield Shown(self.images.take(rows), pl.DataFrame({"value": groups[rows]}))

    def _captions(self) -> Iterator[Shown]:
        """Captions of images of a known group, alike in language, `alike`, and the other attributes."""
        texts, relevance = self.benchmark.need_texts(), self.benchmark.need_relevance()
        place = np.full(len(self.benchmark.images), -1)
        place[self.fit] = np.arange(len(self.fit))
        first = np.unique(relevance.items, return_index=True)[1]
        at = place[relevance.queries[first]]
        captions = texts.take(relevance.items[first])
        alike = [name for name in self.settings.alike if name in self.images.table.columns]
        about = self.images.table.select(pl.col(alike).cast(pl.String)).with_columns(
            **{f"other {name}": groups for name, groups in self.groups.items()}
        )
        for name, groups in self.groups.items():
            rows = np.flatnonzero((at >= 0) & groups.is_not_null().to_numpy()[at])
            images = at[rows]
            of = about.drop(f"other {name}")[images].with_columns(
                value=groups[images], language=captions.table["language"][rows]
            )
            if of["value"].n_unique() < 2:
                raise InputError(
                    f"{texts.source}: fewer than two values of {name!r} have captions in the part that is "
                    "fitted on; leave captions out of --directions, or raise --share"
                )
            yield Shown(captions.take(rows), of)

    def _prompts(self) -> Iterator[Shown]:
        """Prompts that name the values, alike in language and paraphrase."""
        for name in self.settings.by:
            if name not in self.asked:
                raise InputError(
                    f"there are no prompts of {name!r}, only of {', '.join(self.asked)}; give a file with "
                    "--prompts, or take --directions captions or images"
                )
            prompts = self.asked[name]
            chosen = self.settings.languages or prompts.languages
            if unknown := [code for code in chosen if code not in prompts.languages]:
                raise InputError(
                    f"{prompts.source}: there are no prompts in {unknown[0]!r}; there are some in "
                    f"{', '.join(prompts.languages)} (--languages)"
                )
            table = prompts.table.filter(pl.col("language").is_in(chosen))
            ids = pl.concat_str("language", "paraphrase", "value", separator=":").alias("id")
            items = Items("text", table.select(ids, "text", "language"), prompts.source)
            yield Shown(items, table.select("value", "language", "paraphrase"))


def _split(vectors: Doubles, of: pl.DataFrame) -> list[Doubles]:
    """The vectors of each distinct row of `of`, in the order of the first."""
    rows = of.with_row_index("row").group_by(of.columns, maintain_order=True).agg("row")["row"]
    return [vectors[part.to_numpy()] for part in rows]


def _cells(vectors: Doubles, of: pl.DataFrame) -> list[Doubles]:
    """Of texts that are alike in all but their value the mean of each value, `(n_values, width)`."""
    others: Sequence[str] = [name for name in of.columns if name != "value"]
    cells = []
    rows = of.with_row_index("row").group_by(others, maintain_order=True).agg("row", "value")
    for part, values in rows.select("row", "value").iter_rows():
        if len(set(values)) > 1:
            means = _split(vectors[part], pl.DataFrame({"value": values}))
            cells.append(np.stack([each.mean(axis=0) for each in means]))
    return cells
