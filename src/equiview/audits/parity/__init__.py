"""Parity (F): is accuracy equal across languages, and across people within and across languages.

Two kinds of tasks. Matching: each image among the captions of one language at a time, and each caption among
the images; no other language competes. Zero-shot classification, where images of people have labels: the
value with the most similar prompt, in each language and paraphrase of the prompts.
"""

from equiview.audits.base import Audit
from equiview.audits.parity.alike import SAME
from equiview.audits.parity.answers import Answers
from equiview.audits.parity.coverage import COVERAGE
from equiview.audits.parity.draw import draw
from equiview.audits.parity.judge import judge
from equiview.audits.parity.measure import measure, values
from equiview.audits.parity.observe import SCHEMAS, asked_of, observe
from equiview.audits.parity.settings import ParitySettings
from equiview.audits.parity.spread import spread_headline
from equiview.audits.parity.tables import TABLES, table_1
from equiview.audits.parity.tasks import DIRECTIONS, NAMED
from equiview.benchmarks.prompts import SHIPPED
from equiview.data.headline import Headline
from equiview.data.metric import SHARE, Metric, points, quantity, share
from equiview.ours.audits import QUESTIONS
from equiview.subjects import Encoder

__all__ = ["METRICS", "PARITY", "SCHEMAS", "TABLES", "ParitySettings", "table_1"]

METRICS = (
    share("R", "share of queries whose correct result is among the first k", "higher"),
    points(
        "skill",
        "accuracy less what the same answers would score if they did not depend on the image",
        "higher",
    ),
    share("balanced R", "R@1 expected among candidates of which every group has equally many", "higher"),
    points(
        "balanced group gap", "balanced R of one group less that of another, within a language; 0 is equal"
    ),
    share("accuracy", "share of images classified correctly", "higher"),
    points(
        "gap to pivot",
        "accuracy in the pivot language less that in the other, or in the others on average; 0 is equal",
        "lower",
    ),
    points("gap", "accuracy in one language less that in another; 0 is equal"),
    Metric(
        "range over languages", "highest accuracy of a language less the lowest", "lower", "points", SHARE
    ),
    Metric("sd over languages", "standard deviation of accuracy over languages", "lower", "points", (0, 0.5)),
    Metric(
        "Gini over languages", "Gini coefficient of accuracy over languages; 0 is equal", "lower", "", SHARE
    ),
    share("lowest language", "accuracy of the language with the lowest", "higher"),
    share("highest language", "accuracy of the language with the highest", "higher"),
    points("group gap", "accuracy of one group less that of another, within a language; 0 is equal"),
    points(
        SAME,
        "that gap of places as if both showed equally much of each thing; 0 is equal",
    ),
    points(
        "amplification",
        "size of the group gap less its size in the pivot language; above 0 the language makes it larger",
        "lower",
    ),
    points(
        "mean amplification", "amplification on average over the groups within which it is measured", "lower"
    ),
    points(
        "cross gap",
        "accuracy of one group in a language less that of another in the pivot language; 0 is equal",
    ),
    points("part of cross gap", "one of three parts that sum to the cross gap"),
    Metric("bound of cross gap", "sum of the sizes of the three parts", None, "points", (0, 2)),
    share(
        COVERAGE,
        "share of the captioned images that matching in a language rests on; of a group's images that a task "
        "compares; of a task's images whose group is known",
        "higher",
    ),
    Metric(
        "range over paraphrases",
        "highest accuracy of a wording of the prompts less the lowest, within a language",
        "lower",
        "points",
        SHARE,
    ),
)

CLASSES = (*SHIPPED, NAMED)
"""The tasks of zero-shot classification that need no prompts of the user's own."""

PARITY = Audit[Encoder, ParitySettings, Answers](
    name="parity",
    question=QUESTIONS["parity"],
    source='F: "Assessing Multilingual Fairness in Pre-trained Multimodal Representations", section 4',
    subject=Encoder,
    settings=ParitySettings,
    schemas=SCHEMAS,
    metrics=METRICS,
    headlines=(
        Headline(quantity("gap to pivot", task=DIRECTIONS[0])),
        Headline(quantity("R", 1, task=DIRECTIONS[0])),
        Headline(quantity("R", 1, task=DIRECTIONS[0], tier="low")),
        Headline(quantity("R", 1, task=DIRECTIONS[1])),
        *(
            Headline(quantity(metric, task=task))
            for task in CLASSES
            for metric in ("accuracy", "gap to pivot")
        ),
        *(spread_headline(spread, task) for task in (*DIRECTIONS, *CLASSES) for spread in ("range", "sd")),
    ),
    worst_by=tuple(("language", quantity("gap to pivot", task=task)) for task in (DIRECTIONS[0], *CLASSES)),
    key_formats={
        "task": "{}",
        "other": "against {}",
        "group": "{}",
        "against": "against {}",
        "attribute": "by {}",
        "within": "within {}",
        "within_group": "{}",
        "paraphrase": "asked as {}",
        "part": "{}",
    },
    observe=observe,
    needs=asked_of,
    view=Answers,
    values=values,
    measure=measure,
    draw=draw,
    judge=judge,
    tables=TABLES,
)
