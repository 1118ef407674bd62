"""Of how many texts of each language an encoder reads only the beginning: counted for all audits of encoders.

A tokenizer that breaks a language into many pieces reaches the model's limit sooner there; what lies beyond
is not read. Up to `MOST` texts a language are drawn and counted. Ours; in no paper.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from equiview.audits.base import CUT, CUT_RANGE, Settings
from equiview.audits.estimating import Replicates, Rows
from equiview.audits.judging import ALPHA
from equiview.audits.saying import language_of, of_many
from equiview.benchmarks import Benchmark
from equiview.data.estimates import Estimates
from equiview.data.metric import quantity
from equiview.data.observations import Observations
from equiview.data.verdict import Verdict
from equiview.io.tables import Column, Schema
from equiview.stats import wilson_interval
from equiview.subjects import Encoder, Subject

TABLE = "cuts"
MOST = 1000
"""Texts of a language that are looked at."""
SCHEMA = Schema(
    TABLE,
    (
        Column("language", pl.String, "language of the texts", unique=True),
        Column("texts", pl.Int64, "texts looked at, all there are or a sample"),
        Column("cut", pl.Int64, "of these, longer than the encoder's limit"),
    ),
)


def with_cuts(
    observations: Observations, subject: Subject, benchmark: Benchmark, settings: Settings
) -> Observations:
    """`observations` with a table of the texts that are cut, where the subject is an encoder that says it."""
    if not isinstance(subject, Encoder) or benchmark.texts is None:
        return observations
    rng = np.random.default_rng(settings.seed_of("texts cut"))
    wanted = getattr(settings, "languages", ())
    rows = []
    for (language,), part in benchmark.texts.table.group_by("language", maintain_order=True):
        if wanted and language not in wanted:
            continue
        count = min(MOST, len(part))
        drawn = np.sort(rng.choice(len(part), count, replace=False))
        cuts = subject.cuts(part["text"][drawn].to_list())
        if cuts is None:
            return observations
        rows.append({"language": language, "texts": count, "cut": sum(cuts)})
    return Observations({**observations.tables, TABLE: SCHEMA.table(rows)}) if rows else observations


def estimated(counts: pl.DataFrame, settings: Settings) -> Estimates:
    """The share of each language that is cut, with Wilson's interval, and of several languages the range.

    The range has the p value of a permutation test of equal shares: the statistic of chi squared, its
    distribution where as many cuts as there are fall on any of the texts alike.
    """
    texts, cut = (counts[name].to_numpy() for name in ("texts", "cut"))
    rng = np.random.default_rng(settings.seed_of("texts cut, replicates"))
    shares = cut / texts
    low, high = wilson_interval(shares, texts)
    draws = rng.beta(cut + 0.5, texts - cut + 0.5, (settings.replicates, len(cut)))
    rows = Rows()
    for place, language in enumerate(counts["language"]):
        ends = (shares[place], low[place], high[place])
        rows.add_known(
            quantity(CUT.name, language=language), ends, texts[place], draws=draws[:, place], among=CUT.name
        )
    if len(cut) > 1:
        alike = rng.multivariate_hypergeometric(texts, int(cut.sum()), settings.replicates)
        observed = _unequal(cut[None], texts)[0]
        p = (1 + int((_unequal(alike, texts) >= observed - 1e-9).sum())) / (1 + settings.replicates)
        span = Replicates(np.ptp(shares), np.ptp(draws, axis=1))
        rows.add(quantity(CUT_RANGE.name), span, int(texts.sum()), p=p)
    estimates = rows.estimates()
    assert estimates is not None
    return estimates


def _unequal(cut: Any, texts: Any) -> Any:
    """Chi squared over languages, up to a factor that all rows of `cut` `(n, n_languages)` share."""
    expected = cut.sum(axis=1, keepdims=True) * texts / texts.sum()
    return ((cut - expected) ** 2 / texts).sum(axis=1)


def with_evidence(verdict: Verdict, estimates: Estimates) -> Verdict:
    """`verdict` with a sentence on the texts that are cut, where languages are shown to differ in it."""
    span = estimates.maybe(CUT_RANGE.name)
    if span is None or span.p is None or span.p > ALPHA:
        return verdict
    rows = sorted(estimates.by("language", CUT.name), key=lambda row: -row.value)
    most, least = rows[0].of_many(), rows[-1]
    said = (
        f"The encoder reads only the beginning of {most.value:.1%} of the texts in {language_of(most)} "
        f"({most.low:.1%} to {most.high:.1%}{of_many(len(rows))}) and of {least.value:.1%} in "
        f"{language_of(least)}: languages differ in it (p = {span.p:.2g}), so part of what is measured may "
        "come from text that was never read."
    )
    return verdict.model_copy(update={"evidence": (*verdict.evidence, said)})
