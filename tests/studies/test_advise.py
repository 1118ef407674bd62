"""From a bias to a command: which methods are advised, in which order, and that each exists."""

from __future__ import annotations

import shlex

import polars as pl
import pytest

from equiview import api
from equiview.audits import AUDITS
from equiview.benchmarks import load_benchmark
from equiview.benchmarks.partial import without_images
from equiview.making import MAKERS
from equiview.mitigation.lists.settings import METHODS as LISTS
from equiview.studies.advise import HELPS, ranked, useless, worth
from equiview.subjects.load import kind_of
from tests.processes import COMMAND, fresh


def part(images: int):
    """The first pictograms."""
    whole = load_benchmark("pictograms")
    return without_images(whole, whole.images.ids[images:])


def rows(*entries: tuple[str, float, float]) -> pl.DataFrame:
    """A gap of 10 and a skill of .5 before; of each method its name, and both after."""
    return pl.DataFrame(
        [
            {"method": name, "bias_before": 10.0, "even": 0.0, "bias_after": bias, "skill_before": 0.5,
             "skill_after": skill}
            for name, bias, skill in entries
        ]
    )  # fmt: skip


def test_what_leaves_least_comes_first_unless_another_beats_it_in_both():
    found = ranked(
        rows(("dear", 1.0, 0.2), ("cheap", 4.0, 0.5), ("beaten", 2.0, 0.19), ("useless", 9.5, 0.5))
    )
    assert [row["method"] for row in found] == ["dear", "cheap", "beaten"]


def test_what_helps_one_encoder_and_not_another_is_not_advised():
    known = rows(("here", 1.0, 0.5), ("here", 12.0, 0.5), ("both", 5.0, 0.5), ("both", 8.0, 0.5))
    assert [row["method"] for row in ranked(known)] == ["both", "both"]


def test_what_takes_the_bias_away_with_nearly_all_skill_is_not_advised():
    known = rows(("ruin", 0.0, 0.1), ("dear", 5.0, 0.2))
    assert [row["method"] for row in ranked(known)] == ["dear"]


def test_ratios_are_compared_as_ratios():
    known = rows(("half", 2.0, 0.5)).with_columns(even=1.0, bias_before=pl.lit(0.25))
    assert ranked(known)  # from a quarter to twice as much: half of the way is left


def test_every_method_that_was_measured_is_a_command_with_its_options():
    for row in worth().iter_rows(named=True):
        words = shlex.split(row["command"])
        maker = MAKERS.get(words[2])
        assert (words[0], words[1]) == ("equiview", maker.kind)
        options = {word.removeprefix("--").replace("-", "_") for word in words if word.startswith("--")}
        assert options <= {"out", *maker.settings.model_fields}
        needed = {name for name, field in maker.settings.model_fields.items() if field.is_required()}
        assert needed - {"subject"} <= options
        assert row["audit"] in AUDITS.all()
        assert row["needs"] in {"vectors", "lists"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory):
    settings = {"prevalence": {"replicates": 200}}
    out = tmp_path_factory.mktemp("runs") / "skewed"
    return api.audit("pictogram:skewed", part(200), ["prevalence"], out, settings=settings)


def test_a_biased_run_is_told_what_to_try(run):
    table = api.advise(run)
    assert set(table["audit"]) == {"prevalence"}
    assert table["command"][0].startswith("equiview mitigate ")
    assert " pictogram:skewed " in table["command"][0]
    assert (table["system"] == "pictogram:skewed").any()
    assert not set(useless(run, "prevalence")) & set(table["method"])
    left = table.select((pl.col("bias_after").log() / pl.col("bias_before").log()).max()).item()
    assert left <= 1 - HELPS


def test_lists_alone_are_told_what_lists_allow(run, tmp_path, capsys):
    name = api.make("interleave", {"subject": "pictogram:skewed"}, tmp_path / "lists").name
    assert kind_of(name) == "result lists"
    settings = {"prevalence": {"replicates": 200}}
    listed = api.audit(name, part(200), ["prevalence"], tmp_path / "run", settings=settings)
    methods = {command.split()[2] for command in api.advise(listed)["command"]}
    assert methods
    assert methods <= LISTS.keys()


def test_the_command_says_it_and_a_fair_run_has_nothing_to_lower(run, tmp_path):
    said = fresh(COMMAND, ["advise", str(run.folder)])
    assert said.returncode == 0
    assert "prevalence: biased; worth trying, the best first" in said.stdout
    assert "of little use: " in said.stdout
    settings = {"prevalence": {"replicates": 100}}
    unclear = api.audit("pictogram:aligned", part(40), ["prevalence"], tmp_path / "few", settings=settings)
    assert not len(api.advise(unclear))
    assert "nothing to lower" in fresh(COMMAND, ["advise", str(unclear.folder)]).stdout
