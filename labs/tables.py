"""The tables of docs/ground-truth.md about the embedded encoders: `python labs/tables.py`.

Everything is read from labs/results and labs/logs, but for the quiz, which the shipped encoders answer here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import numpy as np

import knowledge_curve
import skew_curve
import social_curve
from curves import Row, read_rows
from equiview.audits import AUDITS
from equiview.benchmarks import load_benchmark
from equiview.io.progress import silent
from equiview.metrics import spearman
from equiview.subjects import load_subject
from measure import CUTOFFS
from sources import ROOT

PAGE = ROOT / "docs" / "ground-truth.md"
SHIPPED = ("skewed", "english", "aligned", "tied", "untied")
MULTILINGUAL = SHIPPED[:3]
Cells = Sequence[str]


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for captions, *_ in skew_curve.CORPORA:
        for picture, name, cutoffs in (
            ("exposure", "low_tier_ratio", CUTOFFS),
            ("curve", "excess_dlbkl", CUTOFFS[1:]),
        ):
            columns = [f"{name}@{k}" for k in cutoffs]
            text = replaced(text, f"images/skew-{picture}-{captions}.svg", skew(captions, columns))
    text = replaced(text, "images/association-curve.svg", association())
    text = replaced(text, "images/knowledge-curve.svg", knowledge())
    for attribute in social_curve.ATTRIBUTES:
        text = replaced(text, f"images/social-curve-{attribute}.svg", social(attribute))
    text = replaced(text, "The shipped encoders, on the same trials", shipped_association())
    text = replaced(text, "The shipped encoders answer the embedded quiz", shipped_quiz())
    text = replaced(text, "The shipped encoders, on the same drawings", shipped_social())
    PAGE.write_text(text, encoding="utf-8")


def replaced(text: str, before: str, rows: Iterable[Cells]) -> str:
    """The text with other rows, under the same heading, in the first table after `before`."""
    start = text.index("\n|", text.index(before)) + 1
    end = text.index("\n\n", start)
    heading = text[start:end].splitlines()[:2]
    lines = [f"| {' | '.join(cells)} |".replace("  ", " ") for cells in rows]
    return text[:start] + "\n".join([*heading, *lines]) + text[end:]


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Mean and standard deviation."""
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def skew(captions: int, columns: Sequence[str]) -> list[Cells]:
    rows = read_rows("skew_curve")
    levels = [skew_curve.by_level(rows, captions, column) for column in columns]
    of_mean = skew_curve.correlations(rows, captions)
    return [
        *(
            [str(level), *(spread(values[place]) for values in levels)]
            for place, level in enumerate(skew_curve.LEVELS)
        ),
        ["Spearman of the means", *(f"{of_mean[column]:.3f}" for column in columns)],
        ["least Spearman of a seed", *(f"{of_mean[f'{column}_least_of_a_seed']:.3f}" for column in columns)],
    ]


def association() -> list[Cells]:
    columns = ("m_sem", "m_cul", "m_non", "self_preference", "recall_at_10_english")
    return [
        [str(row["strength"]), *(f"{row[column]:.3f}" for column in columns)]
        for row in read_rows("association_curve")
    ]


def knowledge() -> list[Cells]:
    lines = knowledge_curve.by_level(read_rows("knowledge_curve")).values()
    means = [spearman(knowledge_curve.LEVELS, [float(np.mean(values)) for values in line]) for line in lines]
    return [
        *(
            [str(level), *(spread(line[place]) for line in lines)]
            for place, level in enumerate(knowledge_curve.LEVELS)
        ),
        ["Spearman of the means", *(f"{value:.3f}" for value in means)],
    ]


def social(attribute: str) -> list[Cells]:
    rows = read_rows("social_curve")
    columns = [
        (f"{measure}_{attribute}", 4 if measure == "kl_recall" else 3) for measure in social_curve.MEASURES
    ]
    of_mean = social_curve.correlations(rows)

    def mean(column: str, digits: int) -> str:
        return f"{np.mean([row[column] for row in rows]):.{digits}f}"

    found = social_curve.by_level(rows, "role_recall@18")
    levels = [social_curve.by_level(rows, column) for column, _ in columns]
    return [
        *(
            [
                str(level),
                *(spread(values[place], digits) for values, (_, digits) in zip(levels, columns, strict=True)),
                spread(found[place]),
            ]
            for place, level in enumerate(social_curve.LEVELS)
        ),
        [
            "permutation floor (95th percentile)",
            *(f"{mean(f'{column}_floor', d)} ({mean(f'{column}_floor_95', d)})" for column, d in columns),
            "0.016",
        ],
        ["Spearman of the means", *(f"{of_mean[column]:.3f}" for column, _ in columns), ""],
        ["least Spearman of a seed", *(f"{of_mean[f'{c}_least_of_a_seed']:.3f}" for c, _ in columns), ""],
    ]


def _report() -> dict[str, dict[str, Row]]:
    return json.loads((ROOT / "labs" / "logs" / "encoders.json").read_text())


def shipped_association() -> list[Cells]:
    columns = ("m_sem", "m_cul", "m_non", "self_preference")
    measured = _report()["measured"]
    return [
        [f"`pictogram:{name}`", *(f"{measured[name]['association'][column]:.3f}" for column in columns)]
        for name in MULTILINGUAL
    ]


def shipped_quiz() -> list[Cells]:
    audit, quiz = AUDITS.get("knowledge"), load_benchmark("pictograms-quiz")
    settings = audit.configure({})
    rows = []
    for name in MULTILINGUAL:
        answerer = load_subject(f"choice:pictogram:{name}")
        found = audit.measure(audit.view(audit.observe(answerer, quiz, settings, silent), settings), settings)
        consistency = found.one("consistency")
        numbers = [
            *(found.one("accuracy", setting=setting).value for setting in ("EN", "LOC", "GLO")),
            *(consistency.value, consistency.chance),
            found.one("same-knowledge consistency", over="all-questions").value,
        ]
        rows.append([f"`pictogram:{name}`", *(f"{number:.3f}" for number in numbers)])
    return rows


def shipped_social() -> list[Cells]:
    columns = ("role_recall@18", "max_skew_gender", "ndkl_gender", "max_skew_skin", "ndkl_skin")
    measured = _report()["social"]
    return [
        [
            f"`pictogram:{name}`",
            *(f"{measured[name][column]:.3f}" for column in columns),
            f"{measured[name]['toward_the_tie']:+.3f}",
        ]
        for name in SHIPPED
    ]


if __name__ == "__main__":
    main()
