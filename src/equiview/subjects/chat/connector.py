"""`connector:DIR`: a frozen encoder and a frozen language model, joined by a connector that was trained.

It answers and captions: the image's vector becomes soft tokens between the words of the prompt, and the
language model continues the prompt by greedy decoding. The folder is made by `equiview.mitigation.connector`.

The encoder and the language model that the folder names are loaded again and checked by their fingerprints.
Options: `encoder` and `language_model`, if their places changed; `device`, `dtype`, and `batch`, the number
of requests answered together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from equiview.data.arguments import count_option, split_argument
from equiview.data.items import Items
from equiview.data.requests import Reply, Request
from equiview.data.vectors import one_each
from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.io.progress import Progress, silent
from equiview.subjects.chat.base import Answerer
from equiview.subjects.chat.soft_tokens import LanguageModel, new_connector, soft_tokens
from equiview.subjects.encoders.base import Encoder
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.loading import filled, state_of
from equiview.subjects.encoders.torch_encoder import OnTorch
from equiview.subjects.load import load_encoder
from equiview.subjects.trained import Part, TrainingCard, check_same

if TYPE_CHECKING:
    import torch

WEIGHTS = "connector.safetensors"
OPTIONS = ("encoder", "language_model", "device", "dtype", "batch")
BATCH = 16


class Connection(TrainingCard):
    """The content of `connector.json`: what the connector was made from, and how.

    `width` is that of the image vectors. `stages` has the checksum of the weights after each stage, and
    `weights` the one of `connector.safetensors`.
    """

    file: ClassVar[str] = "connector.json"
    what: ClassVar[str] = "connector"
    made: ClassVar[str] = WEIGHTS

    encoder: Part
    width: int
    language_model: Part
    data: dict[str, Part]
    stages: dict[str, str] = Field(default_factory=dict)


class Connector(OnTorch, Answerer):
    """An encoder joined to a language model by a trained connector."""

    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")
    scheme = "connector"
    encoder: Encoder

    def __init__(self, argument: str = "", encoder: Encoder | None = None) -> None:
        super().__init__(argument)
        name, self.options = split_argument(argument, "connector", OPTIONS)
        if not name:
            raise InputError("connector: name the folder of a trained connector, as in connector:DIR")
        self.folder = Path(name).expanduser()
        self.made_of = Connection.read(self.folder)
        self.batch = count_option(self.options, "batch", BATCH, "connector")
        self.encoder = encoder or load_encoder(self.options.get("encoder", self.made_of.encoder.name))
        check_same(self.encoder.name, self.encoder.fingerprint, self.made_of.encoder, self.folder, "encoder")

    @property
    def fingerprint(self) -> str:
        """A hash of its weights, the encoder, the language model, the template and the precision."""
        made = self.made_of
        template = made.settings["template"]
        parts = (made.weights, made.encoder.fingerprint, made.language_model.fingerprint, template)
        return fingerprint("connector", *parts, self.dtype)

    @property
    def parent(self) -> str:
        """The fingerprint of its encoder."""
        return self.made_of.encoder.fingerprint

    @property
    def about(self) -> str:
        """Its encoder and its language model."""
        return f"{self.made_of.encoder.name} joined to {self.made_of.language_model.name} by a connector"

    @property
    def versions(self) -> Mapping[str, str]:
        """Those of the libraries of the language model and of the encoder."""
        return {**self.encoder.versions, **super().versions}

    @cached_property
    def language_model(self) -> LanguageModel:
        """The language model, loaded and checked."""
        made = self.made_of
        name = self.options.get("language_model", made.language_model.name)
        checkpoint = Checkpoint.find(name, "connector")
        check_same(name, checkpoint.fingerprint, made.language_model, self.folder, "language model")
        settings = made.settings
        return LanguageModel.load(
            checkpoint, self.device, self.dtype, settings["template"], settings["tokens"]
        )

    @cached_property
    def connector(self) -> Any:
        """The trained connector, in float32, where the language model is."""
        made = self.made_of
        empty = new_connector(made.width, self.language_model.hidden, made.settings["tokens"])
        path = self.folder / WEIGHTS
        return filled(empty, state_of(path), path).to(self.device).eval()

    def embed(self, items: Items, progress: Progress = silent) -> NDArray[np.float32]:
        """Vectors of images after training: the mean of each image's soft tokens, `(n_items, hidden)`."""
        import torch

        vectors = one_each(self.encoder.embed(items, progress))
        with torch.inference_mode():
            parts = [self._soft(part).mean(dim=1).cpu().numpy() for part in _parts(vectors, 1024)]
        return np.concatenate(parts)

    def _soft(self, vectors: NDArray[np.float32]) -> torch.Tensor:
        import torch

        placed = torch.tensor(vectors, dtype=torch.float32, device=self.device)
        unit = torch.nn.functional.normalize(placed, dim=1)
        return soft_tokens(self.connector, unit, self.made_of.settings["tokens"])

    def replies(
        self, requests: Sequence[Request], images: Items | None, progress: Progress
    ) -> Iterator[tuple[int, Reply]]:
        """Yield (place, reply), greedily decoded; InputError for a request without a picture or too long."""
        import torch

        if not requests:
            return
        shown = [request.image for request in requests]
        if images is None or None in shown:
            blind = requests[0 if images is None else shown.index(None)].id
            raise InputError(
                f"{self.name}: request {blind!r} has no picture; a connector answers about pictures"
            )
        used, image_at = np.unique(np.asarray(shown, dtype=np.int64), return_inverse=True)
        vectors = one_each(self.encoder.embed(images.take(used), progress))
        model = self.language_model
        rows = [model.row(request.prompt) for request in requests]
        for request, row in zip(requests, rows, strict=True):
            if len(row["input_ids"]) + request.max_tokens > model.longest:
                raise InputError(
                    f"{self.name}: request {request.id!r} has {len(row['input_ids'])} tokens and asks for up "
                    f"to {request.max_tokens} more; the language model reads {model.longest}"
                )
        # Prompts of one length need no padding; replies of one limit end together.
        lengths = [
            (request.max_tokens, len(row["input_ids"])) for request, row in zip(requests, rows, strict=True)
        ]
        order = sorted(range(len(rows)), key=lengths.__getitem__)
        groups = [list(group) for _, group in groupby(order, lambda place: lengths[place][0])]
        for places in (part for group in groups for part in _parts(group, self.batch)):
            batch = model.batch([rows[place] for place in places], side="left")
            batch = {name: value.to(self.device) for name, value in batch.items()}
            with torch.inference_mode():
                soft = self._soft(vectors[image_at[places]])
                written = model.write(batch, soft, requests[places[0]].max_tokens)
            for place, (text, tokens, ended) in zip(places, written, strict=True):
                read = len(rows[place]["input_ids"])
                yield place, Reply(text, "stop" if ended else "length", read, tokens)


def _parts(whole: Any, size: int) -> Iterator[Any]:
    return (whole[start : start + size] for start in range(0, len(whole), size))
