"""What encoders that run on torch share: device, precision, batches by length, pictures prepared ahead."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equiview.data.arguments import count_of
from equiview.data.vectors import TokenVectors
from equiview.errors import InputError
from equiview.extras import require
from equiview.io.ahead import ahead
from equiview.io.fingerprint import fingerprint
from equiview.subjects.encoders.base import EmbeddingModel
from equiview.subjects.encoders.checkpoint import Checkpoint

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from PIL.Image import Image

VOCABULARIES = (
    *("tokenizer.json", "vocab.json", "vocab.txt", "tokenizer.model"),
    *("sentencepiece.bpe.model", "spiece.model", "spm.model"),
)
Inputs = dict[str, Any]
Tokens = Mapping[str, Sequence[int]]
LENGTH_LIMIT = 2**20
"""Tokenizers without a limit of their own state an absurd one; from here on a limit is none."""


class TorchEncoder(EmbeddingModel):
    """An encoder whose model is a torch module; a family says how inputs and vectors are made.

    Options of every family: `device` (cuda, mps, cpu), `dtype` (float32, float16, bfloat16) and `batch`, the
    number of pictures in one forward pass (texts: four times as many).
    """

    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers", "pillow")
    scheme: ClassVar[str]
    extra: ClassVar[str] = "hf"
    extra_options: ClassVar[tuple[str, ...]] = ()
    half: ClassVar[str] = "float16"
    """Precision on an accelerator; bfloat16 for families whose activations overflow float16."""
    usual_batch: ClassVar[int] = 32

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.checkpoint = self.find(argument)
        self.options = self.checkpoint.options
        self.forward_images = count_of(self.options.get("batch", self.usual_batch), "batch", self.scheme)
        self.forward_texts = 4 * self.forward_images
        self.image_batch = max(64, self.forward_images)
        self.text_batch = max(1024, self.forward_texts)

    def find(self, argument: str) -> Checkpoint:
        """The checkpoint that was named, fetched if need be."""
        return Checkpoint.find(argument, self.scheme, self.extra_options, self.extra)

    @cached_property
    def device(self) -> torch.device:
        """Where the model runs: as asked, else the first accelerator there is."""
        return chosen_device(self.options.get("device"), self.scheme, self.extra)

    @cached_property
    def dtype(self) -> torch.dtype:
        """Precision of the weights: as asked, else half on an accelerator and float32 on a processor."""
        return chosen_dtype(self.options.get("dtype"), self.device, self.half, self.scheme, self.extra)

    @property
    def recipe(self) -> str:
        """What else decides the vectors: prompts, pooling, limits. Part of the fingerprint."""
        return ""

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the files of the checkpoint, the precision and the recipe."""
        return fingerprint(type(self).__qualname__, self.checkpoint.fingerprint, self.dtype, self.recipe)

    @abstractmethod
    def picture_inputs(self, images: Sequence[Image]) -> Inputs:
        """What the model reads of pictures; runs in a thread while the model works on the batch before."""

    @abstractmethod
    def image_vectors(self, inputs: Inputs) -> torch.Tensor:
        """Vectors `(n, width)` of prepared pictures, on the device."""

    @abstractmethod
    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """What the model reads of each text, not padded, cut at the model's limit."""

    @abstractmethod
    def padded(self, rows: Sequence[Tokens]) -> Inputs:
        """Texts of similar length as one batch."""

    @abstractmethod
    def text_vectors(self, inputs: Inputs) -> torch.Tensor:
        """Vectors `(n, width)` of a padded batch of texts, on the device."""

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32] | TokenVectors:
        """Unit vectors of RGB images, `(n, width)` float32 or several for each."""
        self.load()
        step = self.forward_images
        batches = [images[start : start + step] for start in range(0, len(images), step)]
        prepared = ahead(self.picture_inputs, batches, depth=2)
        return self._whole([vector for inputs in prepared for vector in self.run(self.image_vectors, inputs)])

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32] | TokenVectors:
        """Unit vectors of texts, `(n, width)` float32 or several for each, in the order given."""
        self.load()
        rows = self.tokens(readable(texts))
        lengths = [len(row["input_ids"]) for row in rows]
        if 0 in lengths:
            raise InputError(f"text {texts[lengths.index(0)]!r} has no token for {self.checkpoint.name}")
        # Texts of one length waste nothing on filling up; the longest go first, so that what does not fit
        # in memory fails at once.
        order = sorted(range(len(rows)), key=lambda row: -lengths[row])
        step = self.forward_texts
        batches = [[rows[row] for row in order[start : start + step]] for start in range(0, len(order), step)]
        vectors = [vector for batch in batches for vector in self.run(self.text_vectors, self.padded(batch))]
        return self._whole([vectors[place] for place in np.argsort(order)])

    def _whole(self, vectors: list[NDArray[np.float32]]) -> NDArray[np.float32] | TokenVectors:
        return TokenVectors.of(vectors) if self.similarity == "maxsim" else np.stack(vectors)

    def load(self) -> None:
        """Load the model now rather than at the first batch."""

    def run(self, forward: Any, inputs: Inputs) -> list[NDArray[np.float32]]:
        """Unit vectors of each item on the host: `(width,)`, or `(tokens, width)` where `forward` says which.

        `forward` makes `(n, width)`, or the pair `(n, longest, width)` and `(n, longest)` true for tokens.
        """
        import torch

        with torch.inference_mode():
            output = forward(self.placed(inputs))
            vectors, kept = output if isinstance(output, tuple) else (output, None)
            unit = torch.nn.functional.normalize(vectors.float(), dim=-1).cpu().numpy()
        return (
            list(unit)
            if kept is None
            else [row[mask] for row, mask in zip(unit, kept.cpu().numpy(), strict=True)]
        )

    def placed(self, inputs: Inputs) -> Inputs:
        """Inputs on the device, floats in the model's precision."""
        return {
            name: value.to(self.device, self.dtype if value.is_floating_point() else None)
            for name, value in inputs.items()
        }


def chosen_device(name: str | None, scheme: str, extra: str) -> torch.device:
    """The device asked for, else the first accelerator there is, else the processor."""
    library = require("torch", extra)
    if not name:
        accelerators = (("cuda", library.cuda), ("mps", library.backends.mps))
        name = next((key for key, library_part in accelerators if library_part.is_available()), "cpu")
    try:
        device: torch.device = library.empty(0, device=name).device
    except (RuntimeError, AssertionError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{scheme}: device {name!r} cannot be used ({reason})") from None
    return device


def chosen_dtype(name: str | None, device: torch.device, half: str, scheme: str, extra: str) -> torch.dtype:
    """The precision asked for, else float32 on a processor and `half` on an accelerator."""
    name = name or ("float32" if device.type == "cpu" else half)
    if name not in {"float32", "float16", "bfloat16"}:
        raise InputError(f"{scheme}: dtype is {name!r}; expected float32, float16 or bfloat16")
    chosen: torch.dtype = getattr(require("torch", extra), name)
    return chosen


def readable(texts: Sequence[str]) -> list[str]:
    """The texts, if a tokenizer can read them; InputError names the first with half of a surrogate pair."""
    for row, text in enumerate(texts):
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InputError(
                f"text {row + 1} of this batch, {text!r}, holds an unpaired surrogate, which is no "
                "character; was the text cut inside one?"
            )
    return list(texts)


def pad(rows: Sequence[Tokens], fills: Mapping[str, int], side: str = "right", length: int = 0) -> Inputs:
    """Rows of token ids as tensors `(n, longest)` or `(n, length)`, filled up at `side`.

    `fills` gives the value that fills each input up, and names the inputs that are kept.
    """
    import torch

    longest = length or max(len(row["input_ids"]) for row in rows)
    tensors = {}
    for name, fill in fills.items():
        if name in rows[0]:
            full = torch.full((len(rows), longest), fill)
            for row, values in enumerate(rows):
                ids = torch.tensor(values[name])
                full[row, slice(len(ids)) if side == "right" else slice(longest - len(ids), None)] = ids
            tensors[name] = full
    return tensors


def state_of(path: Path) -> dict[str, Any]:
    """The tensors of a weight file by name; a pickle is read as data alone, so nothing in it can run."""
    torch = require("torch", "hf")
    try:
        if path.suffix == ".safetensors":
            state = require("safetensors.torch", "hf").load_file(path)
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # as many kinds as there are ways to be broken
        raise InputError(
            f"{path}: cannot be read as weights ({str(error).strip().splitlines()[0]})"
        ) from error
    for key in ("state_dict", "model"):
        if isinstance(state.get(key), dict):
            state = state[key]
    return {name.removeprefix("module."): value for name, value in state.items()}


def filled(model: Any, state: Mapping[str, Any], where: Any) -> Any:
    """Return `model` with the weights of `state`, each of which has to be there and to fit."""
    expected = model.state_dict()
    missing = [name for name in expected if name not in state]
    wrong = [name for name in expected if name in state and expected[name].shape != state[name].shape]
    loaded(model, {"missing_keys": missing, "mismatched_keys": wrong}, where)
    model.load_state_dict({name: state[name] for name in expected})
    return model


def loaded(model: Any, info: Mapping[str, Any], where: Any) -> Any:
    """Return `model` if its checkpoint held every weight; a model that is partly random says nothing."""
    missing = sorted(
        name for name in info["missing_keys"] if not name.endswith(("position_ids", "rotary_emb.inv_freq"))
    )
    wrong = sorted(str(entry) for entry in info.get("mismatched_keys", ()))
    kind = model if isinstance(model, type) else type(model)
    for what, names in (("has no weights for", missing), ("has weights of another shape for", wrong)):
        if names:
            raise InputError(
                f"{where}: the checkpoint {what} {len(names)} parts of {kind.__name__}, such as "
                f"{names[0]}; is it of another kind, or incomplete?"
            )
    return model


def tokenizer_of(checkpoint: Checkpoint, kind: Any = None, **settings: Any) -> Any:
    """The tokenizer of a checkpoint; InputError when it has no vocabulary, which the library accepts."""
    checkpoint.need(*VOCABULARIES)
    kind = kind or require("transformers", "hf").AutoTokenizer
    return from_files(kind, checkpoint.folder, **settings)


def from_files(kind: Any, folder: Path | None, **settings: Any) -> Any:
    """`kind.from_pretrained(folder)`, without its progress bars; InputError when it cannot be loaded.

    With `folder` None the weights are among the settings, as `state_dict`.
    """
    try:
        with library_bars_off():
            return kind.from_pretrained(folder and str(folder), **settings)
    except Exception as error:  # a broken file fails in as many ways as there are libraries that read it
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"{folder}: {kind.__name__} cannot be loaded from it ({reason})") from error


@contextmanager
def library_bars_off() -> Iterator[None]:
    """Silence the progress bars of transformers, which would overwrite ours."""
    logging = require("transformers.utils.logging", "hf")
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if bars:
            logging.enable_progress_bar()
