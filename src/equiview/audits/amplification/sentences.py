"""Amplification put into words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from equiview.audits.amplification.leakage import MATCHED
from equiview.audits.amplification.measure import ABOVE, LEAN, SMALL
from equiview.audits.amplification.uncounted import UNCOUNTED
from equiview.audits.saying import filled, in_points, of_many, with_interval
from equiview.data.estimates import Estimate, Estimates

LIMITS = (
    "People's own answers and captions may be biased: what is judged is what the subject adds to that.",
    "Amplification is of what people say at all: a thing that only the subject names is seen by the "
    "classifier of captions alone.",
    "Content is what most people name on an image: a subject that is more consistent than people in what "
    "else goes with a group may seem to reveal it.",
)
UNMASKED = "attributes without words to mask: "
ADVICE = (
    "Balance who is shown doing what in the data the subject learns from, or train it to look at the person "
    "and run this again: getting the words for people right does not by itself lower leakage.",
)


def answer(begin: str, effects: Iterable[Estimate], among: int) -> str:
    """What each effect says, of `among` that were tested, with intervals that hold for all."""
    return f"{begin}: {', and '.join(map(_claim, effects))}{of_many(among)}."


def _claim(effect: Estimate) -> str:
    attribute, by = effect.keys["attribute"], with_interval(effect.of_many())
    side = "more" if effect.value >= 0 else "less"
    if effect.quantity.metric == ABOVE:
        return (
            f"captions without its words reveal {attribute} {side} than human captions do, and than what is "
            f"on the images explains, by {by}"
        )
    return f"what is said goes with {attribute} {side} than what people say, by {by}"


def unmasked(estimates: Estimates) -> list[str]:
    """That the words for an attribute are not known, so that captions keep them."""
    names = [what.removeprefix(UNMASKED) for what in _left_out(estimates) if what.startswith(UNMASKED)]
    return [f"No list says which words reveal {name}; none were masked." for name in names]


def too_small(estimates: Estimates) -> list[str]:
    """Groups of too few images, with their attribute."""
    return [what.removeprefix(SMALL) for what in _left_out(estimates) if what.startswith(SMALL)]


def uncounted(estimates: Estimates) -> Iterator[str]:
    """Replies that do not count, by attribute, where one group has more of them than another."""
    rows: dict[str, list[Estimate]] = {}
    for row in estimates.by(("attribute", "group"), UNCOUNTED):
        rows.setdefault(row.keys["attribute"], []).append(row)
    for attribute, of in rows.items():
        shares = ", ".join(f"{row.keys['group']} {row.value:.0%}" for row in of)
        yield f"replies that are missing or none of people's answers, by {attribute} ({shares})"


def evidence(estimates: Estimates) -> Iterator[str]:
    """How good replies are for each group, what goes with it, and what captions reveal."""
    names = estimates.table["attribute"].drop_nulls() if "attribute" in estimates.keys else ()
    attributes = list(dict.fromkeys(map(str, names)))
    for metric, spec in (("accuracy", ".1%"), ("CIDEr", ".3f")):
        yield from (_levels(estimates, attribute, metric, spec) for attribute in attributes)
    for attribute in attributes:
        dba = estimates.maybe("DBA", attribute=attribute, variant="paper")
        replies, humans = _both(estimates, LEAN, attribute)
        if replies and humans and dba:
            yield (
                f"What goes with {attribute}: {in_points(replies.value)} in replies, "
                f"{in_points(humans.value)} in what people say. Directional bias amplification {dba:.4f}, "
                f"with people shuffled {dba.chance:.4f}."
            )
    for attribute in attributes:
        replies, humans = _both(estimates, "leakage", attribute)
        if replies and humans:
            of_content = estimates.maybe("leakage", attribute=attribute, of=MATCHED)
            floor = "" if replies.chance is None else f"; with people shuffled {100 * replies.chance:.1f}"
            yield (
                f"Leakage of {attribute}, out of 100: {100 * replies.value:.1f} in replies, "
                f"{100 * humans.value:.1f} in human captions{floor}"
                + (
                    f"; with people permuted within content {100 * of_content.value:.1f}."
                    if of_content
                    else "."
                )
            )
    counts = _left_out(estimates).items()
    yield filled(
        "Left out: {}.", (f"{n:,} {what}" for what, n in counts if n and not what.startswith(UNMASKED))
    )


def _both(estimates: Estimates, metric: str, attribute: str) -> tuple[Estimate | None, Estimate | None]:
    """A metric of replies, and of what people say."""
    return (
        estimates.maybe(metric, attribute=attribute, of="replies"),
        estimates.maybe(metric, attribute=attribute, of="humans"),
    )


def _levels(estimates: Estimates, attribute: str, metric: str, spec: str) -> str:
    rows = estimates.by("group", metric, attribute=attribute)
    levels = ", ".join(f"{row.keys['group']} {row.value:{spec}} (n {row.n:,})" for row in rows)
    divergence = estimates.maybe(f"KL of {metric}", attribute=attribute)
    if not levels or divergence is None:
        return ""
    return (
        f"{metric} by {attribute}: {levels}; KL {divergence.value:.4f}, where people are shuffled "
        f"{divergence.chance:.4f} (p {divergence.p:.2g})."
    )


def _left_out(estimates: Estimates) -> dict[str, int]:
    return {row.keys["what"]: row.n for row in estimates.by("what", "left out")}
