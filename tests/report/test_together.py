"""Exposure and accuracy read together say which of four cases a run is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import write_world

from equiview.audits.execute import execute
from equiview.benchmarks import load_benchmark
from equiview.report.opening import MORALS, together
from equiview.subjects import load_subject


def said(folder: Path, out: Path) -> str:
    run = execute(
        "s", load_subject(f"embeddings:{folder}"), load_benchmark(f"folder:{folder}"), ["prevalence"], out
    )
    (entry,) = together([run])
    return entry.sentence


def test_an_even_world_is_even_by_both(tmp_path: Path) -> None:
    sentence = said(write_world(tmp_path / "w", skew=0.0, images=100), tmp_path / "run")
    assert "is not above chance" in sentence
    assert sentence.endswith(MORALS[False, False])


def test_languages_pushed_aside_alike_keep_their_own_accuracy(tmp_path: Path) -> None:
    sentence = said(write_world(tmp_path / "w", skew=2.0, images=100), tmp_path / "run")
    assert "is above chance" in sentence
    assert "Swahili" in sentence or "Maori" in sentence


@pytest.mark.parametrize("uneven", [False, True])
def test_every_case_has_its_words(uneven: bool) -> None:
    assert MORALS[uneven, True] != MORALS[uneven, False]


def test_a_run_without_prevalence_says_nothing(tmp_path: Path) -> None:
    folder = write_world(tmp_path / "w", images=60)
    run = execute(
        "s",
        load_subject(f"embeddings:{folder}"),
        load_benchmark(f"folder:{folder}"),
        ["parity"],
        tmp_path / "r",
    )
    assert together([run]) == ()
