"""The makers that come with equiview, by the command of each."""

from typing import Any

from equiview.data.registry import Registry

MAKERS: Registry[Any] = Registry("maker", "equiview.makers", "equiview.making.base:Maker")
PLACES = (
    (
        "build.knowrecall:KNOWRECALL",
        "build knowrecall",
        "Questions about places in many languages, from pictures and articles (KnowRecall).",
    ),
    (
        "build.removal:REMOVAL",
        "build removal",
        "Pictures from which objects were removed, with captions that do not name them.",
    ),
    (
        "build.visrecall:VISRECALL",
        "build visrecall",
        "Well-known places with names in every language, and pictures of them (VisRecall).",
    ),
    (
        "build.xcm:XCM",
        "build xcm",
        "Triplets of images of concepts x countries, from the web or your own (3XCM).",
    ),
    (
        "build.xm3600:XM3600",
        "build xm3600",
        "A pool of captions in many languages from your own, translated where they are missing.",
    ),
    (
        "mitigation.connector:CONNECTOR",
        "train connector",
        "Join a frozen encoder to a frozen language model, so that it answers and captions.",
    ),
    (
        "mitigation.finetune:FINETUNE",
        "train finetune",
        "Fine-tune an encoder on images with captions, and on images without some of their objects.",
    ),
    (
        "mitigation.distill:DISTILL",
        "mitigate distill",
        "Teach a text tower to say in every language what the encoder says of English.",
    ),
    (
        "mitigation.lists:DETCONS",
        "mitigate detcons",
        "Give groups their shares, whoever is due soonest (DetCons, as fair-topk).",
    ),
    (
        "mitigation.lists:DETCONSTSORT",
        "mitigate detconstsort",
        "Give each of many groups its least share, and sort within that (DetConstSort).",
    ),
    (
        "mitigation.lists:DETGREEDY",
        "mitigate detgreedy",
        "Give groups their shares, the best of who may be next (DetGreedy).",
    ),
    (
        "mitigation.lists:DETRELAXED",
        "mitigate detrelaxed",
        "Give groups their shares, whoever is due at one rank by score (DetRelaxed).",
    ),
    (
        "mitigation.lists:EXPOSURE",
        "mitigate exposure",
        "Show each group for its share over all lists, at the least cost (linear program).",
    ),
    (
        "mitigation.lists:FA_IR",
        "mitigate fa-ir",
        "Give one group its share of every first k results where chance would (FA*IR).",
    ),
    (
        "mitigation.lists:FAIR_TOPK",
        "mitigate fair-topk",
        "Give each group its share of every first k results (DetCons).",
    ),
    (
        "mitigation.lists:INTERLEAVE",
        "mitigate interleave",
        "Merge lists by the rank of each result within its group.",
    ),
    (
        "mitigation.lists:RRF",
        "mitigate rrf",
        "Fuse each list with those of its groups by reciprocal rank (RRF).",
    ),
    (
        "mitigation.people:PROJECT",
        "mitigate project",
        "Project out of vectors what tells an attribute of people, such as gender.",
    ),
    ("mitigation.vectors:CENTER", "mitigate center", "Take the mean vector of each language's texts away."),
    ("mitigation.vectors:CSLS", "mitigate csls", "Lower texts that are near to many images (CSLS)."),
    (
        "mitigation.vectors:INLP",
        "mitigate inlp",
        "Take away what linear classifiers of the language read, one after another (INLP).",
    ),
    (
        "mitigation.vectors:LEACE",
        "mitigate leace",
        "Take away what linearly tells the language of a text (LEACE).",
    ),
    (
        "mitigation.vectors:LEVEL",
        "mitigate level",
        "Lower such texts wholly, and give each language its share of the first ranks.",
    ),
    (
        "mitigation.vectors:NORMALIZE",
        "mitigate normalize",
        "Give the scores of each language one mean and one typical best.",
    ),
    (
        "mitigation.vectors:STANDARDIZE",
        "mitigate standardize",
        "Give the scores of each language one mean and standard deviation.",
    ),
    (
        "mitigation.vectors:WHITEN",
        "mitigate whiten",
        "Give the texts of each language the mean and covariance of all.",
    ),
)
ABOUT = {command.partition(" ")[2]: about for _, command, about in PLACES}
"""What each makes, by its name."""

for _where, _command, _about in PLACES:
    MAKERS.place(f"equiview.{_where}", _about, _command, name=_command.partition(" ")[2])
