"""Write the encoders' model card from what was measured: called by train_encoders.py and train_scenes.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from equiview.data.languages import languages

CARD = Path(__file__).with_name("model_card.md")
FLAGS = Path(__file__).parent / "logs" / "flags.json"


def write_card(
    path: Path, report: dict[str, Any], scenes: dict[str, Any], *, buckets: int, weights: dict[str, float]
) -> None:
    measured, flags = report["measured"], json.loads(FLAGS.read_text())
    shown = [*languages().select("code", "name").rows(), ("yo", "Yoruba (not in the benchmark)")]
    rows = [
        f"| {name} ({code}) | "
        + " | ".join(f"{numbers['recall_at_10'][code]:.3f}" for numbers in measured.values())
        + " |"
        for code, name in shown
    ]
    excess = [
        f"| {name} | " + " | ".join(f"{value:.3f}" for value in numbers["excess_dlbkl"].values()) + " |"
        for name, numbers in measured.items()
    ]
    association = [
        f"| {name} | " + " | ".join(f"{value:.3f}" for value in numbers["association"].values()) + " |"
        for name, numbers in measured.items()
    ]
    path.write_text(
        CARD.read_text("utf-8").format(
            **(report["settings"] | {"distil_steps": _steps(report["settings"]["distil_steps"])}),
            **{f"scenes_{name}": value for name, value in scenes["settings"].items()},
            **{f"scenes_{name}": value for name, value in scenes["scene_mean_average_precision"].items()},
            scenes_sizes=", ".join(f"{name} {size:,}" for name, size in scenes["bytes"].items()),
            scenes_odmap=", ".join(f"{scenes['measured'][f'odmap@{k}']:.3f}" for k in (1, 5, 10)),
            scenes_recall=" and ".join(
                f"{scenes['measured'][f'r@1_{way}']:.3f}" for way in ("image-to-text", "text-to-image")
            ),
            flags_captions=flags["captions"],
            flags_steps=flags["steps"],
            flags_sizes=" and ".join(f"{size:,}" for size in flags["bytes"].values()),
            buckets=buckets,
            flag_weight=weights["flag"],
            people_weight=weights["gender"],
            probes=_probes(report["probes"]),
            scene=report["probes"]["scene_mean_average_precision"],
            scene_chance=report["probes"]["scene_chance"],
            social="\n".join(_social(name, numbers) for name, numbers in report["social"].items()),
            sizes=", ".join(f"{name} {size:,}" for name, size in report["bytes"].items()),
            chance=10 / 1280,
            heads=" | ".join(measured),
            rule="|".join("---" for _ in measured),
            rows="\n".join(rows),
            excess="\n".join(excess),
            association="\n".join(association),
        ),
        encoding="utf-8",
    )


def _probes(measured: dict[str, float]) -> str:
    rows = [
        ("woman, man or person", "gender", 1 / 3),
        ("woman or man", "woman_or_man", 1 / 2),
        ("one of five skins", "skin", 1 / 5),
    ]
    lines = [
        f"| {label} | "
        + " | ".join(f"{measured[f'{name}_{way}']:.3f}" for way in ("folds", "within", "across"))
        + f" | {chance:.3f} |"
        for label, name, chance in rows
    ]
    return "\n".join([*lines, f"| one of 64 roles | | | {measured['role_across']:.3f} | {1 / 64:.3f} |"])


def _social(name: str, numbers: dict[str, float]) -> str:
    cells = [
        f"{numbers[f'{measure}_{attribute}']:.3f} ({numbers[f'{measure}_{attribute}_floor_95']:.3f})"
        for attribute in ("gender", "skin")
        for measure in ("max_skew", "ndkl", "kl_recall")
    ]
    return f"| {name} | {numbers['role_recall@18']:.3f} | " + " | ".join(cells) + " |"


def _steps(steps: dict[str, int]) -> str:
    return ", ".join(f"{number:,} (`{name}`)" for name, number in steps.items())
