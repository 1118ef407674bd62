"""The explorer's pieces hold the lists that were observed."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from report_runs import drawing, make_run

from equiview.data.run import Run
from equiview.data.tables import write_parquet
from equiview.report.embed import Pictures
from equiview.report.explorer import LEVELS, NOTHING, QUERIES_A_PIECE, Lists, explorers
from equiview.report.lists import observed


def opened(pieces: dict[str, str], name: str) -> bytes:
    return gzip.decompress(base64.b64decode(pieces[name]))


def test_pieces_give_back_every_rank(runs: list[Run]) -> None:
    (found,) = explorers(runs, Pictures())
    pieces = dict(found.pieces)
    meta: dict[str, Any] = json.loads(opened(pieces, f"{found.id}-meta"))
    texts = json.loads(opened(pieces, f"{found.id}-texts-0"))
    assert [run["name"] for run in meta["runs"]] == [run.name for run in runs]
    codes = np.frombuffer(opened(pieces, f"{found.id}-language"), dtype="<u2")
    for index, run in enumerate(runs):
        about, folder = meta["runs"][index], run.folder / "observations"
        expected = pl.read_parquet(folder / "prevalence.rankings.parquet").join(
            pl.read_parquet(folder / "prevalence.items.parquet"), on="item_id", maintain_order="left"
        )
        planes = np.frombuffer(opened(pieces, f"{found.id}-lists-{index}-0"), np.uint8).astype(int)
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
    assert lists.first_right()[0] == 2
    assert lists.first_right()[1] == 0
    assert [len(piece) for piece in lists.pieces()] == [QUERIES_A_PIECE * 12, QUERIES_A_PIECE * 12, 12]


def test_a_run_without_lists_has_no_explorer(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", "mine", 0.1)
    (run.folder / "observations" / "prevalence.rankings.parquet").unlink()
    assert explorers([run], Pictures()) == []


def test_trials_are_lists_of_three_in_the_order_of_their_scores(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", "mine", 0.1)
    folder = run.folder / "observations"
    for path in folder.iterdir():
        path.unlink()
    roles = ("semantic", "cultural", "nonrelevant")
    scores = {f"{role}_score": [value, value] for role, value in zip(roles, (0.2, 0.2, 0.9), strict=True)}
    trials = pl.DataFrame(
        {"trial_id": ["t", "t"], "direction": ["text-to-image", "image-to-image"], "query_id": ["q", "q"]}
        | {f"{role}_id": [role, role] for role in roles}
        | {"concept": ["rice"] * 2, "country": ["Thailand"] * 2, "language": ["th"] * 2}
        | scores
    )
    texts = pl.DataFrame({"text_id": ["q"], "text": ["ข้าว"]})
    images = pl.DataFrame(
        {"image_id": roles, "concept": ["rice", "bus", "hat"], "country": ["Spain", "Thailand", "Kenya"],
         "picture": [drawing(1), None, drawing(1)]}
    )  # fmt: skip
    for name, table in (("trials", trials), ("texts", texts), ("images", images)):
        write_parquet(table, folder / f"prevalence.{name}.parquet")
    lists = observed(run, "prevalence")
    assert lists is not None
    assert lists.queries["label"].to_list() == ["ข้าว (rice, Thailand)"]
    ranked = lists.rankings.sort("rank")
    # The semantic image stands before the cultural one, which scores the same: the first of equals wins.
    assert ranked["item_id"].to_list() == ["nonrelevant", "semantic", "cultural"]
    assert ranked["relevant"].to_list() == [False, True, False]
    pictures = Pictures()
    (found,) = explorers([run], pictures)
    meta = json.loads(opened(dict(found.pieces), f"{found.id}-meta"))
    assert meta["asked"]["country"] == {"values": ["Thailand"], "codes": [0]}
    assert meta["pictured"] == {"queries": None, "items": [0, 0, None]}
    assert len(pictures.pieces()) == 1
