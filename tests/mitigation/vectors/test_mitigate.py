"""From the command to the verdicts before and after, on the embedded encoders."""

from __future__ import annotations

import json
import shutil

import numpy as np
import polars as pl
import pytest

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.benchmarks.folder import read_texts
from equiview.errors import InputError
from equiview.studies import mitigation
from equiview.subjects import load_subject

SUBJECT = "pictogram:skewed"
SETTINGS = {"prevalence": {"replicates": 200}}


def made(place, method="level", **given):
    settings = {"subject": SUBJECT, "benchmark": "pictograms"} | given
    return api.make(method, settings, place / method).folder


@pytest.fixture(scope="module")
def level(tmp_path_factory):
    return made(tmp_path_factory.mktemp("mitigated"))


@pytest.fixture(scope="module")
def runs(level, tmp_path_factory):
    place, judged = tmp_path_factory.mktemp("runs"), load_benchmark(f"held-out:{level}")
    return [
        api.audit(name, judged, ["prevalence"], place / name.partition(":")[0], settings=SETTINGS)
        for name in (SUBJECT, f"mitigated:{level}")
    ]


def test_it_takes_bias_away_on_images_that_it_was_not_fitted_on(runs):
    """`level` dominates the encoder: exposure of the low tier is nearer to even, and NDCG higher."""
    found = mitigation(runs[0], runs[1:])
    change = {(row["metric"], row["k"]): row for row in found.changes.iter_rows(named=True)}
    ratio = change["exposure ratio", 10]
    assert ratio["value_a"] < 0.8
    assert 0.85 < ratio["value_b"] < 1.1
    assert ratio["p_holm"] < 0.05
    assert change["NDCG", 10]["difference"] > 0.03
    assert change["NDCG", 10]["p_holm"] < 0.05
    (frontier,) = found.figures
    assert frontier.table["system"].to_list() == [run.name for run in runs]
    assert frontier.reference == {"alike": 1.0}


def test_the_parts_share_nothing_and_the_parent_is_named(level):
    whole, judged = load_benchmark("pictograms"), load_benchmark(f"held-out:{level}")
    assert len(judged.images) == pytest.approx(len(whole.images) / 2, abs=5)
    assert judged.name == "pictograms, held out"
    subject = load_subject(f"mitigated:{level}")
    assert subject.parent == load_subject(SUBJECT).fingerprint
    assert subject.about == f"{SUBJECT} by level, strength 1, fitted on pictograms"
    assert subject.similarity == "dot"
    images = subject.embed(judged.images.take(range(3)))
    assert images.shape == (3, 121)
    assert images[:, -1].tolist() == [1, 1, 1]


def test_the_same_command_gives_the_same_bytes_and_another_strength_another_subject(level, tmp_path):
    again = made(tmp_path)
    weak = made(tmp_path / "weak", strength=0.5)
    for name in ("correction.npz", "mitigation.json", "held-out.json"):
        assert (again / name).read_bytes() == (level / name).read_bytes()
    subjects = [load_subject(f"mitigated:{folder}") for folder in (level, again, weak)]
    assert subjects[0].fingerprint == subjects[1].fingerprint != subjects[2].fingerprint
    with pytest.raises(InputError, match="begun with another strength"):
        made(tmp_path, strength=0.25)


def test_stored_vectors_are_enough(tmp_path):
    benchmark = load_benchmark("pictograms")
    texts = benchmark.need_texts()
    rows = np.flatnonzero(texts.table["language"].is_in(["en", "sw", "te"]).to_numpy())
    folder = tmp_path / "vectors"
    folder.mkdir()
    subject = load_subject(SUBJECT)
    np.save(folder / "images.npy", subject.embed(benchmark.images))
    np.save(folder / "texts.npy", subject.embed(texts.take(rows)))
    benchmark.images.table.select("id", "concept", path=pl.col("id") + ".png").write_csv(
        folder / "images.csv"
    )
    kept = texts.table[rows].select("id", "text", "language", "image_id")
    kept.write_csv(folder / "texts.csv")
    made(tmp_path, "center", subject=f"embeddings:{folder}", benchmark=f"folder:{folder}")
    corrected = load_subject(f"mitigated:{tmp_path / 'center'}")
    vectors = corrected.embed(read_texts(folder))
    assert vectors.shape == (len(rows), 120)
    codes = kept["language"].to_numpy()
    before = np.load(folder / "texts.npy")
    gaps = [
        np.linalg.norm(np.ptp([part[codes == code].mean(axis=0) for code in ("en", "sw", "te")], axis=0))
        for part in (before, np.asarray(vectors))
    ]
    assert gaps[1] < 0.3 * gaps[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"benchmark": "pictograms-people"}, "texts are in 'en' alone"),
        ({"strength": 2.0}, "less than or equal to 1|strength"),
        ({"share": 0.0}, "share"),
        ({"subject": "pictogram:nothing"}, "no embedded encoder"),
    ],
)
def test_what_cannot_be_fitted_is_said(tmp_path, given, said):
    with pytest.raises(InputError, match=said):
        made(tmp_path, **given)
    assert not (tmp_path / "level" / "maker.json").exists()


@pytest.mark.parametrize(
    ("languages", "said"),
    [(["en"], "texts are in 'en' alone"), (["en"] * 57 + ["sw"] * 3, "too few texts in sw [0-3]")],
)
def test_a_language_of_too_few_texts_is_named(tmp_path, languages, said):
    ids = [f"i{row}" for row in range(60)]
    rng = np.random.default_rng(0)
    codes = (languages * 60)[:60]
    pl.DataFrame({"id": ids, "path": [f"{name}.png" for name in ids]}).write_csv(tmp_path / "images.csv")
    texts = {"id": [f"t{name}" for name in ids], "text": ids, "language": codes, "image_id": ids}
    pl.DataFrame(texts).write_csv(tmp_path / "texts.csv")
    for kind in ("images", "texts"):
        np.save(tmp_path / f"{kind}.npy", rng.normal(size=(60, 8)).astype(np.float32))
    with pytest.raises(InputError, match=said):
        made(tmp_path, "center", subject=f"embeddings:{tmp_path}", benchmark=f"folder:{tmp_path}")


def test_a_folder_that_was_changed_is_refused(level, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(level, folder)
    listed = json.loads((folder / "held-out.json").read_text())
    for content, said in (
        (json.dumps(listed | {"fingerprint": "other"}), "benchmark 'pictograms' has changed"),
        ("[]", "damaged"),
        ("{", "damaged"),
        (json.dumps(listed | {"images": [1, 2]}), "damaged"),
    ):
        (folder / "held-out.json").write_text(content)
        with pytest.raises(InputError, match=said):
            load_benchmark(f"held-out:{folder}")
    with pytest.raises(InputError, match=r"held-out\.json"):
        load_benchmark(f"held-out:{tmp_path}")
    with pytest.raises(InputError, match="it is another one"):
        load_subject(f"mitigated:{folder},encoder=pictogram:aligned")
    (folder / "correction.npz").write_bytes(b"PK")
    with pytest.raises(InputError, match="was changed after"):
        load_subject(f"mitigated:{folder}")
    with pytest.raises(InputError, match="no mitigated encoder"):
        load_subject(f"mitigated:{tmp_path}")
