"""Fine-tune an encoder on D, or on D and D', into a folder that is then a subject.

finetune.json             of what it was made, its settings, and whether it is done
model/                    the checkpoint, or the weights of the adapter
loss.json                 the loss of every step
figures/loss.json         its curve
.checkpoints/             while training
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from equiview.data.run import check_folder
from equiview.data.seeds import seed_for
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.lock import locked
from equiview.io.progress import Progress, silent
from equiview.mitigation.finetune.kinds import KINDS, kind_of, tunable
from equiview.mitigation.finetune.pairs import Mixture
from equiview.mitigation.finetune.settings import FineTuneSettings
from equiview.mitigation.folder import begun, in_full, save_card, save_losses, versions_with
from equiview.store import Store, stored
from equiview.subjects import Encoder, Subject, load_subject
from equiview.subjects.encoders.torch_encoder import TorchEncoder, chosen_device
from equiview.subjects.finetuned import MODEL, FineTuning
from equiview.subjects.known import in_full as known_in_full
from equiview.subjects.trained import Part, hash_of

if TYPE_CHECKING:
    import torch

    from equiview.mitigation.finetune.trainee import Trainee

CHECKPOINTS = ".checkpoints"


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
    encoder: Encoder = tunable(subject)
    name = kind_of(tunable(subject), settings.kind)
    kind, recipe = KINDS.get(name), settings.recipes[name]
    chosen = chosen_device(device, "finetune", "train")
    precision = precision_of(settings.precision, chosen)
    if len(pairs) < recipe.batch:
        raise InputError(
            f"{pairs.real.name!r}: {len(pairs)} pairs are fewer than a batch of {recipe.batch}; "
            f"set a smaller '{name}.batch'"
        )
    started = FineTuning(
        kind=name,
        scheme=kind.scheme,
        parent=Part.of(subject, _found_anywhere(subject.name)),
        data={side: Part.of(part) for side, part in pairs.sides.items()},
        pairs={side: len(part) for side, part in pairs.sides.items()},
        settings=settings.model_dump(mode="json", exclude={"kind", "recipes"})
        | recipe.model_dump(mode="json"),
        versions=versions_with(subject),
    )
    if not kind.scheme:
        encoder = stored(encoder, store)
    elif isinstance(subject, TorchEncoder):  # in float32, and apart from the one that was given
        named = f"{subject.scheme}:{subject.checkpoint.name},device={chosen},dtype=float32"
        encoder = tunable(load_subject(named))
    with locked(out):
        if (out / started.file).exists() and begun(out, started).is_done(out):
            return out
        trainee = kind.trainee(encoder, pairs, recipe, seed_for(settings.seed, "adapter"), progress)
        card = begun(out, started)  # not before what is wrong with the settings was said

        from equiview.mitigation.finetune.stage import train

        label = " and ".join(part.name for part in card.data.values())
        losses = train(label, trainee, out / CHECKPOINTS, recipe, settings, chosen, precision, progress)
        return _finished(out, card, trainee, losses, kind.unit)


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


def _finished(
    out: Path, card: FineTuning, trainee: Trainee, losses: list[dict[str, float]], unit: str
) -> Path:
    """Write the model, the losses, and last that all is done."""
    work = out / f".{MODEL}"
    for folder in (work, out / MODEL):  # what a kill left while they were written
        shutil.rmtree(folder, ignore_errors=True)
    work.mkdir()
    trainee.save(work)
    save_losses(out, {"fine-tuning": losses}, unit)
    work.rename(out / MODEL)
    save_card(out, card.model_copy(update={"weights": hash_of(out / MODEL)}))
    shutil.rmtree(out / CHECKPOINTS, ignore_errors=True)
    return out


def _found_anywhere(name: str) -> str:
    """A subject's name that is found from anywhere: a folder by its whole path, no abbreviation."""
    scheme, colon, argument = known_in_full(name).partition(":")
    place, comma, options = argument.partition(",")
    return f"{scheme}{colon}{in_full(place)}{comma}{options}"
