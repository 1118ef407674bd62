"""What is written satisfies the schemas that are printed; other versions are read or refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import polars as pl
import pytest

from equiview.audits import AUDITS
from equiview.audits.execute import execute
from equiview.benchmarks import load_benchmark
from equiview.data.run import Run
from equiview.data.stamped import NAME, READ, SCHEMA_VERSION, VERSION, read_stamped, write_stamped
from equiview.errors import InputError
from equiview.io.printing import as_json
from equiview.io.tables import Column, Schema, parquet_metadata
from equiview.report import export_comparison
from equiview.report.gate import gate_json
from equiview.schemas import schemas
from equiview.studies import compare
from equiview.studies.gate import check
from equiview.subjects import load_subject
from tests.conftest import write_world
from tests.faults.running import typed

QUICK = {"prevalence": {"replicates": 100}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    place = tmp_path_factory.mktemp("schemas")
    made = []
    for name, skew in (("even", 0.0), ("skewed", 4.0)):
        world = write_world(place / name, skew=skew)
        subject, items = load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{place / 'even'}")
        made.append(execute(subject, items, ["prevalence"], place / f"run-{name}", settings=QUICK))
    return made


def satisfies(name: str, content: object) -> None:
    schema = schemas(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(as_json(content)))


def test_a_run_is_as_its_schemas_say(runs: list[Run]) -> None:
    folder = runs[1].folder
    satisfies("manifest", json.loads((folder / "manifest.json").read_text()))
    satisfies("verdicts", json.loads((folder / "verdicts.json").read_text()))
    satisfies("estimates", runs[1].estimates.table.to_dicts())
    satisfies("comparison", compare(runs).to_dicts())
    satisfies("gate", gate_json(check(runs, fail_if=["prevalence=biased", "prevalence: R < 0"])))
    for table in AUDITS.get("prevalence").schemas:
        path = folder / "observations" / f"prevalence.{table}.parquet"
        if path.is_file():
            satisfies(f"observations/prevalence.{table}", pl.read_parquet(path).head(20).to_dicts())


def test_what_is_no_manifest_does_not_satisfy_the_schema(runs: list[Run]) -> None:
    content = json.loads((runs[0].folder / "manifest.json").read_text())
    for wrong in (content | {"seed": "x"}, content | {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            satisfies("manifest", wrong)


def test_the_command_prints_one_or_all() -> None:
    code, output, errors = typed(["schema"])
    assert code == 0, errors
    content = json.loads(output)
    assert content["schema_version"] == SCHEMA_VERSION
    assert {"manifest", "estimates", "gate", "audit.toml", "comparison"} <= set(content["schemas"])
    for schema in content["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads(typed(["schema", "gate"])[1]) == content["schemas"]["gate"]
    assert "did you mean 'manifest'" in typed(["schema", "manifets"])[2]


def rewritten(run: Run, out: Path, **changes: object) -> Path:
    import shutil

    folder = Path(shutil.copytree(run.folder, out))
    content = json.loads((folder / "manifest.json").read_text())
    for name, value in changes.items():
        content.pop(name, None)
        if value is not None:
            content[name] = value
    (folder / "manifest.json").write_text(json.dumps(content))
    return folder


def test_a_run_of_the_version_before_is_read_and_goes_on(runs: list[Run], tmp_path: Path) -> None:
    assert min(READ) == SCHEMA_VERSION - 1
    before = rewritten(runs[0], tmp_path / "run", schema_version=None, name=None, layout=2)
    assert Run.open(before).estimates.table.equals(runs[0].estimates.table)
    world = runs[0].folder.parent / "even"
    subject, items = load_subject(f"embeddings:{world}"), load_benchmark(f"folder:{world}")
    times = (before / "timings.json").read_text()
    again = execute(subject, items, ["prevalence"], before, settings=QUICK)
    assert again.manifest.schema_version == SCHEMA_VERSION
    assert (before / "timings.json").read_text() == times


@pytest.mark.parametrize(
    ("version", "said"), [(1, "audit the subject again"), (SCHEMA_VERSION + 1, "install a newer equiview")]
)
def test_other_versions_are_refused_by_name(runs: list[Run], tmp_path: Path, version: int, said: str) -> None:
    folder = rewritten(runs[0], tmp_path / "run", schema_version=version)
    with pytest.raises(
        InputError, match=f"schema version {version}, and this equiview reads 2 and 3; {said}"
    ):
        Run.open(folder)


def stamped(path: Path, **said: str) -> None:
    """Write a table again, with this of its metadata and nothing else."""
    frame = pl.read_parquet(path)
    frame.write_parquet(path, metadata={name.replace("__", "."): value for name, value in said.items()})


def test_tables_say_what_they_are_and_of_which_version(runs: list[Run], tmp_path: Path) -> None:
    from equiview import api

    said = {path.stem: parquet_metadata(path) for path in (runs[0].folder / "observations").iterdir()}
    assert said
    for name, found in said.items():
        assert (found[NAME], found[VERSION]) == (f"observations/{name}", str(SCHEMA_VERSION))
        assert schemas(found[NAME])
    assert parquet_metadata(runs[0].folder / "estimates.parquet")[NAME] == "estimates"
    api.write_comparison(runs, tmp_path)
    assert parquet_metadata(tmp_path / "comparison.parquet")[NAME] == "comparison"
    pl.read_parquet(tmp_path / "comparison.parquet").write_parquet(tmp_path / "comparison.parquet")
    assert export_comparison(tmp_path, "csv").startswith("audit,")
    stamped(tmp_path / "comparison.parquet", equiview__schema_version=str(SCHEMA_VERSION + 1))
    with pytest.raises(InputError, match=r"comparison\.parquet: it is of schema version 4.*a newer equiview"):
        export_comparison(tmp_path, "csv")


@pytest.mark.parametrize(
    ("version", "said"),
    [(str(SCHEMA_VERSION + 1), "4, .*newer equiview"), ("1", "1, .*again"), ("x", "x, "), ("²", "²,")],
)
def test_a_table_of_another_version_is_refused_by_name(tmp_path: Path, version: str, said: str) -> None:
    write_stamped(pl.DataFrame({"id": ["a"]}), tmp_path / "t.parquet", "people")
    people = Schema("people", (Column("id", pl.String, "who"),))
    content = (tmp_path / "t.parquet").read_bytes()
    write_stamped(read_stamped(tmp_path / "t.parquet", people), tmp_path / "t.parquet", "people")
    assert (tmp_path / "t.parquet").read_bytes() == content
    stamped(tmp_path / "t.parquet")
    assert read_stamped(tmp_path / "t.parquet", people)["id"].to_list() == ["a"]
    stamped(tmp_path / "t.parquet", equiview__schema_version=version)
    with pytest.raises(InputError, match=rf"t\.parquet: it is of schema version {said}"):
        read_stamped(tmp_path / "t.parquet", people)


def test_another_name_is_the_same_run_and_makes_its_page_again(runs: list[Run], tmp_path: Path) -> None:
    from equiview import api

    world = runs[0].folder.parent / "even"
    subject, benchmark = f"embeddings:{world}", f"folder:{world}"
    first = api.audit(subject, benchmark, ["prevalence"], tmp_path / "run", name="monday", settings=QUICK)
    second = api.audit(subject, benchmark, ["prevalence"], tmp_path / "run", name="released", settings=QUICK)
    assert (first.name, second.name) == ("monday", "released")
    assert second.manifest.subject == first.manifest.subject
    page = (tmp_path / "run" / "report.html").read_text()
    assert "released" in page
    assert "monday" not in page
    third = api.audit(subject, benchmark, ["prevalence"], tmp_path / "run", settings=QUICK)
    assert third.name == "released"
