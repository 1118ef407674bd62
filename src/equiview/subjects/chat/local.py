"""`equiview-hf/PATH`: a vision-language model of transformers on this machine, as a provider for Inspect.

Inspect's own `hf/` takes no pictures. A conversation goes through the checkpoint's chat template and
processor, one at a time, so that no answer depends on other requests; at temperature 0 decoding is greedy.
Options of `chat:equiview-hf/PATH` beside the usual ones: `device=`, `dtype=`.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from equiview.data.requests import Reply
from equiview.errors import InputError
from equiview.extras import require, versions_of
from equiview.io.pictures import decoded
from equiview.subjects.encoders.checkpoint import Checkpoint
from equiview.subjects.encoders.loading import from_files, whole_model
from equiview.subjects.encoders.torch_encoder import chosen_device, chosen_dtype

PROVIDER = "equiview-hf"
MAX_TOKENS = 1024
VIDEOS = "video_processor"
Turn = Mapping[str, Any]
_ONE_AT_A_TIME = threading.Lock()


class LocalModel:
    """A model and its processor in memory."""

    def __init__(self, name: str, device: str | None, dtype: str | None) -> None:
        library = require("transformers", "hf")
        folder = Checkpoint.find(name, PROVIDER).folder
        place = chosen_device(device, PROVIDER, "hf")
        precision = chosen_dtype(dtype, place, "bfloat16", PROVIDER, "hf")
        self.processor = processor_of(folder)
        if not getattr(self.processor, "chat_template", None):
            raise InputError(f"{folder}: has no chat template; use a chat model")
        self.model = whole_model(library.AutoModelForImageTextToText, folder, dtype=precision)
        self.model.to(place).eval()

    def answer(self, turns: Sequence[Turn], max_tokens: int, temperature: float, seed: int) -> Reply:
        """The reply to a conversation: turns of `{role, content}` with parts of text and pictures."""
        torch = require("torch", "hf")
        inputs = self.processor.apply_chat_template(
            list(turns), add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        ).to(self.model.device, self.model.dtype)
        sampling: dict[str, Any] = {"do_sample": temperature > 0, "temperature": temperature or None}
        if not temperature:  # a checkpoint's own settings for sampling, which greedy decoding does not use
            sampling |= {"top_p": None, "top_k": None}
        with _ONE_AT_A_TIME, torch.inference_mode():
            torch.manual_seed(seed)
            ids = self.model.generate(**inputs, max_new_tokens=max_tokens, **sampling)
        read = inputs["input_ids"].shape[1]
        new = ids[0, read:]
        (text,) = self.processor.batch_decode(
            new[None], skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        cut = len(new) == max_tokens and int(new[-1]) not in self._ends
        return Reply(text, "length" if cut else "stop", read, len(new))

    @property
    def _ends(self) -> set[int]:
        """The tokens that end a reply."""
        ends = self.model.generation_config.eos_token_id
        return set(ends) if isinstance(ends, list) else {ends}


def processor_of(folder: Path) -> Any:
    """The processor of a checkpoint. Its part for videos needs torchvision, without which it is left out."""
    library = require("transformers", "hf")
    config = from_files(library.AutoConfig, folder)
    kinds = require("transformers.models.auto.processing_auto", "hf").PROCESSOR_MAPPING
    kind: Any = kinds.get(type(config), None)
    if kind is None or VIDEOS not in kind.get_attributes() or versions_of("torchvision"):
        return from_files(library.AutoProcessor, folder)

    class WithoutVideos(kind):  # type: ignore[misc]
        def check_argument_for_proper_class(self, name: str, argument: Any) -> Any:
            return None if name == VIDEOS else super().check_argument_for_proper_class(name, argument)

    images = from_files(library.AutoImageProcessor, folder)
    tokenizer = from_files(library.AutoTokenizer, folder)
    template = folder / "chat_template.jinja"
    chat = template.read_text(encoding="utf-8") if template.is_file() else tokenizer.chat_template
    return WithoutVideos(images, tokenizer, None, chat_template=chat)


@lru_cache(maxsize=1)
def loaded(name: str, device: str | None, dtype: str | None) -> LocalModel:
    """The model of a checkpoint, kept until another is asked for."""
    return LocalModel(name, device, dtype)


@cache
def register_provider() -> type[Any]:
    """Make `equiview-hf` known to Inspect; the class that Inspect reaches it through."""
    model = require("inspect_ai.model", "chat")
    base: type[Any] = model.ModelAPI

    @model.modelapi(name=PROVIDER)
    class Provider(base):  # type: ignore[misc]
        """A vision-language model of transformers on this machine."""

        def __init__(self, model_name: str, *args: Any, **options: Any) -> None:
            given = {name: options.pop(name, None) for name in ("device", "dtype")}
            super().__init__(model_name, *args, **options)
            self.local = loaded(model_name, given["device"], given["dtype"])

        def max_connections(self) -> int:
            return 1

        async def generate(self, input: list[Any], tools: Any, tool_choice: Any, config: Any) -> Any:
            reply = await require("anyio", "chat").to_thread.run_sync(
                self.local.answer,
                [_turn(message) for message in input],
                config.max_tokens or MAX_TOKENS,
                config.temperature or 0.0,
                config.seed or 0,
            )
            stopped = "max_tokens" if reply.stopped == "length" else "stop"
            output = model.ModelOutput.from_content(self.model_name, reply.text, stopped)
            read, written = reply.input_tokens, reply.output_tokens
            output.usage = model.ModelUsage(
                input_tokens=read, output_tokens=written, total_tokens=read + written
            )
            return output

    return Provider


def _turn(message: Any) -> Turn:
    """A message of Inspect's as chat templates of transformers read it."""
    content = message.content
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(map(_part, content))
    return {"role": message.role, "content": parts}


def _part(part: Any) -> dict[str, Any]:
    if part.type == "text":
        return {"type": "text", "text": part.text}
    if part.type == "image" and part.image.startswith("data:"):
        return {"type": "image", "image": decoded(base64.b64decode(part.image.partition("base64,")[2]))}
    raise ValueError(f"{PROVIDER} reads text and pictures as data URIs, not {part.type}")
