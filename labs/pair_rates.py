"""How often two systems that are alike are said to differ, and two that are not.

    python -m labs.pair_rates [--seeds 100] [--sizes 100,300,1000] [--jobs 2] [--write-docs]

Both systems are asked the same; what they are is drawn for each of them anew. A headline counts as different
where its p value is at most .05, before Holm's correction. What was counted is in `OUT`; each seed of a pair
is kept as soon as it is known. With --write-docs it is put into docs/error-rates.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from labs.error_rates import (
    amplification,
    association,
    decorrelation,
    individual,
    knowledge,
    memory,
    parity,
    prevalence,
    social,
)
from labs.error_rates.page import PAGE
from labs.error_rates.running import append, one_thread_each, wilson
from labs.marked import write_part
from numpy.typing import NDArray

from equiview.audits import AUDITS
from equiview.data.observations import Observations
from equiview.io.tables import write_bytes
from equiview.studies.differences import difference

Two = tuple[Observations, Observations]
Floats = NDArray[np.float64]
OUT = Path(__file__).parent / "results" / "pair_rates.csv"
PART = "pairs: python -m labs.pair_rates --write-docs"
REPLICATES = 300
DIFFERENT = 0.05
LANGUAGES = 12


@dataclass(frozen=True)
class Pair:
    """Two systems under one audit. `differ` says which of its metrics truly do; the others are alike."""

    name: str
    audit: str
    make: Callable[[int, int], Two]
    note: str
    differ: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()

    def counted(self, metric: str) -> bool:
        """Whether the truth of this metric is known: all that are not said to differ, or those of `alike`."""
        return metric in self.differ or not self.alike or metric in self.alike


def apart(make: Callable[[int, int], Observations]) -> Callable[[int, int], Two]:
    """Two of one maker, by seeds that no other pair has."""
    return lambda seed, size: (make(2 * seed, size), make(2 * seed + 1, size))


def hub_encoders(seed: int, size: int) -> Two:
    """Two encoders with hubs among the captions, over one pool."""
    first, second = (
        prevalence.of_vectors(own, size, lean=1.0, noise=1.0, common=2.0) for own in (2 * seed, 2 * seed + 1)
    )
    return first, second


def removing(
    first: decorrelation.Score, second: decorrelation.Score, gone: int | None = None
) -> Callable[[int, int], Two]:
    """Two systems by the same pictures of missing things, of `gone` classes if given."""

    def make(seed: int, size: int) -> Two:
        rng = np.random.default_rng(seed)
        kept, removed, captions = decorrelation.world(size, rng)
        if gone:
            taken = rng.choice(decorrelation.N_CLASSES, size=gone, replace=False)
            decorrelation.without(kept, removed, taken, rng)

        def one(score: decorrelation.Score) -> Observations:
            scores = score(kept, captions, removed, rng)
            items = np.argsort(-scores, axis=1, kind="stable")[:, : decorrelation.DEPTH]
            listed = np.take_along_axis(scores, items, axis=1)
            return decorrelation.observed(kept, removed, captions, items, listed)

        return one(first), one(second)

    return make


def spread(*levels: tuple[float, float], one: bool = False) -> Callable[[int, int], Two]:
    """Two encoders by mean and half range of their languages' R@1; images are hard for both alike.

    Languages lie evenly between the ends; `one`: one language is at the lower end, the others alike.
    """
    codes = parity.ALL[:LANGUAGES]
    steps = np.eye(1, LANGUAGES)[0] * -2 if one else np.linspace(-1, 1, LANGUAGES)

    def make(seed: int, size: int) -> Two:
        rng = np.random.default_rng(seed)
        shared = rng.normal(size=(size, 1))

        def table(level: float, half: float) -> Observations:
            from scipy.special import ndtr

            chances = np.clip(level + half * (steps - steps.mean()), 0, 1)
            hits = {}
            for direction in parity.DIRECTIONS:
                own = rng.normal(size=(size, LANGUAGES))
                eased = np.sqrt(parity.ALIKE) * shared + np.sqrt(1 - parity.ALIKE) * own
                hits[direction] = np.asarray(ndtr(eased) < chances)
            return parity.tables(matches=parity.matched(hits, codes))

        first, second = levels
        return table(*first), table(*second)

    return make


def same_knowledge(seed: int, size: int) -> Two:
    """Two models that each know 60% of the facts, the same ones in every language."""
    truth_rng = np.random.default_rng(seed)
    truth = truth_rng.integers(knowledge.OPTIONS, size=size)

    def one(own: int) -> Observations:
        rng = np.random.default_rng(own)
        known = knowledge.same(knowledge.LEVEL, size, rng)
        guesses = rng.integers(knowledge.OPTIONS, size=known.shape)
        return knowledge.observed(np.where(known, truth[:, None], guesses), truth)

    return one(2 * seed), one(2 * seed + 1)


def same_pull(effect: float) -> Callable[[int, int], Two]:
    """Two systems with the same pull of culture, over the same trials."""

    def make(seed: int, size: int) -> Two:
        rng = np.random.default_rng(seed)
        concept, country, *_ = association.drawn(rng, size)

        def one() -> Observations:
            chance = rng.random(size)
            cultural = association.MISTAKES + effect * association.TOLERANCE
            winner = np.where(
                chance < association.MISTAKES, 2, np.where(chance < association.MISTAKES + cultural, 1, 0)
            )
            return association.observed(concept, country, np.eye(3)[winner] + 0.5 * rng.random((size, 3)))

        return one(), one()

    return make


def saying(drawing: amplification.Drawing, replied: amplification.Replied) -> Callable[[int, int], Two]:
    """Two subjects that say things of the same pictures, each with its own mistakes."""

    def make(seed: int, size: int) -> Two:
        rng = np.random.default_rng(seed)
        world = drawing(size, rng)
        first, second = (
            amplification.observed(replied(world.women, world.truth, rng), world.data) for _ in range(2)
        )
        return first, second

    return make


def galleries(first: social.World, second: social.World) -> Callable[[int, int], Two]:
    """Two systems that show the same people."""
    return lambda seed, size: (first.observed(seed, size, 1), second.observed(seed, size, 2))


HUBS, BLIND = decorrelation.seeing(hubs=1.0), social.World(social.GENDER)
ONE_LIST = social.World(social.GENDER, common=0.9)
SPREADS = ("range over languages", "sd over languages")
PAIRS = (
    Pair("two with hubs", "prevalence", hub_encoders, "encoders whose captions have hubs, each its own"),
    Pair(
        "two with hubs",
        "decorrelation",
        removing(HUBS, HUBS),
        "some captions are liked by all, each system its own",
    ),
    Pair(
        "hubs, 12 classes",
        "decorrelation",
        removing(HUBS, HUBS, 12),
        "the same, things of 12 classes are gone",
    ),
    Pair(
        "precise and not",
        "decorrelation",
        removing(decorrelation.seeing(precise=0.5), decorrelation.seeing()),
        "one dislikes captions of what is not there",
        ("ODmAP",),
        ("ODmAP",),
    ),
    Pair(
        "even, 1.00 and .86", "parity", spread((1.0, 0), (0.86, 0)), "no language differs", ("R@1",), SPREADS
    ),
    Pair("even, .95 and .5", "parity", spread((0.95, 0), (0.5, 0)), "no language differs", ("R@1",), SPREADS),
    Pair(
        "as uneven, .85 and .5",
        "parity",
        spread((0.85, 0.1), (0.5, 0.1)),
        "languages lie as far apart",
        ("R@1",),
        SPREADS,
    ),
    Pair(
        "one lower, .8 and .5",
        "parity",
        spread((0.8, 0.1), (0.5, 0.1), one=True),
        "one language is lower by .2 in both",
        ("R@1",),
        SPREADS,
    ),
    Pair(
        "more uneven",
        "parity",
        spread((0.9, 0), (0.8, 0.15)),
        "languages of one lie up to .3 apart",
        (*SPREADS, "R@1"),
        SPREADS,
    ),
    Pair(
        "the same facts", "knowledge", same_knowledge, "models that know as much, the same in each language"
    ),
    Pair("as good", "memory", apart(memory.blind(memory.noise(0.05))), "models that describe as well"),
    Pair("as near", "individual", apart(individual.blind(2, individual.noise(0.1))), "encoders as noisy"),
    Pair("no pull", "association", same_pull(0.0), "mistakes at random"),
    Pair("the same pull", "association", same_pull(2.0), "of twice the tolerance"),
    Pair(
        "two blind",
        "social",
        galleries(BLIND, BLIND),
        "lists do not depend on whom images show",
    ),
    Pair(
        "two blind lists",
        "social",
        galleries(ONE_LIST, ONE_LIST),
        "the same, nearly one list for all prompts, each system its own",
    ),
    Pair(
        "blind and tied",
        "social",
        galleries(BLIND, social.World(social.GENDER, favour={"gender": social.TIE})),
        "one shows 70% of one gender for each prompt",
        ("MaxSkew beyond chance",),
    ),
    Pair(
        "two who answer",
        "amplification",
        saying(amplification.questions, amplification.answering(amplification.leaning(0.0))),
        "right in 60%, else anything",
    ),
    Pair(
        "two captioners",
        "amplification",
        saying(amplification.captions, amplification.captioning(amplification.leaning(0.0))),
        "right in 60%, else anything",
    ),
    Pair(
        "two that lean",
        "amplification",
        saying(amplification.captions, amplification.captioning(amplification.leaning(0.4))),
        "right in 60%, else what goes with who is shown",
    ),
)


def tested(place: int, seed: int, size: int) -> dict[str, Any]:
    """The p values of all headlines of one pair."""
    pair = PAIRS[place]
    entry = AUDITS.get(pair.audit)
    chosen = {"shuffles": 0} if pair.audit == "amplification" else {}
    settings = entry.configure({"replicates": REPLICATES, "seed": 0} | chosen)
    first, second = (
        entry.values(entry.view(observed, settings), settings) for observed in pair.make(seed, size)
    )
    found = {}
    for headline in entry.headlines:
        if headline.columns(first, second) and pair.counted(headline.quantity.metric):
            share = getattr(settings, headline.tested) if headline.tested else 0.0
            row = difference(headline, first, second, replicates=REPLICATES, seed=seed, share=share)
            if row["n"] and np.isfinite(row["p"]):
                found[headline.quantity.label()] = (headline.quantity.metric, float(row["p"]))
    return {"pair": pair.name, "audit": pair.audit, "seed": seed, "size": size, "p": found}


def run(seeds: int, sizes: Sequence[int], jobs: int, raw: Path, audits: Sequence[str]) -> None:
    """Test what `raw` does not have yet."""
    known = {(row["audit"], row["pair"], row["seed"], row["size"]) for row in lines(raw)}
    missing = [
        (place, seed, size)
        for seed in range(seeds)
        for place, pair in enumerate(PAIRS)
        for size in sizes
        if (not audits or pair.audit in audits) and (pair.audit, pair.name, seed, size) not in known
    ]
    from rich.progress import track

    context = multiprocessing.get_context("spawn")
    with one_thread_each(), ProcessPoolExecutor(jobs, mp_context=context) as pool:
        futures = [pool.submit(tested, *case) for case in missing]
        for future in track(as_completed(futures), "testing", total=len(futures)):
            append(raw, future.result())


def lines(raw: Path) -> Iterator[dict[str, Any]]:
    """What was tested already."""
    if raw.exists():
        yield from map(json.loads, raw.read_text("utf-8").splitlines())


def counts(raw: Path) -> pl.DataFrame:
    """How often each headline of each pair was said to differ."""
    differs: dict[tuple[str, ...], Counter[bool]] = defaultdict(Counter)
    for row in lines(raw):
        for label, (metric, p) in row["p"].items():
            differs[row["audit"], row["pair"], label, metric, row["size"]][p <= DIFFERENT] += 1
    truths = {(pair.audit, pair.name): pair for pair in PAIRS}
    places = {key: place for place, key in enumerate(truths)}
    rows = [
        {
            "audit": audit,
            "pair": pair,
            "headline": label,
            "truth": "differ" if metric in truths[audit, pair].differ else "alike",
            "size": size,
            "seeds": count.total(),
            "differ": count[True],
        }
        for (audit, pair, label, metric, size), count in sorted(
            differs.items(), key=lambda item: (places[item[0][:2]], item[0][2:])
        )
    ]
    return pl.DataFrame(rows)


def table(found: pl.DataFrame) -> Iterator[str]:
    """A row of the page for each pair and size, those that are alike first, and how often of all tests."""
    counted = found.with_columns(share=pl.col("differ") / pl.col("seeds"))
    alike = counted.filter(truth="alike")
    share = alike["differ"].sum() / alike["seeds"].sum()
    yield f"Of {alike['seeds'].sum():,} tests of what is alike {share:.1%} say that it differs."
    yield ""
    yield "| audit | pair | what it is | queries | seeds | said to differ, of all tests | most often, in |"
    yield "|---" * 7 + "|"
    for truth in ("alike", "differ"):
        for pair in PAIRS:
            here = counted.filter(audit=pair.audit, pair=pair.name, truth=truth)
            here = here.filter(pl.col("headline").str.starts_with("R@1").not_())  # differs by design
            for size in sorted(here["size"].unique()):
                yield _row(pair, truth, here.filter(size=size))


def _row(pair: Pair, truth: str, here: pl.DataFrame) -> str:
    """A pair at one size; where it truly differs, that is said."""
    most = here.sort("share", descending=True).row(0, named=True)
    of_all = f"{here['differ'].sum() / here['seeds'].sum():.1%}" + (" (truly)" if truth == "differ" else "")
    low, high = wilson(most["differ"], most["seeds"])
    share = f"{most['headline']}: {most['share']:.0%} [{100 * low:.1f}, {100 * high:.1f}]"
    about = f"{pair.audit} | {pair.name} | {pair.note} | {most['size']:,} | {most['seeds']}"
    return f"| {about} | {of_all} | {share} |"


def write_docs(found: pl.DataFrame, page: Path = PAGE) -> None:
    """Put the table between its marks."""
    write_part(page, PART, "\n".join(table(found)))


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(prog="python -m labs.pair_rates", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--sizes", default="100,300,1000")
    parser.add_argument("--audits", default="", help="names with commas between; all when not said")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--raw", type=Path, default=Path("pair_rates.jsonl"), help="what is kept of each pair"
    )
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    if options.write_docs:
        write_docs(pl.read_csv(options.out))
        return
    audits = options.audits.split(",") if options.audits else []
    run(options.seeds, [int(size) for size in options.sizes.split(",")], options.jobs, options.raw, audits)
    found = counts(options.raw)
    write_bytes(found.write_csv().encode(), options.out)
    with pl.Config(tbl_rows=-1, fmt_str_lengths=80):
        print(found)


if __name__ == "__main__":
    main()
