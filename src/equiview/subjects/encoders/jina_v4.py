"""`jina-v4:ID_OR_PATH`: jina-embeddings-v4, on Qwen2.5-VL with one adapter for each task.

One vector an item: the mean over a text's tokens, or over a picture's with the ones before and after it.
`jina-v4-multi` gives one a token, projected to 128 numbers (Günther et al., "jina-embeddings-v4", 2025). The
adapter is the one for retrieval, or `task=`; `prompt=passage` marks texts as documents, not as queries.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from equiview.subjects.encoders._adapters import adapted, tensors_of
from equiview.subjects.encoders._qwen import PLACE, QwenEncoder, QwenTokens, checked_choice
from equiview.subjects.encoders.checkpoint import Checkpoint

if TYPE_CHECKING:
    import torch

    from equiview.subjects.encoders.torch_encoder import Inputs

PROMPTS = {"query": "Query: {}", "passage": "Passage: {}"}
TASKS = ("retrieval", "text-matching", "code")


class JinaV4(QwenEncoder):
    """jina-embeddings-v4, one vector an item."""

    scheme = "jina-v4"
    extra_options = ("prompt", "task")
    image_prompt = f"<|im_start|>user\n<|vision_start|>{PLACE}<|vision_end|>Describe the image.<|im_end|>\n"

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self.task = checked_choice(self.scheme, "task", self.options.get("task", "retrieval"), TASKS)
        prompt = self.options.get("prompt", "query")
        checked_choice(self.scheme, "prompt", prompt, tuple(PROMPTS))
        # Text matching is symmetric: its published code reads every text as a query.
        self.text_prompt = PROMPTS["query" if self.task == "text-matching" else prompt]

    @property
    def recipe(self) -> str:
        """The prompts, limits and task."""
        return f"{super().recipe} {self.task}"

    @cached_property
    def tensors(self) -> dict[str, Any]:
        """Every weight, the task's adapter merged in."""
        adapter = Checkpoint(f"{self.checkpoint.name}/adapters", self.checkpoint.folder / "adapters")
        return adapted(tensors_of(self.checkpoint), adapter, self.task)

    def image_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The mean over each picture's tokens and the tokens before and after it."""
        places = inputs["mm_token_type_ids"] == 1
        around = places.clone()
        around[:, 1:] |= places[:, :-1]
        around[:, :-1] |= places[:, 1:]
        return _mean(self.hidden(inputs), around)

    def text_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The mean over each text's tokens."""
        return _mean(self.hidden(inputs), inputs["attention_mask"])


class JinaV4Multi(QwenTokens, JinaV4):
    """jina-embeddings-v4, one vector a token, compared by MaxSim."""

    scheme = "jina-v4-multi"
    projected_by = "multi_vector_projector"


def _mean(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Means `(n, width)` of the tokens where `mask` `(n, longest)` is set."""
    kept = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * kept).sum(dim=1) / kept.sum(dim=1)
