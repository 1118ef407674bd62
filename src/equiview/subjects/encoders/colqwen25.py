"""`colqwen2.5:ID_OR_PATH`: late interaction on Qwen2.5-VL, one vector a token, compared by MaxSim.

vidore/colqwen2.5-v0.2 and Metric-AI's multilingual 3b and 7b: a published checkpoint is a LoRA adapter whose
`adapter_config.json` names the base, or the two merged; `custom_text_proj` projects each token to 128 numbers
(Faysse et al., "ColPali", 2024). `base=ID_OR_PATH` names another copy of the base.

Texts are read after `Query: `, as by colpali-engine up to 0.3.12; from 0.3.13 on it adds nothing.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from equiview.errors import InputError
from equiview.io.fingerprint import fingerprint
from equiview.subjects.encoders._adapters import adapted, backbone, tensors_of
from equiview.subjects.encoders._qwen import PLACE, QwenTokens
from equiview.subjects.encoders.checkpoint import Checkpoint

QUERY = "Query: "


class ColQwen25(QwenTokens):
    """ColQwen2.5; `prefix=...` is put before each text in place of `Query: `, `prefix=` for none."""

    scheme = "colqwen2.5"
    extra_options = ("base", "prefix")
    projected_by = "custom_text_proj"
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
        settings = self.checkpoint.json("adapter_config.json")
        stated, revision = settings.get("base_model_name_or_path"), settings.get("revision")
        if stated and revision and "@" not in stated and not Path(stated).expanduser().is_dir():
            stated = f"{stated}@{revision}"
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
    def tensors(self) -> dict[str, Any]:
        """Every weight, the adapter merged in if there is one."""
        return adapted(tensors_of(self.base), self.checkpoint) if self.base else tensors_of(self.checkpoint)

    @cached_property
    def model(self) -> Any:
        """The transformer."""
        model = backbone(self.backbone, self.base or self.checkpoint, self.tensors, self.dtype)
        return model.to(self.device).eval()
