"""`mclip:ID_OR_PATH`: M-CLIP, a multilingual text tower trained to match the space of a CLIP image tower.

The text tower is XLM-R, its tokens averaged under the attention mask, then one linear layer (Carlsson et al.,
"Cross-lingual and Multilingual CLIP", LREC 2022). The checkpoint holds the text side alone; the image tower
is the one it was trained to match, and `vision=ID_OR_PATH` names another copy of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from equiview.errors import InputError
from equiview.extras import require
from equiview.io.fingerprint import fingerprint
from equiview.subjects.encoders._open_clip_tower import OpenClipTower
from equiview.subjects.encoders.checkpoint import OPEN_CLIP, Checkpoint
from equiview.subjects.encoders.huggingface import HuggingFace
from equiview.subjects.encoders.loading import filled, state_of, tokenizer_of
from equiview.subjects.encoders.torch_encoder import Inputs, Tokens, TorchEncoder, pad, with_masks

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

IMAGE_TOWERS = {
    512: "openai/clip-vit-base-patch32",
    640: "timm/vit_base_patch16_plus_clip_240.laion400m_e32",
    768: "openai/clip-vit-large-patch14",
}
"""Image tower by the width of the shared space, for `...-Vit-B-32`, `...-Vit-B-16Plus`, `...-Vit-L-14`."""
HEAD = "LinearTransformation."
HEADS = {768: 12, 1024: 16}
"""Attention heads of XLM-R base and large, by their width."""


class MultilingualClip(TorchEncoder):
    """M-CLIP's XLM-R text tower and the CLIP image tower it was trained to match."""

    scheme = "mclip"
    extra_options = ("vision",)

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        base = str(self.checkpoint.json().get("modelBase", "xlm-roberta-large"))
        if not re.search("xlm-?r", base, re.IGNORECASE):
            raise InputError(
                f"{self.checkpoint.name}: its text tower is {base}; mclip reads M-CLIP on XLM-R alone"
            )

    @cached_property
    def image_tower(self) -> HuggingFace | OpenClipTower:
        """The image tower."""
        name = self.options.get("vision")
        if name is None:
            width = self.checkpoint.json().get("numDims") or len(self.text_side()[f"{HEAD}weight"])
            name = IMAGE_TOWERS.get(width)
        if name is None:
            raise InputError(
                f"{self.checkpoint.name}: no image tower is known for vectors {width} wide; "
                f"name it: mclip:{self.argument},vision=ID_OR_PATH"
            )
        checkpoint = Checkpoint.find(name, self.scheme, open_clip=True)
        if any(path.name.startswith(OPEN_CLIP) for path in checkpoint.files):
            return OpenClipTower(checkpoint, self.device, self.dtype)
        settings = [f"device={self.device}", f"dtype={str(self.dtype).removeprefix('torch.')}"]
        return HuggingFace(",".join([name, *settings]))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of both towers and the precision."""
        return fingerprint(super().fingerprint, self.image_tower.checkpoint.fingerprint)

    def text_side(self) -> dict[str, Any]:
        """The weights of the text side; InputError unless they are XLM-R's and a linear layer's."""
        path = self.checkpoint.weights[0]
        state = state_of(path)
        if f"{HEAD}weight" not in state:
            raise InputError(f"{path}: has no {HEAD}weight; it is not an M-CLIP checkpoint")
        # XLM-R has one token type; BERT (as in LaBSE) has two, and counts positions from 0.
        if len(state.get("transformer.embeddings.token_type_embeddings.weight", [0])) != 1:
            raise InputError(f"{path}: its text tower is a BERT; mclip reads M-CLIP on XLM-R alone")
        return state

    @cached_property
    def towers(self) -> tuple[Any, Any]:
        """The XLM-R encoder and the linear layer after it."""
        import torch

        path, state = self.checkpoint.weights[0], self.text_side()
        body = {name.removeprefix("transformer."): value for name, value in state.items()}
        heads = self.checkpoint.json().get("num_attention_heads")
        text = filled(roberta_for(body, path, heads), body, path)
        out, inner = state[f"{HEAD}weight"].shape
        named = {name.removeprefix(HEAD): value for name, value in state.items() if name.startswith(HEAD)}
        head = filled(torch.nn.Linear(inner, out), named, path)
        return text.to(self.device, self.dtype).eval(), head.to(self.device, self.dtype).eval()

    @cached_property
    def tokenizer(self) -> Any:
        """XLM-R's tokenizer."""
        # The configuration has a model type that the library does not know, so the class is named here.
        library = require("transformers", self.extra)
        return tokenizer_of(self.checkpoint, library.XLMRobertaTokenizer)

    def load(self) -> None:
        """Load both towers and the tokenizer."""
        _ = self.towers, self.tokenizer, self.image_tower.model, self.image_tower.processor

    def picture_inputs(self, images: Sequence[Image]) -> Inputs:
        """Pixels."""
        return self.image_tower.picture_inputs(images)

    def image_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The image tower's projected vectors."""
        return self.image_tower.image_vectors(inputs)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Token ids; XLM-R counts positions from the padding id + 1."""
        ids = self.tokenizer(list(texts), truncation=True, max_length=self.limit)["input_ids"]
        return with_masks(ids)

    @property
    def limit(self) -> int:
        """The longest text in tokens."""
        text, _ = self.towers
        return int(text.config.max_position_embeddings - text.config.pad_token_id - 1)

    def cuts(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text has more tokens than the model's limit."""
        ids = self.tokenizer(list(texts), truncation=False, verbose=False)["input_ids"]
        return [len(row) > self.limit for row in ids]

    def padded(self, rows: Sequence[Tokens]) -> Inputs:
        """Texts padded to the longest."""
        return pad(rows, {"input_ids": self.tokenizer.pad_token_id, "attention_mask": 0})

    def text_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The mean of the tokens, padding excluded, through the linear layer."""
        text, head = self.towers
        states = text(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1).to(states.dtype)
        return head((states * mask).sum(dim=1) / mask.sum(dim=1))


def roberta_for(state: dict[str, Any], where: Any, heads: int | None = None) -> Any:
    """An XLM-R encoder with its sizes read off the weights, and as many heads as stated.

    Weights do not show heads; without `heads` they are those of XLM-R base or large, by the width, and of
    another width an InputError.
    """
    library = require("transformers", "hf")
    try:
        words, width = state["embeddings.word_embeddings.weight"].shape
        positions = len(state["embeddings.position_embeddings.weight"])
        inner = len(state["encoder.layer.0.intermediate.dense.bias"])
        kinds = len(state["embeddings.token_type_embeddings.weight"])
    except KeyError as error:
        raise InputError(f"{where}: has no {error}; it is not an M-CLIP checkpoint") from None
    heads = heads or HEADS.get(width)
    if not heads or width % heads:
        raise InputError(
            f"{where}: a text tower {width} wide is neither XLM-R base nor large, and its config.json states "
            f"no num_attention_heads that divides {width}"
        )
    layers = {int(match[1]) for name in state if (match := re.match(r"encoder\.layer\.(\d+)\.", name))}
    config = library.XLMRobertaConfig(
        vocab_size=words,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=len(layers),
        num_attention_heads=heads,
        max_position_embeddings=positions,
        type_vocab_size=kinds,
        layer_norm_eps=1e-5,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    return library.XLMRobertaModel(config, add_pooling_layer=False)
