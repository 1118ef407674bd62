"""Fine-tune an encoder on D, or on D and D', into a folder that is then a subject.

finetune.json             of what it was made, its settings, and whether it is done
model/                    the checkpoint, or the weights of the adapter
loss.json                 the loss of every step
figures/loss.json         its curve
.checkpoints/             while training
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from equiview.data.run import check_folder, versions
from equiview.data.seeds import seed_for
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.lock import locked
from equiview.io.progress import Progress, silent
from equiview.mitigation.finetune.pairs import Mixture
from equiview.mitigation.finetune.settings import FineTuneSettings, Recipe
from equiview.mitigation.folder import begun, save_card, save_losses
from equiview.store import Store, stored
from equiview.subjects import EmbeddingModel, Subject, load_subject
from equiview.subjects.encoders.huggingface import HuggingFace
from equiview.subjects.encoders.torch_encoder import TorchEncoder, chosen_device
from equiview.subjects.encoders.vsepp import VsePlusPlus
from equiview.subjects.finetuned import MODEL, SCHEMES, FineTuned, FineTuning, Kind, model_hash
from equiview.subjects.known import in_full
from equiview.subjects.trained import Part

if TYPE_CHECKING:
    import torch

    from equiview.mitigation.finetune.trainee import Trainee

CHECKPOINTS = ".checkpoints"
UNITS = {
    "dual": "nats",
    "blip": "nats, both losses together",
    "vsepp": "sum of the batch's margins",
    "adapter": "nats",
}
"""What the loss of each kind is counted in."""


def finetune(
    subject: Subject,
    out: Path,
    pairs: Mixture,
    *,
    settings: FineTuneSettings | None = None,
    device: str | None = None,
    store: Store | None = None,
    progress: Progress = silent,
) -> Path:
    """Fine-tune `subject` on `pairs`; returns the folder, which is then `finetuned:DIR`.

    A training that was stopped goes on from its last checkpoint and ends in the same bytes. InputError for a
    subject that cannot be fine-tuned, for a folder that holds another training, and while another process
    writes to it.
    """
    settings = settings or FineTuneSettings.of()
    check_folder(out)
    for library in ("torch", "transformers", "accelerate", "safetensors"):
        require(library, "train")
    kind = kind_of(subject)
    recipe: Recipe = getattr(settings, kind)
    chosen = chosen_device(device, "finetune", "train")
    precision = precision_of(settings.precision, chosen)
    if len(pairs) < recipe.batch:
        raise InputError(
            f"{pairs.real.name!r}: {len(pairs)} pairs are fewer than a batch of {recipe.batch}; "
            f"set a smaller '{kind}.batch'"
        )
    model = _for_training(subject, chosen)
    with locked(out):
        started = _card(kind, subject, pairs, settings)
        if (out / FineTuning.file).exists() and _is_finished(out, begun(out, started)):
            return out
        trainee = _trainee(kind, model, pairs, settings, store, progress)
        card = begun(out, started)  # not before what is wrong with the settings was said

        from equiview.mitigation.finetune.stage import train

        name = " and ".join(part.name for part in card.data.values())
        losses = train(name, trainee, out / CHECKPOINTS, recipe, settings, chosen, precision, progress)
        return _finished(out, card, trainee, losses)


def _card(kind: Kind, subject: Subject, pairs: Mixture, settings: FineTuneSettings) -> FineTuning:
    recipe: Recipe = getattr(settings, kind)
    sides = pairs.sides.items()
    return FineTuning(
        kind=kind,
        parent=Part(name=_in_full(subject.name), fingerprint=subject.fingerprint),
        data={name: Part(name=part.name, fingerprint=part.fingerprint) for name, part in sides},
        pairs={name: len(part) for name, part in sides},
        settings=settings.model_dump(mode="json", exclude=set(UNITS)) | recipe.model_dump(mode="json"),
        versions=versions("torch", "transformers", "accelerate", "tokenizers") | dict(subject.versions),
    )


def kind_of(subject: Subject) -> Kind:
    """Which recipe a subject is fine-tuned by; InputError for one that cannot be."""
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
    if isinstance(subject, FineTuned) and (scheme := SCHEMES.get(subject.tuning.kind)):
        raise InputError(
            f"{subject.name!r} holds a whole checkpoint; to fine-tune it further, name that: "
            f"{scheme}:{subject.argument.partition(',')[0]}/{MODEL}"
        )
    if type(subject) is HuggingFace:
        return "blip" if subject.model_type == "blip" else "dual"
    return "vsepp" if type(subject) is VsePlusPlus else "adapter"


def _for_training(subject: Subject, device: torch.device) -> Subject:
    """The same checkpoint in float32 on the device of the training; what gets an adapter as it is."""
    if not isinstance(subject, TorchEncoder) or kind_of(subject) == "adapter":
        return subject
    return load_subject(f"{subject.scheme}:{subject.checkpoint.name},device={device},dtype=float32")


def _trainee(
    kind: str,
    subject: Subject,
    pairs: Mixture,
    settings: FineTuneSettings,
    store: Store | None,
    progress: Progress,
) -> Trainee:
    if isinstance(subject, HuggingFace | VsePlusPlus) and kind != "adapter":
        from equiview.mitigation.finetune.encoders import Blip, Dual, Vsepp

        kinds: dict[str, Callable[..., Trainee]] = {"dual": Dual, "blip": Blip, "vsepp": Vsepp}
        return kinds[kind](subject, pairs, getattr(settings, kind))
    from equiview.mitigation.finetune.adapter import Adapter

    assert isinstance(subject, EmbeddingModel)
    seed = seed_for(settings.seed, "adapter")
    return Adapter(stored(subject, store), pairs, settings.adapter, seed, progress)


def precision_of(name: str, device: torch.device) -> str:
    """The precision of the passes: as asked, else the best that the device has."""
    if name == "fp16" and device.type != "cuda":
        raise InputError(
            f"setting 'precision': fp16 needs CUDA, and the device is {device}; say bf16 or fp32"
        )
    if name != "auto":
        return name
    if device.type == "cuda":
        import torch

        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"
    return "fp32"


def _is_finished(out: Path, card: FineTuning) -> bool:
    return bool(card.weights) and (out / MODEL).is_dir() and model_hash(out / MODEL) == card.weights


def _finished(out: Path, card: FineTuning, trainee: Trainee, losses: list[dict[str, float]]) -> Path:
    """Write the model, the losses, and last that all is done."""
    work = out / f".{MODEL}"
    for folder in (work, out / MODEL):  # what a kill left while they were written
        shutil.rmtree(folder, ignore_errors=True)
    work.mkdir()
    trainee.save(work)
    save_losses(out, {"fine-tuning": losses}, UNITS[card.kind])
    work.rename(out / MODEL)
    save_card(out, card.model_copy(update={"weights": model_hash(out / MODEL)}))
    shutil.rmtree(out / CHECKPOINTS, ignore_errors=True)
    return out


def _in_full(name: str) -> str:
    """A subject's name that is found from anywhere: a folder by its whole path, no abbreviation."""
    scheme, _, argument = in_full(name).partition(":")
    place, comma, options = argument.partition(",")
    folder = Path(place).expanduser()
    return f"{scheme}:{folder.resolve()}{comma}{options}" if place and folder.is_dir() else in_full(name)
