"""From `equiview mitigate project` and `--by country` to what the audits say before and after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.search.scaling import unit
from equiview.subjects import load_subject

PEOPLE = "pictograms-people"


def made(place, method="project", **given):
    settings = {"subject": "pictogram:tied", "benchmark": PEOPLE} | given
    return api.make(method, settings, place / method).folder


def stored_world(folder, *, gap=0.0, groups=("a", "b"), n=200, width=16, collapsed=False, seed=0):
    """Vectors of images of groups that stand `gap` apart and differ in nothing else, with a caption each."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    of = np.arange(n) % len(groups)
    images = np.ones((n, width)) if collapsed else rng.normal(size=(n, width))
    images[:, 0] += gap * of
    texts = images + (0 if collapsed else 0.5 * rng.normal(size=(n, width)))
    ids = [f"i{row}" for row in range(n)]
    table = {"id": ids, "gender": [groups[row] for row in of], "path": [f"{name}.png" for name in ids]}
    pl.DataFrame(table).write_csv(folder / "images.csv")
    captions = {"id": [f"t{row}" for row in range(n)], "text": ids, "language": "en", "image_id": ids}
    pl.DataFrame(captions).write_csv(folder / "texts.csv")
    for kind, vectors in (("images", images), ("texts", texts)):
        np.save(folder / f"{kind}.npy", vectors.astype(np.float32))
    return {"subject": f"embeddings:{folder}", "benchmark": f"folder:{folder}", "directions": ["images"]}


@pytest.fixture(scope="module")
def projected(tmp_path_factory):
    place = tmp_path_factory.mktemp("people")
    return made(place, by=["gender", "skin"], directions=["images"])


def test_it_takes_skew_away_from_people_that_it_was_not_fitted_on(projected, tmp_path):
    judged = load_benchmark(f"held-out:{projected}")
    before, after = (
        api.audit(name, judged, ["social"], tmp_path / name.partition(":")[0]).estimates.of("social")
        for name in ("pictogram:tied", f"mitigated:{projected}")
    )
    for attribute in ("gender", "skin"):
        values = [
            found.one("MaxSkew beyond chance", None, attribute=attribute).value for found in (before, after)
        ]
        assert values[1] < 0.6 * values[0]
    assert role_accuracy(judged, projected) > role_accuracy(judged, None) + 0.01


def role_accuracy(judged, folder):
    """Share of people whose role's neutral name is the nearest to them."""
    subject = load_subject(f"mitigated:{folder}" if folder else "pictogram:tied")
    names = judged.tables["neutral_prompts"].rename({"prompt_id": "id"})
    names = names.filter(pl.col("concept").is_in(judged.images.table["role"].to_list()))
    images, texts = (
        unit(np.asarray(subject.embed(items))) for items in (judged.images, Items("text", names))
    )
    found = names["concept"].to_numpy()[np.argmax(images @ texts.T, axis=1)]
    return (found == judged.images.table["role"].to_numpy()).mean()


def test_parts_share_no_role_and_the_parent_is_named(projected):
    whole, judged = load_benchmark(PEOPLE), load_benchmark(f"held-out:{projected}")
    roles = set(judged.images.table["role"])
    fitted = whole.images.table.filter(~pl.col("id").is_in(judged.images.ids.to_list()))
    assert not roles & set(fitted["role"])
    subject = load_subject(f"mitigated:{projected}")
    assert subject.parent == load_subject("pictogram:tied").fingerprint
    images = judged.images.take(range(3))
    np.testing.assert_allclose(subject.embed(images), subject.inner.embed(images), atol=1e-6)


@pytest.mark.parametrize("side", ["texts", "images", "both"])
def test_groups_have_one_mean_where_they_are_projected(tmp_path, side):
    given = stored_world(tmp_path / "world", gap=3.0)
    folder = made(tmp_path, **given, side=side)
    subject, whole = load_subject(f"mitigated:{folder}"), load_benchmark(given["benchmark"])
    fit = ~whole.images.ids.is_in(load_benchmark(f"held-out:{folder}").images.ids.to_list()).to_numpy()
    for items in (whole.images, whole.need_texts()):
        gaps = []
        for encoder in (subject.inner, subject):
            vectors = unit(np.asarray(encoder.embed(items)))[fit]
            group = (whole.images.table["gender"] == "a").to_numpy()[fit]
            gaps.append(np.linalg.norm(vectors[group].mean(axis=0) - vectors[~group].mean(axis=0)))
        assert gaps[0] > 0.4
        projected = side == "both" or items.kind in side
        assert (gaps[1] < 0.25) == projected


@pytest.mark.parametrize("method", ["project", "center", "leace"])
def test_of_unbiased_vectors_little_is_changed(tmp_path, method):
    """Two directions of noise of 32 are taken away at most: matches stay what they were."""
    given = stored_world(tmp_path / "world", groups=("a", "b", "c"), n=600, width=32)
    if method != "project":
        del given["directions"]
    by = ("gender",) if method == "project" else "gender"
    subject = load_subject(f"mitigated:{made(tmp_path, method, by=by, **given)}")
    whole = load_benchmark(given["benchmark"])
    right = []
    for encoder in (subject.inner, subject):
        images, texts = (
            unit(np.asarray(encoder.embed(items))) for items in (whole.images, whole.need_texts())
        )
        right.append((np.argmax(texts @ images.T, axis=1) == np.arange(len(texts))).mean())
    assert right[0] > 0.85
    assert right[1] > right[0] - 0.06


def test_of_no_strength_nothing_is_changed_and_prompts_are_enough(tmp_path):
    folder = made(tmp_path, strength=0.0)
    subject = load_subject(f"mitigated:{folder}")
    texts = load_benchmark(PEOPLE).need_texts().take(range(5))
    np.testing.assert_allclose(subject.embed(texts), unit(subject.inner.embed(texts)), atol=1e-6)


def test_what_prompts_name_is_taken_away(tmp_path):
    plain, calibrated = (
        load_subject(f"mitigated:{made(tmp_path / str(weight), weight=weight, directions=['prompts'])}")
        for weight in (0, 1000)
    )
    texts = ["a woman firefighter", "a man firefighter"]
    words = Items("text", pl.DataFrame({"id": texts, "text": texts, "language": "en"}))

    def gap(subject):
        vectors = np.asarray(subject.embed(words))
        return 1 - float(vectors[0] @ vectors[1] / np.prod(np.linalg.norm(vectors, axis=1)))

    assert gap(plain) < gap(plain.inner)
    assert gap(calibrated) < gap(plain.inner)


def test_prompts_of_ones_own(tmp_path):
    path = tmp_path / "skin.toml"
    path.write_text(
        'attribute = "skin"\n[values]\ndark = ["dark"]\nlight = ["light"]\n'
        '[[prompts]]\nlanguage = "en"\nparaphrase = "bare"\nchecked = "no"\n'
        '[prompts.text]\ndark = "dark skin tone"\nlight = "light skin tone"\n'
    )
    folder = made(tmp_path, by=["skin"], prompts=[str(path)])
    with pytest.raises(InputError, match="prompts are of 'skin', which is not projected out"):
        made(tmp_path / "gender", prompts=[str(path)])
    card = api.make("project", {"subject": "pictogram:tied", "benchmark": PEOPLE, "by": ["skin"],
                                "prompts": [str(path)]}, folder).card  # fmt: skip
    assert card.inputs["prompts of skin"].name == "skin.toml"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"by": ["height"]}, "have no attribute 'height'"),
        ({"by": ["skin"]}, "no prompts of 'skin', only of gender, race, age"),
        ({"languages": ["xx"]}, "no prompts in 'xx'"),
        ({"directions": ["nothing"]}, "directions"),
        ({"benchmark": "pictograms"}, "have no attribute 'gender'"),
        ({"weight": -1.0}, "weight"),
        ({"by": ["gender", "gender"]}, "names 'gender' twice"),
        ({"alike": ["gender"]}, "'gender' is projected out"),
        ({"prompts": ["a.toml"], "directions": ["images"]}, "are not asked"),
        ({"prompts": ["nowhere.toml"]}, "nowhere.toml"),
        (
            {"benchmark": "pictograms-culture", "method": "center", "by": "continent"},
            "no attribute 'continent'",
        ),
    ],
)
def test_what_cannot_be_projected_is_said(tmp_path, given, said):
    with pytest.raises(InputError, match=said):
        made(tmp_path, **given)


@pytest.mark.parametrize(
    ("world", "said"),
    [
        ({"groups": ("a",)}, "has 'a' alone; comparing groups takes"),
        ({"groups": ("",)}, "has no known value; comparing groups takes"),
        ({"groups": ("a",) * 199 + ("b",), "n": 200}, "'a' alone|too few images of 'b' 1"),
        ({"groups": tuple("abcdefgh"), "width": 3, "gap": 1.0}, "span all 3 dimensions"),
        ({"collapsed": True}, "gives all groups one vector"),
    ],
)
def test_groups_that_cannot_be_compared_are_said(tmp_path, world, said):
    with pytest.raises(InputError, match=said):
        made(tmp_path, **stored_world(tmp_path / "world", **world))


@pytest.mark.parametrize("method", ["center", "whiten", "leace"])
def test_images_of_all_groups_have_nearly_one_mean(tmp_path, method):
    given = stored_world(tmp_path / "world", gap=2.0, groups=("a", "b", "c"), n=600)
    del given["directions"]
    subject = load_subject(f"mitigated:{made(tmp_path, method, by='gender', **given)}")
    whole = load_benchmark(given["benchmark"])
    gaps = []
    for encoder in (subject.inner, subject):
        vectors, groups = unit(np.asarray(encoder.embed(whole.images))), whole.images.table["gender"]
        means = np.stack([vectors[(groups == name).to_numpy()].mean(axis=0) for name in "abc"])
        gaps.append(np.ptp(means, axis=0).max())
    assert gaps[0] > 0.5
    assert gaps[1] < 0.15
    texts = whole.need_texts()
    np.testing.assert_allclose(subject.embed(texts), unit(subject.inner.embed(texts)), atol=1e-5)
    unknown = replace(whole.images, table=whole.images.table.drop("gender"))
    if method == "leace":  # one map for all: nobody need know the group
        np.testing.assert_array_equal(subject.embed(unknown), subject.embed(whole.images))
    else:
        with pytest.raises(InputError, match="no attribute 'gender'"):
            subject.embed(unknown)


def test_countries_of_drawings_are_taken_away(tmp_path):
    given = {"subject": "pictogram:skewed", "benchmark": "pictograms-culture", "by": "country"}
    folder = api.make("leace", given | {"share": 0.25}, tmp_path / "leace").folder
    subject, judged = load_subject(f"mitigated:{folder}"), load_benchmark(f"held-out:{folder}")
    images = judged.images
    countries = images.table["country"].to_numpy()
    told = []
    for encoder in (subject.inner, subject):
        vectors = unit(np.asarray(encoder.embed(images)))
        names, codes = np.unique(countries, return_inverse=True)
        means = np.stack([vectors[codes == code].mean(axis=0) for code in range(len(names))])
        told.append((np.argmin(((vectors[:, None] - means) ** 2).sum(axis=2), axis=1) == codes).mean())
    assert told[1] < 0.5 * told[0]
