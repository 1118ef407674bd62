"""What the command line prints: answers under their questions, differences, lists. No name is ever cut short.

From `WIDE` columns on these are tables. Below, and where a table would not hold its names, rows are stacked.
Systems that are compared have letters, explained once.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from equiview.audits import label_of
from equiview.audits.saying import listed
from equiview.data.comparison import quantity_of
from equiview.data.run import Run
from equiview.io.printing import (
    INDENT,
    WIDE,
    Cells,
    print_hanging,
    print_indented,
    print_line,
    print_rows,
    terminal,
)
from equiview.report import board, opening, pairs
from equiview.report.words import interval, metric_of, number, probability, signed
from equiview.studies.advise import useless
from equiview.studies.averages import mean_of

if TYPE_CHECKING:
    from rich.console import Console


ASKED = 5
"""Audits up to which a board repeats their questions."""


def print_results(
    runs: Sequence[Run],
    comparison: pl.DataFrame | None = None,
    means: pl.DataFrame | None = None,
    console: Console | None = None,
    *,
    everything: bool = False,
) -> None:
    """Print the answers of runs, and the differences between them and means over them where there are any.

    Of several runs the findings as a table, a sentence for each audit and how many differences are shown;
    with `everything` each answer, each difference and each mean instead.
    """
    console = console or terminal()
    names = letters([run.name for run in runs])
    if len(names) > 1 and not everything:
        return _print_board(console, runs, comparison)
    if len(names) > 1:
        print_line(console, "Systems", "bold")
        for name, letter in names.items():
            print_line(console, f"{letter:{INDENT}}{name}")
        console.print()
    _print_answers(console, runs, names)
    if comparison is not None and len(comparison):
        _print_differences(console, comparison, names)
    if means is not None and len(means):
        header = ("metric", "mean over systems [95% interval]", "systems")
        print_rows(console, "Means over systems", header, [_mean(row) for row in means.iter_rows(named=True)])
    return None


def print_plan(asked: pl.DataFrame, power: pl.DataFrame, console: Console | None = None) -> None:
    """Print what audits would ask, and beneath it what effects verdicts would find (`planning.power`)."""
    console = console or terminal()
    asking = asked.drop_nulls("model")
    if len(asking):
        rows = asking.with_columns(dollars=asking["dollars"].round(4).cast(str).fill_null("not known"))
        names = {"pictures": "with pictures", "input_tokens": "tokens in", "output_tokens": "tokens out"}
        print_table(rows.rename(names), "What would be asked", console)
    for audit, said in asked.filter(pl.col("model").is_null()).select("audit", "purpose").iter_rows():
        print_line(console, f"{audit}: {said}")
    for (audit,), rows in power.group_by("audit", maintain_order=True):
        print_line(console, f"{audit}: {_would_find(rows.to_dicts())}")


def _would_find(rows: Sequence[Mapping[str, Any]]) -> str:
    """What a verdict finds in 4 of 5 cases; `rows` are kinds of effects, the hardest to find first."""
    hardest, easiest = rows[0], rows[-1]
    effects = " to ".join(dict.fromkeys(f"{row['multiple']:.2g}" for row in (easiest, hardest)))
    of, tolerance = hardest["of"], hardest["tolerance"]
    return (
        f"over {hardest['n']:,} {of}, 4 of 5 verdicts find an effect of {effects} times the tolerance "
        f"({tolerance:g}); twice the tolerance takes up to {hardest['n_for_twice']:,} {of} "
        "(simulated, see docs/error-rates.md)"
    )


def print_advice(run: Run, advice: pl.DataFrame, console: Console | None = None) -> None:
    """Print the methods that are advised against each bias of a run (`equiview.studies.advise`)."""
    console = console or terminal()
    for (audit,), rows in advice.group_by("audit", maintain_order=True):
        methods = rows.drop_nulls("method")
        if not len(methods):
            told = next(verdict.advice for verdict in run.verdicts if verdict.audit == audit)
            print_line(console, f"{audit}: biased; no command was measured that lowers it", "bold")
            for sentence in told:
                print_indented(console, sentence)
            continue
        print_line(console, f"{audit}: biased; worth trying, the best first", "bold")
        print_line(console, f"{methods['bias'][0]}; {methods['skill'][0]}")
        for place, ((method,), on) in enumerate(methods.group_by("method", maintain_order=True), start=1):
            print_line(console, f"{place}. {method}: {on['command'][0]}")
            for row in on.iter_rows(named=True):
                print_indented(
                    console,
                    f"{row['system']}: {row['bias_before']:g} to {row['bias_after']:g}; "
                    f"{row['skill_before']:g} to {row['skill_after']:g}",
                )
        if of_no_use := useless(run, str(audit)):
            print_line(console, f"Measured, and of little use: {listed(of_no_use)}.")
        console.print()
    if not len(advice):
        print_line(console, "No audit of this run found a bias, so that there is nothing to lower.")
    else:
        print_line(console, "What each was worth was measured on the embedded encoders; yours may differ.")
        print_line(
            console, f"Then audit what was made, and: equiview study mitigation {run.folder} RUN_AFTER"
        )


def print_table(frame: pl.DataFrame, title: str, console: Console | None = None) -> None:
    """Print a table of names in the first column, and what is said of them in the others."""
    rows = [
        [number(value) if value is None or isinstance(value, float) else str(value) for value in row]
        for row in frame.iter_rows()
    ]
    print_rows(console or terminal(), title, frame.columns, rows)


def letters(names: Sequence[str]) -> dict[str, str]:
    """A letter for each distinct name, two letters from the 27th on.

    >>> letters(["x", "y", "x"])
    {'x': 'a', 'y': 'b'}
    """
    pairs = ("".join(pair) for pair in itertools.product(string.ascii_lowercase, repeat=2))
    return dict(zip(dict.fromkeys(names), itertools.chain(string.ascii_lowercase, pairs), strict=False))


def _print_board(console: Console, runs: Sequence[Run], comparison: pl.DataFrame | None) -> None:
    """Findings by system, worst first, and by audit; a sentence for each audit; how many pairs differ."""
    cards = opening.cards(runs)
    header = ["system", *(card.audit for card in cards)]
    rows = [[row.subject, *map(_finding, row.answers)] for row in board.board(cards)]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    if sum(widths) + 2 * len(widths) <= console.width:
        for style, cells in (("bold", header), *(("", row) for row in rows)):
            padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
            print_line(console, "  ".join(padded).rstrip(), style)
    else:
        for name, *found in rows:
            told = (f"{audit} {cell}" for audit, cell in zip(header[1:], found, strict=True) if cell)
            print_hanging(console, f"{name}: {', '.join(told)}")
    print_line(console, "Effects are in units of their tolerance (×); worst first.")
    console.print()
    for card in cards:
        if len(cards) <= ASKED:
            print_indented(console, f"{card.question} ({card.audit})", style="bold", indent=0)
            print_indented(console, board.summary(card))
        else:
            print_hanging(console, f"{card.audit}: {board.counted(card)}".replace(" × the tolerance", "×"))
    if comparison is not None and len(comparison):
        shown = sum(map(pairs.is_sure, comparison.iter_rows(named=True)))
        print_line(console, f"{shown} of {len(comparison)} paired differences are shown (Holm, 5%).")


def _finding(answer: opening.Answer | None) -> str:
    if answer is None:
        return ""
    times = (answer.effect or {}).get("multiple")
    return answer.word if times is None else f"{answer.word} {times:.1f}×"


def _print_answers(console: Console, runs: Sequence[Run], names: Mapping[str, str]) -> None:
    """Each question once, and under it the finding and the answer of each system."""
    for card in opening.cards(runs):
        print_indented(console, f"{card.question} ({card.audit})", style="bold", indent=0)
        for answer in card.answers:
            who = f"{names[answer.subject]:{INDENT}}" if len(names) > 1 else f"{answer.subject}: "
            times = (answer.effect or {}).get("times")
            print_line(console, f"{who}{answer.word}{f', {times}' if times else ''}")
            print_indented(console, answer.text)
        console.print()


def _print_differences(console: Console, comparison: pl.DataFrame, names: Mapping[str, str]) -> None:
    rows = []
    for row in comparison.iter_rows(named=True):
        about = quantity_of(row)
        unit = metric_of(row["audit"], about.metric).unit
        pair = f"{names[row['a']]}, {names[row['b']]}"
        values = f"{number(row['value_a'], unit)}, {number(row['value_b'], unit)}"
        metric = f"{row['audit']}: {label_of(row['audit'], about)}"
        rows.append([metric, pair, values, _difference(row, unit), probability(row["p_holm"])])
    header = ("metric", "systems", "values", "second − first [95%]", "p (Holm)")
    if console.width >= WIDE:
        print_rows(console, "Paired differences", header, rows)
        return
    print_line(console, "Paired differences: second − first [95% interval], p (Holm)", "bold")
    for metric, of_metric in itertools.groupby(sorted(rows, key=_first_place(rows)), key=lambda row: row[0]):
        print_line(console, metric)
        for _, pair, values, difference, p in of_metric:
            equals = "" if p.startswith("<") else "= "
            print_indented(console, f"{pair}: {values}; {difference}, p {equals}{p}")
    console.print()


def _first_place(rows: Sequence[Cells]) -> Any:
    """A sort key that brings the rows of one metric together where it first appears."""
    places = {metric: place for place, metric in reversed(list(enumerate(row[0] for row in rows)))}
    return lambda row: places[row[0]]


def _difference(row: Mapping[str, Any], unit: str) -> str:
    """A difference with its interval; two infinite values have none, too few queries no interval."""
    if row["difference"] is None:
        return "none: both are infinite"
    of_difference = "points" if unit == "share" else unit
    if row["low"] is None:
        return signed(row["difference"], of_difference)
    return f"{signed(row['difference'], of_difference)} {interval(row['low'], row['high'], of_difference)}"


def _mean(row: Mapping[str, Any]) -> list[str]:
    mean = mean_of(row)
    unit = metric_of(row["audit"], mean.quantity.metric).unit
    words = number(mean.value, unit)
    words += f" {interval(mean.low, mean.high, unit)}" if mean.n > 1 else ""
    same = f" (the same: {row['alike']})" if row["alike"] else ""
    return [label_of(row["audit"], mean.quantity), words, f"{mean.n}{same}"]
