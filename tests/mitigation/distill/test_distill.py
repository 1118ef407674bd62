"""Students learn what the teacher says of English, and the result is a subject with its parent."""

import json
import shutil

import numpy as np
import pytest
import torch
import transformers as hf

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from equiview.making.plan import DONE
from equiview.store import stored
from equiview.subjects import load_subject
from tests.mitigation.distill import worlds
from tests.subjects.encoders import tiny

WRITTEN = ("maker.json", "distill.json", "loss.json", "held-out.json")


def made(place, out="out", subject="pictogram:english", files=False, **given):
    recipe = given.pop("recipe", worlds.recipe())
    settings = {"subject": subject, "device": "cpu", "recipe": recipe} | given
    if files:
        settings["parallel"] = (worlds.files(place / "files"),)
    elif "benchmark" not in given:
        settings["benchmark"] = worlds.world(place / "world")
    return api.make("distill", settings, place / out).folder


def losses(folder):
    return [entry["loss"] for entry in json.loads((folder / "loss.json").read_text())["distillation"]]


def far(subject, parent, folder):
    """Squared distance of unit vectors of all texts from the parent's of the English words."""
    texts = load_benchmark(f"folder:{folder}").need_texts()
    english = texts.take(range(worlds.IMAGES))
    said, taught = (np.asarray(one.embed(items)) for one, items in ((subject, texts), (parent, english)))
    said, taught = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (said, taught))
    return float(((said - np.tile(taught, (2, 1))) ** 2).sum(axis=1).mean())


@pytest.mark.parametrize("kind", ["xlmr", "bert", "tower", "adapter", "ngrams"])
def test_each_student_learns_and_reads_texts_in_place_of_its_teacher(kind, tmp_path):
    student = {"tower": "", "adapter": "", "ngrams": "ngrams"}.get(kind)
    if student is None:
        student = str(tiny.build(worlds.STUDENTS[kind], tmp_path / "student"))
    name = f"hf:{tiny.build(tiny.clip, tmp_path / 'clip')}" if kind == "tower" else "pictogram:english"
    recipe = worlds.recipe(
        forward=12, model={"batch": 24, "learning_rate": 1e-2, "steps": 120}, save_every=99
    )
    folder = made(tmp_path, subject=name, files=True, student=student, recipe=recipe)
    lost = losses(folder)
    assert np.mean(lost[-5:]) < 0.6 * np.mean(lost[:5]), lost
    subject, parent = load_subject(f"distilled:{folder}"), load_subject(name)
    assert subject.parent == parent.fingerprint != subject.fingerprint
    worlds.world(tmp_path / "world")
    assert far(subject, parent, tmp_path / "world") < 0.6 * far(parent, parent, tmp_path / "world")
    pictures = load_benchmark(f"folder:{tmp_path / 'world'}").images
    assert (subject.embed(pictures) == parent.embed(pictures)).all()
    card = json.loads((folder / "distill.json").read_text())
    assert card["kind"] == ("model" if kind in worlds.STUDENTS else kind)
    assert card["texts"] == {"de": worlds.IMAGES, "en": worlds.IMAGES}
    assert subject.about.startswith(f"{name} with texts read by ")
    assert not (folder / ".checkpoints").exists()
    assert not (folder / "held-out.json").exists()
    cuts = subject.cuts(["a dog", "dog " * 400])
    assert cuts is None or cuts == [False, True]


def test_vectors_of_both_are_kept_in_the_store(tmp_path):
    folder = made(tmp_path, student=str(tiny.build(worlds.xlmr, tmp_path / "student")), files=True)
    subject = load_subject(f"distilled:{folder}")
    texts = load_benchmark(worlds.world(tmp_path / "world")).need_texts()
    plain, kept = subject.embed(texts), stored(load_subject(f"distilled:{folder}"))
    assert (kept.embed(texts) == plain).all()
    assert kept.fingerprint == subject.fingerprint
    kept.student.inner.batches = None  # nothing is encoded any more
    assert (kept.embed(texts) == plain).all()


def test_the_parts_share_nothing_and_english_stays(tmp_path):
    folder = made(tmp_path, share=0.5)
    judged = load_benchmark(f"held-out:{folder}")
    assert len(judged.images) == worlds.IMAGES / 2
    card = json.loads((folder / "distill.json").read_text())
    assert card["texts"] == {"de": worlds.IMAGES / 2, "en": worlds.IMAGES / 2}
    assert card["data"]["benchmark"]["name"] == "folder:world"
    run = api.audit(
        f"distilled:{folder}", judged, ["parity"], tmp_path / "run", settings={"parity": {"replicates": 100}}
    )
    assert run.manifest.subject.parent == load_subject("pictogram:english").fingerprint


def test_stored_vectors_of_english_are_enough_for_a_new_student(tmp_path):
    benchmark = load_benchmark(worlds.world(tmp_path / "world"))
    teacher = load_subject("pictogram:english")
    for kind, items in (("images", benchmark.images), ("texts", benchmark.need_texts())):
        np.save(tmp_path / "world" / f"{kind}.npy", teacher.embed(items))
    name = f"embeddings:{tmp_path / 'world'}"
    folder = made(
        tmp_path,
        subject=name,
        student="ngrams",
        benchmark=f"folder:{tmp_path / 'world'}",
        apart=(),
        share=0.9,
    )
    vectors = load_subject(f"distilled:{folder}").embed(benchmark.need_texts())
    assert vectors.shape == (2 * worlds.IMAGES, 120)
    with pytest.raises(InputError, match=r"has no vector for text '.*w\.en:1'"):
        made(tmp_path, "other", subject=name, student="ngrams", files=True)


def test_the_same_command_gives_the_same_bytes_whatever_goes_through_at_once(tmp_path):
    student = str(tiny.build(worlds.xlmr, tmp_path / "student"))
    first, second = (made(tmp_path, out, student=student) for out in ("a", "b"))
    for name in (*WRITTEN, "model/model.safetensors", "model/student.safetensors"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    recipe = worlds.recipe(model=worlds.SHORT["model"] | {"steps": 3, "epochs": 1.0})
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = json.loads((tmp_path / "student" / "config.json").read_text()) | still
    (tmp_path / "student" / "config.json").write_text(json.dumps(config))
    parts = [made(tmp_path, f"f{n}", student=student, recipe=recipe | {"forward": n}) for n in (2, 8)]
    assert losses(parts[0]) == pytest.approx(losses(parts[1]), rel=1e-4)
    with pytest.raises(InputError, match=r"was begun with another recipe\.seed"):
        made(tmp_path, "f2", student=student, recipe=recipe | {"forward": 2, "seed": 1})


def test_half_precision_is_used_when_asked(tmp_path):
    student = str(tiny.build(worlds.bert, tmp_path / "student"))
    lost = [
        losses(made(tmp_path, precision, student=student, recipe=worlds.recipe(precision=precision)))
        for precision in ("fp32", "bf16")
    ]
    assert lost[0] != lost[1]
    assert lost[0][0] == pytest.approx(lost[1][0], rel=0.05)


def test_the_plan_counts_what_is_done(tmp_path):
    settings = {
        "subject": "pictogram:english",
        "benchmark": worlds.world(tmp_path / "world"),
        "recipe": worlds.recipe(adapter={"batch": 5, "epochs": 2.5}),
    }
    plan = api.plan_making("distill", settings)[DONE]
    assert plan["count"].to_list() == [6, 12, 8, 6]
    folder = made(tmp_path, **settings)
    assert len(losses(folder)) == 8


def test_a_student_that_is_no_text_model_is_refused(tmp_path):
    clip = str(tiny.build(tiny.clip, tmp_path / "clip"))
    with pytest.raises(InputError, match="CLIPModel is no encoder of texts alone"):
        made(tmp_path, student=clip)
    config = hf.T5Config(d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, vocab_size=20)
    hf.T5Model(config).save_pretrained(tmp_path / "t5")
    with pytest.raises(InputError, match="T5Model is no encoder of texts alone"):
        made(tmp_path, "t5-out", student=str(tmp_path / "t5"))
    half = tiny.build(worlds.bert, tmp_path / "half")
    (half / "config.json").write_text('{"model_type": "ours"}')
    with pytest.raises(InputError, match="has no model of type 'ours'"):
        made(tmp_path, "half-out", student=str(half))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"benchmark": ""}, "name a --benchmark"),
        ({"student": "no/where/at/all"}, "no such folder"),
        ({"benchmark": "pictograms-quiz"}, "has no texts"),
        ({"source": "xx"}, "has no captions in 'xx'"),
        ({"subject": "run:none.txt"}, "none.txt"),
        ({"recipe": {"model": {"batch": 3}, "forward": 2}}, "no multiple of forward"),
        ({"subject": "colpali:none"}, "none: no such folder|needs a checkpoint|none"),
        ({"recipe": {"precision": "fp16"}}, "fp16 needs CUDA"),
    ],
)
def test_what_cannot_teach_is_said(tmp_path, given, said):
    with pytest.raises(InputError, match=said):
        made(tmp_path, **given)
    assert not (tmp_path / "out" / "maker.json").exists()


def test_a_folder_that_was_changed_or_belongs_to_another_encoder_is_refused(tmp_path):
    folder = made(tmp_path, student="ngrams", files=True)
    with pytest.raises(InputError, match="it is another one"):
        load_subject(f"distilled:{folder},encoder=pictogram:aligned")
    with pytest.raises(InputError, match="leave out device="):
        load_subject(f"distilled:{folder},device=cpu")
    other = tmp_path / "copy"
    shutil.copytree(folder, other)
    (other / "model" / "student.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match="was changed after"):
        load_subject(f"distilled:{other}")
    with pytest.raises(InputError, match="no distilled encoder"):
        load_subject(f"distilled:{tmp_path}")
    with pytest.raises(InputError, match="name the folder"):
        load_subject("distilled:")


def test_the_first_weights_depend_on_the_seed_alone(tmp_path):
    torch.manual_seed(1)
    recipe = worlds.recipe(ngrams={"batch": 8, "steps": 1, "learning_rate": 1e-9})
    first = made(tmp_path, "a", student="ngrams", recipe=recipe)
    torch.manual_seed(2)
    second = made(tmp_path, "b", student="ngrams", recipe=recipe)
    third = made(tmp_path, "c", student="ngrams", recipe=recipe | {"seed": 1})
    hashes = [json.loads((place / "distill.json").read_text())["weights"] for place in (first, second, third)]
    assert hashes[0] == hashes[1] != hashes[2]
