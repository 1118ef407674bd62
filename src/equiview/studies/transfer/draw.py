"""The figures of S's section 4: correlations, gaps, the choice of models, and how alike their spaces are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.data.figures import Chart
from equiview.studies.transfer.correlate import Pair, detectable
from equiview.studies.transfer.gaps import Gap
from equiview.studies.transfer.settings import TransferSettings
from equiview.studies.transfer.spaces import upper

BINS = np.round(np.arange(-1.0, 1.01, 0.1), 1)
MOST_GAPS = 4
BEFORE_AND_AFTER: dict[str, Any] = {"mark": "scatter", "x": "before", "y": "after", "label": "model"}
"""A chart with a point for each model."""


def histogram(pairs: Sequence[Pair]) -> Chart:
    """How many correlations there are of each size (Figure 5)."""
    tested = [(pair.attribute or "all", pair.rho) for pair in pairs if pair.rho is not None]
    rows = [
        {"rho": round(float(middle), 2), "correlations": int(count), "attribute": name}
        for name in dict.fromkeys(name for name, _ in tested)
        for middle, count in zip(
            (BINS[:-1] + BINS[1:]) / 2,
            np.histogram([rho.value for of, rho in tested if of == name], BINS)[0],
            strict=True,
        )
    ]
    models = min(rho.n for _, rho in tested)
    seen, _ = detectable(models, len(tested))
    power = (
        f"only one of at least {seen:.2f} either way is found four times in five" if seen else "none is found"
    )
    return Chart(
        name="histogram",
        title="How strong the correlations are",
        see="Each correlation of a number before with one after, over models. With "
        f"{models} models {power}; chance alone spreads them around 0.",
        table=pl.DataFrame(rows),
        mark="stacked", x="rho", y="correlations", color="attribute",
        x_title="Spearman's rho", y_title="correlations",
    )  # fmt: skip


def panels(pairs: Sequence[Pair], settings: TransferSettings) -> list[Chart]:
    """The models on the plane of each of the strongest correlations (Figure 4): at least the first."""
    tested = sorted((pair for pair in pairs if pair.rho), key=lambda pair: -abs(pair.value))
    strong = [pair for pair in tested if abs(pair.value) >= settings.tolerance] or tested[:1]
    return [_panel(number, pair) for number, pair in enumerate(strong[: settings.panels], start=1)]


def _panel(number: int, pair: Pair) -> Chart:
    rho = pair.rho
    assert rho is not None
    about = f" ({pair.attribute})" if pair.attribute else ""
    return Chart(
        name=f"scatter-{number}",
        title=f"{pair.before.label}, then {pair.after.label}{about}",
        see=f"A point is a model. Spearman's rho is {rho.value:.2f} [{rho.low:.2f}, {rho.high:.2f}], p "
        f"{rho.p_value:.3f}, and {pair.p_holm:.3f} after Holm's correction over all pairs.",
        table=pl.DataFrame(pair.points, schema=["model", "before", "after"], orient="row"),
        **BEFORE_AND_AFTER,
        x_title=f"before: {pair.before.label}",
        y_title=f"after: {pair.after.label}",
    )


def quadrants(gaps: Sequence[Gap]) -> list[Chart]:
    """Gaps between two groups before and after (Figure 7)."""
    return [_quadrants(number, gap) for number, gap in enumerate(gaps[:MOST_GAPS], start=1)]


def _quadrants(number: int, gap: Gap) -> Chart:
    first, second = gap.groups
    kept, n = gap.kept
    table = pl.DataFrame(gap.points, schema=["model", "before", "after"], orient="row").with_columns(
        direction=pl.when(pl.col("before") * pl.col("after") > 0)
        .then(pl.lit("same group higher"))
        .when(pl.col("before") * pl.col("after") < 0)
        .then(pl.lit("the other group higher"))
        .otherwise(pl.lit("no gap"))
    )
    return Chart(
        name=f"gaps-{number}",
        title=f"{first} less {second}: {gap.before.label}, then {gap.after.label}",
        see="A point is a model. Above the line and to the right of 0, or below it and to the left, the "
        f"same group has the higher value before and after: {kept} of {n} models.",
        table=table,
        **BEFORE_AND_AFTER,
        x_title=f"before: {first} less {second}",
        y_title=f"after: {first} less {second}",
        color="direction",
        reference={"no gap after": 0.0},
    )


def selection(table: pl.DataFrame, label: str, bias: str, settings: TransferSettings) -> Chart:
    """Which models were chosen, by how good they are, beside how biased they are (Figure 6)."""
    return Chart(
        name="selection",
        title="The models that were chosen",
        see=f"A point is a model before. Only models whose {label} is from {settings.least:g} to "
        f"{settings.most:g} are compared, so that they differ in bias rather than in how good they are.",
        table=table,
        mark="scatter", x="performance", y="bias", color="chosen", label="model",
        x_title=label, y_title=bias,
    )  # fmt: skip


def similarity_maps(maps: Mapping[str, NDArray[np.float64]], names: Sequence[str]) -> list[Chart]:
    """How alike the spaces of every two models are, before and after, and how that is spread (Figure 8)."""
    charts = []
    for when, matrix in maps.items():
        rows = [(a, b, matrix[i, j]) for i, a in enumerate(names) for j, b in enumerate(names)]
        charts.append(
            Chart(
                name=f"similarity-{when}",
                title=f"How alike the spaces of models are {when}",
                see="The cosine of the pairwise cosines of the same images in two models; 1 on the diagonal.",
                table=pl.DataFrame(rows, schema=["model", "other", "similarity"], orient="row"),
                mark="heatmap", x="model", y="other", color="similarity", x_title="model", y_title="model",
            )
        )  # fmt: skip
    return [*charts, _spread(maps)]


def _spread(maps: Mapping[str, NDArray[np.float64]]) -> Chart:
    values = {when: upper(matrix) for when, matrix in maps.items()}
    every = np.concatenate(list(values.values()))
    edges = np.linspace(every.min(), every.max() + 1e-12, 21)
    rows = [
        {"similarity": float(round((edges[at] + edges[at + 1]) / 2, 6)), "pairs": int(count), "when": when}
        for when, found in values.items()
        for at, count in enumerate(np.histogram(found, edges)[0])
    ]
    return Chart(
        name="similarity-histogram",
        title="How alike models are before and after",
        see="Pairs of models by how alike their spaces are. If adapting to one language model makes them "
        "alike, the later ones lie further right and closer together.",
        table=pl.DataFrame(rows),
        mark="stacked", x="similarity", y="pairs", color="when", domain=("before", "after"),
        x_title="similarity of two models", y_title="pairs of models",
    )  # fmt: skip
