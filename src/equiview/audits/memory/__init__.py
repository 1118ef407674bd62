"""Visual memory across languages (T): does a model describe a place alike in every language.

A model is asked in every language how a landmark looks, without a picture. Descriptions are translated into
English and held against pictures of the landmark (CLIPScore), and of all others, which is the floor. The
verdict reads how much each language's descriptions differ from those of the same landmarks in the other
languages, and local languages from foreign ones, as a share of the margin over that floor.
"""

from equiview.audits.base import Audit
from equiview.audits.memory.asking import plan, questions_of
from equiview.audits.memory.consistency import CONSISTENCY
from equiview.audits.memory.draw import draw
from equiview.audits.memory.judge import judge
from equiview.audits.memory.measure import (
    CONSISTENT,
    ENGLISH,
    LOCAL,
    MARGIN,
    MATCHED,
    SCORE,
    SHIFT,
    TESTED,
    Described,
    measure,
    values,
)
from equiview.audits.memory.observe import SCHEMAS, observe
from equiview.audits.memory.replies import ADHERENCE, SHARE
from equiview.audits.memory.settings import MemorySettings
from equiview.audits.memory.tables import TABLES
from equiview.audits.power import Unit, rows_of
from equiview.data.headline import Headline
from equiview.data.metric import Metric, quantity, share
from equiview.ours.audits import QUESTIONS
from equiview.subjects import Answerer

SCORES = (0.0, 2.5)
CHANGES = (-2.5, 2.5)
METRICS = (
    Metric(
        SCORE,
        "CLIPScore of descriptions with pictures of their landmark; chance is that with other landmarks' "
        "pictures",
        "higher",
        range=SCORES,
    ),
    share(
        CONSISTENCY,
        "how much of their score a region's language and another share landmark by landmark; chance is that "
        "with landmarks shuffled",
        "higher",
    ),
    Metric(
        MARGIN, "what a description scores with its own landmark over all others", "higher", range=CHANGES
    ),
    Metric(
        SHIFT,
        "how much more descriptions in a language score than those of the same landmarks in the others",
        range=CHANGES,
    ),
    Metric(TESTED[SHIFT], "the shift of a language over the margin; 0 is none", "higher", "share"),
    Metric(
        LOCAL,
        "how much more descriptions in the region's language score than those in foreign ones, English apart",
        range=CHANGES,
    ),
    Metric(TESTED[LOCAL], "the local advantage over the margin; 0 is none", unit="share"),
    Metric(
        ENGLISH,
        "how much more descriptions in English score than those in languages that are neither English nor "
        "the region's",
        range=CHANGES,
    ),
    Metric(MATCHED, "the shift of a language among descriptions that are about as long", range=CHANGES),
    share("matched", "share of descriptions beside which there is one about as long"),
    Metric("words", "words of the English text of descriptions", None, "words", (0.0, None)),
    share(ADHERENCE, "share of replies that are in the language asked for", "higher"),
    share(SHARE, "share of replies that are of a kind"),
    share("missing", "share of landmarks without any score in a language", "lower"),
    share(
        "undefined cells",
        "share of pairs of a region and a language that have no consistency, for want of scores",
        "lower",
    ),
    share("failed translations", "share of translations that could not be read", "lower"),
    share("texts cut by the scorer", "share of texts of which the scorer reads only the beginning", "lower"),
    Metric("score change", "what a second translator or scorer changes in the score", range=CHANGES),
    Metric(
        "consistency change",
        "what a second translator or scorer changes in consistency",
        unit="points",
        range=(-1.0, 1.0),
    ),
)

MEMORY = Audit[Answerer, MemorySettings, Described](
    name="memory",
    question=QUESTIONS["memory"],
    source='T: "Traveling Across Languages: Benchmarking Cross-Lingual Consistency in Multimodal LLMs", '
    "section 3",
    subject=Answerer,
    settings=MemorySettings,
    schemas=SCHEMAS,
    metrics=METRICS,
    headlines=(
        Headline(quantity(SCORE, setting="GLO")),
        Headline(quantity(SCORE, setting="LOC")),
        Headline(quantity(SCORE, setting="EN")),
        CONSISTENT,
        Headline(quantity(LOCAL)),
        Headline(quantity(ADHERENCE)),
    ),
    observe=observe,
    needs=questions_of,
    view=Described,
    values=values,
    measure=measure,
    draw=draw,
    judge=judge,
    worst_by=(("language", quantity(TESTED[SHIFT])),),
    key_formats={"setting": "{}", "variant": "{}", "category": "{}", "prompt": "prompt {}"},
    packages=("lingua-language-detector",),
    tables=TABLES,
    plan=plan,
    unit=Unit("landmarks", rows_of("landmarks")),
)

__all__ = ["MEMORY", "METRICS", "SCHEMAS", "MemorySettings"]
