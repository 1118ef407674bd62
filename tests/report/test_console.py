"""What is printed holds every name whole, at every width, and no answer without its question."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pytest
from report_runs import EXPOSURE, comparison, make_run
from rich.console import Console

from equiview.data.run import Run
from equiview.report.console import letters, print_results, print_table

WIDTHS = (60, 80, 120)
LONG = "embeddings:/srv/models/xlm-roberta-large-vit-b-16-plus-240/vectors-of-the-second-training"


def printed(width: int, runs: list[Run], *tables: pl.DataFrame, everything: bool = True) -> str:
    stream = io.StringIO()
    print_results(runs, *tables, console=Console(file=stream, width=width), everything=everything)
    return stream.getvalue()


def together(text: str) -> str:
    """The words of what was printed, without frames and line ends."""
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize("width", WIDTHS)
def test_no_name_is_cut_and_letters_stand_for_systems(width: int, tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, f"{LONG}-{name}", skew) for name, skew in (("x", 0.9), ("y", 0.05))]
    text = printed(width, runs, comparison(runs))
    assert "…" not in text
    assert f"a  {LONG}-x\n" in text
    assert f"b  {LONG}-y\n" in text
    assert text.count(LONG) == 2, "each name once, in the key"
    assert "DLBKL@10, by tier" in together(text)
    assert "a, b" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_an_answer_stands_under_its_question(width: int, runs: list[Run]) -> None:
    text = together(printed(width, runs))
    assert text.count(EXPOSURE.question) == 1
    assert text.index(EXPOSURE.question) < text.index("Yes: the top 10") < text.index("No: languages share")
    one = printed(width, runs[:1])
    assert f"{runs[0].name}: biased" in one
    assert "Systems" not in one


@pytest.mark.parametrize("width", WIDTHS)
def test_several_runs_take_a_line_each_a_sentence_an_audit_and_a_count(width: int, runs: list[Run]) -> None:
    text = printed(width, runs, comparison(runs), everything=False)
    assert len(text.splitlines()) <= 12
    order = [text.index(run.name) for run in runs]
    assert order == sorted(order), "the worst first"
    assert together(text).count(EXPOSURE.question) == 1
    assert "2 of 3 biased, most pictogram:skewed" in together(text)
    assert "paired differences are shown" in text


def test_systems_stand_below_each_other_where_a_table_does_not_fit(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, f"{LONG}-{name}", skew) for name, skew in (("x", 0.9), ("y", 0.05))]
    text = printed(60, runs, everything=False)
    assert f"{LONG}-x:\n   exposure biased" in text


@pytest.mark.parametrize("width", [60, 80])
def test_narrow_lines_keep_to_the_width(width: int, runs: list[Run]) -> None:
    text = printed(width, runs, comparison(runs))
    names = [run.name for run in runs]
    assert [line for line in text.splitlines() if len(line.rstrip()) > width and line[3:] not in names] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_models_can_be_copied_whole(width: int) -> None:
    stream = io.StringIO()
    about = "a very long account of what this model is, where it comes from and what it was trained on"
    names = pl.DataFrame({"name": ["short", LONG], "what it is": [about, about]})
    print_table(names, "models", Console(file=stream, width=width))
    assert LONG in stream.getvalue()
    assert together(stream.getvalue()).count("trained on") == 2


def test_systems_past_the_alphabet_have_two_letters() -> None:
    given = letters([f"system {place}" for place in range(30)])
    assert (given["system 25"], given["system 26"], given["system 29"]) == ("z", "aa", "ad")
