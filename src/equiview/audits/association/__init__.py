"""Association bias (P, text to image): does the query's language pull in its culture's images over meaning.

A trial asks a concept in the language of a country and offers three images: the right concept from another
country (semantic), another concept from the same country (cultural), and neither (non-relevant). The share of
trials each wins, and SP = M_cul / M_sem, say whether culture beats meaning. Image to image, the query is the
culture's own picture of the concept.
"""

from equiview.audits.association.draw import draw
from equiview.audits.association.explore import explore
from equiview.audits.association.judge import judge
from equiview.audits.association.measure import (
    SHARED,
    SILHOUETTE,
    TOGETHER,
    Trials,
    measure,
    self_preference_in,
    values,
)
from equiview.audits.association.observe import SCHEMAS, observe
from equiview.audits.association.pull import MEAN_PULL, PULL, TIED
from equiview.audits.association.settings import DIRECTIONS, AssociationSettings
from equiview.audits.association.tables import TABLES
from equiview.audits.base import Audit
from equiview.audits.power import Unit
from equiview.benchmarks.own_trials import trials_of
from equiview.data.headline import Headline
from equiview.data.metric import Metric, points, quantity, share
from equiview.ours.audits import QUESTIONS
from equiview.subjects import Encoder

METRICS = (
    Metric(
        "SP",
        "wins of the query's culture over wins of what was asked; 0 is never, 1 is as often",
        "lower",
        range=(0.0, None),
    ),
    share("M_sem", "share of trials won by the right concept from another culture", "higher"),
    share("M_cul", "share of trials won by the culture of the query's language over its concept", "lower"),
    share("M_non", "share of trials won by a picture that is neither", "lower"),
    points(
        PULL,
        "what the culture of the query's language wins beyond what a random mistake would; 0 is no pull",
        "lower",
    ),
    points(
        MEAN_PULL,
        "mean over languages of M_cul - M_non, each counting once; its interval and test are over languages",
        "lower",
    ),
    share(TIED, "share of trials in which several images have the highest score", "lower"),
    share(
        SHARED,
        "share of trials with a semantic or non-relevant image of a country that speaks the query's language",
    ),
    Metric(
        SILHOUETTE,
        "how far the languages of texts, or the countries of images, stand apart in the encoder's space; "
        "1 is wholly apart, 0 is mixed",
        range=(-1.0, 1.0),
    ),
    Metric(
        TOGETHER,
        "correlation across countries of SP with the silhouette; 1 is that culture wins most where groups "
        "stand apart",
        range=(-1.0, 1.0),
    ),
)

ASSOCIATION = Audit[Encoder, AssociationSettings, Trials](
    name="association",
    question=QUESTIONS["association"],
    source='P: "Evaluating Perspectival Biases in Cross-Modal Retrieval", text to image',
    subject=Encoder,
    settings=AssociationSettings,
    schemas=SCHEMAS,
    metrics=METRICS,
    headlines=tuple(
        headline
        for direction in DIRECTIONS
        for headline in (
            Headline(quantity(PULL, direction=direction)),
            self_preference_in(direction),
            Headline(quantity("M_sem", direction=direction)),
        )
    ),
    observe=observe,
    needs=lambda benchmark, _: trials_of(benchmark),
    view=Trials,
    values=values,
    measure=measure,
    draw=draw,
    judge=judge,
    worst_by=tuple(
        (key, quantity(PULL, direction=direction))
        for key in ("language", "country")
        for direction in DIRECTIONS
    ),
    key_formats={
        "direction": "{}",
        "space": "of {}",
        "country": "{}",
        "concept": "{}",
        "ties": "ties {}",
    },
    explore=explore,
    packages=("umap-learn",),
    averaged=(TOGETHER,),
    tables=TABLES,
    unit=Unit("trials", lambda benchmark: len(trials_of(benchmark))),
)

__all__ = ["ASSOCIATION"]
