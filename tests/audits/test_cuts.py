"""Texts of which an encoder reads only the beginning: counted, estimated and said in every run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from equiview.audits.base import AUDITS, Settings
from equiview.audits.cuts import estimated, with_evidence
from equiview.audits.execute import execute
from equiview.benchmarks import load_benchmark
from equiview.data.verdict import Verdict
from equiview.subjects import EmbeddingModel

NOTHING = Verdict(finding="unclear", answer="Unclear.", evidence=("One.",))


def counts(**cut: tuple[int, int]) -> pl.DataFrame:
    languages, pairs = list(cut), list(cut.values())
    return pl.DataFrame({"language": languages, "texts": [n for n, _ in pairs], "cut": [k for _, k in pairs]})


def test_languages_that_differ_are_said_with_the_interval_of_the_largest_of_all() -> None:
    made = estimated(counts(en=(100, 0), th=(100, 40), sw=(100, 3)), Settings())
    assert [made.one("texts cut", language=code).value for code in ("en", "th", "sw")] == [0, 0.4, 0.03]
    thai, span = made.one("texts cut", language="th"), made.one("range of texts cut")
    assert (span.value, span.n, span.p) == (0.4, 300, pytest.approx(1 / 10_001))
    assert (thai.low, thai.high) == pytest.approx((0.309, 0.498), abs=1e-3)  # Wilson's
    assert thai.of_many().low < thai.low
    (first, said) = with_evidence(NOTHING, made).evidence
    assert first == "One."
    assert said.startswith("The encoder reads only the beginning of 40.0% of the texts in Thai (")
    assert "the largest of 3) and of 0.0% in English: languages differ in it (p = 0.0001)" in said


@pytest.mark.parametrize(
    "table", [counts(en=(100, 0), th=(100, 0)), counts(en=(50, 3), th=(50, 5)), counts(en=(9, 9))]
)
def test_nothing_is_said_where_no_difference_is_shown(table: pl.DataFrame) -> None:
    assert with_evidence(NOTHING, estimated(table, Settings())) == NOTHING


def test_the_test_of_equal_shares_keeps_its_level() -> None:
    rng = np.random.default_rng(5)
    tables = [
        {"language": list("abcde"), "texts": [80] * 5, "cut": rng.binomial(80, 0.05, 5)} for _ in range(200)
    ]
    made = [estimated(pl.DataFrame(table), Settings(replicates=500)) for table in tables]
    rejected = sum((row.p or 0) <= 0.05 for row in (each.one("range of texts cut") for each in made))
    assert rejected <= 18  # P(more) of a binomial of 200 and 0.05 is below 0.5%


class Reads(EmbeddingModel):
    """Reads the first ten bytes of a text."""

    @property
    def fingerprint(self) -> str:
        return "reads"

    def encode_images(self, images: Sequence[Any]) -> Any:
        return np.asarray([np.asarray(image.resize((4, 4)), dtype=float).ravel() + 1 for image in images])

    def encode_texts(self, texts: Sequence[str]) -> Any:
        begun = [text.encode()[:10].ljust(48, b" ") for text in texts]
        return np.asarray([list(row) for row in begun], dtype=float)

    def cuts(self, texts: Sequence[str]) -> list[bool]:
        return [len(text.encode()) > 10 for text in texts]


def test_a_run_of_an_encoder_counts_what_is_cut(tmp_path: Path) -> None:
    benchmark = load_benchmark("pictograms")
    names = ["individual"]
    settings = {"individual": {"replicates": 100, "languages": ["en", "th"]}}
    run = execute(Reads(), benchmark, names, tmp_path / "run", settings=settings)
    rows = run.estimates.of("individual")
    texts = benchmark.need_texts().table.filter(language="th")["text"]
    whole = np.mean([len(text.encode()) > 10 for text in texts])
    assert rows.one("texts cut", language="th").value == pytest.approx(whole, abs=0.01)
    assert "The encoder reads only the beginning of" in run.verdicts[0].evidence[-1]
    assert AUDITS.get("individual").metric("texts cut") is not None
