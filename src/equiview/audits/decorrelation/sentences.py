"""Decorrelation put into words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from equiview.audits.decorrelation.measure import NAMED, ODMAP, RECALL
from equiview.audits.decorrelation.observe import DIRECTIONS, IMAGES
from equiview.audits.decorrelation.settings import DecorrelationSettings
from equiview.audits.saying import by_how_much, filled, in_points
from equiview.data.estimates import Estimate, Estimates

NAMED_PAIRS = 3
LIMITS = (
    "A system that takes one thing for another names what is gone as well; this audit does not tell that "
    "from co-occurrence.",
    "What an inpainting model leaves behind, such as a shadow, may still show what was there.",
)
ADVICE = (
    "Fine-tune on images without the object and captions without its name beside the real ones, as the paper "
    "does: `equiview build removal` makes them, `equiview train finetune` learns from them. In training "
    "data, look at the pairs of objects listed here.",
)


def answer(begin: str, estimates: Estimates, excess: Estimate, k: int) -> str:
    """How often what is gone is named, beside captions that are alike."""
    side = "more" if excess.value >= 0 else "less"
    return (
        f"{begin}: of the first {k} captions {estimates.one(NAMED, k).value:.1%} name an object that was "
        f"taken away, {by_how_much(excess)} {side} than captions of the same remaining objects do."
    )


def classes(rows: Iterable[Estimate]) -> list[str]:
    """Classes removed, each with how much more often it is named."""
    return [f"{row.keys['removed']} (+{in_points(row.value, '.0f')})" for row in rows]


def too_often(rows: Iterable[Estimate]) -> str:
    """Which classes alone are shown to be named too often; "" if there is none."""
    return filled(" Of single classes too often named though gone: {}.", classes(rows))


def unseen(there: Estimate, k: int) -> str:
    """That captions hardly name what is there."""
    return (
        f"{there.value:.1%} of the first {k} captions name an object that is there, of captions at random "
        f"{there.chance or 0.0:.1%}: too little to say that the system sees it"
    )


def too_few_classes(least: int) -> str:
    """That too few classes were taken away to tell a system's habit from the captions that it likes."""
    return (
        f"objects of fewer than {least} classes were taken away; images without one class share the captions "
        "that name it, so that a few captions which the system likes would decide"
    )


def evidence(estimates: Estimates, settings: DecorrelationSettings) -> Iterator[str]:
    """What the answer rests on."""
    k = settings.judged_at
    rows = [(cutoff, estimates.one(ODMAP, cutoff)) for cutoff in settings.cutoffs]
    which = "any of the objects" if settings.kept == "any" else "all objects"
    yield filled(
        f"{{}}; a right caption names {which} still there, and nothing that is gone.",
        (f"ODmAP@{at} {row.value:.1%} (captions at random {row.chance or 0:.1%})" for at, row in rows),
        "; ",
    )
    if before := estimates.maybe(ODMAP, k, images=IMAGES[1]):  # what removal itself changed
        yield (
            f"For the unchanged images, where the object is there, ODmAP@{k} is {before.value:.1%} and "
            f"{estimates.one(NAMED, k, images=IMAGES[1]).value:.1%} of captions name it; with the object "
            f"gone {estimates.one(NAMED, k).value:.1%} still do."
        )
    pairs = sorted(
        estimates.by(("removed", "kept"), NAMED, k),
        key=lambda row: (-row.value, -row.n, row.keys["removed"], row.keys["kept"]),
    )
    yield filled(
        "Most often named though gone: {}.",
        (
            f"{row.keys['removed']} with {row.keys['kept']} ({row.value:.0%} of captions, {row.n} images)"
            for row in pairs[:NAMED_PAIRS]
        ),
    )
    recalls = ((direction, estimates.maybe(RECALL, 1, direction=direction)) for direction in DIRECTIONS)
    yield filled(
        "R@1 on the real images: {}.",
        (f"{direction.replace('-', ' ')} {row.value:.1%}" for direction, row in recalls if row),
    )
