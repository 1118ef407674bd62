"""`jina-v4:ID_OR_PATH`: jina-embeddings-v4, on Qwen2.5-VL with an adapter a task.

One vector an item: the mean over a text's tokens, or over a picture's with the two that enclose it.
`jina-v4-multi` gives one a token, projected to 128 numbers (Günther et al., "jina-embeddings-v4", 2025). The
adapter used is that for retrieval; `prompt=passage` marks texts as what is searched, not as queries.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from equiview.subjects.base import register
from equiview.subjects.encoders._adapters import adapted, backbone, linear, tensors_of
from equiview.subjects.encoders._qwen import PLACE, QwenEncoder, checked_choice
from equiview.subjects.encoders.checkpoint import Checkpoint

if TYPE_CHECKING:
    import torch

    from equiview.subjects.encoders.torch_encoder import Inputs

PROMPTS = {"query": "Query: {}", "passage": "Passage: {}"}
TASKS = ("retrieval", "text-matching", "code")
PROJECTION = "multi_vector_projector"


@register("jina-v4", usage=("jina-v4:ID_OR_PATH",), about="jina-embeddings-v4, one vector an item")
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
        # Text matching knows no sides: its published code reads every text as a query.
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

    @cached_property
    def model(self) -> Any:
        """The transformer without its head for words."""
        model = backbone("Qwen2_5_VLModel", self.checkpoint, self.tensors, self.dtype)
        return model.to(self.device).eval()

    def hidden(self, inputs: Inputs) -> torch.Tensor:
        """The last layer, `(n, longest, width)`."""
        states: torch.Tensor = self.model(**inputs, use_cache=False).last_hidden_state
        return states

    def image_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The mean over each picture's tokens and the two that enclose it."""
        places = inputs["mm_token_type_ids"] == 1
        around = places.clone()
        around[:, 1:] |= places[:, :-1]
        around[:, :-1] |= places[:, 1:]
        return _mean(self.hidden(inputs), around)

    def text_vectors(self, inputs: Inputs) -> torch.Tensor:
        """The mean over each text's tokens."""
        return _mean(self.hidden(inputs), inputs["attention_mask"])


@register(
    "jina-v4-multi", usage=("jina-v4-multi:ID_OR_PATH",), about="jina-embeddings-v4, one vector a token"
)
class JinaV4Multi(JinaV4):
    """jina-embeddings-v4, one vector a token, compared by MaxSim."""

    scheme = "jina-v4-multi"
    similarity = "maxsim"

    @cached_property
    def projection(self) -> Any:
        """The layer that makes a token's vector."""
        return linear(PROJECTION, self.tensors, self.checkpoint.folder).to(self.device, self.dtype).eval()

    def image_vectors(self, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        """The projection of every token of prompt and picture."""
        return self.projection(self.hidden(inputs)), inputs["attention_mask"].bool()

    text_vectors = image_vectors


def _mean(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Means `(n, width)` of the tokens where `mask` `(n, longest)` is set."""
    kept = mask.unsqueeze(-1).to(hidden.dtype)
    vectors: torch.Tensor = (hidden * kept).sum(dim=1) / kept.sum(dim=1)
    return vectors
