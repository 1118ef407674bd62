"""What an approximate search changed on the pictograms: `python -m labs.approximate`, one minute.

The prevalence audit of an embedded encoder, searched exactly and by indexes of faiss with good and with
careless parameters. Writes the table of docs/approximate-search.md; the same faiss gives the same numbers,
but for the last column.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from labs.marked import write_part

from equiview.audits import AUDITS
from equiview.audits.prevalence.exposure import RATIO
from equiview.audits.prevalence.searched import EFFECT
from equiview.audits.searching import RECALL
from equiview.benchmarks import load_benchmark
from equiview.data.estimates import Estimates
from equiview.data.languages import known_languages
from equiview.io.progress import silent
from equiview.store import Store, stored
from equiview.subjects import load_subject

PAGE = Path(__file__).parents[1] / "docs" / "approximate-search.md"
PART = "measured: python -m labs.approximate"
SUBJECT, BENCHMARK = "pictogram:skewed", "pictograms"
SEARCHES: tuple[dict[str, Any], ...] = (
    {"search": "exact"},
    {"search": "hnsw"},
    {"search": "ivf"},
    {"search": "ivf", "ivf_nprobe": 4},
    {"search": "hnsw", "hnsw_m": 4, "hnsw_ef_construction": 20, "hnsw_ef_search": 100},
)
COLUMNS = (
    "| search | recall@10 | recall@100 | least (and most) in a language, @100 | Accuracy@10, points "
    "| DLBKL@10 by tier | low tier's ratio at rank 1 | seconds of the processor, observe |",
    "|---|--:|--:|--:|--:|--:|--:|--:|",
)


def main() -> None:
    """Measure, and write the table."""
    with TemporaryDirectory() as folder:
        subject, benchmark = stored(load_subject(SUBJECT), Store(Path(folder))), load_benchmark(BENCHMARK)
        for items in (benchmark.images, benchmark.need_texts()):
            subject.embed(items)  # type: ignore[union-attr]
        lines = [row(subject, benchmark, search) for search in SEARCHES]
    write_part(PAGE, PART, "\n".join([*COLUMNS, *lines]))


def row(subject: Any, benchmark: Any, search: dict[str, Any]) -> str:
    """The line of one search."""
    audit = AUDITS.get("prevalence")
    settings = audit.configure(search)
    begun = time.process_time()
    observed = audit.observe(subject, benchmark, settings, silent)
    took = time.process_time() - begun
    estimates = audit.measure(audit.view(observed, settings), settings)
    cells = compared(estimates) if settings.index else exactly(estimates)
    ratio = estimates.one(RATIO, 1, tier="low").value
    name = "exact" if settings.index is None else settings.index.about
    return f"| {name} | {' | '.join(cells)} | {ratio:.2f} | {took:.1f} |"


def exactly(estimates: Estimates) -> list[str]:
    """What there is to say of the search that all others are compared with."""
    return ["", "", "", "", f"{estimates.one('DLBKL', 10, grouping='tier').value:.2f}"]


def compared(estimates: Estimates) -> list[str]:
    """Recall, and what is changed by what is missed."""
    names = dict(known_languages().select("code", "name").iter_rows())
    by_language = sorted(estimates.by("language", RECALL.name, 100), key=lambda found: found.value)
    least, most = (f"{names[at.keys['language']]} {at.value:.1%}" for at in (by_language[0], by_language[-1]))
    accuracy = estimates.one(EFFECT.format("Accuracy"), 10).value
    divergence = estimates.one(EFFECT.format("DLBKL"), 10, grouping="tier").value
    return [
        *(f"{estimates.one(RECALL.name, k).value:.1%}" for k in (10, 100)),
        f"{least} ({most})",
        f"{100 * accuracy:+.1f}",
        f"{divergence:+.3f}",
    ]


if __name__ == "__main__":
    main()
