"""Write the encoders' model card from what was measured: called by train_encoders.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equiview.data.languages import languages

CARD = Path(__file__).with_name("model_card.md")


def write_card(path: Path, report: dict[str, Any], *, buckets: int, flag_weight: float) -> None:
    measured = report["measured"]
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
            **report["settings"],
            buckets=buckets,
            flag_weight=flag_weight,
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
