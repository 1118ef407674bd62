"""Global and local bias: whether a model's bias is the same everywhere in its space of images.

After S, section 4.1 (docs/studies/neighbourhoods.md). The images are clustered in the space of each model
(k-means). A group is an intersection of clusters, one of each model, so that all models agree that its
images belong together; the largest come first. The bias of each model is measured in each group and set
beside its bias over all images; across models, local and global bias are correlated by rank (Spearman).
For a single model, groups are its own clusters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits import AUDITS
from equiview.audits.base import AnyAudit, Space
from equiview.audits.execute import observations_of
from equiview.data.estimates import Estimates
from equiview.data.observations import Observations
from equiview.data.run import Run
from equiview.data.seeds import seed_for
from equiview.errors import InputError, UndefinedStatisticError
from equiview.io.notices import notice
from equiview.io.progress import Progress, silent
from equiview.stats import holm, spearman_interval, spearman_p
from equiview.studies.alike import check_once, measured

GLOBAL = "all images"
STARTS = 10
"""Starts of k-means; the tightest result is kept."""
WORDS = 6
WORD = re.compile(r"[^\W\d_]{3,}")
ATTRIBUTE = "attribute"
"""The key of estimates that names the attribute of people."""


@dataclass(frozen=True)
class Neighbourhoods:
    """The groups, and the bias of each model in them.

    `groups` has group, size, words (what sets it apart) and clusters (the number of each model's cluster);
    `members` group, image_id and picture; `biases` run, group, metric, k, attribute, direction, value, low,
    high, n, chance and judged, with the group `GLOBAL` first; `correlations` metric, attribute, direction,
    group, rho, low, high, p, p_holm, n. Correlations are empty for fewer than four models.
    """

    groups: pl.DataFrame
    members: pl.DataFrame
    biases: pl.DataFrame
    correlations: pl.DataFrame


def neighbourhoods(
    runs: Sequence[Run], *, clusters: int = 6, least: int = 100, seed: int = 0, progress: Progress = silent
) -> Neighbourhoods:
    """Find groups of images that all models keep together, and measure each model's bias in them.

    Raises InputError for no run, runs of one model or over different items, runs of an audit without a space
    of images or that kept no vectors, fewer images than clusters, and where no group has `least` images.
    """
    key, audit = _audit_of(runs)
    space: Space[Any] = audit.space  # type: ignore[assignment]
    observed = [observations_of(run, key) for run in runs]
    images = space.images(observed[0])
    labels = []
    for place, (run, observations) in enumerate(zip(runs, observed, strict=True)):
        vectors = _in_order(space, observations, images["image_id"])
        labels.append(cluster(vectors, clusters, seed_for(seed, f"neighbourhoods.{run.name}")))
        progress("clustering", place + 1, len(runs))
    found = groups_of(np.stack(labels, axis=1), least)
    if not found:
        size = int(Counter(map(tuple, np.stack(labels, axis=1).tolist())).most_common(1)[0][1])
        raise InputError(
            f"no group of images has {least}: the largest that all models keep together has {size}; lower "
            "`least` or `clusters`"
        )
    names = [str(place + 1) for place in range(len(found))]
    words = distinctive_words([[text or "" for text in images["words"][rows]] for _, rows in found])
    members = pl.concat(
        [images[rows].select(pl.lit(name).alias("group"), "image_id", "picture")
         for name, (_, rows) in zip(names, found, strict=True)]
    )  # fmt: skip
    groups = pl.DataFrame(
        {
            "group": names,
            "size": [len(rows) for _, rows in found],
            "words": [", ".join(entry) for entry in words],
            "clusters": [" ".join(map(str, combination)) for combination, _ in found],
        }
    )
    biases = _biases(runs, key, audit, observed, members, progress)
    return Neighbourhoods(groups, members, biases, correlations_of(biases, seed))


def cluster(vectors: NDArray[np.float32], clusters: int, seed: int) -> NDArray[np.int64]:
    """The k-means cluster of each of `vectors`, `(n,)`: the tightest of ten starts (k-means++).

    Clusters are numbered from the largest. InputError for fewer vectors than clusters.
    """
    from scipy.cluster.vq import kmeans2  # slow to import

    if not 1 <= clusters <= len(vectors):
        raise InputError(f"{len(vectors)} images cannot be put into {clusters} clusters; ask for fewer")
    points = vectors.astype(np.float64)
    rng = np.random.default_rng(seed)
    starts = [kmeans2(points, clusters, minit="++", rng=rng, missing="warn", iter=50) for _ in range(STARTS)]
    _, labels = min(starts, key=lambda start: float(((points - start[0][start[1]]) ** 2).sum()))
    order = np.argsort(-np.bincount(labels, minlength=clusters), kind="stable")
    return np.asarray(np.argsort(order)[labels], dtype=np.int64)


def groups_of(labels: NDArray[np.int64], least: int) -> list[tuple[tuple[int, ...], NDArray[np.int64]]]:
    """Images that share a cluster in every model: (its number in each, rows), largest first.

    `labels` is `(n_images, n_models)`; groups of fewer than `least` images are left out.

    >>> [(c, rows.tolist()) for c, rows in groups_of(np.array([[0, 1], [0, 1], [0, 0], [1, 1], [0, 1]]), 2)]
    [((0, 1), [0, 1, 4])]
    """
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, combination in enumerate(labels.tolist()):
        rows.setdefault(tuple(combination), []).append(row)
    large = [(combination, members) for combination, members in rows.items() if len(members) >= least]
    large.sort(key=lambda entry: (-len(entry[1]), entry[0]))
    return [(combination, np.asarray(members)) for combination, members in large]


def distinctive_words(groups: Sequence[Sequence[str]]) -> list[list[str]]:
    """The words that set each group of texts apart from the others, most first.

    Log-odds with an informative Dirichlet prior, in standard errors (Monroe, Colaresi and Quinn, "Fightin'
    Words", 2008); the prior is all groups together. A word counts once a text, and only words that are
    likelier here than elsewhere are named, at 1.96 standard errors or more.

    >>> distinctive_words([["a guitar"] * 9 + ["a man"], ["a ball"] * 9 + ["a man"]])
    [['guitar'], ['ball']]
    """
    counts = [
        Counter(word for text in texts for word in set(WORD.findall(text.casefold()))) for texts in groups
    ]
    prior = sum(counts, Counter())
    total = sum(prior.values())
    apart = []
    for own in counts:
        others = prior - own
        n_own, n_others = sum(own.values()), sum(others.values())
        scored = []
        for word, count in own.items():
            weight = prior[word]
            here, there = count + weight, others[word] + weight
            odds = np.log(here / (n_own + total - here)) - np.log(there / (n_others + total - there))
            scored.append((float(odds / np.sqrt(1 / here + 1 / there)), word))
        scored.sort(key=lambda entry: (-entry[0], entry[1]))
        apart.append([word for score, word in scored[:WORDS] if score >= 1.96])
    return apart


def correlations_of(biases: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Spearman's rho of local and global bias across models, by quantity and group; see `Neighbourhoods`."""
    rows: list[dict[str, Any]] = []
    about = ["metric", "k", "attribute", "direction"]
    for keys, part in biases.group_by(about, maintain_order=True):
        wide = part.pivot("group", index="run", values="value", maintain_order=True)
        if GLOBAL not in wide.columns:
            continue
        for group in (name for name in wide.columns if name not in ("run", GLOBAL)):
            both = wide.select(GLOBAL, group).drop_nulls()
            try:
                rho = spearman_interval(both[group], both[GLOBAL], seed=seed_for(seed, f"{keys}.{group}"))
            except UndefinedStatisticError:
                continue  # too few models, or a bias that is the same for all
            numbers = {"rho": rho.value, "low": rho.low, "high": rho.high}
            numbers |= {"p": spearman_p(both[group], both[GLOBAL]), "n": rho.n}
            rows.append(dict(zip(about, keys, strict=True)) | {"group": group} | numbers)
    schema: dict[str, Any] = dict.fromkeys(("metric", "attribute", "direction", "group"), pl.String)
    schema |= {"k": pl.Int32, "n": pl.Int64}
    if not rows:
        return pl.DataFrame(schema=schema | dict.fromkeys(("rho", "low", "high", "p", "p_holm"), pl.Float64))
    table = pl.from_dicts(rows, schema_overrides=schema | {"p": pl.Float64}, infer_schema_length=None)
    return table.with_columns(p_holm=pl.Series(holm(table["p"].to_numpy())))


def _audit_of(runs: Sequence[Run]) -> tuple[str, AnyAudit]:
    """The audit with a space of images that all runs have."""
    if not runs:
        raise InputError("a study of neighbourhoods needs at least one run")
    check_once(runs, "the study takes each model once")
    fingerprints = {run.manifest.benchmark.fingerprint: run for run in runs}
    if len(fingerprints) > 1:
        first, second = list(fingerprints.values())[:2]
        raise InputError(
            f"{first.folder} and {second.folder} are not over the same items and cannot be compared"
        )
    shared = set(measured(runs[0])).intersection(*map(measured, runs))
    spaces = [key for key in runs[0].manifest.audits if key in shared and AUDITS.get(key).space is not None]
    if not spaces:
        able = ", ".join(name for name, entry in AUDITS.all().items() if entry.value.space is not None)
        raise InputError(f"the runs have no audit in common that keeps a space of images (there are: {able})")
    return spaces[0], AUDITS.get(spaces[0])


def _in_order(space: Space[Any], observations: Observations, ids: pl.Series) -> NDArray[np.float32]:
    """The vectors of a run in the order of `ids`."""
    own = space.images(observations).select("image_id").with_row_index("row")
    rows = pl.DataFrame({"image_id": ids}).join(own, on="image_id", how="left", maintain_order="left")["row"]
    return np.asarray(space.vectors(observations)[rows.to_numpy()], dtype=np.float32)


def _biases(
    runs: Sequence[Run],
    key: str,
    audit: AnyAudit,
    observed: Sequence[Observations],
    members: pl.DataFrame,
    progress: Progress,
) -> pl.DataFrame:
    space: Space[Any] = audit.space  # type: ignore[assignment]
    parts = []
    groups = members.partition_by("group", as_dict=True, maintain_order=True)
    for place, (run, observations) in enumerate(zip(runs, observed, strict=True)):
        settings = audit.configure(run.manifest.settings[key])
        parts += list(_rows(run.name, GLOBAL, run.estimates.of(key), space.metrics))
        for (group,), part in groups.items():
            local = space.within(observations, part["image_id"].to_list(), settings)
            try:
                with np.errstate(invalid="ignore", divide="ignore"):
                    measured = audit.measure(audit.view(local, settings), settings)
            except InputError as error:  # say its images are all of one group of people
                notice(f"{run.name}: {group} ({len(part)} images) has no bias that can be measured: {error}")
                continue
            parts += list(_rows(run.name, str(group), measured, space.metrics))
        progress("measuring", place + 1, len(runs))
    numbers = dict.fromkeys(("value", "low", "high", "chance"), pl.Float64)
    text = dict.fromkeys(("run", "group", "metric", "attribute", "direction"), pl.String)
    schema = text | numbers | {"k": pl.Int32, "n": pl.Int64, "judged": pl.Boolean}
    return pl.from_dicts(parts, schema_overrides=schema, infer_schema_length=None)


def _rows(run: str, group: str, estimates: Estimates, metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    for row in estimates.table.filter(pl.col("metric").is_in(list(metrics))).iter_rows(named=True):
        about = {"run": run, "group": group, "metric": row["metric"], "k": row["k"]}
        keys = {name: row.get(name) for name in (ATTRIBUTE, "direction")}
        yield about | keys | {name: row[name] for name in ("value", "low", "high", "n", "chance", "judged")}
