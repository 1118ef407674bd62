"""`colqwen2.5:ID_OR_PATH`: late interaction on Qwen2.5-VL, one vector a token, compared by MaxSim.

vidore/colqwen2.5-v0.2 and Metric-AI's multilingual 3b and 7b: a published checkpoint is a LoRA adapter whose
`adapter_config.json` names the base, or the two merged; `custom_text_proj` projects each token to 128 numbers
(Faysse et al., "ColPali", 2024). `base=ID_OR_PATH` names another copy of the base.

Texts are read after `Query: `, as by colpali-engine up to 0.3.12; from 0.3.13 on it adds nothing.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.subjects.base import register
from equiview.subjects.encoders._adapters import adapted, backbone, linear, tensors_of
from equiview.subjects.encoders._qwen import PLACE, QwenEncoder
from equiview.subjects.encoders.checkpoint import Checkpoint

if TYPE_CHECKING:
    import torch

    from equiview.subjects.encoders.torch_encoder import Inputs

PROJECTION = "custom_text_proj"
QUERY = "Query: "


@register(
    "colqwen2.5", usage=("colqwen2.5:ID_OR_PATH",), about="late interaction on Qwen2.5-VL, with its adapter"
)
class ColQwen25(QwenEncoder):
    """ColQwen2.5; `prefix=...` is put before each text in place of `Query: `, `prefix=` for none."""

    scheme = "colqwen2.5"
    extra_options = ("base", "prefix")
    similarity = "maxsim"
    image_prompt = (
        f"<|im_start|>user\n<|vision_start|>{PLACE}<|vision_end|>Describe the image.<|im_end|><|endoftext|>"
    )

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        # Ten padding tokens after a text let the model expand the query, as it was trained.
        self.text_prompt = f"{self.options.get('prefix', QUERY)}{{}}{'<|endoftext|>' * 10}"

    @cached_property
    def base(self) -> Checkpoint | None:
        """The checkpoint that the adapter changes; None when they are merged."""
        if not (self.checkpoint.folder / "adapter_config.json").is_file():
            return None
        stated = self.checkpoint.json("adapter_config.json").get("base_model_name_or_path")
        name = self.options.get("base") or stated
        if not name:
            raise InputError(
                f"{self.checkpoint.folder}: its adapter names no base; "
                f"name it: colqwen2.5:{self.argument},base=ID_OR_PATH"
            )
        return Checkpoint.find(name, self.scheme)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of base, adapter, precision and prompts."""
        return fingerprint(super().fingerprint, self.base.fingerprint if self.base else "")

    @cached_property
    def parts(self) -> tuple[Any, Any]:
        """The transformer and the projection."""
        whole = self.base or self.checkpoint
        tensors = tensors_of(whole)
        if self.base:
            tensors = adapted(tensors, self.checkpoint)
        projection = linear(PROJECTION, tensors, self.checkpoint.folder)
        model = backbone("Qwen2_5_VLModel", whole, tensors, self.dtype)
        return model.to(self.device).eval(), projection.to(self.device, self.dtype).eval()

    @property
    def model(self) -> Any:
        """The transformer."""
        return self.parts[0]

    def image_vectors(self, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        """The projection of every token of prompt and picture."""
        model, projection = self.parts
        hidden = model(**inputs, use_cache=False).last_hidden_state
        return projection(hidden), inputs["attention_mask"].bool()

    text_vectors = image_vectors
