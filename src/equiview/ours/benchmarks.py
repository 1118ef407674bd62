"""The benchmarks that come with equiview, or for which it has a reader."""

from typing import Any

from equiview.data.registry import Registry

BENCHMARKS: Registry[Any] = Registry("benchmark", "equiview.benchmarks", "collections.abc:Callable")
SOURCES = {
    "3xcm": "https://huggingface.co/datasets/Chula-AI/association_bias_benchmark",
    "coco": "https://cocodataset.org",
    "coco-people": "https://princetonvisualai.github.io/imagecaptioning-bias",
    "dollarstreet": "https://mlcommons.org/datasets/dollar-street",
    "fairface": "https://github.com/joojs/fairface",
    "flickr30k": "https://shannon.cs.illinois.edu/DenotationGraph",
    "geode": "https://geodiverse-data-collection.cs.princeton.edu",
    "knowrecall": "https://huggingface.co/datasets/nlp-waseda/KnowRecall",
    "multi30k": "https://github.com/multi30k/dataset",
    "phase": "https://github.com/noagarcia/phase",
    "visrecall": "https://github.com/nlp-waseda/traveling-across-languages",
    "vqav2": "https://visualqa.org",
    "xflickrco": "https://github.com/e-bug/iglue",
    "xm3600": "https://google.github.io/crossmodal-3600",
    "xtd": "https://github.com/adobe-research/Cross-lingual-Test-Dataset-XTD10",
}
"""Where to get what was published, by the name of its benchmark."""
PLACES: tuple[tuple[str, ...], ...] = (
    (
        "xcm:xcm",
        "3XCM, 11,723 trials of association bias (local copy of the release)",
        "3xcm:DIR",
        "3xcm:hub",
    ),
    (
        "coco:coco",
        "COCO: English captions and objects",
        "coco:DIR",
        "coco:DIR,split=val2017,masks=yes",
        "coco:DIR,detections=FILE,score=0.5",
    ),
    (
        "coco_people:coco_people",
        "COCO with gender and skin tone as annotated by Zhao et al. (your copy, on request)",
        "coco-people:DIR",
    ),
    (
        "dollarstreet:dollarstreet",
        "Dollar Street: things of homes of all incomes in 63 countries",
        "dollarstreet:DIR",
    ),
    ("fairface:fairface", "FairFace: faces labelled by age, gender and race", "fairface:DIR"),
    (
        "flickr30k:flickr30k",
        "Flickr30K: English captions, Karpathy's splits, and Entities",
        "flickr30k:DIR",
        "flickr30k:DIR,split=val",
    ),
    ("folder:folder", "your own images and texts, as tables in a folder", "folder:DIR"),
    ("geode:geode", "GeoDE: 40 objects photographed in 6 regions of the world", "geode:DIR"),
    (
        "held_out:held_out",
        "the part of a benchmark that a mitigation in DIR was not fitted on",
        "held-out:DIR",
    ),
    (
        "hub:hub",
        "data sets in the layout of the Hugging Face hub: XM3600, FairFace, 3XCM, KnowRecall",
        "hub:REPO[@REV]",
        "hub:DIR",
    ),
    (
        "knowrecall:knowrecall",
        "KnowRecall: 3,000 questions about landmarks in 15 languages (local copy of the release)",
        "knowrecall:DIR",
    ),
    (
        "multi30k:multi30k",
        "Multi30K: Flickr30K images captioned in en, de, fr, cs; translated or independent captions",
        "multi30k:DIR",
        "multi30k:DIR,part=independent",
    ),
    ("phase:phase", "PHASE: web images, captions and what people look like in them", "phase:DIR"),
    (
        "pictograms:pictograms",
        "1,280 emoji drawings named in 36 languages; comes with equiview",
        "pictograms",
    ),
    (
        "pictograms_culture:pictograms_culture",
        "100 drawings x 16 flags, 1,600 trials of association bias; comes with equiview",
        "pictograms-culture",
    ),
    (
        "pictograms_flags:pictograms_flags",
        "241 flags to describe from memory, named in 15 languages; comes with equiview",
        "pictograms-flags",
    ),
    (
        "pictograms_people:pictograms_people",
        "1,152 drawings of people in 64 roles by gender and skin; comes with equiview",
        "pictograms-people[:languages=LANG+LANG...]",
    ),
    (
        "pictograms_quiz:pictograms_quiz",
        "330 multiple-choice questions in 15 languages; comes with equiview",
        "pictograms-quiz",
    ),
    (
        "pictograms_roles:pictograms_roles",
        "1,152 questions about drawings of people in 64 roles; comes with equiview",
        "pictograms-roles",
    ),
    (
        "removals:removals",
        "images without some of their objects, as `equiview build removal` writes them",
        "removals:DIR,of=BENCHMARK",
        "removals:DIR,gallery=DIR+DIR,of=BENCHMARK",
    ),
    ("finished:finished", "items, languages and judgements next to a finished run", "run:FILE"),
    (
        "scenes:scenes",
        "pictures put together from drawings, one thing taken away exactly; comes with equiview",
        "scenes",
        "scenes:strength=0.8,images=1000,languages=en+sw",
    ),
    ("visrecall:visrecall", "VisRecall: landmarks named in nine languages, and pictures", "visrecall:DIR"),
    (
        "vqav2:vqav2",
        "VQA v2: questions about COCO images, ten answers each",
        "vqav2:DIR",
        "vqav2:DIR,people=DIR",
    ),
    ("xflickrco:xflickrco", "xFlickrCO: 2,000 images captioned in eight languages", "xflickrco:DIR"),
    ("xm3600:xm3600", "Crossmodal-3600: 3,600 images captioned in 36 languages", "xm3600:DIR"),
    ("xtd:xtd", "XTD: 1,000 COCO images captioned in eleven languages", "xtd:DIR"),
)

for _where, _about, *_usage in PLACES:
    BENCHMARKS.place(f"equiview.benchmarks.{_where}", _about, *_usage)
