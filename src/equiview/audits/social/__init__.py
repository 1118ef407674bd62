"""Social bias of an encoder (S): are people of each group shown, and matched, equally.

Prompts that name no attribute are put to a gallery of people. How much of the top each group holds is
compared with its share of the set (Skew, MaxSkew, NDKL), and with what a retriever blind to the attribute
would show: groups are exchanged among the images. Where images have captions, R@k is compared between groups
(KL of R).
"""

from equiview.audits.base import Audit, Space
from equiview.audits.social.draw import draw
from equiview.audits.social.gallery import Gallery
from equiview.audits.social.judge import judge
from equiview.audits.social.measure import (
    BEYOND,
    CHANCE_END,
    KNOWN,
    MATCHED,
    MAX_SKEW,
    MIN_SKEW,
    NDKL,
    SHOWN,
    SKEW,
    SMALL,
    measure,
    values,
)
from equiview.audits.social.observe import DIRECTIONS, SCHEMAS, labels_of, observe
from equiview.audits.social.recall import DIVERGENCE, LEVEL
from equiview.audits.social.settings import ATTRIBUTES, SocialSettings
from equiview.audits.social.space import images, vectors, within
from equiview.data.headline import Headline
from equiview.data.metric import Metric, nats, quantity, share
from equiview.ours.audits import QUESTIONS
from equiview.subjects import Encoder

METRICS = (
    Metric(
        BEYOND,
        "MaxSkew less what it is when groups are exchanged among the images; 0 where the attribute does "
        "nothing",
        "lower",
        "nats",
    ),
    nats(
        MAX_SKEW,
        "ln of how many times more often than in the set the most shown group is in the top k, mean over "
        "prompts",
        "lower",
    ),
    nats(
        NDKL,
        "how far the mix of groups in each top is from the set's, upper ranks counting more; 0 is the set's "
        "mix",
        "lower",
    ),
    Metric(
        MIN_SKEW,
        "ln of how many times its share of the set the least shown group has in the top k, mean over prompts",
        "higher",
        "nats",
    ),
    Metric(
        MATCHED,
        "ln of a group's R@k over the mean of the groups' R@k, both directions; 0 is equal. Every query has "
        "equally many candidates of each group where that was observed",
        None,
        "nats",
    ),
    Metric(
        SKEW, "ln of a group's mean share of the top k over its share of the set; 0 is equal", None, "nats"
    ),
    share(SHOWN, "share of the top k that a group holds; chance is its share of the set"),
    nats(
        DIVERGENCE,
        "KL of R@k of the groups from equal ones; 0 is equal, high or low: read R beside it",
        "lower",
    ),
    share(LEVEL, "share of queries whose correct result is among the first k", "higher"),
    share(KNOWN, "share of the images that show one known group"),
    share(SMALL, "share of the set that groups too small to judge have"),
    nats(CHANCE_END, "where 95% of means of MaxSkew lie when groups are exchanged"),
)

SOCIAL = Audit[Encoder, SocialSettings, Gallery](
    name="social",
    question=QUESTIONS["social"],
    source='S: "From Global to Local: Social Bias Transfer in CLIP", sections 3 and 4',
    subject=Encoder,
    settings=SocialSettings,
    schemas=SCHEMAS,
    metrics=METRICS,
    headlines=(
        *(Headline(quantity(BEYOND, attribute=name)) for name in ATTRIBUTES),
        *(Headline(quantity(MAX_SKEW, 1000, attribute=name)) for name in ATTRIBUTES),
        *(Headline(quantity(LEVEL, 5, direction=direction)) for direction in DIRECTIONS),
    ),
    observe=observe,
    needs=lambda benchmark, settings: labels_of(benchmark.images, settings),
    view=Gallery,
    values=values,
    measure=measure,
    draw=draw,
    judge=judge,
    key_formats={
        "attribute": "by {}",
        "group": "{}",
        "direction": "{}",
        "prompt": "for '{}'",
        "end": "{} end",
    },
    space=Space(images=images, vectors=vectors, within=within, metrics=(DIVERGENCE, BEYOND)),
)

__all__ = ["METRICS", "SCHEMAS", "SOCIAL", "SocialSettings"]
