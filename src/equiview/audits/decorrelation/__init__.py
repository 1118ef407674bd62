"""Decorrelation (O): does a system name objects that are not there because they usually are.

An object is taken out of an image, and captions are ranked for what is left. ODmAP counts the captions that
name what is still there and nothing that is gone. The verdict compares how often the first captions name what
is gone with how often captions of the same remaining objects name it: a system that sees the rest, and knows
nothing of what usually comes with it, would name it just as often.
"""

from equiview.audits.base import Audit
from equiview.audits.decorrelation.draw import draw
from equiview.audits.decorrelation.judge import judge
from equiview.audits.decorrelation.measure import EXCESS, KEPT, NAMED, ODMAP, RECALL, Ranked, measure, values
from equiview.audits.decorrelation.observe import DIRECTIONS, SCHEMAS, explore, observe, removals_of
from equiview.audits.decorrelation.settings import DecorrelationSettings
from equiview.audits.decorrelation.tables import TABLES
from equiview.audits.power import Unit, rows_of
from equiview.data.headline import Headline
from equiview.data.metric import points, quantity, share
from equiview.ours.audits import QUESTIONS
from equiview.subjects import Encoder, ResultLists

METRICS = (
    share(
        ODMAP,
        "mean over synthetic images of precision times correctness of the first captions; a right caption "
        "names what is still there and nothing that was taken away",
        "higher",
    ),
    points(
        EXCESS,
        "how much more often captions name what is gone than captions of the same remaining objects do; 0 is "
        "no more",
        "lower",
    ),
    share(NAMED, "share of the first captions that name an object that was taken away"),
    share(KEPT, "share of the first captions that name an object that is still there", "higher"),
    share(RECALL, "share of real images or captions with a right result among the first", "higher"),
)

DECORRELATION = Audit[Encoder | ResultLists, DecorrelationSettings, Ranked](
    name="decorrelation",
    question=QUESTIONS["decorrelation"],
    source='O: "Exposing and Mitigating Spurious Correlations for Cross-Modal Retrieval", section 3.2',
    subject=(Encoder, ResultLists),
    settings=DecorrelationSettings,
    schemas=SCHEMAS,
    metrics=METRICS,
    headlines=(
        *(Headline(quantity(ODMAP, k)) for k in (10, 5, 1)),
        Headline(quantity(EXCESS, 10)),
        *(Headline(quantity(RECALL, 1, direction=direction)) for direction in DIRECTIONS),
    ),
    observe=observe,
    needs=removals_of,
    view=Ranked,
    values=values,
    measure=measure,
    draw=draw,
    judge=judge,
    worst_by=(("removed", quantity(ODMAP, 10)),),
    key_formats={
        "images": "{} images",
        "removed": "without {}",
        "kept": "with {} left",
        "direction": "{}",
    },
    explore=explore,
    tables=TABLES,
    unit=Unit("removals", rows_of("removals")),
)

__all__ = ["DECORRELATION", "METRICS", "SCHEMAS", "DecorrelationSettings"]
