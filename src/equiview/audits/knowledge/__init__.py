"""Knowledge (T): does what a model knows depend on the language it is asked in.

A model answers the same multiple-choice questions about pictures in several languages. Accuracy in English,
in the language of the place that is shown and in all others; consistency, how much of what is right in one
language is right in another, beside its floor if languages knew nothing of each other and beside what the
same knowledge in every language would give.
"""

from equiview.audits.base import Audit
from equiview.audits.knowledge.answers import Answered
from equiview.audits.knowledge.ask import questions_of
from equiview.audits.knowledge.consistency import BOTH, CONSISTENCY, OVER_PAIRS, UNDEFINED
from equiview.audits.knowledge.draw import draw
from equiview.audits.knowledge.judge import judge
from equiview.audits.knowledge.lost import LOST, SAME, SAMPLING
from equiview.audits.knowledge.measure import (
    ACCURACY,
    ADVANTAGE,
    READ,
    SHIFT,
    SKILL,
    UNANSWERED,
    UNREAD,
    measure,
    values,
)
from equiview.audits.knowledge.observe import SCHEMAS, observe, plan
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.audits.knowledge.tables import SETTINGS, TABLES
from equiview.audits.power import Unit, rows_of
from equiview.data.headline import Headline
from equiview.data.metric import Metric, points, quantity, share
from equiview.ours.audits import QUESTIONS
from equiview.subjects import Answerer

__all__ = ["KNOWLEDGE", "METRICS", "SCHEMAS", "TABLES", "KnowledgeSettings"]

METRICS = (
    share(ACCURACY, "share of questions answered correctly", "higher"),
    points(
        SKILL.metric, "accuracy less what the same letters score when permuted over the questions", "higher"
    ),
    share(
        CONSISTENCY,
        "of what is right in one language, the share that is right in another, averaged over both",
        "higher",
    ),
    share(
        SAME,
        "what consistency would be if the model knew the same facts in every language and guessed the rest",
    ),
    points(
        LOST,
        "consistency missing to that of the same knowledge in every language, less what sampling takes; 0 is "
        "none",
        "lower",
    ),
    points(SAMPLING, "the same between answers to the same question in one language", "lower"),
    points(SHIFT, "skill in a language less that in the others on the same questions; 0 is equal"),
    points(
        ADVANTAGE.metric,
        "skill in the language of the place shown less that in other places' languages; 0 is none",
    ),
    share(UNREAD, "share of replies that no rule reads; they count as wrong", "lower"),
    share(UNANSWERED, "share of replies that are empty or refused by the service, if there are any", "lower"),
    share(READ, "share of replies read by a rule"),
    share(BOTH, "share of questions answered correctly in both of two languages", "higher"),
    Metric(UNDEFINED, "pairs of region and language without consistency", "lower", "", (0, None)),
)

KNOWLEDGE = Audit[Answerer, KnowledgeSettings, Answered](
    name="knowledge",
    question=QUESTIONS["knowledge"],
    source='T: "Traveling Across Languages: Benchmarking Cross-Lingual Consistency in Multimodal LLMs"',
    subject=Answerer,
    settings=KnowledgeSettings,
    schemas=SCHEMAS,
    metrics=METRICS,
    headlines=(
        OVER_PAIRS,
        Headline(quantity(ACCURACY)),
        *(Headline(quantity(ACCURACY, setting=name)) for name in SETTINGS),
        Headline(ADVANTAGE),
        Headline(quantity(UNREAD)),
    ),
    worst_by=(("language", quantity(ACCURACY)),),
    key_formats={
        "setting": "{}",
        "other": "with {}",
        "over": "over {}",
        "region": "about the region of {}",
        "rule": "by {}",
    },
    observe=observe,
    needs=questions_of,
    view=Answered,
    values=values,
    measure=measure,
    draw=draw,
    judge=judge,
    tables=TABLES,
    plan=plan,
    unit=Unit("questions", rows_of("questions", "question_id")),
)
