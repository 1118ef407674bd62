"""Kinds of fine-tuning, with their encoders and recipes.

Other packages add a `Kind` by an entry point of the group `equiview.mitigation.finetune.kinds`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from equiview.data.registry import Registry
from equiview.errors import InputError
from equiview.mitigation.finetune.recipes import AdapterRecipe, BlipRecipe, Recipe, VseppRecipe
from equiview.subjects import EmbeddingModel, Subject
from equiview.subjects.encoders.huggingface import HuggingFace
from equiview.subjects.encoders.vsepp import VsePlusPlus
from equiview.subjects.finetuned import MODEL, FineTuned

OURS = "equiview.mitigation.finetune"
ADAPTER = "adapter"
"""The kind for encoders of no other kind."""


@dataclass(frozen=True)
class Kind:
    """One way of fine-tuning: which encoders it takes, and the model as the trainer sees it.

    `trainee` names a `Trainee` as `module:Class`, so that torch is imported only to train; it is called with
    the encoder, the pairs, the recipe, a seed and a `Progress`. `scheme` is the kind of subject of the saved
    folder; it is empty for networks over a frozen encoder, which are loaded as an adapter.
    """

    trainee: str
    takes: Callable[[EmbeddingModel], bool] = lambda subject: True
    recipe: type[Recipe] = Recipe
    scheme: str = ""
    unit: str = "nats"
    """The unit of the loss."""


KINDS: Registry[Kind] = Registry("kind of fine-tuning", __name__, f"{__name__}:Kind")


def tunable(subject: Subject) -> EmbeddingModel:
    """The subject, if it is one that can be fine-tuned; InputError otherwise."""
    if not isinstance(subject, EmbeddingModel):
        raise InputError(
            f"{subject.name!r} is {subject.kind} without a model that makes vectors; fine-tuning needs one, "
            "such as hf:ID_OR_PATH"
        )
    if subject.similarity != "cosine":
        raise InputError(
            f"{subject.name!r} compares by {subject.similarity}; fine-tuning is for encoders with one vector "
            "an item, compared by their angle"
        )
    if isinstance(subject, FineTuned) and (scheme := subject.tuning.scheme):
        raise InputError(
            f"{subject.name!r} holds a whole checkpoint; to fine-tune it further, name that: "
            f"{scheme}:{subject.argument.partition(',')[0]}/{MODEL}"
        )
    return subject


def kind_of(subject: EmbeddingModel, wanted: str = "") -> str:
    """The kind of fine-tuning for an encoder: `wanted`, else the one that takes it."""
    fitting = [name for name, entry in KINDS.all().items() if entry.value.takes(subject)]
    if wanted and not KINDS.get(wanted).takes(subject):
        raise InputError(
            f"setting 'kind': {wanted} does not take {subject.name!r}; {' and '.join(fitting)} "
            f"{'does' if len(fitting) == 1 else 'do'}"
        )
    return wanted or min(fitting, key=lambda name: name == ADAPTER)


def _blip(subject: EmbeddingModel) -> bool:
    return type(subject) is HuggingFace and subject.model_type == "blip"


KINDS.register("dual", about="CLIP, SigLIP and other dual encoders of transformers")(
    Kind(
        f"{OURS}.encoders:Dual",
        lambda subject: type(subject) is HuggingFace and not _blip(subject),
        scheme="hf",
    )
)
KINDS.register("blip", about="BLIP, with its contrastive and its matching head")(
    Kind(f"{OURS}.encoders:Blip", _blip, BlipRecipe, "hf", "nats, both losses together")
)
KINDS.register("vsepp", about="VSE++, with the hardest negative of the batch")(
    Kind(
        f"{OURS}.encoders:Vsepp",
        lambda subject: type(subject) is VsePlusPlus,
        VseppRecipe,
        "vsepp",
        "sum of the batch's margins",
    )
)
KINDS.register(ADAPTER, about="any other encoder stays as it is, and a small network on each side learns")(
    Kind(f"{OURS}.adapter:Adapter", recipe=AdapterRecipe)
)
