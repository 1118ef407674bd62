"""The explorer at the size of Crossmodal-3600: 3,600 queries by 100 ranks of two systems, in one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from report_runs import drawing, make_run, rewrite

from equiview.data.languages import languages
from equiview.report import page

if TYPE_CHECKING:
    from browser import Page

QUERIES, RANKS, CAPTIONS = 3600, 100, 72
PATIENCE = 10.0  # seconds; on a quiet machine each takes a twentieth of one

ACTS = """
const done = arguments[arguments.length - 1];
(async () => {
  const place = document.querySelector("[data-explorer]");
  const at = (part) => place.querySelector(`[data-part="${part}"]`);
  const times = {};
  async function time(name, part, act) {
    const began = performance.now();
    const changed = new Promise((resolve) => {
      const watch = new MutationObserver(() => { watch.disconnect(); requestAnimationFrame(resolve); });
      watch.observe(at(part), { childList: true });
    });
    act();
    await changed;
    times[name] = (performance.now() - began) / 1000;
  }
  function set(name, value) {
    const select = place.querySelector(`[data-choice="${name}"]`);
    select.value = value;
    select.dispatchEvent(new Event("change"));
  }
  function type(words) {
    at("search").value = words;
    at("search").dispatchEvent(new Event("input"));
  }
  await time("search", "list", () => type("number 35"));
  await time("all queries", "list", () => type(""));
  await time("systems differ", "list", () => set("first result", "differ"));
  await time("next page", "list", () => at("on").click());
  await time("choose a query", "lists", () => at("list").querySelectorAll("button")[3].click());
  await time("one language", "lists", () => set("language", "3"));
  await time("all languages", "lists", () => set("language", ""));
  await time("wrong ones", "lists", () => set("correctness", "0"));
  await time("all ranks", "lists", () => at("all").click());
  done(JSON.stringify(times));
})();
"""


def test_nothing_freezes_at_full_size(window: Page, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    count = QUERIES * CAPTIONS
    spoken = languages().sample(count, with_replacement=True, seed=0)
    items = pl.DataFrame({"item_id": np.arange(count)}).with_columns(
        pl.format("i{}", "item_id").alias("item_id"),
        pl.format("caption {} of number {}", pl.col("item_id"), pl.col("item_id") // CAPTIONS).alias("text"),
        spoken["code"].alias("language"),
        spoken["tier"],
    )
    named = pl.DataFrame({"query": np.arange(QUERIES)}).select(
        pl.format("q{}", "query").alias("query_id"),
        pl.format("number {}", "query").alias("label"),
        pl.Series("picture", [drawing(query) for query in range(QUERIES)]),
    )
    runs = []
    for name in ("first", "second"):
        run = make_run(tmp_path / name, name, 0.5)
        own = rng.integers(0, CAPTIONS, (QUERIES, 40)) + np.arange(QUERIES)[:, None] * CAPTIONS
        near = (own[:, :1] + rng.integers(-20_000, 20_000, (QUERIES, RANKS - 40))) % count
        ranked = rng.permuted(np.concatenate([own, near], axis=1), axis=1)
        table = pl.DataFrame(
            {
                "query": np.repeat(np.arange(QUERIES), RANKS),
                "rank": np.tile(np.arange(1, RANKS + 1, dtype=np.int32), QUERIES),
                "item": ranked.ravel(),
                "score": -np.sort(-rng.random((QUERIES, RANKS)), axis=1).ravel(),
                "relevant": (ranked // CAPTIONS == np.arange(QUERIES)[:, None]).ravel(),
            }
        ).select(
            pl.format("q{}", "query").alias("query_id"), "rank", pl.format("i{}", "item").alias("item_id"),
            "score", "relevant",
        )  # fmt: skip
        for what, content in (("queries", named), ("items", items), ("rankings", table)):
            rewrite(run, f"observations/exposure.{what}.parquet", content)
        runs.append(run)
    path = tmp_path / "large.html"
    path.write_bytes(page(runs))
    window.open(path)
    window.run("document.querySelector('[data-explorer]').scrollIntoView()")
    window.until("return document.querySelector('[data-explorer]').dataset.ready === 'yes'")
    window.driver.set_script_timeout(300)
    times = json.loads(window.driver.execute_async_script(ACTS))
    assert {act: seconds for act, seconds in times.items() if seconds > PATIENCE} == {}
    assert window.problems() == []
