"""How often intervals hold the truth: every kind that is reported, at several numbers of queries.

    python -m labs.coverage [--runs 2000] [--replicates 1000] [--out docs/coverage.md]

Queries are drawn from distributions whose truth is known. Coverage is the share of runs whose 95% interval
holds it; its standard error is half a point at 2,000 runs. Without --out the table is printed. With it the
part of the page between its two marks is written anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from labs.error_rates.decorrelation import ranked, seeing
from labs.error_rates.knowledge import knowing
from labs.marked import write_part
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from equiview.audits import AUDITS
from equiview.audits.amplification.leaning import Tasks
from equiview.audits.decorrelation.measure import EXCESS
from equiview.audits.knowledge import KNOWLEDGE
from equiview.audits.knowledge.lost import lost_of_pairs
from equiview.metrics import demographic_divergence, dlbkl
from equiview.stats import (
    blind_rankings,
    bootstrap_means,
    interval,
    joint_level,
    largest_deviations,
    matched_exposure,
    maximum_interval,
    mean_interval,
    pearson_interval,
    quantile_interval,
    share_ratio,
    squares_interval,
    widened,
)

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]
SIZES = (10, 20, 50, 100, 500, 3600)
PART = "coverage"
FUNCTIONS = ("gap of two rates, 30% and 20%", "ratio of wins, 20% to 60%")
AT_ONCE = 2_000_000
LEAST_QUESTIONS = 50
"""Questions below which lost consistency is not simulated: the audit judges nothing below 100."""


def populations(rng: np.random.Generator) -> dict[str, tuple[Callable[[tuple[int, int]], Floats], float]]:
    """Kinds of values: how to draw a table of them, and their mean."""
    lists = blind_rankings(np.full(36, 7200), k=10, draws=200_000, seed=0)
    rare, usual = dlbkl(lists[:, :2], 36, prior="uniform"), dlbkl(lists, 36, prior="uniform")

    def of(values: Floats) -> Callable[[tuple[int, int]], Floats]:
        return lambda shape: values[rng.integers(0, len(values), shape)]

    rates = {
        f"hits, {rate:.0%} of queries": (lambda s, rate=rate: (rng.random(s) < rate) * 1.0, rate)
        for rate in (0.5, 0.1, 0.02)
    }
    return rates | {
        "DLBKL@2 of 36 languages (two values, 3% rare)": (of(rare), float(rare.mean())),
        "DLBKL@10 of 36 languages": (of(usual), float(usual.mean())),
        "normal": (lambda s: rng.normal(size=s), 0.0),
        "log-normal (skewness 6)": (lambda s: rng.lognormal(size=s), float(np.exp(0.5))),
    }


def bca(values: Floats, draws: Floats) -> Ends:
    """Efron's bias-corrected and accelerated ends, for comparison; the jackknife of a mean in closed form."""
    mean, apart = values.mean(axis=0), values - values.mean(axis=0)
    below = ((draws < mean) + 0.5 * (draws == mean)).mean(axis=0)
    bias = ndtri(np.clip(below, 1 / len(draws), 1 - 1 / len(draws)))
    second = (apart**2).sum(axis=0)
    slope = np.where(second > 0, (apart**3).sum(axis=0) / (6 * np.where(second > 0, second, 1) ** 1.5), 0)
    ordered, ends = np.sort(draws, axis=0), []
    for z in (-1.959964, 1.959964):
        place = ndtr(bias + (bias + z) / (1 - slope * (bias + z))) * (len(draws) - 1)
        ends.append(np.take_along_axis(ordered, np.rint(place).astype(int)[None], axis=0)[0])
    return ends[0], ends[1]


def of_means(runs: int, replicates: int) -> Iterator[tuple[str, str, int, float]]:
    """(kind, interval, n, coverage) of means."""
    rng = np.random.default_rng(1)
    for kind, (draw, truth) in populations(rng).items():
        for n in SIZES:
            held: dict[str, list[Floats]] = {"reported": [], "percentile": [], "BCa": []}
            for part in _parts(runs, n):
                values = draw((n, part))
                draws = bootstrap_means(values, replicates=replicates, seed=int(rng.integers(2**31)))
                ours = mean_interval(values)
                ends = {"reported": (ours.low, ours.high), "percentile": interval(draws)}
                for name, (low, high) in (ends | {"BCa": bca(values, draws)}).items():
                    inside = (low <= truth + 1e-9) & (truth - 1e-9 <= high)
                    held[name].append(np.where(np.isnan(low), np.nan, inside))
            for name, parts in held.items():
                yield f"mean: {kind}", name, n, float(np.nanmean(np.concatenate(parts)))


def of_functions(runs: int, replicates: int) -> Iterator[tuple[str, str, int, float]]:
    """(kind, interval, n, coverage) of differences and ratios of means, from percentiles of draws."""
    rng = np.random.default_rng(2)
    for n in SIZES:
        held: dict[str, list[NDArray[np.bool_]]] = {
            "gap of two rates, 30% and 20%": [],
            "ratio of wins, 20% to 60%": [],
        }
        for part in _parts(runs, 2 * n):
            trial = rng.random((n, part))
            first, second = (trial < 0.3) * 1.0, (rng.random((n, part)) < 0.2) * 1.0
            few, many = (trial < 0.2) * 1.0, (trial >= 0.4) * 1.0
            seed = int(rng.integers(2**31))
            one, two, top, under = (
                bootstrap_means(table, replicates=replicates, seed=seed)
                for table in (first, second, few, many)
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = (interval(one - two), interval(top / under))
            for (low, high), truth, parts in zip(ends, (0.1, 1 / 3), held.values(), strict=True):
                parts.append((low <= truth) & (truth <= high))
        for kind, parts in held.items():
            yield kind, "reported", n, float(np.concatenate(parts).mean())


GROUPS = {
    "KL of R of 2 groups, 60 and 60%": (0.6, 0.6),
    "KL of R of 2 groups, 60 and 50%": (0.6, 0.5),
    "KL of R of 3 groups, 60, 50 and 40%": (0.6, 0.5, 0.4),
    "KL of R of 7 groups, one of 50%, others of 60%": (0.6,) * 6 + (0.5,),
}
"""R@k of groups of equally many images."""


def of_divergences(runs: int, replicates: int) -> Iterator[tuple[str, str, int, float]]:
    """(kind, interval, n, coverage) of KL between groups of n images each."""
    rng = np.random.default_rng(4)
    few = min(runs, 500)
    for kind, rates in GROUPS.items():
        truth = demographic_divergence(rates)
        for n in SIZES:
            held: dict[str, list[bool]] = {"reported": [], "percentile": []}
            for _ in range(few):
                scores = rng.binomial(n, rates) / n
                if not scores.any():
                    continue
                drawn = rng.binomial(n, scores, size=(replicates, len(rates)))
                draws = np.array([demographic_divergence(row) if row.any() else np.nan for row in drawn])
                value = demographic_divergence(scores)
                ends = {
                    "reported": squares_interval(value, draws, len(rates) - 1),
                    "percentile": interval(draws),
                }
                for name, (low, high) in ends.items():
                    held[name].append(bool(low <= truth + 1e-12 and truth - 1e-12 <= high))
            for name, parts in held.items():
                yield kind, name, n, float(np.mean(parts))


def of_others(runs: int) -> Iterator[tuple[str, str, int, float]]:
    """(kind, interval, n, coverage) of quantiles, maxima and correlations."""
    rng = np.random.default_rng(3)
    shares, truths = [0.5, 0.9, 0.99], np.log(1 / (1 - np.array([0.5, 0.9, 0.99])))
    few = min(runs, 500)
    for n in SIZES:
        quantiles, largest, together = np.zeros(3), 0, 0
        for _ in range(few):
            values = rng.exponential(size=n)
            found = quantile_interval(values, shares)
            quantiles += (found.low <= truths) & (truths <= found.high)
            low, high = maximum_interval(rng.random(n))
            largest += low <= 1 <= high
            x, noise = rng.normal(size=(2, n))
            pearson = pearson_interval(x, 0.5 * x + np.sqrt(0.75) * noise)
            together += pearson.low <= 0.5 <= pearson.high
        for share, count in zip(shares, quantiles, strict=True):
            none = np.isnan(quantile_interval(np.arange(n), [share]).low).any()
            yield f"quantile {share} of an exponential", "reported", n, np.nan if none else count / few
        yield "maximum of uniform values (a bound from below)", "reported", n, largest / few
        yield "Pearson's correlation of .5", "reported", n, together / few


HUBS = {3: "3 classes", 12: "12 classes", None: "40 classes"}
"""How many classes of objects were taken away."""


def of_excess(runs: int) -> Iterator[tuple[str, str, int, float]]:
    """(kind, interval, n, coverage) of excess naming over n images, where some captions are liked by all."""
    decorrelation = AUDITS.get("decorrelation")
    settings = decorrelation.configure({"replicates": 100})
    for gone, name in HUBS.items():
        for n in SIZES:
            held: list[float] = []
            for seed in range(min(runs, 100)):
                observed = ranked(seed, n, seeing(hubs=1.0), gone=gone)
                view = decorrelation.view(observed, settings)
                row = decorrelation.measure(view, settings).one(EXCESS, settings.judged_at)
                held.append(float(row.low <= 0 <= row.high) if row.has_interval else np.nan)
            known = [inside for inside in held if not np.isnan(inside)]
            yield (
                f"excess naming, hubs, {name} taken away",
                "reported",
                n,
                np.mean(known) if known else np.nan,
            )


def of_hubs(runs: int) -> Iterator[tuple[str, str, int, float]]:
    """(kind, interval, n, coverage) of exposure ratios where the same captions stand in many lists.

    Truth is that of all captions and queries that there might be: 1, or .93 for a language shown less.
    """
    few = min(runs, 300)
    for truth in (1.0, 0.93):
        for n in SIZES[2:-1]:
            held = 0.0
            for seed in range(few):
                rng = np.random.default_rng(seed)
                image, language = np.repeat(np.arange(n), 4), np.tile(np.arange(4), n)
                # Of the first language others have 1; for a ratio of t to the mean it needs 3t / (4 - t).
                popular = rng.exponential(size=4 * n)
                popular[language == 0] *= 3 * truth / (4 - truth)
                ranked = rng.choice(4 * n, size=(n, 10), p=popular / popular.sum())
                low, high = matched_exposure(ranked, image, language, 4, [10]).interval()
                held += bool(low[0, 0] <= truth <= high[0, 0])
            yield f"exposure ratio of {truth:g}, hub captions", "reported", n, held / few
        for n in {*SIZES} - {*SIZES[2:-1]}:
            yield f"exposure ratio of {truth:g}, hub captions", "reported", n, np.nan


def of_amplification(runs: int) -> Iterator[tuple[str, str, int, float]]:
    """(kind, interval, n, coverage) of amplification where mistakes lean as the truth does: 0."""
    few, replicates, groups = min(runs, 200), 200, ["women", "men"]
    for lean in (0.0, 0.2):
        for n in SIZES[2:-1]:
            held = 0
            for seed in range(few):
                rng = np.random.default_rng([5, seed])
                shown = np.concatenate([[0, 1], rng.integers(0, 2, n - 2)])
                first = 0.5 + np.where(shown == 0, lean, -lean) / 2
                true, wrong = (3 * (rng.random(n) > first) + rng.integers(0, 3, n) for _ in range(2))
                replied = np.where(rng.random(n) < 0.6, true, wrong)
                kept = np.bincount(true, minlength=6) > 0
                said, truth = (np.eye(6)[labels][:, kept] for labels in (replied, true))
                names = [f"thing {place}" for place in np.flatnonzero(kept)]
                tasks = Tasks(groups, names, np.arange(n), shown, np.arange(n), said, truth)
                of_reply, of_people = tasks.leaning()
                gained = of_reply - of_people
                value = np.mean([gained[shown == group].mean() for group in (0, 1)])
                low, high = interval(value + tasks.redrawn(replicates, seed))
                held += bool(low <= 0 <= high)
            yield f"amplification of 0, truth leans by {lean:g}", "reported", n, held / few
        for n in {*SIZES} - {*SIZES[2:-1]}:
            yield f"amplification of 0, truth leans by {lean:g}", "reported", n, np.nan


def of_largest(runs: int, replicates: int) -> Iterator[tuple[str, str, int, float]]:
    """(kind, interval, n, coverage) of the largest of 70 gaps of two rates, picked by its size."""
    rng, few = np.random.default_rng(5), min(runs, 500)
    for kind, truth in (("of 0", 0.0), ("of .2", 0.2)):
        for n in SIZES:
            held = {"its own": 0, "simultaneous": 0}
            for run in range(few):
                pivot = rng.random((n, 1)) < 0.7
                gaps = 1.0 * (rng.random((n, 70)) < 0.7 - truth) - pivot
                value = gaps.mean(axis=0)
                draws = bootstrap_means(gaps, replicates=replicates, seed=run)
                most = int(np.abs(value).argmax())
                ends = mean_interval(gaps[:, most])
                low, high = float(ends.low), float(ends.high)
                held["its own"] += low <= -truth <= high
                level = joint_level(largest_deviations(value, draws))
                low, high = widened(float(value[most]), low, high, level, n)
                held["simultaneous"] += low <= -truth <= high
            for name, count in held.items():
                yield f"largest of 70 gaps {kind}", name, n, count / few


def of_lost(runs: int) -> Iterator[tuple[str, str, int, float]]:
    """(kind, interval, n, coverage) of lost consistency where all languages know the same: truth is 0."""
    few, settings = min(runs, 200), KNOWLEDGE.configure({"replicates": 500})
    for share in (0.3, 0.6):
        for n in SIZES:
            held = 0
            for seed in range(few if n >= LEAST_QUESTIONS else 0):
                observed = knowing(seed, n, share=share)
                *_, value, draws = lost_of_pairs(KNOWLEDGE.view(observed, settings), settings)
                low, high = interval(draws.mean(axis=1))
                held += bool(min(low, value.mean()) <= 0 <= max(high, value.mean()))
            known = held / few if n >= LEAST_QUESTIONS else np.nan
            yield f"lost consistency, the same {share:.0%} known in 8 languages", "reported", n, known


def of_shares(runs: int) -> Iterator[tuple[str, str, int, float]]:
    """(kind, interval, n, coverage) of ln of a group's share of the images shown over its share of all."""
    rng = np.random.default_rng(6)
    for share, times in ((0.1, 1.0), (0.1, 0.5), (0.5, 1.0)):
        for n in SIZES:
            shown = rng.binomial(n, share * times, size=runs) / n
            found = [share_ratio(float(part), share, n, 0.1) for part in shown]
            held = np.mean([entry.low <= np.log(times) + 1e-12 <= entry.high + 2e-12 for entry in found])
            yield (
                f"log share ratio, {share:.0%} of the set, {times:g} times shown",
                "reported",
                n,
                float(held),
            )


def table(rows: Iterator[tuple[str, str, int, float]]) -> str:
    """A Markdown table: a row for each kind and interval, a column for each n."""
    cells: dict[tuple[str, str], dict[int, float]] = {}
    for kind, name, n, coverage in rows:
        cells.setdefault((kind, name), {})[n] = coverage
    header = f"| what | interval | {' | '.join(f'n = {n:,}' for n in SIZES)} |"
    lines = [header, "| :-- | :-- |" + " --: |" * len(SIZES)]
    for (kind, name), found in cells.items():
        written = " | ".join(
            "none" if np.isnan(found[n]) else f"{found[n]:.3f}".removeprefix("0") for n in SIZES
        )
        lines.append(f"| {kind} | {name} | {written} |")
    return "\n".join(lines)


def _parts(runs: int, n: int) -> Iterator[int]:
    size = max(1, AT_ONCE // n)
    for start in range(0, runs, size):
        yield min(size, runs - start)


def main() -> None:
    """Simulate, then print or write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    def rows() -> Iterator[tuple[str, str, int, float]]:
        yield from of_means(options.runs, options.replicates)
        yield from of_functions(options.runs, options.replicates)
        yield from of_divergences(options.runs, options.replicates)
        yield from of_others(options.runs)
        yield from of_excess(options.runs)
        yield from of_hubs(options.runs)
        yield from of_amplification(options.runs)
        yield from of_largest(options.runs, options.replicates)
        yield from of_lost(options.runs)
        yield from of_shares(options.runs)

    text = table(rows())
    if options.out is None:
        print(text)
        return
    write_part(options.out, PART, text)


if __name__ == "__main__":
    main()
