"""Systems whose naming of absent objects is known, for the error rates of the decorrelation audit's verdicts.

Images keep one to four objects of 40 that come in pairs; one was taken away, mostly the other of a pair.
Captions name one to four objects. A system ranks all captions by a score, or its lists are drawn: then the
share of captions that name what is gone is known exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
from labs.error_rates.harness import System
from numpy.typing import NDArray

from equiview.audits.decorrelation.naming import Pool
from equiview.audits.decorrelation.observe import DIRECTIONS, IMAGES, SCHEMAS
from equiview.data.observations import Observations

Rng = np.random.Generator
Floats = NDArray[np.float64]
N_CLASSES, N_CAPTIONS, DEPTH = 40, 1_000, 10
CLASSES = [f"c{number:02d}" for number in range(N_CLASSES)]
TOGETHER = 0.5
"""How often a class brings the other of its pair, in images and captions."""
TOLERANCE = 0.05
"""The audit's tolerance, a share of captions."""
Score = Callable[[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64], Rng], Floats]
"""Scores `(n_queries, n_captions)` of what is kept `(n_queries, n_classes)`, what captions name
`(n_captions, n_classes)`, and what was removed `(n_queries,)`."""


def contents(n: int, rng: Rng, most: int = 4, classes: Floats | None = None) -> NDArray[np.bool_]:
    """What `n` images or captions show, `(n, n_classes)`; some `classes` may be commoner than others."""
    shown = np.zeros((n, N_CLASSES), dtype=bool)
    for row, wanted in zip(shown, rng.integers(1, most + 1, size=n), strict=True):
        for first in rng.choice(N_CLASSES, size=wanted, replace=False, p=classes):
            if row.sum() < wanted and not row[first ^ 1]:
                row[first] = True
                row[first ^ 1] = rng.random() < TOGETHER and row.sum() < wanted
    return shown


def world(
    size: int, rng: Rng, classes: Floats | None = None
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.bool_]]:
    """What is kept, what was removed, and what captions name."""
    kept = contents(size, rng, 3, classes)
    removed = np.empty(size, dtype=np.int64)
    for row, here in enumerate(kept):
        with_pair = [c for c in np.flatnonzero(here) if not here[c ^ 1]]
        if with_pair and rng.random() < 0.7:
            removed[row] = rng.choice(with_pair) ^ 1
        else:
            removed[row] = rng.choice(np.flatnonzero(~here))
    return kept, removed, contents(N_CAPTIONS, rng, 4, classes)


def observed(
    kept: NDArray[np.bool_],
    removed: NDArray[np.int64],
    captions: NDArray[np.bool_],
    items: NDArray[np.int64],
    scores: Floats,
) -> Observations:
    """The audit's tables of the lists `items` `(n_queries, depth)`; unchanged images have none."""
    ids = pl.Series([f"t{row}" for row in range(len(captions))])
    caption, named = np.nonzero(captions)
    mentions = pl.DataFrame({"text_id": ids.gather(caption), "object": np.array(CLASSES)[named]})
    pool = Pool.of(ids, mentions, CLASSES)
    queries, marks = [], []
    for row, (here, gone) in enumerate(zip(kept, removed.tolist(), strict=True)):
        left = [CLASSES[c] for c in np.flatnonzero(here)]
        view = pool.view([CLASSES[gone]], left)
        query = {"query_id": f"q{row}", "source_id": f"q{row}", "target": CLASSES[gone]}
        queries.append(query | {"removed": [CLASSES[gone]], "kept": left} | view.counts())
        sets = pool.set_of[items[row]]
        marks.append((view.gone[sets], view.here[sets], view.expected[sets]))
    named_removed, named_kept, expected = (np.concatenate(part) for part in zip(*marks, strict=True))
    n, depth = items.shape
    rankings = pl.DataFrame(
        {
            "query_id": np.repeat([f"q{row}" for row in range(n)], depth),
            "rank": np.tile(np.arange(1, depth + 1, dtype=np.int32), n),
            "item_id": ids.gather(items.ravel()),
            "score": scores.ravel().astype(np.float32),
            "removed": named_removed,
            "kept": named_kept.astype(np.int32),
            "expected": expected,
        }
    ).with_columns(image=pl.lit(IMAGES[0]))
    none = pl.lit(None, dtype=pl.Binary)
    return Observations(
        {
            "queries": pl.DataFrame(queries).with_columns(before=none, picture=none),
            "items": pl.DataFrame({"item_id": ids, "text": ids, "language": "en"}).with_columns(
                objects=pl.lit([], dtype=pl.List(pl.String))
            ),
            "rankings": rankings,
            "recall": pl.DataFrame(
                [("q0", "q0", DIRECTIONS[0], 1, 1, 2)], schema=SCHEMAS["recall"].dtypes, orient="row"
            ),
        }
    )


def without(kept: NDArray[np.bool_], removed: NDArray[np.int64], gone: NDArray[np.int64], rng: Rng) -> None:
    """Let what was removed be of the classes `gone` alone, in place."""
    kept[:, gone] = False
    kept[~kept.any(axis=1), np.setdiff1d(np.arange(N_CLASSES), gone)[0]] = True
    removed[:] = rng.choice(gone, size=len(removed))


def ranked(
    seed: int, size: int, score: Score, *, classes: bool = False, gone: int | None = None
) -> Observations:
    """The lists of a system that ranks captions by `score`; `classes`: some are much commoner than others.

    `gone` is how many classes were taken away, any of them if None.
    """
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(3, N_CLASSES + 3) if classes else np.ones(N_CLASSES)
    kept, removed, captions = world(size, rng, common / common.sum())
    if gone:
        without(kept, removed, rng.choice(N_CLASSES, size=gone, replace=False), rng)
    scores = score(kept, captions, removed, rng)
    items = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    return observed(kept, removed, captions, items, np.take_along_axis(scores, items, axis=1))


def seeing(
    noise: float = 1.0,
    *,
    precise: float = 0.0,
    hubs: float = 0.0,
    affinity: float = 0.0,
    wordy: float = 0.0,
    knows: float = 2.0,
) -> Score:
    """A system that likes captions of what is there, whatever else they name.

    `precise` takes away for each other object that a caption names, `wordy` gives for it; `hubs` makes some
    captions liked by all, `affinity` makes each class like each other by chance.
    """

    def score(
        kept: NDArray[np.bool_], captions: NDArray[np.bool_], removed: NDArray[np.int64], rng: Rng
    ) -> Floats:
        here = kept.astype(float) @ captions.T
        others = captions.sum(axis=1)[None, :] - here
        between = affinity * rng.normal(size=(N_CLASSES, N_CLASSES)) * ~np.eye(N_CLASSES, dtype=bool)
        by_chance = kept @ between @ captions.T
        of_caption = hubs * rng.normal(size=len(captions))
        own = noise * rng.normal(size=here.shape)
        return np.asarray(knows * here + (wordy - precise) * others + by_chance + of_caption + own)

    return score


def erasing(
    kept: NDArray[np.bool_], captions: NDArray[np.bool_], removed: NDArray[np.int64], rng: Rng
) -> Floats:
    """Sees what is there, but shows no caption that names the commonest of the classes taken away."""
    never = np.bincount(removed, minlength=N_CLASSES).argmax()
    return np.where(captions[:, never], -100.0, seeing(hubs=0.5)(kept, captions, removed, rng))


def constant(
    kept: NDArray[np.bool_], captions: NDArray[np.bool_], removed: NDArray[np.int64], rng: Rng
) -> Floats:
    """The same list for every image."""
    return np.tile(-np.arange(len(captions), dtype=float), (len(kept), 1))


def drawn(
    seed: int, size: int, effect: float = 2.0, *, differs: bool = False, classes: int | None = None
) -> Observations:
    """Lists that name what is gone more often than their kinds do, by `effect` tolerances on average.

    Each caption is drawn from those of its kind that name what is gone with a probability raised by that
    much; `differs`: in half of the images alone, by twice as much; `classes`: in those alone of which one of
    so many classes was taken away.
    """
    rng = np.random.default_rng(seed)
    kept, removed, captions = world(2 * size, rng)
    rows: list[int] = []
    items = []
    for row, (here, gone) in enumerate(zip(kept, captions[:, removed].T, strict=True)):
        raised = effect * TOLERANCE * (2 * (len(rows) % 2) if differs else 1)
        if classes is not None and removed[row] >= classes:
            raised = 0.0
        kind, share = _kinds(captions, here, gone)
        likely = np.flatnonzero(captions[:, here].any(axis=1) & (share > 0) & (share + raised < 1))
        if not len(likely) or len(rows) == size:
            continue
        rows.append(row)
        listed = []
        for first in rng.choice(likely, size=DEPTH):
            names = rng.random() < share[first] + raised
            listed.append(rng.choice(np.flatnonzero((kind == kind[first]) & (gone == names))))
        items.append(listed)
    scores = np.tile(-np.arange(DEPTH, dtype=float), (len(rows), 1))
    return observed(kept[rows], removed[rows], captions, np.array(items), scores)


def _kinds(
    captions: NDArray[np.bool_], here: NDArray[np.bool_], gone: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Floats]:
    """Of each caption its kind, and the share of its kind that names what is gone."""
    named = captions[:, here]
    others = captions.sum(axis=1) - named.sum(axis=1)
    kind = (named @ (1 << np.arange(named.shape[1]))) * (N_CLASSES + 1) + others
    kind = np.unique(kind, return_inverse=True)[1]
    return kind, (np.bincount(kind, weights=gone) / np.bincount(kind))[kind]


def few(n: int, score: Score) -> Callable[[int, int], Observations]:
    """A maker of observations of `n` images, whatever size is asked for."""
    return lambda seed, _: ranked(seed, n, score)


SYSTEMS = {
    system.name: system
    for system in (
        System("sees what is there", "none", partial(ranked, score=seeing()), "and cares for nothing else"),
        System(
            "precise", "none", partial(ranked, score=seeing(precise=1.0)), "dislikes all that is not there"
        ),
        System("wordy", "none", partial(ranked, score=seeing(wordy=0.5)), "likes captions that name much"),
        System("hubs", "none", partial(ranked, score=seeing(hubs=1.0)), "some captions are liked by all"),
        System(
            "affinities by chance",
            "none",
            partial(ranked, score=seeing(affinity=0.5)),
            "classes like each other for no reason, none on average",
        ),
        System(
            "uneven classes",
            "none",
            partial(ranked, score=seeing(hubs=0.5), classes=True),
            "some classes are in most images and captions",
        ),
        System("strong hubs", "none", partial(ranked, score=seeing(hubs=2.0)), "a few are liked by all"),
        System(
            "hubs, 12 classes",
            "none",
            partial(ranked, score=seeing(hubs=1.0), gone=12),
            "some captions are liked by all, objects of 12 classes were taken away",
        ),
        System("one class erased", "none", partial(ranked, score=erasing), "no caption naming it is shown"),
        System("coarse", "none", partial(ranked, score=seeing(noise=0.0)), "many captions score the same"),
        System("names what is gone", "planted", drawn, "more often than captions of its kind, in all images"),
        System(
            "in half of the images", "planted", partial(drawn, differs=True), "the same on average"
        ),
        System("random", "useless", partial(ranked, score=seeing(knows=0.0)), "sees nothing"),
        System(
            "random, hubs", "useless", partial(ranked, score=seeing(knows=0.0, hubs=3.0)), "sees nothing"
        ),
        System("constant", "useless", partial(ranked, score=constant), "one list for all images"),
        System(
            "two classes alone",
            "tiny",
            lambda seed, size: drawn(seed, max(size, 300), effect=8.0, classes=2),
            "2 of 40 classes are named by 40 points too often, no other is; 300 images or more",
        ),
        *(
            System(
                f"hubs, {gone} {'class' if gone == 1 else 'classes'}",
                "tiny",
                partial(ranked, score=seeing(hubs=1.0), gone=gone),
                "some captions are liked by all: too few classes were taken away to tell",
            )
            for gone in (1, 2, 3)
        ),
        System(
            "hardly tuned",
            "useless",
            partial(ranked, score=seeing(knows=0.1, affinity=0.5, hubs=1.0)),
            "sees next to nothing, and likes some captions and pairs of classes",
        ),
        System("12 images", "tiny", few(12, seeing(0.2)), "too few images"),
        System("2 images", "tiny", few(2, seeing()), "as few as there can be"),
    )
}  # fmt: skip
