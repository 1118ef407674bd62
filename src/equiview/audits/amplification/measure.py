"""What replies say of amplification: scores by group, directional amplification, leaning, leakage."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.amplification.leakage import MATCHED, SOURCES
from equiview.audits.amplification.leaning import Tasks
from equiview.audits.amplification.observe import SCORES
from equiview.audits.amplification.settings import AmplificationSettings
from equiview.audits.amplification.uncounted import add_uncounted
from equiview.audits.base import View, once
from equiview.audits.estimating import Replicates, Rows, joined, summarise
from equiview.data.estimates import Estimates
from equiview.data.headline import Headline
from equiview.data.metric import Quantity, quantity
from equiview.data.values import ValueColumn, Values, column
from equiview.errors import InputError, UndefinedMetricError
from equiview.metrics import demographic_divergence
from equiview.metrics.amplification import Variant
from equiview.stats import exceeds_p, permutation_p, squares_interval, student_interval, wald_p
from equiview.stats.means import LEAST

Floats = NDArray[np.float64]
BLIND_DRAWS = 500
"""Random shuffles of people among images from which a floor is computed."""
LEAN, AMPLIFIED, LIC, ABOVE = "lean", "amplification", "LIC", "LIC above its floor"
EVEN = {"accuracy": 100, "CIDEr": 200}
"""Images of a group below which nothing is shown where people tie things to nobody, by what is scored."""
REDRAWN = 1000
"""Resampled data sets in which directions are decided anew, which is slow; more replicates repeat them."""
SMALL = "images of a group too small to judge: "
MIXED = 0.5
"""Share of who changes group in a shuffle of all that must do so among images of one content."""
TESTED = (AMPLIFIED, LIC)
"""Metrics that are 0 where replies add nothing to what people say."""
DBA: tuple[Variant, ...] = ("paper", "reference")


class Keys(TypedDict):
    """The keys of a column: attribute and group."""

    attribute: str
    group: str


class Replied(View[AmplificationSettings]):
    """What was observed, with the groups that are compared and what goes with them."""

    @property
    def metric(self) -> str:
        """By what replies are scored: that of questions or of captions."""
        return SCORES[str(self["replies"]["task"][0])]

    @cached_property
    def replied_people(self) -> pl.DataFrame:
        """Who is shown on the images of which there is a reply."""
        replied = self["replies"].filter(pl.col("reply").is_not_null())
        return self["people"].filter(pl.col("image_id").is_in(replied["image_id"].implode()))

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The groups of each attribute that have enough images to judge by, where there are two or more."""
        groups: dict[str, list[str]] = {}
        for (attribute,), part in self.replied_people.group_by("attribute", maintain_order=True):
            sizes = part["group"].value_counts(sort=True).sort("group")
            enough = sizes.filter(pl.col("count") >= self.settings.least)["group"].to_list()
            if len(enough) > 1:
                groups[str(attribute)] = enough
        return groups

    @cached_property
    def small(self) -> dict[str, int]:
        """Images of groups that are not judged, by group, of attributes that are."""
        counts = (
            self.replied_people.group_by("attribute", "group", maintain_order=True)
            .len()
            .sort("attribute", "group")
        )
        return {
            f"{SMALL}{group} ({attribute})": n
            for attribute, group, n in counts.iter_rows()
            if attribute in self.groups and group not in self.groups[attribute]
        }

    @cached_property
    def tasks(self) -> dict[str, Tasks | None]:
        """By attribute what is said of its groups, None where nothing counts."""
        return {name: Tasks.of(self.observations, name, groups) for name, groups in self.groups.items()}

    @cached_property
    def leaked(self) -> pl.DataFrame:
        """The guesses with the classifier's confidence where it guessed right, else 0."""
        right = pl.col("guess") == pl.col("group")
        return self["leakage"].with_columns(leaked=pl.when(right).then("confidence").otherwise(0.0))


@once
def values(view: Replied, settings: AmplificationSettings) -> Values:
    """Of each request: its score and the blind one; by group score, lean, amplification, leakage and LIC."""
    replies, metric = view["replies"], view.metric
    score, blind = (replies[name].fill_null(np.nan).to_numpy() for name in ("score", "blind_score"))
    columns = [column(metric, score), column("blind score", blind), column("skill", score - blind)]
    for attribute, groups in view.groups.items():
        people = view["people"].filter(attribute=attribute).select("image_id", "group")
        shown = replies.select("image_id").join(people, on="image_id", how="left", maintain_order="left")
        group = shown["group"].to_numpy()
        for name in groups:
            in_group = np.where(group == name, score, np.nan)
            columns.append(column(metric, in_group, attribute=attribute, group=name))
        columns += _leaning(view.tasks[attribute], attribute, len(replies))
        columns += _leaked(view, attribute, replies["query_id"])
    asked = [entry for entry in columns if not np.isnan(entry.values).all()]
    asked += [_together(asked, metric, name) for metric, name in _measured(asked)]
    for attribute in view.groups:
        asked += _leaked_by_seed(view, attribute, replies["query_id"])
    return Values.of(replies["query_id"], asked, replies["image_id"])


def _measured(columns: list[ValueColumn]) -> list[tuple[str, str]]:
    """What is measured of groups and tested, by metric and attribute."""
    named = [(entry.quantity.metric, entry.quantity.keys.get("attribute", "")) for entry in columns]
    return [entry for entry in dict.fromkeys(named) if entry[0] in TESTED]


def _together(columns: list[ValueColumn], metric: str, attribute: str) -> ValueColumn:
    """A column of all groups, weighted so that each group counts alike: two systems are compared by it."""
    parts = [
        entry.values
        for entry in columns
        if (entry.quantity.metric, entry.quantity.keys.get("attribute")) == (metric, attribute)
    ]
    counts = [np.count_nonzero(~np.isnan(part)) for part in parts]
    weighted = [part * sum(counts) / (len(parts) * count) for part, count in zip(parts, counts, strict=True)]
    asked = ~np.isnan(weighted).all(axis=0)
    return column(metric, np.where(asked, np.nansum(weighted, axis=0), np.nan), attribute=attribute)


def _leaning(tasks: Tasks | None, attribute: str, n: int) -> Iterator[ValueColumn]:
    if tasks is None:
        return
    replied, true = tasks.leaning()
    for place, group in enumerate(tasks.groups):
        of_group = tasks.group == place
        rows, keys = tasks.rows[of_group], Keys(attribute=attribute, group=group)
        numbers = {SOURCES[0]: replied[of_group], SOURCES[1]: true[of_group]}
        for source, leaning in numbers.items():
            yield column(LEAN, _spread(leaning, rows, n), of=source, **keys)
        yield column(AMPLIFIED, _spread(replied[of_group] - true[of_group], rows, n), **keys)


def _spread(numbers: Floats, rows: NDArray[np.int64], n: int) -> Floats:
    full = np.full(n, np.nan)
    full[rows] = numbers
    return full


def _leaked(view: Replied, attribute: str, query_ids: pl.Series) -> Iterator[ValueColumn]:
    """Leakage of each image, the mean over the seeds in whose test it was."""
    rows = view.leaked.filter(~pl.col("shuffled") & (pl.col("attribute") == attribute))
    by_image = rows.group_by("query_id", "group", "source", maintain_order=True).agg("leaked")
    by_image = by_image.with_columns(pl.col("leaked").list.mean())  # a mean of groups depends on threads
    for group in sorted(rows["group"].unique()):
        wide = by_image.filter(group=group).pivot("source", index="query_id", values="leaked")
        wide = pl.DataFrame({"query_id": query_ids}).join(
            wide, on="query_id", how="left", maintain_order="left"
        )
        leaked = {name: wide[name].fill_null(np.nan).to_numpy() for name in wide.columns[1:]}
        keys = Keys(attribute=attribute, group=group)
        for source, of_source in leaked.items():
            yield column("leakage", of_source, of=source, **keys)
        yield column(LIC, leaked[SOURCES[0]] - leaked[SOURCES[1]], **keys)


def _leaked_by_seed(view: Replied, attribute: str, query_ids: pl.Series) -> Iterator[ValueColumn]:
    """LIC of the images that each classifier tested: two systems are compared classifier by classifier."""
    rows = view.leaked.filter(~pl.col("shuffled") & (pl.col("attribute") == attribute))
    wide = rows.pivot("source", index=["seed", "query_id"], values="leaked", maintain_order=True)
    for (seed,), part in wide.group_by("seed", maintain_order=True):
        lic = part.select("query_id", lic=pl.col(SOURCES[0]) - pl.col(SOURCES[1]))
        of_all = pl.DataFrame({"query_id": query_ids}).join(
            lic, on="query_id", how="left", maintain_order="left"
        )
        yield column(LIC, of_all["lic"].fill_null(np.nan).to_numpy(), attribute=attribute, seed=str(seed))


def lic_headline(attribute: str) -> Headline:
    """LIC of an attribute as a headline: what a classifier has learnt is shared by all images it tests."""
    wanted = quantity(LIC, attribute=attribute)

    def by_seed(values: Values) -> tuple[Quantity, ...]:
        return tuple(
            entry
            for entry in values.quantities
            if entry.metric == LIC
            and entry.keys.keys() == {"attribute", "seed"}
            and entry.keys["attribute"] == attribute
        )

    return Headline(wanted, combine=lambda means: means.mean(axis=-1), pick=by_seed, tested="test_share")


def _by_group(values: Values, wanted: Quantity) -> tuple[Quantity, ...]:
    """The columns of a quantity by group, of which it is the mean; none where there is only one."""
    columns = tuple(
        entry
        for entry in values.quantities
        if entry.metric == wanted.metric
        and {name: key for name, key in entry.keys.items() if name != "group"} == wanted.keys
        and "group" in entry.keys
    )
    return columns if len(columns) > 1 else ()


def measure(view: Replied, settings: AmplificationSettings) -> Estimates:
    """Everything with intervals; InputError where nothing was replied."""
    if view["replies"]["reply"].null_count() == len(view["replies"]):
        raise InputError("amplification: there is no reply to measure")
    per_reply = values(view, settings)
    rows = Rows()
    _add_skill(rows, per_reply, settings)
    for attribute, tasks in view.tasks.items():
        _add_divergence(rows, view, per_reply, attribute, settings)
        for metric in (LEAN, AMPLIFIED, "leakage", LIC):
            _add_means(rows, view, per_reply, metric, attribute, settings)
        _add_over_seeds(rows, view, attribute)
        if tasks is not None:
            _add_directional(rows, tasks, attribute, settings)
        add_uncounted(rows, view.observations, attribute, view.groups[attribute], settings.tolerance)
    _add_left_out(rows, view)
    plain = per_reply.select(lambda entry: not (entry.metric == "skill" or _is_together(entry)))
    return joined([rows.estimates(), summarise(plain, settings)])


def _is_together(entry: Quantity) -> bool:
    return entry.metric in TESTED and "group" not in entry.keys


def _add_skill(rows: Rows, per_reply: Values, settings: AmplificationSettings) -> None:
    """How much better replies are than those to other images, with the p value of their being no better."""
    wanted = quantity("skill")
    matrix = per_reply.at(wanted)
    (skill,) = Replicates.of(matrix, settings, clusters=per_reply.clusters).split()
    n = int((~np.isnan(matrix)).sum())
    rows.add(wanted, skill, n, p=float(wald_p(skill.value, skill.draws)), family="skill")


def _add_means(
    rows: Rows,
    view: Replied,
    per_reply: Values,
    metric: str,
    attribute: str,
    settings: AmplificationSettings,
) -> None:
    """Means over the groups of an attribute; what is 0 where nothing is amplified has a p value."""
    tested = metric in TESTED
    for source in (None,) if tested else (*SOURCES, MATCHED):
        of_source = {} if source is None else {"of": source}
        wanted = Quantity(metric, None, tuple({"attribute": attribute, **of_source}.items()))
        columns = _by_group(per_reply, wanted)
        if not columns:
            continue
        matrix = per_reply.at(*columns)
        by_group = Replicates.of(matrix, settings, clusters=per_reply.clusters)
        fewest = None if by_group.clusters is None else np.asarray(by_group.clusters.min())
        mean = Replicates(by_group.value.mean(), by_group.draws.mean(axis=1), fewest)
        if metric == AMPLIFIED and (tasks := view.tasks[attribute]):
            apart = tasks.redrawn(min(len(mean.draws), REDRAWN), settings.seed_of(f"redrawn.{attribute}"))
            mean = Replicates(mean.value, mean.value + np.resize(apart, len(mean.draws)), fewest)
        n = int((~np.isnan(matrix)).sum())
        if source is None:
            if metric == LIC:
                rows.add(wanted, mean, n, p=float(wald_p(mean.value, mean.draws)), family="LIC")
                _add_above(rows, view, per_reply, attribute, settings, mean, n)
                continue
            tasks = view.tasks[attribute]
            least = max(settings.least, EVEN[view.metric]) if tasks and tasks.even else settings.least
            judged = fewest is not None and int(fewest) >= least
            _add_judged(rows, wanted, mean, n, settings, judged=judged)
        else:
            rows.add(wanted, mean, n, _floor(view, metric, attribute, source))


def _add_judged(
    rows: Rows, wanted: Quantity, mean: Replicates, n: int, settings: AmplificationSettings, *, judged: bool
) -> None:
    """One of the effects that the verdict reads, with p of its being at most the tolerance."""
    limit, clusters = settings.tolerance, n if mean.clusters is None else int(mean.clusters)
    p = exceeds_p(float(mean.value) - limit, mean.draws - limit, clusters) if judged else None
    rows.add(wanted, mean, n, p=p, judged=judged, family="amplified", among="amplified")


def _add_above(
    rows: Rows,
    view: Replied,
    per_reply: Values,
    attribute: str,
    settings: AmplificationSettings,
    lic: Replicates,
    n: int,
) -> None:
    """LIC, or how much replies leak above their floor where that is less.

    A subject that is blind to people but always says the same of one content leaks more than people, whose
    words vary; so do its captions after groups were permuted within contents. Judged where enough people
    change group in that.
    """
    said, matched = (
        _by_group(per_reply, quantity("leakage", attribute=attribute, of=source))
        for source in (SOURCES[0], MATCHED)
    )
    if not matched:
        return
    columns = per_reply.at(*said, *matched)
    drawn = Replicates.of(columns, settings, clusters=per_reply.clusters)
    value, draws = (
        part[..., : len(said)].mean(axis=-1) - part[..., len(said) :].mean(axis=-1)
        for part in (drawn.value, drawn.draws)
    )
    above = Replicates(np.minimum(lic.value, value), np.minimum(lic.draws, draws), lic.clusters)
    mixed = _mixed(view, attribute)
    _add_judged(rows, quantity(ABOVE, attribute=attribute), above, n, settings, judged=mixed >= MIXED)


def _mixed(view: Replied, attribute: str) -> float:
    """How many change group when permuted within contents, in units of how many would among all images."""
    rows = view["leakage"].filter(pl.col("attribute") == attribute, pl.col("source") == MATCHED)
    people = view["people"].filter(attribute=attribute).select("image_id", shown="group")
    ids = view["replies"].select("query_id", "image_id").join(people, on="image_id")
    both = rows.join(ids, on="query_id", maintain_order="left")
    counts = both["group"].value_counts()["count"].to_numpy() / len(both)
    return float(np.mean((both["group"] != both["shown"]).to_numpy()) / (1 - (counts**2).sum()))


def _floor(view: Replied, metric: str, attribute: str, source: str) -> float | None:
    """The leakage of shuffled people, the mean over classifiers; None for other metrics, or without any."""
    rows = view.leaked.filter(pl.col("shuffled") & (pl.col("attribute") == attribute))
    rows = rows.filter(source=source)
    return float(rows["leaked"].to_numpy().mean()) if metric == "leakage" and len(rows) else None


def _add_over_seeds(rows: Rows, view: Replied, attribute: str) -> None:
    """Leakage and LIC as published: means over seeds of the mean over each test, with Student's interval."""
    scored = view.leaked.filter(~pl.col("shuffled") & (pl.col("attribute") == attribute))
    if not len(scored):
        return
    lists = scored.group_by("seed", "source", maintain_order=True).agg("leaked")
    by_seed = lists.with_columns(pl.col("leaked").list.mean()).pivot("source", index="seed", values="leaked")
    columns = {source: by_seed[source].to_numpy() for source in SOURCES}
    for source, of_seed in columns.items():
        wanted = quantity("leakage over seeds", attribute=attribute, of=source)
        rows.add_known(wanted, student_interval(of_seed), len(of_seed))
    difference = columns[SOURCES[0]] - columns[SOURCES[1]]
    rows.add_known(
        quantity("LIC over seeds", attribute=attribute), student_interval(difference), len(difference)
    )


def _add_divergence(
    rows: Rows, view: Replied, per_reply: Values, attribute: str, settings: AmplificationSettings
) -> None:
    """KL of the scores of groups, beside what shuffled people would show."""
    metric = view.metric
    columns = _by_group(per_reply, quantity(metric, attribute=attribute))
    if not columns:
        return
    matrix, clusters = per_reply.at(*columns), per_reply.clusters
    by_group = Replicates.of(matrix, settings, clusters=clusters)
    try:
        value = demographic_divergence(by_group.value)
    except UndefinedMetricError:
        return  # every score is 0, which the levels say
    null = _divergences(_shuffled_means(matrix, clusters, settings.seed_of(f"shuffled.{attribute}")))
    drawn = _divergences(by_group.draws)
    few = by_group.clusters is None or by_group.clusters.min() < LEAST
    ends = (np.nan, np.nan) if few else squares_interval(value, drawn, len(columns) - 1)
    rows.add_known(
        quantity(f"KL of {metric}", attribute=attribute),
        (value, *ends),
        int((~np.isnan(matrix)).sum()),
        float(np.nanmean(null)),
        p=permutation_p(value, null),
        family="divergence",
    )


def _divergences(scores: Floats) -> Floats:
    """`demographic_divergence` of each row of `(n, n_groups)`; nan where all are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = scores / scores.sum(axis=1, keepdims=True)
        terms = np.where(shares > 0, shares * np.log(shares * scores.shape[1]), 0.0)
    return np.where(np.isnan(shares).any(axis=1), np.nan, np.maximum(terms.sum(axis=1), 0.0))


def _shuffled_means(matrix: Floats, clusters: NDArray[np.int64], seed: int) -> Floats:
    """Means of the columns with groups shuffled among images, `(BLIND_DRAWS, n_groups)`."""
    rng = np.random.default_rng(seed)
    asked = ~np.isnan(matrix).all(axis=1)
    scores, group = np.nansum(matrix[asked], axis=1), (~np.isnan(matrix[asked])).argmax(axis=1)
    _, image = np.unique(clusters[asked], return_inverse=True)
    sums, counts = np.bincount(image, scores), np.bincount(image)
    of_image = np.zeros(len(counts), dtype=np.int64)
    of_image[image] = group
    means = np.empty((BLIND_DRAWS, matrix.shape[1]))
    for draw in range(BLIND_DRAWS):
        shuffled = rng.permutation(of_image)
        means[draw] = np.bincount(shuffled, sums) / np.bincount(shuffled, counts)
    return means


def _add_directional(rows: Rows, tasks: Tasks, attribute: str, settings: AmplificationSettings) -> None:
    """Directional bias amplification in both variants, with its floor, and each task's share by group."""
    shuffles = min(BLIND_DRAWS, settings.replicates)
    images = np.asarray(len(tasks.group_of_image))
    for variant in DBA:
        seed = settings.seed_of(f"directional.{attribute}")
        draws = tasks.resampled(variant, settings.replicates, seed)
        null = tasks.shuffled(variant, shuffles, settings.seed_of(f"floor.{attribute}"))
        value = tasks.amplification(variant)
        rows.add(
            quantity("DBA", attribute=attribute, variant=variant),
            Replicates(np.asarray(value), draws, images),
            len(tasks.rows),
            float(null.mean()),
            p=permutation_p(value, null),
            family=f"DBA {variant}",
        )


def _add_left_out(rows: Rows, view: Replied) -> None:
    """How many do not count, and why."""
    for what, n in (*view["left_out"].iter_rows(), *view.small.items()):
        rows.add_known(quantity("left out", what=what), (n, n, n), n)
