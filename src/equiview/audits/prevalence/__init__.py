"""Prevalence bias (P, image to text): do captions in some languages crowd out equally right ones in others.

All captions of all languages are in one pool. For each image the pool is ranked. How much of the top a
tier, a language or a group of the user's own holds is compared with what a retriever blind to it would give:
labels are exchanged among the captions of each image. LBKL and DLBKL are reported as published.
"""

from __future__ import annotations

from equiview.audits.base import Audit
from equiview.audits.prevalence.draw import draw
from equiview.audits.prevalence.judge import judge
from equiview.audits.prevalence.lists import Lists
from equiview.audits.prevalence.measure import HEADLINES, measure, values
from equiview.audits.prevalence.observe import SCHEMAS, explore, observe, pool_of
from equiview.audits.prevalence.searched import EFFECTS
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.audits.prevalence.tables import TABLES
from equiview.audits.searching import RECALL
from equiview.data.headline import Headline, ratio
from equiview.data.metric import SHARE, Metric, nats, quantity, share
from equiview.ours.audits import QUESTIONS
from equiview.subjects import Encoder, ResultLists

METRICS = (
    Metric(
        "exposure ratio",
        "exposure of a group over what a retriever blind to it would give; below 1 the group is crowded out",
        "higher",
        "ratio",
        (0.0, None),
    ),
    share(
        "exposure",
        "share of the first results that a group holds by captions with an equal of another group, upper "
        "ranks counting more; chance is its share when groups are exchanged among the captions of each image",
    ),
    share(
        "expected exposure",
        "exposure that a group would have on average if groups were exchanged among each image's captions",
    ),
    Metric(
        "log exposure ratio",
        "natural logarithm of the exposure ratio, which counts too much and too little alike; 0 is blind, "
        "-0.69 half; the verdict reads it; p is of a ratio within the tolerance",
        "higher",
        "nats",
    ),
    share(
        "exchangeable exposure",
        "share of the first results that are captions with an equal, one of their image and of another group",
    ),
    Metric(
        "Spearman of exposure and web share",
        "rank correlation over languages of the exposure ratio with the share of the web; above 0 "
        "much-written languages get more",
        "lower",
        "",
        (-1.0, 1.0),
    ),
    share("captions of known images", "share of the pool's captions whose image is known"),
    nats(
        "DLBKL",
        "how far the mix of language groups among the results is from an even one, upper ranks counting "
        "more; 0 is even",
        "lower",
    ),
    nats(
        "LBKL", "how far the mix of language groups among the results is from an even one; 0 is even", "lower"
    ),
    share(
        "single-group share",
        "share of images whose results are of one side alone: low-tier languages, or the others",
        "lower",
    ),
    share("Accuracy", "share of queries with a right result among the first ones, in any language", "higher"),
    Metric("NDCG", "how near the top the right results stand; 1 is the ideal order", "higher", "", SHARE),
    share("share", "share of the first results that a group of languages holds"),
    share("R", "share of queries whose right result is among the first ones", "higher"),
    RECALL,
    *EFFECTS,
)

PREVALENCE = Audit[Encoder | ResultLists, PrevalenceSettings, Lists](
    name="prevalence",
    question=QUESTIONS["prevalence"],
    source='P: "Evaluating Perspectival Biases in Cross-Modal Retrieval", image to text',
    subject=(Encoder, ResultLists),
    settings=PrevalenceSettings,
    schemas=SCHEMAS,
    metrics=METRICS,
    headlines=(
        *(
            Headline(
                quantity("exposure ratio", k=k, tier="low"),
                of=(
                    quantity("exposure", k=k, tier="low"),
                    quantity("expected exposure", k=k, tier="low"),
                ),
                combine=ratio,
            )
            for k in (10, 1)
        ),
        *map(Headline, HEADLINES),
        Headline(quantity("R", k=1, tier="low")),
    ),
    observe=observe,
    needs=pool_of,
    view=Lists,
    values=values,
    measure=measure,
    draw=draw,
    judge=judge,
    worst_by=(
        ("group", quantity("exposure ratio", k=10)),
        ("language", quantity("exposure ratio", k=10)),
        ("language", quantity("R", k=1)),
    ),
    key_formats={
        "grouping": "by {}",
        "ideal": "ideal order of the {}",
        "floor": "{} floor",
        "group": "{}",
    },
    explore=explore,
    tables=TABLES,
)
