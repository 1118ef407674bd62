"""The study: from run folders before and after to a run folder of its own, which the report can show."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.estimates import Estimates
from equiview.data.figures import Figure, write_figure
from equiview.data.items import Items
from equiview.data.manifest import BenchmarkCard, Manifest, SubjectCard, versions
from equiview.data.run import Run, check_usable
from equiview.data.stamped import write_stamped
from equiview.data.vectors import one_each
from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.lock import locked
from equiview.io.progress import Progress, silent
from equiview.io.tables import write_bytes
from equiview.stats import Correlation
from equiview.studies.transfer import draw
from equiview.studies.transfer.correlate import RHO, Pair, correlated, detectable
from equiview.studies.transfer.gaps import Gap, gaps, same_direction
from equiview.studies.transfer.judge import judged
from equiview.studies.transfer.measures import Measure, grouped, measures, value_of
from equiview.studies.transfer.models import LEAST, Model, matched
from equiview.studies.transfer.settings import TransferSettings, parsed
from equiview.studies.transfer.spaces import jackknifed, similarity
from equiview.subjects import Subject, load_subject

NAME = "transfer"
SIDES = ("before", "after")
CENTRED = "centred"


@dataclass(frozen=True)
class Found:
    """Results of the study: correlations, gaps, the choice of models, and similarities of spaces."""

    models: list[Model]
    chosen: list[Model]
    pairs: list[Pair]
    gaps: list[Gap]
    performance: dict[str, float] = field(default_factory=dict)
    maps: dict[str, NDArray[np.float64]] = field(default_factory=dict)


def transfer(
    before: Sequence[Run],
    after: Sequence[Run],
    out: Path,
    *,
    settings: TransferSettings | None = None,
    images: Items | None = None,
    load: Callable[[Run], Subject] | None = None,
    progress: Progress = silent,
    after_stage: Callable[[], object] | None = None,
) -> Run:
    """Correlate the estimates of models before an adaptation with those after it; writes a run to `out`.

    Runs are matched by the fingerprints of their subjects; see `matched`. With `images` the spaces of the
    models are compared as well: `load` gives the subject of a run, by default the one with its name, and it
    embeds the images. Returns the run; its report is not written yet. InputError as for `matched`, when
    nothing can be correlated, and for a subject that has changed since its run or gives no vectors.
    """
    settings = settings or TransferSettings()
    models = matched(before, after)
    performance, chosen = _chosen(models, settings)
    sides = {side: measures(chosen, side, settings) for side in SIDES}
    _check_also(sides, settings)
    pairs = correlated(sides["before"], sides["after"], settings)
    if not pairs:
        before_, after_ = (_attributes(sides[side]) for side in SIDES)
        raise InputError(
            f"runs before and after share no attribute; before: {before_}; after: {after_}; pair attributes "
            "that have different names with --also"
        )
    by_group = gaps(*(grouped(chosen, side, sides[side], settings) for side in SIDES))
    check_usable(out)
    with locked(out):
        run = Run.start(out, _manifest(chosen, before, after, settings, images))
        with run.after_stages(after_stage):
            maps = _maps(run, chosen, images, load or by_name, progress)
            _write(run, Found(models, chosen, pairs, by_group, performance, maps), settings)
    return run


def _check_also(sides: Mapping[str, Sequence[Measure]], settings: TransferSettings) -> None:
    """InputError for a pair of attributes of which one is not there: it would do nothing."""
    for pair in settings.also:
        for side, name in zip(SIDES, pair, strict=True):
            if all(entry.attribute != name for entry in sides[side]):
                raise InputError(
                    f"--also {'='.join(pair)}: no number {side} is of {name!r}; {side} there are numbers of "
                    f"{_attributes(sides[side])}"
                )


def _attributes(measures: Sequence[Measure]) -> str:
    """Which attributes numbers are of."""
    return ", ".join(sorted({entry.attribute or "none" for entry in measures})) or "nothing"


def _chosen(models: Sequence[Model], settings: TransferSettings) -> tuple[dict[str, float], list[Model]]:
    """How good each model is, by name, and the models to compare: those with runs after, in the band."""
    adapted = [model for model in models if model.after]
    if not settings.select:
        return {}, adapted
    wanted = parsed(settings.select)
    values = {model.name: value for model in models if (value := value_of(model, wanted)) is not None}
    if not values:
        raise InputError(f"no run before has {settings.select!r}, which --select names")
    chosen = [
        model for model in adapted if settings.least <= values.get(model.name, float("nan")) <= settings.most
    ]
    if len(chosen) < LEAST:
        raise InputError(
            f"{len(chosen)} models with runs after have {settings.select} from {settings.least:g} to "
            f"{settings.most:g}; a correlation takes at least {LEAST}"
        )
    return values, chosen


def _manifest(
    chosen: Sequence[Model],
    before: Sequence[Run],
    after: Sequence[Run],
    settings: TransferSettings,
    images: Items | None,
) -> Manifest:
    names = {
        side: sorted({run.manifest.benchmark.name for run in runs})
        for side, runs in zip(SIDES, (before, after), strict=True)
    }
    made_of = [
        fingerprint(
            run.manifest.subject.fingerprint,
            run.manifest.benchmark.fingerprint,
            json.dumps(run.manifest.settings, sort_keys=True),
            run.estimates.table.write_csv(),
        )
        for run in (*before, *after)
    ]
    pictures = {} if images is None else {"images": len(images)}
    return Manifest(
        subject=SubjectCard(
            name=f"{len(chosen)} models",
            fingerprint=fingerprint(*(model.fingerprint for model in chosen)),
            about=", ".join(model.name for model in chosen),
        ),
        benchmark=BenchmarkCard(
            name=f"{NAME}: {', '.join(names['before'])}; then {', '.join(names['after'])}",
            fingerprint=fingerprint(*made_of, images.fingerprint if images else ""),
            counts={"runs before": len(before), "runs after": len(after), **pictures},
            about="what runs of the same models measured before and after",
        ),
        audits=(NAME,),
        settings={NAME: json.loads(settings.model_dump_json())},
        seed=0,
        versions=versions(),
    )


def _maps(
    run: Run,
    chosen: Sequence[Model],
    images: Items | None,
    load: Callable[[Run], Subject],
    progress: Progress,
) -> dict[str, NDArray[np.float64]]:
    """Similarities of the spaces of the chosen models; they are computed once and kept in the run."""
    if images is None:
        return {}
    names = [model.name for model in chosen]

    def embed(work: Path) -> None:
        for side in SIDES:
            spaces = []
            for done, model in enumerate(chosen, start=1):
                spaces.append(_space((model.before if side == "before" else model.after)[0], images, load))
                progress(f"spaces {side}", done, len(chosen))
            for place, centred in ((side, False), (f"{side}-{CENTRED}", True)):
                table = pl.DataFrame(similarity(spaces, names, centred=centred), schema=names, orient="row")
                name = f"{NAME}.similarity-{place}"
                write_stamped(table, work / "observations" / f"{name}.parquet", f"observations/{name}")

    run.stage("spaces", embed)
    folder = run.folder / "observations"
    return {
        place: pl.read_parquet(folder / f"{NAME}.similarity-{place}.parquet", glob=False).to_numpy()
        for place in (*SIDES, *(f"{side}-{CENTRED}" for side in SIDES))
    }


def by_name(run: Run) -> Subject:
    """The subject that a run was of, loaded again by its name."""
    return load_subject(run.manifest.subject.name)


def _space(run: Run, images: Items, load: Callable[[Run], Subject]) -> NDArray[np.float32]:
    subject = load(run)
    if subject.fingerprint != run.manifest.subject.fingerprint:
        raise InputError(f"{run.folder}: {run.name!r} has changed since it was audited; audit it again")
    embed = getattr(subject, "embed", None)
    if embed is None:
        raise InputError(
            f"{run.name!r} is {subject.kind} and gives no vectors of images; leave out the images"
        )
    return one_each(embed(images))


def _write(run: Run, found: Found, settings: TransferSettings) -> None:
    def observe(work: Path) -> None:
        name = f"{NAME}.values"
        write_stamped(_values(found), work / "observations" / f"{name}.parquet", f"observations/{name}")

    def measure(work: Path) -> None:
        write_stamped(_estimates(found).stamped(NAME).table, work / "estimates.parquet", "estimates")
        verdict = judged(found.pairs, len(found.chosen), settings)
        content = json.dumps([verdict.model_dump(mode="json")], indent=1, ensure_ascii=False)
        write_bytes(content.encode(), work / "verdicts.json")

    def draw_all(work: Path) -> None:
        for number, figure in enumerate(_figures(found, settings), start=1):
            write_figure(figure, work / "figures" / f"{NAME}.{number:02d}-{figure.name}.json")

    run.stage(f"observe.{NAME}", observe)
    run.stage("measure", measure)
    run.stage("draw", draw_all)


def _values(found: Found) -> pl.DataFrame:
    """Every number that was correlated: one row for each model and measure."""
    sides = {"before": [pair.before for pair in found.pairs], "after": [pair.after for pair in found.pairs]}
    rows = {
        (side, entry.label, entry.attribute, name): value
        for side, entries in sides.items()
        for entry in entries
        for name, value in entry.values.items()
    }
    columns = ["side", "measure", "attribute", "model", "value"]
    return pl.DataFrame([(*about, value) for about, value in rows.items()], schema=columns, orient="row")


def _estimates(found: Found) -> Estimates:
    n, tested = len(found.chosen), [pair for pair in found.pairs if pair.rho is not None]
    rows: list[dict[str, Any]] = [
        {"metric": RHO, **_row(rho), "chance": 0.0, "p": rho.p_value, "p_holm": pair.p_holm, **pair.keys}
        for pair in tested
        if (rho := pair.rho)
    ]
    rows.append({"metric": "correlations", "value": float(len(tested)), "n": n})
    if tested:
        best = max((pair.rho for pair in tested if pair.rho), key=lambda rho: abs(rho.value))
        rows.append({"metric": "strongest rho", **_row(best), "p": best.p_value})
        names = ("detectable rho", "detectable rho among all")
        for name, least in zip(names, detectable(n, len(tested)), strict=True):
            rows += [] if least is None else [{"metric": name, "value": least, "n": n}]
    for gap in found.gaps:
        if (share := same_direction(gap)) is not None:
            rows.append({"metric": "same direction", "chance": 0.5, **share, **gap.keys})
    for place, matrix in found.maps.items():
        side, _, centred = place.partition("-")
        about = f"{centred} similarity".strip()
        for name, statistic in ((f"mean {about}", "mean"), (f"sd of {about}", "sd")):
            rows.append({"metric": name, "training": side, **jackknifed(matrix, statistic)})
    return Estimates.of_rows([{"low": None, "high": None} | row for row in rows])


def _row(rho: Correlation) -> dict[str, float]:
    return {"value": rho.value, "low": rho.low, "high": rho.high, "n": rho.n}


def _figures(found: Found, settings: TransferSettings) -> list[Figure]:
    figures: list[Figure] = []
    if any(pair.rho for pair in found.pairs):
        figures += [draw.histogram(found.pairs), *draw.panels(found.pairs, settings)]
    figures += draw.quadrants(found.gaps)
    if found.performance:
        figures.append(_selection(found, settings))
    if found.maps:
        plain = {side: found.maps[side] for side in SIDES}
        figures += draw.similarity_maps(plain, [model.name for model in found.chosen])
    return figures


def _selection(found: Found, settings: TransferSettings) -> Figure:
    """Figure 6, by the first measure before."""
    first = measures(found.models, "before", settings)[0]
    chosen = {model.name for model in found.chosen}
    rows = [
        (name, value, first.values[name], "chosen" if name in chosen else "not chosen")
        for name, value in found.performance.items()
        if name in first.values
    ]
    table = pl.DataFrame(rows, schema=["model", "performance", "bias", "chosen"], orient="row")
    about = f"{first.label} ({first.attribute})" if first.attribute else first.label
    return draw.selection(table, settings.select, about, settings)
