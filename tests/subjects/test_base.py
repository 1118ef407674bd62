"""What every subject says of itself, whatever its kind."""

from __future__ import annotations

from importlib.metadata import version

import polars as pl
import pytest

from equiview.subjects import SUBJECTS, Answerer, EmbeddingModel, Encoder, ResultLists, Subject
from equiview.subjects.lists.finished import FinishedRun


class Plain(EmbeddingModel):
    """A model that does nothing much.

    Nothing at all.
    """

    def encode_images(self, images):
        return [[1.0]] * len(images)

    def encode_texts(self, texts):
        return [[1.0]] * len(texts)


class Tuned(Plain):
    packages = ("numpy", "polars", "not-installed-anywhere")

    @property
    def parent(self):
        return Plain("base").fingerprint


def test_defaults_are_of_the_class_and_the_argument():
    subject = Plain("large")
    assert (subject.name, subject.about, subject.argument) == (
        "Plain",
        "A model that does nothing much.",
        "large",
    )
    assert subject.versions == {}
    assert subject.parent is None
    assert subject.fingerprint == Plain("large").fingerprint
    assert len({Plain("large").fingerprint, Plain("small").fingerprint, Tuned("large").fingerprint}) == 3


def test_a_name_can_be_given_and_is_of_one_subject_alone():
    named = Plain()
    named.name = "ours"
    assert (named.name, Plain().name) == ("ours", "Plain")


def test_a_class_that_does_not_call_its_base_has_them_too():
    class Bare(Plain):
        def __init__(self):
            self.weights = 1

    assert (Bare().name, Bare().argument) == ("Bare", "")
    assert Bare().fingerprint


def test_versions_are_of_installed_packages():
    assert Tuned().versions == {"numpy": version("numpy"), "polars": version("polars")}


def test_a_derived_subject_names_its_parent():
    assert Tuned().parent == Plain("base").fingerprint


@pytest.mark.parametrize("name", list(SUBJECTS.all()))
def test_every_registered_subject_is_of_one_kind_and_says_what_it_is(name):
    kind = SUBJECTS.get(name)
    assert issubclass(kind, Subject)
    assert sum(issubclass(kind, sort) for sort in (Encoder, ResultLists, Answerer)) == 1
    assert kind.fingerprint is not Subject.fingerprint, "its vectors, lists or answers can change unnoticed"
    assert (kind.__doc__ or "").strip()
    assert SUBJECTS.all()[name].about


def test_models_and_databases_name_the_packages_that_change_their_results():
    without = {name for name, entry in SUBJECTS.all().items() if not entry.value.packages}
    assert without == {  # files, or those of a system within
        *(
            "answers",
            "embeddings",
            "run",
            "choice",
            "describe",
            "names",
            "finetuned",
            "distilled",
            "mitigated",
            "reranked",
        )
    }


def test_result_lists_are_no_encoder(tmp_path):
    path = tmp_path / "run.csv"
    pl.DataFrame({"query_id": ["a"], "rank": [1], "item_id": ["b"]}).write_csv(path)
    subject = FinishedRun(str(path))
    assert isinstance(subject, ResultLists)
    assert not hasattr(subject, "embed")
    assert subject.versions == {}
