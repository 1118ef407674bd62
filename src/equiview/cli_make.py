"""`equiview build`, `equiview train`: a command for each maker, generated from its settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from equiview.makers import GROUPS

if TYPE_CHECKING:
    from equiview.making import Maker
    from equiview.making.options import Setting

OUT = Annotated[Path, typer.Option(help="Folder of the result; an unfinished one is continued.")]
ENGINE = "Where slow parts are done: local, ray, or ray:ADDRESS of a Ray cluster."
WHERE = Annotated[str, typer.Option("--engine", help=ENGINE)]
DRY_RUN = Annotated[bool, typer.Option("--dry-run", help="Show the most requests and work, and do nothing.")]

POSITION, KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


class Makers(TyperGroup):
    """The makers of one group; found when a command is first needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        from equiview.making import MAKERS

        ours = [name for name, entry in MAKERS.all().items() if entry.value.kind == self.name]
        return ours + super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a maker; None for an unknown name."""
        from equiview.making import MAKERS

        if cmd_name not in MAKERS.all() or MAKERS.get(cmd_name).kind != self.name:
            return super().get_command(ctx, cmd_name)
        maker = MAKERS.get(cmd_name)
        app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        app.command(maker.name, help=maker.about)(command_of(maker))
        return typer.main.get_command(app)


def add_groups(app: typer.Typer) -> None:
    """Add the groups of makers to a command line."""
    for name, group in GROUPS.items():
        app.add_typer(typer.Typer(name=name, help=group.about, no_args_is_help=True, cls=Makers))


def command_of(maker: Maker[Any]) -> Callable[..., None]:
    """A function for typer, with a parameter for each setting of a maker."""
    from equiview.making.options import nested_values, settings_of

    settings = list(settings_of(maker.settings))

    def run(out: Path, engine: str, dry_run: bool, **given: Any) -> None:
        chosen = maker.settings.of(nested_values(settings, given))
        if dry_run:
            _show_plan(maker, chosen)
        else:
            _make(maker, chosen, out, engine)

    parameters = [inspect.Parameter("out", KEYWORD, annotation=OUT), *map(_parameter, settings)]
    parameters.append(inspect.Parameter("engine", KEYWORD, annotation=WHERE, default="local"))
    parameters.append(inspect.Parameter("dry_run", KEYWORD, annotation=DRY_RUN, default=False))
    parameters.sort(key=lambda parameter: parameter.kind == KEYWORD)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameter(setting: Setting) -> inspect.Parameter:
    """A setting as a parameter for typer."""
    required, about = setting.field.is_required(), setting.field.description
    kind: Any = list[str] if setting.type is list else setting.type
    info: Any
    place: Any = KEYWORD
    if setting.option.argument:
        info, place = typer.Argument(help=about), POSITION
    else:
        bounds: dict[str, Any] = setting.bounds if kind in (int, float) else {}
        info = typer.Option(setting.name, help=about, **bounds)
    return inspect.Parameter(
        setting.key,
        place,
        annotation=Annotated[kind if required else kind | None, info],
        default=inspect.Parameter.empty if required else setting.default,
    )


def _show_plan(maker: Maker[Any], chosen: Any) -> None:
    from equiview import api
    from equiview.report.console import print_table

    for title, table in api.plan_making(maker, chosen).items():
        print_table(table, title)


def _make(maker: Maker[Any], chosen: Any, out: Path, engine: str) -> None:
    from equiview import api
    from equiview.report.console import print_table
    from equiview.report.progress import progress_bars

    with progress_bars() as progress:
        made = api.make(maker, chosen, out, engine=engine, progress=progress)
    for title, table in made.outcome.tables.items():
        if len(table):
            print_table(table, title)
    said = {"Made from": made.card.made_from, **made.outcome.before}
    said |= {maker.result or GROUPS[maker.kind].result: made.name, **made.outcome.after}
    for label, text in said.items():
        print(f"{label}: {text}")
