"""A tiny Qwen2.5-VL of the real classes, asked through Inspect, against the library itself."""

import os
import shutil

os.environ["HF_HUB_OFFLINE"] = "1"  # read once, when the library is imported

import io

import polars as pl
import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from equiview.data.items import Items
from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.subjects import load_subject
from tests.subjects.encoders import tiny

TURN = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
PICTURES = tiny.pictures()[:4]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    hf.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    return tiny.build(tiny.qwen25_chat, tmp_path_factory.mktemp("qwen25_chat"))


@pytest.fixture(scope="module")
def images():
    contents = []
    for image in PICTURES:
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        contents.append(buffer.getvalue())
    return Items("image", pl.DataFrame({"id": list("abcd"), "picture": contents}))


def by_hand(folder, prompt, image, limit):
    """What the library's model generates, its inputs put together here."""
    tokenizer = hf.Qwen2Tokenizer.from_pretrained(folder)
    model = hf.Qwen2_5_VLForConditionalGeneration.from_pretrained(folder).eval()
    shown, patches = "", {}
    if image is not None:
        patches = hf.Qwen2VLImageProcessorPil.from_pretrained(folder)([image], return_tensors="pt")
        count = int(patches["image_grid_thw"].prod()) // 4
        shown = "<|vision_start|>" + "<|image_pad|>" * count + "<|vision_end|>"
    ids = torch.tensor([tokenizer(TURN.format(shown + prompt))["input_ids"]])
    kinds = (ids == model.config.image_token_id).int()
    with torch.inference_mode():
        new = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            mm_token_type_ids=kinds,
            max_new_tokens=limit,
            do_sample=False,
            **patches,
        )[0, ids.shape[1] :]
    return tokenizer.decode(new, skip_special_tokens=True), ids.shape[1], len(new)


def test_answers_are_those_of_the_library(folder, images):
    requests = [
        Request(f"q{row}:en", f"what is picture {row}?", "en", image=row, max_tokens=12) for row in range(4)
    ]
    requests.append(Request("none:sw", "ni nini?", "sw", max_tokens=7))
    replies = load_subject(f"chat:equiview-hf/{folder},device=cpu").ask(requests, images)
    for request, reply in zip(requests, replies, strict=True):
        image = None if request.image is None else PICTURES[request.image]
        text, read, written = by_hand(folder, request.prompt, image, request.max_tokens)
        assert (reply.text, reply.input_tokens, reply.output_tokens) == (text, read, written)
        assert reply.stopped == ("length" if written == request.max_tokens else "stop")
        assert reply.cost == 0
    assert len({reply.text for reply in replies}) > 1


def test_sampling_is_repeated_by_its_seed(folder):
    request = Request("q:en", "anything?", "en", max_tokens=30)

    def said(options):
        return (
            load_subject(f"chat:equiview-hf/{folder},device=cpu,temperature=1,{options}")
            .ask([request])[0]
            .text
        )

    assert said("seed=1") == said("seed=1") != said("seed=2")


def test_the_fingerprint_is_of_the_files(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    first, again = (load_subject(f"chat:equiview-hf/{place}").fingerprint for place in (folder, copy))
    assert first == again
    (copy / "chat_template.jinja").write_text("{{ messages }}")
    assert load_subject(f"chat:equiview-hf/{copy}").fingerprint != first
    assert load_subject(f"chat:equiview-hf/{folder},dtype=bfloat16").fingerprint != first


def test_what_is_no_chat_model_is_said(folder, tmp_path):
    request = Request("q:en", "?", "en")
    silent = shutil.copytree(folder, tmp_path / "silent")
    (silent / "chat_template.jinja").unlink()
    with pytest.raises(InputError, match="has no chat template"):
        load_subject(f"chat:equiview-hf/{silent}").ask([request])
    with pytest.raises(InputError, match="hub"):
        load_subject("chat:equiview-hf/no/such").ask([request])
    clip = tiny.build(tiny.clip, tmp_path / "clip")
    with pytest.raises(InputError, match="no chat template"):
        load_subject(f"chat:equiview-hf/{clip}").ask([request])


def test_a_checkpoint_that_lacks_weights_is_refused(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    state = load_file(copy / "model.safetensors")
    lost = next(name for name in sorted(state) if "layers.1" in name)
    del state[lost]
    save_file(state, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match="the checkpoint has no weights for 1 parts of"):
        load_subject(f"chat:equiview-hf/{copy},device=cpu").ask([Request("q:en", "anything?", "en")])
