"""`equiview cache`, `list`, `settings`: what earlier audits kept, what there is, and what can be set."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from equiview.cli_study import AsJson, one_of


def cache(
    action: Annotated[str, typer.Argument(help="list, verify or prune.")] = "list",
    kind: Annotated[
        str,
        typer.Option(
            help="vectors, answers or copies (of what is at URLs); all by default. prune removes answers "
            "only with --kind answers, and no copy with a file that was not sent."
        ),
    ] = "",
    model: Annotated[
        str | None,
        typer.Option(help="prune: only this model, or URL, by the start of its fingerprint, or of the URL."),
    ] = None,
    unused_days: Annotated[
        float | None, typer.Option(min=0, help="prune: only what was not used for this many days.")
    ] = None,
    damaged: Annotated[bool, typer.Option("--damaged", help="prune: only what is damaged.")] = False,
    as_json: AsJson = False,
) -> None:
    """List, verify or prune the vectors, answers and copies kept from earlier audits."""
    from equiview.io.printing import print_json
    from equiview.report.console import print_table
    from equiview.store import AnswerStore, Copies, Store

    one_of("action", action, ("list", "verify", "prune"))
    stores: dict[str, Store | AnswerStore | Copies] = {
        "vectors": Store(),
        "answers": AnswerStore(),
        "copies": Copies(),
    }
    kinds = (one_of("--kind", kind, tuple(stores)),) if kind else tuple(stores)
    if action == "prune":
        # Answers may have cost money: they are removed only if named.
        pruned = (kind,) if kind else ("vectors", "copies")
        freed = sum(stores[name].prune(model, unused_days=unused_days, damaged=damaged) for name in pruned)
        return print_json({"freed_bytes": freed}) if as_json else print(f"freed {freed / 1e6:.1f} MB")
    tables = {name: stores[name].contents() if action == "list" else stores[name].verify() for name in kinds}
    if as_json:
        print_json({name: table.to_dicts() for name, table in tables.items()})
    else:
        for name, table in tables.items():
            if len(table):
                print_table(table, str(stores[name].root))
            else:
                print(f"{stores[name].root}: {'empty' if action == 'list' else f'no {name} are damaged'}")
    if action == "verify" and any(map(len, tables.values())):
        raise typer.Exit(1)
    return None


@contextmanager
def _keeping_all() -> Iterator[None]:
    """Collect no garbage: what is listed is imported and stays; looking through it took long."""
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()


@_keeping_all()
def list_(
    kind: Annotated[
        str, typer.Argument(help="subjects, models, benchmarks, audits, makers or providers.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List subjects, models, benchmarks and whether they are ready, audits, makers, providers of images."""
    from equiview.catalogue import listed
    from equiview.io.printing import print_json, print_rows, terminal

    tables = listed(kind)
    if as_json:
        return print_json(tables)
    for name, rows in tables.items():
        words = [["" if cell is None else str(cell) for cell in row.values()] for row in rows]
        print_rows(terminal(), name, list(rows[0]), words)
    return None


@_keeping_all()
def settings_(
    audit_: Annotated[str, typer.Argument(metavar="[AUDIT]", help="An audit; all of them by default.")] = "",
    as_json: AsJson = False,
) -> None:
    """List what each audit lets you set, with its default: --setting AUDIT.NAME=VALUE, lists with commas."""
    from equiview import api
    from equiview.io.printing import print_json
    from equiview.report.console import print_table

    table = api.settings(audit_)
    print_json(table.to_dicts()) if as_json else print_table(table, "settings")


def add_lists(app: typer.Typer) -> None:
    """Add these commands to a command line."""
    app.command()(cache)
    app.command("list")(list_)
    app.command("settings")(settings_)
