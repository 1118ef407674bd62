"""From concepts and a search to triplets of images in the layout of 3XCM, step by step."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from equiview.build.history import History, history_tables, write_history
from equiview.build.step import Step
from equiview.build.xcm import concepts as naming
from equiview.build.xcm import labels as labelling
from equiview.build.xcm import people, steps
from equiview.build.xcm.collect import RECORDS, collect, units
from equiview.build.xcm.export import export, with_triplets
from equiview.build.xcm.fetch import Web
from equiview.build.xcm.plan import plans
from equiview.build.xcm.providers import load_provider
from equiview.build.xcm.settings import NONE, XcmSettings, needs, spoken, table_of_countries
from equiview.build.xcm.sheet import write_sheet
from equiview.build.xcm.similar import without_repeats
from equiview.data.requests import Plan
from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress
from equiview.io.secrets import redacted
from equiview.io.tables import write_parquet
from equiview.making import Job, Outcome, Task
from equiview.making.card import Input
from equiview.making.work import Work
from equiview.store import stored
from equiview.subjects import Answerer, Encoder, load_subject
from equiview.subjects.load import load_encoder

DECIDED = "steps/decisions.parquet"
TRIALS = "steps/trials.parquet"
THRESHOLD = "steps/threshold.parquet"
JUDGED = "Judged by {} people an image; what they rejected or did not decide on is left out."
UNJUDGED = "No person has judged the images."
SEEN = "Which concepts an image shows was said by a model, which errs."
UNSEEN = "Nobody said what else an image shows: a candidate may show the query's concept."
NO_THRESHOLD: dict[str, pl.DataType | type[pl.DataType]] = {
    "threshold": pl.Float64, "measure": pl.String, "value": pl.Float64, "low": pl.Float64,
    "high": pl.Float64, "n": pl.Int64,
}  # fmt: skip


class Xcm(Job):
    """Build triplets of images of concepts in countries, in the layout of 3XCM.

    Each step has a table in `steps/`, with the reason of every rejection, and a contact sheet in `sheets/`.
    The benchmark is `benchmark/` and `image_metadata/`, with `README.md` and `croissant.json`; beside it are
    `history.parquet`, `rejections.csv`, `counts.csv` and, unless `people` is 0, `review/`. The same command
    with the `decisions` of that review does the rest again. InputError for input that cannot be used, for a
    search that fails, and when no triplet can be made.
    """

    def __init__(self, settings: XcmSettings, models: Mapping[str, Answerer] | None = None) -> None:
        self.settings = settings
        fetch = settings.fetch
        self.web = Web(fetch.contact, fetch.rate, loopback=fetch.loopback)
        self.provider = load_provider(settings.images, self.web)
        self.listed = naming.read_concepts(settings.concepts) if settings.concepts else None
        self.text_encoder = _encoder(settings.text_encoder, settings)
        self.encoder = _encoder(settings.encoder, settings)
        self.labeller, asked = _labeller(settings, models or {})
        self.labelled = labelling.read_labelled(settings.labelled) if settings.labelled else None
        self.models = settings.answerers(writer=settings.writer, **asked) if models is None else models
        self.decided = people.decisions_of(settings.decisions)
        if settings.decisions and not settings.people:
            raise InputError(f"{settings.decisions}: decides about images that nobody judges; people is 0")

    def inputs(self, progress: Progress) -> dict[str, Input]:
        """The provider, the concepts, the encoders and the labelled images."""
        settings = self.settings
        images = Input(
            name=redacted(settings.images),
            fingerprint=self.provider.fingerprint(progress),
            source=self.provider.source,
        )
        made_from = {"images": images}
        if self.listed is not None and settings.concepts:
            content = fingerprint(self.listed.columns, *self.listed.iter_rows())
            made_from["concepts"] = Input(name=settings.concepts.name, fingerprint=content)
        encoders = {"text_encoder": self.text_encoder, "encoder": self.encoder, "labeller": self.labeller}
        for name, encoder in encoders.items():
            if encoder is not None:
                made_from[name] = Input(name=encoder.name, fingerprint=encoder.fingerprint)
        if self.labelled is not None and settings.labelled:
            shown, listed = self.labelled
            content = fingerprint(shown.fingerprint, *listed)
            made_from["labelled"] = Input(name=settings.labelled.name, fingerprint=content)
        return made_from

    def plan(self) -> list[Plan | Task]:
        """At most every search gives as many images as are wanted, and all are kept."""
        names = {purpose: model.name for purpose, model in self.models.items()}
        return plans(self.settings, self.listed, names, sees=self.labeller is not None)

    def make(self, work: Work) -> Outcome:
        """Do what is not done yet, and with other decisions than before what depends on them."""
        out, settings, progress = work.folder, self.settings, work.progress

        work.stage(steps.CONCEPTS, lambda folder: self._concepts(folder, out, progress))
        sheet = f"sheets/{steps.IMAGES}.html"
        work.stage(
            steps.IMAGES,
            lambda _: self._images(out, progress),
            in_place=(steps.file_of(steps.IMAGES), sheet),
        )
        shutil.rmtree(out / RECORDS, ignore_errors=True)
        work.stage(steps.DUPLICATES, lambda folder: self._duplicates(folder, out, progress))
        work.stage(steps.LABELS, lambda folder: self._labels(folder, out, progress))
        if settings.people:
            work.stage("review", lambda folder: self._review(folder, out))
        path = out / DECIDED
        before = pl.read_parquet(path, glob=False) if path.is_file() else None
        changed = before is not None and not before.equals(self.decided)
        work.stage(steps.PEOPLE, lambda folder: self._people(folder, out), again=changed)
        work.stage("benchmark", lambda folder: self._benchmark(folder, out))
        tables = history_tables(out)
        threshold = pl.read_parquet(out / THRESHOLD, glob=False)
        after = {}
        if settings.people and settings.decisions is None:
            after["Review by people"] = f"equiview review {out / 'review'}"
            after["Then"] = "the same command with --decisions"
        return Outcome(
            tables | {"Threshold of labels, on images it was not chosen on": threshold},
            before={"Look at": str(out / "sheets")},
            after=after,
        )

    def _write(
        self,
        folder: Path,
        out: Path,
        step: str,
        table: pl.DataFrame,
        beside: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """The table and the sheet of a step; an error where nothing is left."""
        if table["reason"].null_count() == 0:
            most = table["reason"].value_counts(sort=True).head(3).rows()
            said = "; ".join(f"{reason} ({count})" for reason, count in most)
            raise InputError(
                f"{out}: nothing is left after the step {step}; most often: {said or 'nothing was found'}"
            )
        steps.write_step(folder, step, table)
        write_sheet(folder, out, step, table, beside or {})

    def _concepts(self, folder: Path, out: Path, progress: Progress) -> None:
        settings = self.settings
        writer = self.models.get("writer")
        step = Step(steps.CONCEPTS, writer, History(), progress) if writer else None
        if self.listed is not None:
            table = self.listed
        elif step is not None:
            table = naming.asked_concepts(step, settings)
        else:
            raise needs("a build without a table of concepts", "writer")
        table = naming.with_names(table, step, settings)
        judged = naming.judged(table, self.text_encoder, settings.same_concept, progress)
        self._write(folder, out, steps.CONCEPTS, judged)

    def _images(self, out: Path, progress: Progress) -> None:
        wanted = units(_numbered(out), self.settings)
        table = collect(out, wanted, self.provider, self.settings, progress)
        self._write(out, out, steps.IMAGES, table)

    def _duplicates(self, folder: Path, out: Path, progress: Progress) -> None:
        settings = self.settings
        table = steps.kept(steps.read_step(out, steps.IMAGES))
        judged = without_repeats(
            out,
            table,
            self.encoder,
            bits=settings.bits,
            same=settings.same_image,
            for_people=bool(settings.people),
            progress=progress,
        )
        files = dict(table.select("item_id", "file").iter_rows())
        repeated = judged.drop_nulls("reason").select("item_id", pl.col("detail").str.replace(r" \(.*", ""))
        beside = {name: (files[other],) for name, other in repeated.iter_rows()}
        self._write(folder, out, steps.DUPLICATES, judged, beside)

    def _labels(self, folder: Path, out: Path, progress: Progress) -> None:
        settings = self.settings
        table = steps.kept(steps.read_step(out, steps.DUPLICATES))
        names = _numbered(out)["concept"].to_list()
        measured = pl.DataFrame(schema=NO_THRESHOLD)
        labels: labelling.Labels
        if model := self.models.get("labeller"):
            labels = labelling.asked_labels(Step("label", model, History(), progress), out, table, names)
        elif self.labeller is not None:
            threshold = settings.label_threshold
            sight = labelling.Sight(self.labeller, settings.label_prompt, settings.label_parts)
            if threshold is None:
                assert self.labelled is not None
                recall = settings.label_recall
                chosen = labelling.chosen_threshold(*self.labelled, names, sight, recall, progress)
                threshold, measured = chosen.value, chosen.table
            labels = labelling.seen_labels(out, table, names, sight, threshold, progress)
        else:
            labels = [[concept] for concept in table["concept"]]
        write_parquet(measured, folder / THRESHOLD)
        judged = labelling.judged(table, labels, keep_unseen=settings.keep_unseen)
        self._write(folder, out, steps.LABELS, judged)

    def _review(self, folder: Path, out: Path) -> None:
        table = steps.kept(steps.read_step(out, steps.LABELS))
        people.write_for_people(folder / "review", out, table, _numbered(out), self.settings.people)

    def _people(self, folder: Path, out: Path) -> None:
        table = steps.kept(steps.read_step(out, steps.LABELS))
        judged = people.judged(table, self.decided, self.settings.decisions, out / "review")
        write_parquet(self.decided, folder / DECIDED)
        self._write(folder, out, steps.PEOPLE, judged)

    def _benchmark(self, folder: Path, out: Path) -> None:
        table = steps.kept(steps.read_step(out, steps.PEOPLE))
        names = _numbered(out)
        judged, trials = with_triplets(table, names, self.settings.seed)
        files = dict(table.select("item_id", "file").iter_rows())
        beside = {
            query: tuple(files[name] for name in candidates)
            for query, *candidates in trials.select(
                "query_image_id", "semantic_id", "cultural_id", "nonrelevant_id"
            ).iter_rows()
        }
        self._write(folder, out, steps.TRIPLETS, judged, beside)
        past = [step for step in steps.STEPS if step != steps.TRIPLETS]
        history = pl.concat([steps.history(out, past), steps.history(folder, [steps.TRIPLETS])])
        left = dict(steps.left_after(out, past)) | dict(steps.left_after(folder, [steps.TRIPLETS]))
        write_history(history, folder, left)
        export(folder, out, table, trials, names, self._card(out, left))

    def _card(self, out: Path, left: Mapping[str, int]) -> dict[str, object]:
        """What the dataset card says beside the counts of images."""
        settings = self.settings
        asked = {purpose: model.name for purpose, model in self.models.items()}
        encoders = {
            "concepts are compared by": self.text_encoder,
            "images are compared by": self.encoder,
            "concepts in images are seen by": self.labeller,
        }
        sources = {"images": redacted(settings.images), **asked}
        sources |= {name: encoder.name for name, encoder in encoders.items() if encoder is not None}
        sources["countries"] = ", ".join(row["country"] for row in table_of_countries(settings))
        seen = self.labeller is not None or "labeller" in self.models
        return {
            "title": settings.title or out.resolve().name,
            "about": "Triplets of images for association bias: does a query in a language pull in images of "
            "its own culture over images of what it asks for? Built with equiview after section 3.2 of "
            "the paper that introduced 3XCM.",
            "licence": settings.licence,
            "url": self.provider.source or "not published",
            "languages": ["en", *spoken(settings)],
            "counts": list(left.items()),
            "sources": list(sources.items()),
            "reviewed": JUDGED.format(settings.people) if settings.decisions else UNJUDGED,
            "labels": SEEN if seen else UNSEEN,
        }  # fmt: skip


def _numbered(out: Path) -> pl.DataFrame:
    """The concepts that are kept, numbered in their order as `concept_id`."""
    table = steps.kept(steps.read_step(out, steps.CONCEPTS)).drop("item_id")
    return table.with_row_index("concept_id").cast({"concept_id": pl.Int64})


def _encoder(name: str, settings: XcmSettings) -> Encoder | None:
    """The encoder of a setting, with its stored vectors; None for `none`."""
    return None if name == NONE else _ready(load_encoder(name), settings)


def _ready(encoder: Encoder, settings: XcmSettings) -> Encoder:
    if encoder.similarity == "maxsim":
        raise InputError(f"{encoder.name}: has a vector for each token; name an encoder with one for an item")
    return encoder if settings.no_cache else stored(encoder)


def _labeller(settings: XcmSettings, models: Mapping[str, Answerer]) -> tuple[Encoder | None, dict[str, str]]:
    """The encoder that labels, or the model that is asked by its purpose."""
    if settings.labeller == NONE or "labeller" in models:
        return None, {}
    subject = load_subject(settings.labeller)
    if not isinstance(subject, Encoder):
        return None, {"labeller": settings.labeller}
    if settings.labelled is None and settings.label_threshold is None:
        raise needs("an encoder that labels", "labelled")
    return _ready(subject, settings), {}
