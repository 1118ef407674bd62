"""A frozen causal language model that reads an image as a few soft tokens between the words of a prompt.

Sequences are rows of token ids. A place of a soft token holds the end-of-text id and is marked in `soft`; its
vector comes from the connector. `labels` are -100 except for the answer and the end of text after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from equiview.errors import InputError
from equiview.extras import require
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.loading import tokenizer_of, whole_model
from equiview.subjects.encoders.torch_encoder import pad

if TYPE_CHECKING:
    import torch

IMAGE, PROMPT = "{image}", "{prompt}"
NOT_LEARNT = -100
"""The label of tokens that are not part of the loss, as in PyTorch and transformers."""
Row = dict[str, list[int]]
Batch = dict[str, Any]


def check_template(template: str) -> str:
    """`template` if it holds `{image}` once and then `{prompt}` once; InputError otherwise.

    >>> check_template("{image} {prompt}")
    '{image} {prompt}'
    """
    parts = template.split(IMAGE)
    if len(parts) != 2 or parts[0].count(PROMPT) or parts[1].count(PROMPT) != 1:
        raise InputError(f"the template {template!r} must hold {IMAGE} once and then {PROMPT} once")
    return template


def new_connector(width: int, hidden: int, tokens: int) -> Any:
    """A connector with random weights: linear, GELU, linear; from `width` to `tokens` vectors of `hidden`.

    It is TinyLLaVA's `mlp2x_gelu` (Zhou et al., 2024) where `tokens` is 1.
    """
    from torch import nn

    return nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, tokens * hidden))


def soft_tokens(connector: Any, vectors: torch.Tensor, tokens: int) -> torch.Tensor:
    """The connector's output for image vectors: `(n, width)` of length 1 to `(n, tokens, hidden)`.

    Vectors are scaled to a mean square of 1, as features within a network have.
    """
    width = vectors.shape[1]
    return connector(vectors * width**0.5).view(len(vectors), tokens, -1)


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model of transformers, frozen, with its tokenizer; `device` is where it is."""

    model: Any
    tokenizer: Any
    template: str
    tokens: int

    @classmethod
    def load(
        cls, checkpoint: Checkpoint, device: torch.device, dtype: torch.dtype, template: str, tokens: int
    ) -> LanguageModel:
        """Load it from a checkpoint; InputError unless that is a complete causal language model."""
        tokenizer = tokenizer_of(checkpoint)
        if tokenizer.eos_token_id is None:
            raise InputError(f"{checkpoint.name}: its tokenizer has no token for the end of a text")
        kind = require("transformers", "hf").AutoModelForCausalLM
        model = whole_model(kind, checkpoint.folder, dtype=dtype)
        model.requires_grad_(False)
        return cls(model.to(device).eval(), tokenizer, check_template(template), tokens)

    @property
    def hidden(self) -> int:
        """The width of a token's vector."""
        return int(self.model.get_input_embeddings().embedding_dim)

    @property
    def device(self) -> Any:
        """The model's device."""
        return self.model.device

    @property
    def longest(self) -> int:
        """The longest sequence in tokens; a very large number where the model states none."""
        return int(getattr(self.model.config, "max_position_embeddings", None) or 2**20)

    def row(self, prompt: str, answer: str | None = None) -> Row:
        """A prompt about an image, and what is to be answered, as token ids.

        White space at the end of the prompt goes to the answer, where a tokenizer of words expects it.
        """
        before, after = self.template.split(IMAGE)
        after = after.replace(PROMPT, prompt)
        bare = after.rstrip()
        start = [*self._begin, *self._ids(before)]
        read = [*start, *[self.tokenizer.eos_token_id] * self.tokens, *self._ids(bare)]
        soft = [0] * len(read)
        soft[len(start) : len(start) + self.tokens] = [1] * self.tokens
        learnt: list[int] = []
        if answer is not None:
            gap = after[len(bare) :] or " "
            learnt = [*self._ids(gap + answer), self.tokenizer.eos_token_id]
        return {
            "input_ids": read + learnt,
            "attention_mask": [1] * (len(read) + len(learnt)),
            "soft": soft + [0] * len(learnt),
            "labels": [NOT_LEARNT] * len(read) + learnt,
        }

    @cached_property
    def _begin(self) -> list[int]:
        """The token that the tokenizer puts before a text, if it has one."""
        first = self.tokenizer("a")["input_ids"][0]
        return [first] if first == self.tokenizer.bos_token_id else []

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"]) if text else []

    def batch(self, rows: Sequence[Row], side: str = "right") -> Batch:
        """Rows as tensors `(n, longest)`, padded on the given side; padding is neither read nor learnt."""
        end = self.tokenizer.eos_token_id
        return pad(rows, {"input_ids": end, "attention_mask": 0, "soft": 0, "labels": NOT_LEARNT}, side)

    def embedded(self, batch: Batch, soft: torch.Tensor) -> torch.Tensor:
        """Vectors of a batch's tokens, `(n, longest, hidden)`, with the soft tokens at their places."""
        words = self.model.get_input_embeddings()(batch["input_ids"])
        places = batch["soft"].bool().unsqueeze(-1)
        return words.masked_scatter(places, soft.to(words.dtype))

    def loss(self, batch: Batch, soft: torch.Tensor, count: Any = None) -> torch.Tensor:
        """Cross-entropy of the answers, in nats a token: the sum over `count`, by default their number."""
        from torch.nn import functional

        output = self.model(
            inputs_embeds=self.embedded(batch, soft), attention_mask=batch["attention_mask"], use_cache=False
        )
        wanted = batch["labels"][:, 1:]
        learnt = wanted != NOT_LEARNT
        scores = output.logits[:, :-1][learnt].float()
        total = functional.cross_entropy(scores, wanted[learnt], reduction="sum")
        return total / (learnt.sum() if count is None else count)

    def write(self, batch: Batch, soft: torch.Tensor, most: int) -> list[tuple[str, int, bool]]:
        """Generate from left-padded prompts: text, number of tokens, and whether the text came to an end.

        Greedy decoding of at most `most` tokens by transformers' `generate`.
        """
        from transformers import GenerationConfig

        ends = self.ends
        config = GenerationConfig(
            do_sample=False,
            max_new_tokens=most,
            eos_token_id=sorted(ends),
            pad_token_id=self.tokenizer.eos_token_id,
        )
        self.model.generation_config = config  # its own values, such as a temperature, would be added to ours
        written = self.model.generate(
            inputs_embeds=self.embedded(batch, soft), attention_mask=batch["attention_mask"]
        )
        replies = []
        for ids in written.tolist():
            end = next((place for place, token in enumerate(ids) if token in ends), None)
            text = self.tokenizer.decode(ids[:end], skip_special_tokens=True).strip()
            replies.append((text, len(ids) if end is None else end + 1, end is not None))
        return replies

    @property
    def ends(self) -> set[int]:
        """Tokens that end a text: the tokenizer's and those the model was published with."""
        stated = self.model.generation_config.eos_token_id
        own = stated if isinstance(stated, list) else [] if stated is None else [stated]
        return {self.tokenizer.eos_token_id, *own}
