"""What encoders that run on torch share: device, precision, batches by length, pictures prepared ahead."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equiview.data.arguments import count_option
from equiview.data.items import Items
from equiview.data.vectors import TokenVectors, Vectors
from equiview.errors import InputError
from equiview.extras import accelerator, require
from equiview.io.ahead import ahead
from equiview.io.fingerprint import fingerprint
from equiview.subjects.encoders.base import EmbeddingModel, narrowed
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.loading import failures
from equiview.subjects.encoders.spread import Unreadable

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

Inputs = dict[str, Any]
Tokens = Mapping[str, Sequence[int]]
SAVED_TOGETHER = 8
"""Batches of pictures whose vectors are handed on, and kept, together where there is an accelerator."""
IN_FLIGHT = 3
"""Batches that CUDA is given beyond the one whose vectors are waited for, so that it always has work."""
LENGTH_LIMIT = 2**20
"""Tokenizers without a limit state a very large number; from here on it counts as no limit."""


class OnTorch:
    """What runs on torch, by a user's options `device` and `dtype`; `scheme` is the name it was typed by."""

    scheme: ClassVar[str]
    extra: ClassVar[str] = "hf"
    half: ClassVar[str] = "bfloat16"
    """Precision on an accelerator; float16 for families whose activations do not overflow it."""
    options: Mapping[str, str]

    @cached_property
    def device(self) -> torch.device:
        """Where the model runs: as asked, else the first accelerator there is."""
        return chosen_device(self.options.get("device"), self.scheme, self.extra)

    @cached_property
    def dtype(self) -> torch.dtype:
        """Precision of the weights: as asked, else half on an accelerator and float32 on a processor."""
        return chosen_dtype(self.options.get("dtype"), self.device, self.half, self.scheme, self.extra)

    def placed(self, inputs: Inputs) -> Inputs:
        """Inputs on the device, floats in the model's precision; CUDA computes while they are copied."""
        cuda = self.device.type == "cuda"
        return {
            name: value.to(self.device, self.dtype if value.is_floating_point() else None, non_blocking=cuda)
            for name, value in self.pinned(inputs).items()
        }

    def pinned(self, inputs: Inputs) -> Inputs:
        """Inputs in memory that CUDA copies from while it computes; for other devices as they are."""
        if self.device.type != "cuda":
            return inputs
        return {name: value.pin_memory() for name, value in inputs.items()}


class TorchEncoder(OnTorch, EmbeddingModel):
    """An encoder whose model is a torch module; a family says how inputs and vectors are made.

    Options of every family: `device` (cuda, mps, cpu), `dtype` (float32, float16, bfloat16) and `batch`, the
    number of pictures in one forward pass (texts: four times as many). A family may take `dim`, how many
    numbers of each vector are kept.
    """

    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers", "pillow")
    extra_options: ClassVar[tuple[str, ...]] = ()
    half = "float16"
    usual_batch: ClassVar[int] = 32
    parts_used: ClassVar[tuple[str, ...]] = ("model", "tokenizer", "processor")
    """Properties that hold what is loaded."""

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.checkpoint = self.find(argument)
        self.options = self.checkpoint.options
        self.dim = count_option(self.options, "dim", 1, self.scheme) if "dim" in self.options else 0
        self.forward_images = count_option(self.options, "batch", self.usual_batch, self.scheme)
        self.forward_texts = 4 * self.forward_images
        self.image_batch = max(64, self.forward_images)
        self.text_batch = max(1024, self.forward_texts)

    @property
    def accelerator(self) -> bool:  # type: ignore[override]
        """Whether it was not asked to run on the processor."""
        return self.options.get("device") != "cpu"

    def find(self, argument: str) -> Checkpoint:
        """The named checkpoint, downloaded if it is not here."""
        return Checkpoint.find(argument, self.scheme, self.extra_options, self.extra)

    @property
    def recipe(self) -> str:
        """What else decides the vectors: prompts, pooling, limits. Part of the fingerprint."""
        return ""

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the files of the checkpoint, the precision and the recipe."""
        parts = (type(self).__qualname__, self.checkpoint.fingerprint, self.dtype, self.recipe)
        return fingerprint(*parts, *([f"dim {self.dim}"] if self.dim else []))

    @abstractmethod
    def picture_inputs(self, images: Sequence[Image]) -> Inputs:
        """What the model reads of pictures; runs in a thread, perhaps while the model is at work."""

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

    @property
    def in_turn(self) -> bool:
        """On a processor, if as many threads decode as it has cores: those of a pass would wait for them."""
        return self.device.type == "cpu" and (os.cpu_count() or 1) <= self.readers

    def encode_images(self, images: Sequence[Image]) -> NDArray[np.float32] | TokenVectors:
        """Unit vectors of RGB images, `(n, width)` float32 or several for each."""
        (vectors,) = self._encoded([images])
        return vectors

    def encode_batches(self, batches: Iterable[list[Image]]) -> Iterator[Vectors]:
        """Vectors of each batch; pictures of the next ones are prepared, and on CUDA computed, meanwhile."""
        own = type(self).encode_images is not TorchEncoder.encode_images
        return super().encode_batches(batches) if own else self._encoded(batches)

    def _encoded(self, batches: Iterable[Sequence[Image]]) -> Iterator[NDArray[np.float32] | TokenVectors]:
        self.load()
        step, passes = self.forward_images, deque[int]()

        def parts() -> Iterator[Sequence[Image]]:
            for images in batches:
                passes.append(-(-len(images) // step))
                yield from (images[start : start + step] for start in range(0, len(images), step))

        # On a processor of many cores all but the next batch would wait for it, and take its time.
        depth = (os.cpu_count() or 2) if self.in_turn or self.device.type != "cpu" else 2
        prepared = ahead(self._prepared, parts(), depth=depth, threads=depth, in_turn=self.in_turn)
        done: list[list[NDArray[np.float32]]] = []
        for vectors in self.run_all(self.image_vectors, prepared):
            done.append(vectors)
            if len(done) == passes[0]:
                passes.popleft()
                yield self._whole([vector for part in done for vector in part])
                done = []

    def _prepared(self, images: Sequence[Image]) -> Inputs:
        """What the model reads of pictures, in memory that CUDA copies from by itself."""
        return self.pinned(self.picture_inputs(images))

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32] | TokenVectors:
        """Unit vectors of texts, `(n, width)` float32 or several for each, in the order given."""
        self.load()
        rows = self.tokens(readable(texts))
        lengths = [len(row["input_ids"]) for row in rows]
        if 0 in lengths:
            raise InputError(f"text {texts[lengths.index(0)]!r} has no token for {self.checkpoint.name}")
        # Texts of one length need no padding; the longest go first, to run out of memory early if at all.
        order = sorted(range(len(rows)), key=lambda row: -lengths[row])
        step = self.forward_texts
        batches = [[rows[row] for row in order[start : start + step]] for start in range(0, len(order), step)]
        done = self.run_all(self.text_vectors, map(self.padded, batches))
        vectors = [vector for part in done for vector in part]
        return self._whole([vectors[place] for place in np.argsort(order)])

    def _image_batches(
        self, items: Items, chosen: NDArray[np.int64], unreadable: Unreadable | None
    ) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        """Those of any model; for an accelerator all processors decode, and fewer files are written."""
        if self.device.type != "cpu":
            self.image_batch = max(self.image_batch, SAVED_TOGETHER * self.forward_images)
            self.readers = os.cpu_count() or self.readers
        yield from super()._image_batches(items, chosen, unreadable)

    def _whole(self, vectors: list[NDArray[np.float32]]) -> NDArray[np.float32] | TokenVectors:
        return TokenVectors.of(vectors) if self.similarity == "maxsim" else np.stack(vectors)

    def load(self) -> None:
        """Load the model now rather than at the first batch."""
        for part in self.parts_used:
            getattr(self, part)

    @property
    def in_flight(self) -> int:
        """How many batches are begun before the vectors of the one before them are waited for."""
        return IN_FLIGHT if self.device.type == "cuda" else 0

    def run_all(self, forward: Any, batches: Iterable[Inputs]) -> Iterator[list[NDArray[np.float32]]]:
        """What `run` returns of each batch, in order, while the device works on the next ones.

        What was begun before an error is yielded before that is raised.
        """
        begun, failed = deque[Callable[[], list[NDArray[np.float32]]]](), None
        try:
            for inputs in batches:
                begun.append(self.begin(forward, inputs))
                if len(begun) > self.in_flight:
                    yield begun.popleft()()
        except Exception as error:
            failed = error
        while begun:
            yield begun.popleft()()
        if failed:
            raise failed

    def run(self, forward: Any, inputs: Inputs) -> list[NDArray[np.float32]]:
        """Unit vectors of each item on the host: `(width,)`, or `(tokens, width)` without padding.

        `forward` returns `(n, width)`, or the pair of `(n, longest, width)` and its mask `(n, longest)`. What
        does not fit into the device's memory is taken in halves; InputError where it cannot be halved.
        """
        return self.begin(forward, inputs)()

    def begin(self, forward: Any, inputs: Inputs) -> Callable[[], list[NDArray[np.float32]]]:
        """Let the device compute; returns what waits for the vectors that `run` returns."""
        import torch

        try:
            with torch.inference_mode():
                output = forward(self.placed(inputs))
                vectors, *kept = output if isinstance(output, tuple) else (output,)
                copied = on_host(torch.nn.functional.normalize(vectors.float(), dim=-1), *kept)
        except torch.OutOfMemoryError:
            halves = halved(inputs)
            if not halves:
                raise InputError(
                    f"{self.scheme}: {self.device} has too little memory for {self.checkpoint.name}; lower "
                    "the option 'batch', or use another device or dtype"
                ) from None
        else:
            return lambda: self._separate(*copied())
        if self.device.type == "cuda":  # outside of the handler, which holds on to what was computed
            torch.cuda.empty_cache()
        done = [vector for half in halves for vector in self.run(forward, half)]
        return lambda: done

    def _separate(
        self, unit: NDArray[np.float32], kept: NDArray[np.bool_] | None = None
    ) -> list[NDArray[np.float32]]:
        if kept is None:
            return list(narrowed(unit, self.dim, self.checkpoint.name))
        return [row[mask] for row, mask in zip(unit, kept, strict=True)]


def on_host(*tensors: torch.Tensor) -> Callable[[], list[NDArray[Any]]]:
    """Have tensors copied to the host; returns what waits for the copies.

    CUDA copies them once they are computed, whatever it is given to compute afterwards. Other devices copy
    when the result is asked for.
    """
    import torch

    if tensors[0].device.type != "cuda":
        return lambda: [tensor.cpu().numpy() for tensor in tensors]
    copies = [tensor.to("cpu", non_blocking=True) for tensor in tensors]
    copied = torch.cuda.current_stream(tensors[0].device).record_event()

    def wait() -> list[NDArray[Any]]:
        copied.synchronize()
        return [copy.numpy() for copy in copies]

    return wait


def halved(inputs: Inputs) -> tuple[Inputs, ...]:
    """The two halves of a batch; none of one item, or where inputs are not tensors of a row for each item."""
    sizes = {len(value) if getattr(value, "ndim", 0) else 0 for value in inputs.values()}
    if len(sizes) != 1 or (size := sizes.pop()) < 2:
        return ()
    parts = (slice(None, size // 2), slice(size // 2, None))
    return tuple({name: value[part] for name, value in inputs.items()} for part in parts)


def chosen_device(name: str | None, scheme: str, extra: str) -> torch.device:
    """The device asked for, else the first accelerator there is, else the processor."""
    library = require("torch", extra)
    name = name or accelerator() or "cpu"
    with failures(f"{scheme}: device {name!r} cannot be used"):
        return library.empty(0, device=name).device


def chosen_dtype(name: str | None, device: torch.device, half: str, scheme: str, extra: str) -> torch.dtype:
    """The precision asked for, else float32 on a processor and `half` on an accelerator."""
    name = name or ("float32" if device.type == "cpu" else half)
    if name not in {"float32", "float16", "bfloat16"}:
        raise InputError(f"{scheme}: dtype is {name!r}; expected float32, float16 or bfloat16")
    return getattr(require("torch", extra), name)


def readable(texts: Sequence[str]) -> list[str]:
    """The texts; InputError names the first with an unpaired surrogate, which no tokenizer can read."""
    for row, text in enumerate(texts):
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InputError(
                f"text {row + 1} of this batch, {text!r}, holds an unpaired surrogate; was it cut inside a "
                "character?"
            )
    return list(texts)


def with_masks(rows: Sequence[list[int]], longest: int | None = None, tail: int = 0) -> list[Tokens]:
    """Token ids with attention masks; longer rows than `longest` are cut before their last `tail` tokens."""
    cut = [
        row if longest is None or len(row) <= longest else row[: longest - tail] + row[len(row) - tail :]
        for row in rows
    ]
    return [{"input_ids": row, "attention_mask": [1] * len(row)} for row in cut]


def pad(rows: Sequence[Tokens], fills: Mapping[str, int], side: str = "right", length: int = 0) -> Inputs:
    """Rows of token ids as tensors `(n, longest)` or `(n, length)`, padded on the given side.

    `fills` names the inputs that are kept, each with its padding value.
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
