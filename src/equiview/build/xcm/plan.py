"""The most requests and work of a build: every search finds all it may, and nothing is rejected."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from equiview.build.xcm import concepts as naming
from equiview.build.xcm import labels as labelling
from equiview.build.xcm.collect import units
from equiview.build.xcm.settings import XcmSettings, spoken
from equiview.data.requests import Plan
from equiview.making import Task

USUAL = "usual concept"


def plans(
    settings: XcmSettings, listed: pl.DataFrame | None, models: Mapping[str, str], *, sees: bool
) -> list[Plan | Task]:
    """What would be done; `models` are the models to ask by purpose, `sees` is whether an encoder labels."""
    found: list[Plan | Task] = []
    table = pl.DataFrame({"concept": [USUAL] * settings.count}) if listed is None else listed
    concepts = table["concept"].to_list()
    if writer := models.get("writer"):
        if listed is None:
            request = naming.concepts_request(settings)
            found.append(Plan.of(writer, "list concepts", [request], 6 * settings.count, usual=True))
        asked = [
            request
            for language in spoken(settings)
            for request in naming.names_requests(naming.lacking_names(table, language), language)
        ]
        found.append(Plan.of(writer, "name concepts", asked, 10 * naming.TOGETHER, usual=True))
    names = {f"{naming.NAME}{language}": pl.lit(f"a name in {language}") for language in spoken(settings)}
    named = table.select("concept", **names).with_row_index("concept_id")
    searches = sum(len(unit.queries) for unit in units(named, settings))
    images = searches * settings.top
    work = {"search": (searches, "searches"), "fetch": (images, "images"), "compare": (images, "images")}
    found += [Task(name, *what) for name, what in work.items()]
    if labeller := models.get("labeller"):
        usual = [labelling.request_for(0, "image", concepts)] * images
        found.append(Plan.of(labeller, "label", usual, labelling.TOKENS // 5, usual=True))
    elif sees:
        found.append(Task("label", images, "images"))
    if settings.people:
        found.append(Task("judge", images * settings.people, "judgements of people"))
    return found
