"""The explorer's pieces hold the lists that were observed."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from report_runs import EXPOSURE, make_run

from equiview.audits import AUDITS
from equiview.data.run import Run
from equiview.report.embed import Pictures
from equiview.report.explorer import (
    LEVELS,
    NOTHING,
    QUERIES_A_PIECE,
    Lists,
    _first_right,
    explorers_of,
    lists_of,
)


def opened(pieces: dict[str, str], name: str) -> bytes:
    return gzip.decompress(base64.b64decode(pieces[name]))


def test_pieces_give_back_every_rank(runs: list[Run]) -> None:
    (explorer,) = explorers_of(runs, Pictures())
    pieces = dict(explorer.pieces)
    meta: dict[str, Any] = json.loads(opened(pieces, f"{explorer.id}-meta"))
    texts = json.loads(opened(pieces, f"{explorer.id}-texts-0"))
    assert [run["name"] for run in meta["runs"]] == [run.name for run in runs]
    codes = np.frombuffer(opened(pieces, f"{explorer.id}-language"), dtype="<u2")
    for index, run in enumerate(runs):
        about, folder = meta["runs"][index], run.folder / "observations"
        expected = pl.read_parquet(folder / "exposure.rankings.parquet").join(
            pl.read_parquet(folder / "exposure.items.parquet"), on="item_id", maintain_order="left"
        )
        planes = np.frombuffer(opened(pieces, f"{explorer.id}-lists-{index}-0"), np.uint8).astype(int)
        low, middle, high, step_low, step_high, right = planes.reshape(
            6, len(meta["queries"]), about["depth"]
        )
        items = (low | middle << 8 | high << 16).ravel()
        levels = np.cumsum(step_low | step_high << 8, axis=1) & LEVELS
        scores = about["low"] + levels.ravel() / LEVELS * (about["high"] - about["low"])
        assert [texts[item] for item in items] == expected["text"].to_list()
        assert [meta["attributes"]["language"][codes[item]] for item in items] == expected[
            "language"
        ].to_list()
        assert right.ravel().astype(bool).tolist() == expected["relevant"].to_list()
        assert np.abs(scores - expected["score"].to_numpy()).max() < 1e-4


def test_short_lists_end_with_nothing_and_many_queries_take_many_pieces() -> None:
    n = 2 * QUERIES_A_PIECE + 1
    ranked = [(0, 1, 70_000, 0.5, False), (0, 2, 1, 0.1, True), (n - 1, 1, 2, 0.9, True)]
    rows = pl.DataFrame(ranked, schema=["query", "rank", "item", "score", "relevant"], orient="row")
    lists = Lists.of(rows, n)
    assert lists.items[1].tolist() == [NOTHING, NOTHING]
    assert lists.items[0].tolist() == [70_000, 1]
    assert _first_right(rows, n).tolist()[:2] == [2, 0]
    assert [len(piece) for piece in lists.pieces()] == [QUERIES_A_PIECE * 12, QUERIES_A_PIECE * 12, 12]


def test_a_run_without_lists_has_no_explorer(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", "mine", 0.1, audits=("exposure", "broken"))
    with_lists, without = (lists_of(run, audit) for audit in run.manifest.audits)
    assert with_lists is not None
    assert without is None
    shutil.rmtree(run.folder / "observations")
    assert explorers_of([run], Pictures()) == []


def test_an_audit_that_is_not_installed_has_no_explorer(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", "mine", 0.1)
    del AUDITS.entries["exposure"]
    assert lists_of(run, "exposure") is None
    AUDITS.register("exposure", about="")(replace(EXPOSURE, explore=lambda _: None))
    assert lists_of(run, "exposure") is None
    AUDITS.register("exposure", about="")(EXPOSURE)
    assert lists_of(run, "exposure") is not None


def test_pictures_and_attributes_of_queries_and_items_are_kept(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", "mine", 0.5, audits=("preference",))
    pictures = Pictures()
    (explorer,) = explorers_of([run], pictures)
    meta = json.loads(opened(dict(explorer.pieces), f"{explorer.id}-meta"))
    assert meta["asked"]["country"]["values"] == ["Kenya", "Thailand", "USA"]
    assert meta["asked"]["language"]["values"] == ["en", "th", "sw"]
    assert meta["languages"]["th"] == ["Thai", "ltr"]
    assert meta["attributes"] == {}
    assert meta["pictured"]["queries"] is None
    # In the order of first mention: with this skew the picture of the culture wins.
    texts = json.loads(opened(dict(explorer.pieces), f"{explorer.id}-texts-0"))
    assert dict(zip(texts, meta["pictured"]["items"], strict=True)) == {
        "cultural": 0,
        "semantic": 1,
        "non-relevant": 2,
    }
    assert set(meta["runs"][0]["firstRight"]) == {2}
    assert len(pictures.pieces()) == 1
