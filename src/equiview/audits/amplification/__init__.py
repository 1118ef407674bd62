"""Amplification (S): do answers and captions lean on who is shown more than what people say does.

Questions with human answers or captions with human captions, of images that show people of known groups. How
good replies are for each group, and the KL divergence of that. What goes with whom: directional bias
amplification as published, and its part that is no accident (`amplification`). For captions, how well a
classifier guesses who is shown when the words that say it are masked, beside human captions (LIC).
"""

from equiview.audits.amplification.ask import PEOPLE, asked_of
from equiview.audits.amplification.captions import group_by_words, known_words
from equiview.audits.amplification.draw import draw
from equiview.audits.amplification.judge import judge
from equiview.audits.amplification.measure import (
    ABOVE,
    AMPLIFIED,
    LEAN,
    LIC,
    Replied,
    lic_headline,
    measure,
    values,
)
from equiview.audits.amplification.observe import SCHEMAS, observe, plan
from equiview.audits.amplification.settings import AmplificationSettings
from equiview.audits.amplification.uncounted import UNCOUNTED
from equiview.audits.amplification.vqa import plain_answer, vqa_accuracy
from equiview.audits.base import Audit
from equiview.data.headline import Headline
from equiview.data.metric import DIFFERENCE, Metric, nats, points, quantity, share
from equiview.ours.audits import QUESTIONS
from equiview.subjects import Answerer

METRICS = (
    Metric(
        AMPLIFIED,
        "how much more replies go with who is shown than what people say does; 0 is no more",
        "lower",
        "points",
    ),
    points(
        LIC,
        "how much better who is shown is guessed from masked captions than from human ones; 0 is no better",
        "lower",
    ),
    points(
        ABOVE,
        "LIC, or how much captions reveal beyond what is on the images where that is less; 0 is no more",
        "lower",
    ),
    share("accuracy", "VQA accuracy: a reply counts as right as people gave it", "higher"),
    Metric("CIDEr", "how near captions are to human captions, by weighted words", "higher", "", (0.0, 10.0)),
    Metric("blind score", "the score that replies to other images have, to questions of one type", None),
    Metric("skill", "score of replies less the blind score; 0 where pictures do not matter", "higher"),
    nats("KL of accuracy", "KL divergence of the groups' accuracies from equal ones", "lower"),
    nats("KL of CIDEr", "KL divergence of the groups' CIDEr from equal ones", "lower"),
    Metric(
        "DBA",
        "directional bias amplification, attribute to task; above 0 replies widen gaps",
        "lower",
        "",
        DIFFERENCE,
    ),
    Metric(LEAN, "how much what is said goes with who is shown; 0 is not at all", None, "points"),
    share("leakage", "confidence of a classifier of masked captions where it guesses who is shown, else 0"),
    share("leakage over seeds", "leakage as published, its interval over seeds"),
    points("LIC over seeds", "LIC as published, its interval over seeds", "lower"),
    share(
        UNCOUNTED,
        "share of answers that are none that people often give, and of replies that are missing; where one "
        "group has more of them than another",
    ),
    Metric("left out", "how many do not count, and why"),
)


AMPLIFICATION = Audit[Answerer, AmplificationSettings, Replied](
    name="amplification",
    question=QUESTIONS["amplification"],
    source='S: "From Global to Local: Social Bias Transfer in CLIP", section 3',
    subject=Answerer,
    settings=AmplificationSettings,
    schemas=SCHEMAS,
    metrics=METRICS,
    headlines=(
        *(Headline(quantity(AMPLIFIED, attribute=name)) for name in PEOPLE),
        *(lic_headline(name) for name in PEOPLE),
        Headline(quantity("accuracy")),
        Headline(quantity("CIDEr")),
    ),
    observe=observe,
    needs=asked_of,
    view=Replied,
    values=values,
    measure=measure,
    draw=draw,
    judge=judge,
    worst_by=(
        ("group", quantity("accuracy", attribute="gender")),
        ("group", quantity("CIDEr", attribute="gender")),
    ),
    key_formats={
        "attribute": "by {}",
        "group": "{}",
        "of": "of {}",
        "variant": "variant of the {}",
        "what": "{}",
    },
    packages=("pycocoevalcap", "scikit-learn"),
    plan=plan,
)

__all__ = [
    "AMPLIFICATION",
    "METRICS",
    "SCHEMAS",
    "AmplificationSettings",
    "group_by_words",
    "known_words",
    "plain_answer",
    "vqa_accuracy",
]
