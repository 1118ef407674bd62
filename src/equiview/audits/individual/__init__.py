"""Individual fairness (F): do parallel captions relate alike to the same image, whatever their language.

For each image and each two languages: how much the similarity to the image changes with the language of the
caption (similarity gap), how far apart the captions lie (text distance, chord), and the ratio of the two, of
which the largest is alpha-hat. The same captions are also held against a wrong image, drawn by seed
(`shuffled`). The verdict reads what language does beyond the words chosen: shifts of whole languages, and the
gap between languages beyond that between captions of one language, both in units of the margin, which is how
much more similar captions are to their own image than to all others.
"""

from equiview.audits.base import Audit
from equiview.audits.individual.draw import draw
from equiview.audits.individual.judge import judge
from equiview.audits.individual.measure import (
    GAP,
    RELATIVE_BEYOND,
    RELATIVE_GAP,
    RELATIVE_SHIFT,
    measure,
    values,
)
from equiview.audits.individual.observe import SCHEMAS, compared_captions, observe
from equiview.audits.individual.settings import IndividualSettings
from equiview.data.headline import Headline
from equiview.data.metric import Metric, quantity
from equiview.ours.audits import QUESTIONS
from equiview.subjects import Encoder

METRICS = (
    Metric(
        "relative gap",
        "how far a caption's language moves its similarity to the image, over what a right image has on "
        "a wrong one; 0 is not at all",
        "lower",
        range=(0.0, None),
    ),
    Metric(
        "margin",
        "how much more similar captions are to their own image than to all others, on average",
        "higher",
        "cosine",
        (-2.0, 2.0),
    ),
    Metric(
        "similarity gap",
        "how far a caption's similarity to an image changes with its language; 0 is not at all",
        "lower",
        "cosine",
        (0.0, 2.0),
    ),
    Metric(
        "same-language gap",
        "how far the similarity of two captions of one image in one language differs: paraphrase",
        unit="cosine",
        range=(0.0, 2.0),
    ),
    Metric(
        "gap beyond paraphrase",
        "how much more similarity differs between captions in two languages than between two in one; "
        "0 where language does nothing beyond",
        "lower",
        "cosine",
        (-2.0, 2.0),
    ),
    Metric("relative gap beyond paraphrase", "the gap beyond paraphrase over the margin", "lower"),
    Metric(
        "shift",
        "how much more similar captions in a language are to their images than captions of the same images "
        "in other languages; 0 is no more",
        unit="cosine",
        range=(-2.0, 2.0),
    ),
    Metric(RELATIVE_SHIFT, "the shift of a language over the margin; 0 is none", "higher"),
    Metric("similarity", "cosine of captions and images", unit="cosine", range=(-1.0, 1.0)),
    Metric(
        "text distance",
        "distance of parallel captions, with vectors as the encoder gives them",
        range=(0.0, None),
    ),
    Metric("chord", "distance of parallel captions, with vectors scaled to length 1", range=(0.0, 2.0)),
    Metric("ratio", "similarity gap over the distance of the captions", "lower", range=(0.0, None)),
    Metric("alpha-hat", "the largest ratio of similarity gap to distance", "lower", range=(0.0, None)),
    Metric("alpha bound", "the largest ratio that the lengths of the vectors allow", range=(0.0, None)),
)

INDIVIDUAL = Audit[Encoder, IndividualSettings](
    name="individual",
    question=QUESTIONS["individual"],
    source='F: "Assessing Multilingual Fairness in Pre-trained Multimodal Representations", section 3',
    subject=Encoder,
    settings=IndividualSettings,
    schemas=SCHEMAS,
    metrics=METRICS,
    headlines=(
        RELATIVE_GAP,
        RELATIVE_BEYOND,
        Headline(GAP),
        Headline(quantity("ratio", images="matched", vectors="unit")),
        Headline(quantity("chord", images="matched")),
    ),
    observe=observe,
    needs=compared_captions,
    values=values,
    measure=measure,
    draw=draw,
    judge=judge,
    worst_by=(("language", quantity(RELATIVE_SHIFT)),),
    key_formats={"other": "beside {}"},
)

__all__ = ["INDIVIDUAL", "METRICS", "SCHEMAS", "IndividualSettings"]
