"""Leakage: how well a classifier guesses from captions, masked, who is shown (LIC: Hirota et al., CVPR 2022).

For each seed as many images of every group are drawn as the smallest has; a share of them is the test. One
classifier learns from the replies to the other images, one from human captions of the same images. A caption
scores the classifier's confidence where it guesses right, else 0; leakage is the mean score, LIC that of the
replies less that of people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equiview.audits.amplification import bert
from equiview.audits.amplification.settings import AmplificationSettings
from equiview.extras import require
from equiview.io.progress import Progress
from equiview.io.tables import Column, Schema
from equiview.search.workers import one_thread_each

UNKNOWN = "[UNK]"
SOURCES = ("replies", "humans")
MATCHED = "matched"
"""The source of replies whose groups were permuted among images of one content."""
LEAKAGE = Schema(
    "leakage",
    (
        Column("attribute", pl.String, "what the classifier guesses"),
        Column("seed", pl.Int64, "of the split and the classifier, from 0"),
        Column("source", pl.String, f"{', '.join(SOURCES)} or {MATCHED}"),
        Column("shuffled", pl.Boolean, "whether groups were shuffled among images before"),
        Column("query_id", pl.String, "the image whose caption was tested"),
        Column("group", pl.String, "who is shown, or is said to be"),
        Column("guess", pl.String, "the classifier's guess"),
        Column("confidence", pl.Float64, "its probability of that"),
    ),
)
Labels = NDArray[np.int64]
Classifier = Callable[[Sequence[str], Labels, Sequence[str], int], NDArray[np.float64]]
"""Probabilities `(n_test, n_groups)` from training texts, their labels, test texts and a seed."""


def leakage(
    ids: Sequence[str],
    replies: Sequence[list[str]],
    humans: Sequence[Sequence[list[str]]],
    groups: Sequence[str],
    contents: Sequence[str],
    settings: AmplificationSettings,
    attribute: str,
    progress: Progress,
) -> pl.DataFrame:
    """The rows of the table `leakage` of one attribute.

    `contents` say what else is on each image; where any does, a classifier learns from the replies too after
    groups were permuted among images of one content: what it guesses is the floor of a subject that knows
    nothing of people beyond what goes with them.

    `replies` are the masked tokens of each image's caption, `humans` of each of its human captions, of which
    seed i tests caption i (from the first again where there are fewer). Every group has two images or more.
    """
    known = set(chain.from_iterable(replies))
    if settings.align_vocabulary:
        humans = [[[t if t in known else UNKNOWN for t in text] for text in texts] for texts in humans]
    names, labels = np.unique(np.asarray(groups), return_inverse=True)
    classify = _classifier(settings)
    runs = [(seed, False) for seed in range(settings.splits)] + [(s, True) for s in range(settings.shuffles)]
    parts = []
    for done, (seed, shuffled) in enumerate(runs, start=1):
        rng = np.random.default_rng(settings.seed_of(f"leakage.{attribute}.{seed}.{shuffled}"))
        shown = rng.permutation(labels) if shuffled else labels
        train, test = split(shown, settings.test_share, rng)
        texts = {
            "replies": [" ".join(text) for text in replies],
            "humans": [" ".join(several[seed % len(several)]) for several in humans],
        }
        cases = [(source, shown, train, test) for source in SOURCES]
        if any(contents) and not shuffled:
            texts[MATCHED] = texts["replies"]
            mixed = permuted_within(labels, contents, rng)
            cases.append((MATCHED, mixed, *split(mixed, settings.test_share, rng)))
        for source, shown, train, test in cases:
            learnt, tested = ([texts[source][row] for row in rows] for rows in (train, test))
            probabilities = classify(learnt, shown[train], tested, int(rng.integers(2**31)))
            guess = probabilities.argmax(axis=1)
            parts.append(
                pl.DataFrame(
                    {
                        "attribute": attribute,
                        "seed": seed,
                        "source": source,
                        "shuffled": shuffled,
                        "query_id": [ids[row] for row in test],
                        "group": names[shown[test]],
                        "guess": names[guess],
                        "confidence": probabilities.max(axis=1),
                    }
                )
            )
        progress(f"guessing {attribute} from captions", done, len(runs))
    return LEAKAGE.check(pl.concat(parts), "leakage")


def permuted_within(labels: Labels, contents: Sequence[str], rng: np.random.Generator) -> Labels:
    """The labels, shuffled among rows of one content.

    >>> labels, contents = np.array([0, 1, 1]), ["dog", "cat", "cat"]
    >>> permuted_within(labels, contents, np.random.default_rng(0)).tolist()
    [0, 1, 1]
    """
    _, content = np.unique(np.asarray(contents), return_inverse=True)
    mixed = labels.copy()
    mixed[np.argsort(content, kind="stable")] = labels[np.lexsort((rng.random(len(labels)), content))]
    return mixed


def split(labels: Labels, share: float, rng: np.random.Generator) -> tuple[Labels, Labels]:
    """Rows to learn from and rows to test, as many of each label: at least one of each in both.

    >>> train, test = split(np.array([0] * 30 + [1] * 10), 0.1, np.random.default_rng(0))
    >>> len(train), len(test), bool(test[0] < 30 <= test[1])
    (18, 2, True)
    """
    each = int(np.bincount(labels).min())
    tested = min(max(1, round(each * share)), each - 1)
    rows = [rng.permutation(np.flatnonzero(labels == label))[:each] for label in np.unique(labels)]
    return np.concatenate([part[tested:] for part in rows]), np.concatenate([part[:tested] for part in rows])


def _classifier(settings: AmplificationSettings) -> Classifier:
    if settings.classifier == "tf-idf":
        return _tf_idf
    return partial(bert.classify, checkpoint=settings.bert, epochs=settings.epochs)


def _tf_idf(learnt: Sequence[str], labels: Labels, tested: Sequence[str], _: int) -> NDArray[np.float64]:
    """Logistic regression over weighted words and pairs of words; it has nothing random."""
    require("sklearn", "captions")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    weights = TfidfVectorizer(token_pattern=r"\S+", lowercase=False, sublinear_tf=True, ngram_range=(1, 2))
    if not any(text.strip() for text in learnt):  # no words to learn from: every group is as likely
        return np.full((len(tested), len(np.unique(labels))), 1 / len(np.unique(labels)))
    with one_thread_each():  # threads would wait for each other longer than they work
        model = LogisticRegression(max_iter=1000).fit(weights.fit_transform(learnt), labels)
        return np.asarray(model.predict_proba(weights.transform(tested)), dtype=np.float64)
