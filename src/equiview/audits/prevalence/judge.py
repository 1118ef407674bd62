"""Prevalence bias put into words."""

from __future__ import annotations

from equiview.audits.charts import named
from equiview.audits.judging import finding_of
from equiview.audits.prevalence.draw import nearest_cutoff
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.data.estimates import Estimate, Estimates
from equiview.data.languages import language_name
from equiview.data.verdict import Reading, Verdict

LIMITS = (
    "Even exposure is not correctness: read it beside accuracy and recall.",
    "Tiers follow the web's shares of languages (CommonCrawl CC-MAIN-2025-18), not numbers of speakers.",
)
ADVICE = (
    "Align other languages' texts to the encoder's strongest one (distillation on parallel captions).",
    "Until then, retrieve within each language and merge lists by rank instead of by score.",
)
MORALS = {
    (True, True): "The top is uneven, and languages are served unequally.",
    (True, False): "The top is uneven though each language is served alike: scores differ between languages.",
    (False, True): "The top is even, and still some languages are served worse.",
    (False, False): "Even by both.",
}
"""What exposure (uneven or not) and accuracy (apart or not) say together."""


def judge(estimates: Estimates, settings: PrevalenceSettings) -> Verdict:
    """Biased when DLBKL's interval lies above chance, fair when it does not rise above it."""
    row = _headline(estimates)
    if row is None or row.chance is None:
        return Verdict(
            finding="unclear",
            answer="The pool holds one tier of languages only, so no language can crowd out another tier.",
            limits=LIMITS,
        )
    k = row.quantity.k or 1
    favoured, low_share = _favoured(estimates)
    numbers = f"DLBKL@{k} {row:.2f}, chance {row.chance:.2f}"
    finding = finding_of(biased=row.low > row.chance, fair=row.high < row.chance * 1.5)
    answer = {
        "biased": f"Yes: the top {k} lean to {favoured} languages, "
        f"{row.value / row.chance:.1f} times as uneven as chance ({numbers}).",
        "fair": f"No: languages share the top {k} as evenly as chance would ({numbers}).",
        "unclear": f"Too few images to tell the top {k} from chance ({numbers}).",
    }[finding]
    return Verdict(
        finding=finding,
        answer=answer,
        evidence=tuple(filter(None, (low_share, _worst(estimates), _single(estimates, k)))),
        advice=ADVICE if finding == "biased" else (),
        limits=LIMITS,
        readings=_read_together(estimates, row),
    )


def _headline(estimates: Estimates) -> Estimate | None:
    """DLBKL by tier at 10, or at the last cutoff above 1 where lists are shorter."""
    if "grouping" not in estimates.keys:
        return None
    cutoffs = estimates.table.filter(metric="DLBKL", grouping="tier")["k"].to_list()
    deep = [k for k in cutoffs if k > 1]
    if not deep:
        return None
    return estimates.one("DLBKL", 10 if 10 in deep else deep[-1], grouping="tier")


def _favoured(estimates: Estimates) -> tuple[str, str]:
    k = nearest_cutoff(estimates, "share")
    row = estimates.maybe("share", k, tier="low")
    if row is None or row.chance is None:
        return "some", ""
    favoured = "much-written" if row.value < row.chance else "little-written"
    return (
        favoured,
        f"Low-tier languages write {row.chance:.0%} of the pool and get {row:.0%} of the top {k}.",
    )


def _worst(estimates: Estimates) -> str:
    table = named(estimates.by("language", "R", 1).table).sort("value", "language")
    if not len(table):
        return ""
    least = ", ".join(f"{row['name']} {row['value']:.0%}" for row in table.head(4).iter_rows(named=True))
    top = table.tail(1).row(0, named=True)
    return f"Worst served, by R@1 within the language: {least}; best: {top['name']} {top['value']:.0%}."


def _single(estimates: Estimates, k: int) -> str:
    row = estimates.one("single-group share", k, grouping="tier")
    return (
        f"{row.value:.0%} of images return one side only, low-tier languages or the others, "
        f"in their top {k}; by chance {row.chance:.1%} would."
    )


def _read_together(estimates: Estimates, even: Estimate) -> tuple[Reading, ...]:
    """Exposure beside accuracy: an even top can hide a language that fails.

    LBKL and DLBKL see only whose captions are shown. An aligned model in P's table has nearly none of either
    and yet finds captions of some languages far less often than those of others.
    """
    rows = sorted(
        estimates.by("language", "R", 1), key=lambda row: (row.value, row.quantity.keys["language"])
    )
    if not rows or even.chance is None:
        return ()
    worst, best = rows[0], rows[-1]
    uneven, apart = even.low > even.chance, worst.high < best.low
    served = ", ".join(
        f"{language_name(row.quantity.keys['language'])} {row.value:.1%}" for row in (worst, best)
    )
    sentence = (
        f"DLBKL@{even.quantity.k}, by tier {even.value:.3g} is {'' if uneven else 'not '}above chance; "
        f"R@1 within a language: {served}. {MORALS[uneven, apart]}"
    )
    return (Reading(title="Exposure and accuracy, read together", sentence=sentence),)
