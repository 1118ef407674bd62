from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from equiview.subjects import ResultLists, load_subject
from tests.subjects.encoders import tiny

SOURCE = """
import numpy as np
from equiview.subjects import EmbeddingModel, ResultLists

class Plain:
    text_batch = 7
    def encode_images(self, images):
        return [np.asarray(image).mean((0, 1)) + 1 for image in images]
    def encode_texts(self, texts):
        return [[len(text) + 1, 2, 3] for text in texts]

class Sized(Plain, EmbeddingModel):
    def encode_texts(self, texts):
        return np.ones((len(texts), int(self.argument)))

class Stated(Plain):
    fingerprint, versions, parent = "abc", {"mine": "1.2"}, "def"

class Lists(ResultLists):
    def lists(self, benchmark, k=None):
        raise NotImplementedError

class Half:
    def encode_texts(self, texts):
        return texts

class Broken(Plain):
    def __init__(self):
        raise RuntimeError("no weights here")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"own_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return name


def test_a_class_with_two_methods_is_an_encoder(module: str) -> None:
    subject = load_subject(f"{module}:Plain")
    assert np.asarray(subject.encode_texts(["ab", ""])).tolist() == [[3, 2, 3], [1, 2, 3]]
    assert np.asarray(subject.encode_images(tiny.pictures())).shape == (5, 3)
    assert subject.text_batch == 7


def test_what_follows_a_second_colon_is_passed_on(module: str) -> None:
    subject = load_subject(f"{module}:Sized:4")
    assert np.asarray(subject.encode_texts(["ab"])).shape == (1, 4)


def test_a_changed_source_file_is_another_encoder(module: str, tmp_path: Path) -> None:
    subject = load_subject(f"{module}:Plain")
    before = subject.fingerprint
    assert before == load_subject(f"{module}:Plain").fingerprint
    (tmp_path / f"{module}.py").write_text(SOURCE + "# changed")
    assert subject.fingerprint != before


def test_what_a_class_states_of_itself_is_passed_on(module: str) -> None:
    subject = load_subject(f"{module}:Stated")
    assert (subject.fingerprint, subject.versions, subject.parent) == ("abc", {"mine": "1.2"}, "def")
    plain = load_subject(f"{module}:Plain")
    assert (plain.versions, plain.parent) == ({}, None)


def test_a_subject_of_any_kind_is_loaded_and_called_as_it_was_typed(module: str) -> None:
    lists = load_subject(f"{module}:Lists:here")
    assert isinstance(lists, ResultLists)
    assert (lists.name, lists.argument) == (f"{module}:Lists:here", "here")
    assert load_subject("pictogram:english").name == "pictogram:english"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("{}:Absent", "has no class 'Absent'; encoders in it: Broken, .*Plain, Sized, Stated"),
        ("{}:Half", "an encoder needs a method encode_images"),
        ("{}:Broken", r"cannot be created \(RuntimeError: no weights here\)"),
        ("no.such.module:Class", r"no.such.module: cannot be imported \(ModuleNotFoundError"),
        ("nosuchscheme:Class", r"no subject is named 'nosuchscheme'.*`equiview list subjects` lists them"),
    ],
)
def test_what_is_wrong_is_said(module: str, name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_subject(name.format(module))


def test_a_path_is_answered_with_how_to_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lists.csv").touch()
    (tmp_path / "tint.py").touch()
    (tmp_path / "mine").mkdir()
    for name, said in (
        ("lists.csv", "result lists are run:lists.csv"),
        ("mine", "vectors in a folder are embeddings:mine"),
        ("tint.py", "named without .py, tint:CLASS"),
        ("tint.py:Tint", "named without .py, tint:CLASS"),
    ):
        with pytest.raises(InputError, match=f"'{name}' is a path; .*{said}"):
            load_subject(name)
    for name, use in (("lists.csv", "run"), ("mine", "folder")):
        with pytest.raises(InputError, match=f"'{name}' is a path; .* {use}:{name}"):
            load_benchmark(name)


def test_a_module_that_cannot_be_imported_says_why(module: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}_bad.py").write_text("raise KeyError('no settings')")
    with pytest.raises(InputError, match=r"cannot be imported .KeyError: 'no settings'"):
        load_subject(f"{module}_bad:Class")
