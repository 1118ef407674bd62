"""A finished run in any form in which people have tables: the same benchmark, the same numbers."""

from pathlib import Path

import polars as pl
import pytest

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.subjects import load_subject

LANGUAGES = ("en", "de", "sw")
PHOTOS = 8
ITEMS = pl.DataFrame(
    [
        (f"{photo}-{language}", language, f"Foto n° {photo}, sehr schön", "Côte d'Ivoire", f"q{photo}")
        for photo in range(PHOTOS)
        for language in LANGUAGES
    ],
    schema=["item_id", "language", "text", "country", "query_id"],
    orient="row",
)
LISTS = pl.DataFrame(
    [
        (f"q{query}", rank, f"{(query + away) % PHOTOS}-{language}", 1 - rank / 32)
        for query in range(PHOTOS)
        for rank, (away, language) in enumerate(
            [(away, language) for language in LANGUAGES for away in range(PHOTOS // 2)], start=1
        )
    ],
    schema=["query_id", "rank", "item_id", "score"],
    orient="row",
)


def text(table: pl.DataFrame, sign: str, *, comma: bool = False, spaced: bool = False) -> str:
    if comma:
        decimal = pl.selectors.float().cast(pl.String).str.replace(".", ",", literal=True)
        table = table.with_columns(decimal)
    if spaced:
        table = table.rename(lambda name: f" {name.replace('_', ' ').upper()} ")
    return table.write_csv(separator=sign)


FORMS = {
    "csv": lambda table: text(table, ",").encode(),
    "semicolons.csv": lambda table: text(table, ";", comma=True).encode("utf-8-sig"),
    "quoted.csv": lambda table: text(table, ",", comma=True).encode(),
    "tsv": lambda table: text(table, "\t").encode(),
    "latin-1.csv": lambda table: text(table, ";", comma=True, spaced=True).encode("latin-1"),
    "utf-16.csv": lambda table: text(table, "\t", spaced=True).encode("utf-16"),
    "jsonl": lambda table: table.write_ndjson().encode(),
    "ndjson": lambda table: table.rename(str.title).write_ndjson().encode("utf-16"),
    "parquet": lambda table: None,
}


def numbers(folder: Path, form: str) -> tuple[str, pl.DataFrame]:
    """The run's table of estimates, and the fingerprint of what it is judged by."""
    folder.mkdir()
    ending = form.rpartition(".")[2]
    for name, table in (("items", ITEMS), ("lists", LISTS)):
        if (content := FORMS[form](table)) is None:
            table.write_parquet(folder / f"{name}.{ending}")
        else:
            (folder / f"{name}.{ending}").write_bytes(content)
    run = f"run:{folder}/lists.{ending}"
    audited = api.audit(
        run, run, ["prevalence"], folder / "out", settings={"prevalence": {"replicates": 100}}
    )
    return load_benchmark(run).fingerprint, audited.estimates.table


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return numbers(tmp_path_factory.mktemp("plain") / "csv", "csv")


@pytest.mark.parametrize("form", [form for form in FORMS if form != "csv"])
def test_a_run_is_the_same_in_every_form(tmp_path, plain, form):
    fingerprint, estimates = numbers(tmp_path / "form", form)
    assert fingerprint == plain[0]
    assert estimates.equals(plain[1])


def test_a_run_of_trec_divided_by_tabs_is_one_of_trec(tmp_path):
    (tmp_path / "run.tsv").write_text("q1\tQ0\ta\t1\t0.5\tours\nq1\tQ0\tb\t2\t0.25\tours\n")
    assert load_subject(f"run:{tmp_path / 'run.tsv'}").table["item_id"].to_list() == ["a", "b"]
