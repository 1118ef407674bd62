"""Prevalence bias (P, image to text): do much-written languages crowd out equally right captions of others.

Every caption of every language stands in one pool. For each image the pool is ranked, and what the top holds
is compared with what it would hold if languages shared it evenly (LBKL, DLBKL) or at random (chance).
"""

from __future__ import annotations

from equiview.audits.base import Audit, register
from equiview.audits.prevalence.draw import draw
from equiview.audits.prevalence.judge import judge
from equiview.audits.prevalence.measure import measure, values
from equiview.audits.prevalence.observe import SCHEMAS, explore, observe
from equiview.audits.prevalence.settings import PrevalenceSettings
from equiview.audits.prevalence.tables import TABLES
from equiview.data.headline import Headline
from equiview.data.metric import SHARE, Metric, quantity
from equiview.subjects import Encoder, ResultLists

METRICS = (
    Metric(
        "DLBKL",
        "how far the mix of language groups among the results is from an even one, upper ranks counting "
        "more; 0 is even",
        "lower",
        "nats",
        (0.0, None),
    ),
    Metric(
        "LBKL",
        "how far the mix of language groups among the results is from an even one; 0 is even",
        "lower",
        "nats",
        (0.0, None),
    ),
    Metric(
        "single-group share",
        "share of images whose results are of one side alone: low-tier languages, or the others",
        "lower",
        "share",
        SHARE,
    ),
    Metric(
        "Accuracy",
        "share of queries with a right result among the first ones, in any language",
        "higher",
        "share",
        SHARE,
    ),
    Metric("NDCG", "how near the top the right results stand; 1 is the ideal order", "higher", "", SHARE),
    Metric("share", "share of the first results that a group of languages holds", None, "share", SHARE),
    Metric("R", "share of queries whose right result is among the first ones", "higher", "share", SHARE),
)

PREVALENCE = register(
    Audit[Encoder | ResultLists, PrevalenceSettings](
        name="prevalence",
        question="Do captions in much-written languages crowd out equally right ones in other languages?",
        source='P: "Evaluating Perspectival Biases in Cross-Modal Retrieval", image to text',
        subject=(Encoder, ResultLists),
        settings=PrevalenceSettings,
        schemas=SCHEMAS,
        metrics=METRICS,
        headlines=(
            Headline(quantity("DLBKL", k=10, grouping="tier")),
            Headline(quantity("Accuracy", k=5)),
            Headline(quantity("NDCG", k=10, ideal="pool")),
            Headline(quantity("R", k=1, tier="low")),
        ),
        observe=observe,
        values=values,
        measure=measure,
        draw=draw,
        judge=judge,
        worst_by=(("language", quantity("R", k=1)),),
        key_formats={"grouping": "by {}", "ideal": "ideal order of the {}"},
        explore=explore,
        tables=TABLES,
    )
)
