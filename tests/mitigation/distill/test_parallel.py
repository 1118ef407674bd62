"""Which texts mean the same: of one image, and of one line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equiview.benchmarks import load_benchmark
from equiview.errors import InputError
from equiview.mitigation.distill.parallel import joined, of_benchmark, of_files
from tests.mitigation.distill import worlds

EVERY = np.arange(worlds.IMAGES)
TEXTS = [
    ("a", "a dog", "en", "0.png"),
    ("b", "the dog", "en", "0.png"),
    ("c", "ein Hund", "de", "0.png"),
    ("d", "a sofa", "en", "1.png"),
    ("e", "ein Sofa", "de", "1.png"),
]


def of(place, texts=None, images=EVERY, source="en"):
    return of_benchmark(load_benchmark(worlds.world(place, texts)), images, source)


def test_a_text_stands_for_the_english_texts_of_its_image_and_english_for_itself(tmp_path):
    found = of(tmp_path, TEXTS)
    assert found.texts.texts == ["a dog", "the dog", "ein Hund", "a sofa", "ein Sofa"]
    assert found.sources.texts == ["a dog", "the dog", "a sofa"]
    assert found.partners.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0, 0, 1], [0, 0, 1]]
    assert found.counts == {"de": 2, "en": 3}


def test_only_the_texts_of_the_images_that_teach_are_read(tmp_path):
    found = of(tmp_path, TEXTS, images=np.array([1]))
    assert found.texts.texts == ["a sofa", "ein Sofa"]
    assert found.fingerprint != of(tmp_path, TEXTS).fingerprint


def test_another_language_can_teach(tmp_path):
    found = of(tmp_path, TEXTS, source="de")
    assert found.sources.texts == ["ein Hund", "ein Sofa"]
    assert found.partners.toarray().tolist() == [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(["en", "de", "sw"]), st.integers(0, 3)), max_size=12))
def test_weights_are_of_one_image_and_add_up_to_one(tmp_path_factory, drawn):
    texts = [(f"t{row}", f"w{row}", code, f"{image}.png") for row, (code, image) in enumerate(drawn)]
    texts += [(f"e{image}", f"e{image}", "en", f"{image}.png") for image in range(4)]
    found = of(tmp_path_factory.mktemp("world"), texts)
    weights = found.partners.toarray()
    assert np.allclose(weights.sum(axis=1), 1)
    image = {name: place for name, _, _, place in texts}
    for row, name in enumerate(found.texts.ids):
        of_row = {image[found.sources.ids[column]] for column in np.flatnonzero(weights[row]).tolist()}
        assert of_row == {image[name]}
        if name in found.sources.ids.to_list():
            assert weights[row].max() == 1


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([TEXTS[2], TEXTS[4]], r"has no captions in 'en'.*--source"),
        ([*TEXTS, ("f", "ein Baum", "de", "2.png")], r"text 'f' \(de\) has no text in 'en' .*1 of 6"),
    ],
)
def test_captions_without_a_partner_are_named(tmp_path, texts, said):
    with pytest.raises(InputError, match=said):
        of(tmp_path, texts)


def test_one_language_is_not_enough(tmp_path):
    with pytest.raises(InputError, match="texts are in 'en' alone"):
        joined([of(tmp_path, [TEXTS[0], TEXTS[3]])])
    with pytest.raises(InputError, match="name a --benchmark, files with --parallel"):
        joined([])


def test_lines_of_files_are_parallel(tmp_path):
    (tmp_path / "w.en").write_text("a dog\na sofa\n")
    (tmp_path / "w.de").write_text("ein Hund\u2028\nein Sofa")
    found = of_files(f"de={tmp_path / 'w.de'},en={tmp_path / 'w.en'}", "en")
    assert found.texts.texts == ["a dog", "a sofa", "ein Hund\u2028", "ein Sofa"]
    assert found.texts.table["language"].to_list() == ["en", "en", "de", "de"]
    assert found.partners.toarray().tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    whole = joined([of(tmp_path / "world", TEXTS), found])
    assert len(whole) == 9
    assert whole.sources.texts == ["a dog", "the dog", "a sofa", "a dog", "a sofa"]
    assert whole.partners.toarray()[7].tolist() == [0, 0, 0, 1, 0]
    twice = joined([found, found])  # ids are told apart
    assert twice.texts.ids.n_unique() == 8


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("en=w.en", "expected two languages or more"),
        ("en=w.en,de", "expected two languages or more"),
        ("en=w.en,en=w.de", "expected two languages or more"),
        ("de=w.de,fr=w.de", "names no file in 'en'"),
        ("en=w.en,de=none", "none: no such file"),
        ("en=w.en,de=short", "short: has 1 lines and w.en 2"),
        ("en=w.en,de=blank", "blank, line 2: is empty"),
        ("en=empty,de=empty", "empty: holds no text"),
    ],
)
def test_files_that_do_not_fit_are_named(tmp_path, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    for name, content in (
        ("w.en", "a\nb\n"),
        ("w.de", "x\ny\n"),
        ("short", "x\n"),
        ("blank", "x\n \n"),
        ("empty", ""),
    ):
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=said):
        of_files(given, "en")
