"""Rows for every surface that the registries hold: benchmarks, subjects, makers and commands.

`missing_surfaces` names what is registered and has no row, so that a new one fails until it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import typer.main

from equiview.benchmarks import BENCHMARKS
from equiview.benchmarks.base import embedded
from equiview.cli import app
from equiview.making import MAKERS
from equiview.subjects import SUBJECTS
from tests.faults.faults import FAULTS
from tests.faults.running import Case

AUDIT = ("--audit", "prevalence", "--out", "out", "--setting", "prevalence.replicates=100")
ASKED = ("--benchmark", "knowrecall:data", "--audit", "knowledge", "--out", "out")
MADE = ("--out", "made")
POOL = ("build", "xm3600", "photos", "--translator", "chat:x/y", "--languages", "en,fr", *MADE)
BUILD = ("build", "removal", "coco:data", "--fill", "mean", *MADE)
TRIPLETS = ("build", "xcm", "--images", "folder:shown", "--labeller", "pictogram:aligned",
            "--encoder", "none", "--text-encoder", "none", "--countries", "Germany,Japan,Kenya",
            "--smallest", "64", "--concepts", "concepts.csv", "--labelled", "labelled.csv",
            *MADE)  # fmt: skip
DECIDED = (*TRIPLETS, "--decisions", "said.csv")
TUNED = ("audit", "finetuned:tuned", "--benchmark", "folder:photos", *AUDIT)
CORRECTED = ("audit", "mitigated:corrected", "--benchmark", "folder:world", *AUDIT)
TAUGHT = ("audit", "distilled:taught", "--benchmark", "folder:photos", *AUDIT)
TEACH = ("mitigate", "distill", "pictogram:english", "--parallel", "en=w.en,de=w.de", *MADE)
ORDERED = ("audit", "reranked:ordered", "--benchmark", "folder:world", *AUDIT)
PROJECTED = ("mitigate", "project", "pictogram:english", "--benchmark", "folder:world", *MADE)
HELD_OUT = ("audit", "embeddings:world", "--benchmark", "held-out:corrected", *AUDIT)
REVIEW = ("review", "asked", "--export", "said.csv")


def read(benchmark: str) -> tuple[str, ...]:
    """Words of an audit that reads the benchmark before anything else."""
    return ("audit", "embeddings:data", "--benchmark", benchmark, *AUDIT)


FILES: list[tuple[str, str, tuple[str, ...]]] = [
    ("release", "data/benchmark.csv", read("3xcm:data")),
    ("release", "data/image_metadata/part-0.parquet", read("3xcm:data")),
    ("hub", "data/data/en-00000-of-00001-ab12.parquet", read("hub:data")),
    ("quiz", "data/data/fr-00000-of-00001.parquet", read("knowrecall:data")),
    ("quiz", "answers.csv", ("audit", "answers:answers.csv", *ASKED)),
    ("visrecall", "data/landmark_list.json", read("visrecall:data")),
    ("visrecall", "data/image_list.json", read("visrecall:data")),
    ("log", "log.eval", ("audit", "inspect-log:log.eval", *ASKED)),
    ("asked", "asked/review.json", REVIEW),
    ("asked", "asked/items.parquet", ("review", "asked")),
    ("landmarks", "places/landmarks.csv", ("build", "visrecall", "places", *MADE)),
    (
        "landmarks",
        "places/landmarks.csv",
        ("build", "knowrecall", "places", "--writer", "chat:x/y", *MADE),
    ),
    ("shown", "concepts.csv", TRIPLETS),
    ("shown", "labelled.csv", TRIPLETS),
    ("shown", "shown.parquet", (*TRIPLETS[:2], "--images", "table:shown.parquet", *TRIPLETS[4:])),
    ("shown", "said.csv", DECIDED),
    ("captioned", "photos/images.csv", POOL),
    ("captioned", "photos/texts.csv", POOL),
    ("captioned", "said.csv", (*POOL, "--decisions", "said.csv")),
    ("trained", "tuned/finetune.json", TUNED),
    ("trained", "tuned/model/heads.safetensors", TUNED),
    ("distilled", "taught/distill.json", TAUGHT),
    ("distilled", "taught/model/student.safetensors", TAUGHT),
    ("distilled", "w.de", TEACH),
    ("mitigated", "corrected/mitigation.json", CORRECTED),
    ("mitigated", "corrected/correction.npz", CORRECTED),
    ("mitigated", "corrected/held-out.json", HELD_OUT),
    ("people", "words.toml", (*PROJECTED, "--prompts", "words.toml")),
    ("mitigated", "ordered/reranking.json", ORDERED),
    ("mitigated", "ordered/rule.json", ORDERED),
    ("finished", "out/manifest.json", ("study", "transfer", "--before", "out", "--after", "other", *MADE)),
    ("finished", "out/manifest.json", ("study", "neighbourhoods", "out", "other", *MADE)),
    ("finished", "out/manifest.json", ("study", "mitigation", "out", "other", *MADE)),
    ("finished", "out/manifest.json", ("check", "out", "--fail-if", "prevalence: R@1.n < 1")),
    ("finished", "out/manifest.json", ("check", "other", "--fail-if", "worse", "--baseline", "out")),
    ("finished", "out/manifest.json", ("track", "out", "--to", "mlflow", "--place", "kept")),
    ("finished", "audit.toml", ("run", "audit.toml")),
    ("finished", "compared/comparison.parquet", ("export", "compared")),
]
"""Further files, each of which meets every fault."""

LEFT = {"missing", "a dangling link", "a looping link"}
"""Faults after which a record is not there, and its image is done again."""


def spoiled(pattern: str, fault: str, folder: Path) -> None:
    (path,) = folder.glob(pattern)
    FAULTS[fault](path)


def nothing(_: Path) -> None:
    """Spoil nothing: what is typed is wrong by itself."""


def of_surfaces() -> Iterator[Case]:
    """Every further file with every fault, and all subjects and makers without what they need."""
    for place, path, words in FILES:
        name = f"{' '.join(words[:2])}, {Path(path).name}"
        for fault in FAULTS:
            yield Case(f"{name}: {fault}", place, partial(spoiled, path, fault), words)
    for fault in FAULTS:
        spoil = partial(spoiled, "made/records/*.json", fault)
        yield Case(f"build removal, record: {fault}", "begun", spoil, BUILD, 0 if fault in LEFT else 1)
    for scheme in SUBJECTS.all():
        for argument in ("", "nowhere/none" if scheme != "openai" else "m,url=nowhere"):
            words = ("audit", f"{scheme}:{argument}", "--benchmark", "folder:photos", *AUDIT)
            yield Case(f"subject {scheme}:{argument}", "photos", nothing, words)
    for model in ("", "nowhere", "pictogram:none", "answers:none"):
        yield Case(f"verify {model!r}", "photos", nothing, ("verify", model))
    for entry in MAKERS.all().values():
        command = (entry.value.kind, entry.value.name)
        for name, more, said in (
            ("without anything", (), "Missing"),
            ("with an option that is none", ("--colour", "red"), "No such option"),
        ):
            yield Case(f"{' '.join(command)} {name}", "photos", nothing, (*command, *more), said=said)
    data = ("--data", "folder:photos", *MADE)
    distill = ("mitigate", "distill", "pictogram:english", *MADE)
    for words in (
        distill,
        (*distill, "--benchmark", "folder:photos", "--student", "nowhere"),
        (*distill, "--benchmark", "folder:photos", "--source", "xx"),
        (*distill, "--parallel", "en=nowhere,de=nowhere"),
        (*distill, "--parallel", "en"),
        ("train", "connector", "--encoder", "pictogram:english", "--language-model", "nowhere/none", *MADE),
        ("train", "finetune", "embeddings:nowhere", *data),
        ("train", "finetune", "pictogram:english", *data, "--synthetic", "nowhere"),
        ("train", "finetune", "pictogram:english", *data, "--ratio", "nan"),
    ):
        yield Case(f"words: {' '.join(words)}", "photos", nothing, words)


def missing_surfaces(cases: Sequence[Case]) -> list[str]:
    """The readers, makers and commands that are registered and stand in no case."""
    typed = [case.words for case in cases]
    named = {word.partition(":")[0] for words in typed for word in words if ":" in word}
    begun = {words[:length] for words in typed for length in (1, 2)}
    readers = [name for name in [*BENCHMARKS.all(), *SUBJECTS.all()] if name not in named | set(embedded())]
    commands = commands_of(typer.main.get_command(app))
    return readers + [" ".join(words) for words in commands if words not in begun]


def commands_of(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that can be typed, as its words."""
    if not hasattr(command, "commands"):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from commands_of(command.get_command(context, name), (*path, name))
