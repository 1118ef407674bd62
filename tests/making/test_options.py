"""Settings as options: what a command gets of a model, and what a model gets of a command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from pydantic import BaseModel, Field
from typer.testing import CliRunner

from equiview.cli_make import add_groups, command_of
from equiview.data.registry import Entry
from equiview.errors import InputError
from equiview.makers import GROUPS, Group
from equiview.making import MAKERS, Maker, Option, Settings, Task
from equiview.making.options import nested_values, recorded, settings_of


class Limits(BaseModel):
    """Nested settings whose fields are options themselves."""

    least: float = Field(default=0.25, ge=0, le=1, description="Least share.")


class Recipe(BaseModel):
    """Nested settings that stand in a file."""

    batch: int = Field(default=8, ge=1)
    rates: tuple[float, ...] = (0.1,)


class Base(Settings):
    """What several makers let a user choose."""

    no_cache: Annotated[bool, Option(recorded=False)] = Field(default=False, description="Keep nothing.")


class All(Base):
    """A field of every kind."""

    place: Annotated[Path, Option(argument=True, recorded=False)] = Field(description="A folder.")
    writer: str = Field(description="Who writes.")
    codes: tuple[str, ...] = Field(default=("en", "de"), description="Codes.")
    tags: Annotated[tuple[str, ...], Option(repeated=True)] = Field(default=(), description="Tags.")
    per_place: Annotated[int, Option("--each")] = Field(default=5, ge=1, le=20, description="Of a place.")
    cost: float | None = Field(default=None, ge=0, description="Dollars.")
    limits: Limits = Limits()
    recipe: Annotated[Recipe, Option("--config", file=True)] = Field(default=Recipe(), description="A file.")


def given_by(*words: str) -> dict[str, Any]:
    """What the settings hold after a command line, or the error as it is said."""
    seen: list[All] = []

    class Job:
        models: dict[str, Any] = {}  # noqa: RUF012 - what a job has

        def __init__(self, settings: All) -> None:
            seen.append(settings)

        def plan(self) -> list[Task]:
            return []

    maker = Maker(name="all", kind="build", about="All.", settings=All, job=Job, yields="{out}")
    app = typer.Typer()
    app.command()(command_of(maker))
    done = CliRunner().invoke(app, [*words, "--out", "out", "--dry-run"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return seen[0].model_dump() if seen else {"said": done.output}


def test_what_is_not_given_has_the_default_of_its_field() -> None:
    assert given_by("here", "--writer", "me") == All(place=Path("here"), writer="me").model_dump()


def test_what_is_given_arrives_where_it_belongs(tmp_path: Path) -> None:
    file = tmp_path / "recipe.toml"
    file.write_text("batch = 3\n")
    words = "here --writer me --codes fr,ja --tags a --tags b --each 7 --cost 1.5 --least 0.5 --no-cache"
    wanted = All(
        place=Path("here"), writer="me", codes=("fr", "ja"), tags=("a", "b"), per_place=7, cost=1.5,
        limits=Limits(least=0.5), no_cache=True, recipe=Recipe(batch=3),
    )  # fmt: skip
    assert given_by(*words.split(), "--config", str(file)) == wanted.model_dump()


def test_help_is_that_of_the_fields() -> None:
    said = " ".join(given_by("--help")["said"].split())
    for part in ("Of a place.", "1<=x<=20", "default: 5", "default: en,de", "Least share."):
        assert part in said
    own = [setting.key for setting in settings_of(All)]
    assert own[:3] == ["place", "writer", "codes"]
    assert own[-1] == "no_cache"  # inherited ones are last


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["here"], "Missing option '--writer'"),
        (["here", "--writer", "me", "--each", "0"], "Invalid value for '--each'"),
        (["here", "--writer", "me", "--least", "2"], "Invalid value for '--least'"),
        (["here", "--writer", "me", "--other", "2"], "No such option"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_done(words: list[str], message: str) -> None:
    assert message in " ".join(given_by(*words)["said"].split())


def test_a_wrong_value_in_a_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "recipe.toml"
    file.write_text("batch = 0\n")
    with pytest.raises(InputError, match="batch: input should be greater than or equal to 1"):
        given_by("here", "--writer", "me", "--config", str(file))


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(InputError, match="setting colour: extra inputs are not permitted"):
        All.of({"place": "x", "writer": "me", "colour": "red"})


def test_what_does_not_tell_one_making_from_another_is_not_recorded() -> None:
    kept = recorded(All(place=Path("here"), writer="me"))
    assert set(kept) == {"writer", "codes", "tags", "per_place", "cost", "limits", "recipe"}


def test_values_are_nested_as_the_model_is() -> None:
    settings = list(settings_of(All))
    given = dict.fromkeys((setting.key for setting in settings), None) | {"least": 0.5, "codes": " fr, ,ja"}
    assert nested_values(settings, given) == {"limits": {"least": 0.5}, "codes": ["fr", "ja"]}


def test_another_group_of_makers_is_another_command(monkeypatch: pytest.MonkeyPatch) -> None:
    MAKERS.all()
    monkeypatch.setitem(GROUPS, "mitigate", Group("Make a system less biased.", "Subject"))
    maker = Maker(name="all", kind="mitigate", about="All.", settings=All, job=Any, yields="{out}")
    monkeypatch.setitem(MAKERS.entries, "all", Entry("all", ("mitigate all",), "All.", lambda: maker))
    app = typer.Typer()
    add_groups(app)
    assert "Make a system less biased." in CliRunner().invoke(app, ["--help"]).output
    listed = CliRunner().invoke(app, ["mitigate", "--help"]).output
    assert "All." in listed
    assert "knowrecall" not in listed
    assert "--each" in CliRunner().invoke(app, ["mitigate", "all", "--help"]).output
    assert CliRunner().invoke(app, ["build", "all", "--help"]).exit_code == 2
