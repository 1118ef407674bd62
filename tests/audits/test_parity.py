"""The parity audit, on worlds whose gaps are known because we made them."""

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, top_k_accuracy_score

from equiview.audits.execute import execute
from equiview.audits.parity import PARITY, SCHEMAS, table_1
from equiview.benchmarks import Benchmark, load_benchmark
from equiview.benchmarks.prompts import shipped_prompts
from equiview.data.items import Items
from equiview.data.progress import silent
from equiview.data.relevance import Relevance
from equiview.errors import InputError
from equiview.subjects import EmbeddingModel, load_subject
from tests.audits.test_individual import several
from tests.conftest import LANGUAGES, write_world

PROMPTS = shipped_prompts()
FACES = 700


def audited(subject, benchmark, **settings):
    options = PARITY.configure({"replicates": 500, **settings})
    observed = PARITY.observe(subject, benchmark, options, silent)
    return observed, PARITY.measure(observed, options), options


def of_world(folder, **settings):
    return audited(load_subject(f"embeddings:{folder}"), load_benchmark(f"folder:{folder}"), **settings)


class Faces(EmbeddingModel):
    """Sees gender, race and age; worse at gender of Black women, and worse the more when asked in Turkish."""

    def __init__(self, harm=0.0):
        super().__init__()
        self.harm = harm

    def encode_images(self, images):
        raise AssertionError

    def encode_texts(self, texts):
        raise AssertionError

    def embed(self, items, progress=silent):
        axes = {value: place for place, value in enumerate(v for p in PROMPTS.values() for v in p.values)}
        rng = np.random.default_rng(1)
        made = rng.normal(size=(len(items), 40)) * 0.35
        for row, one in enumerate(items.table.iter_rows(named=True)):
            if items.kind == "image":
                for task, prompts in PROMPTS.items():
                    made[row, axes[prompts.values_of(pl.Series([one[task]]))[0]]] += 1
                if (one["gender"], one["race"]) == ("female", "Black"):
                    made[row, 30] += 1
            else:
                _, _, language, _, value = one["id"].split(":")
                made[row] = 0
                made[row, axes[value]] = 1
                if value == "Male":
                    made[row, 30] = self.harm * (6 if language == "tr" else 1)
        return made.astype(np.float32)


@pytest.fixture(scope="module")
def faces():
    rng = np.random.default_rng(0)

    def pick(values, p=None):
        return rng.choice(values, FACES, p=p)

    table = pl.DataFrame(
        {
            "id": [f"f{row}" for row in range(FACES)],
            "gender": pick(["male", "female"]),
            "race": pick(["White", "Black", "Latino_Hispanic", "Indian"], [0.4, 0.4, 0.18, 0.02]),
            "age": pick(["0-2", "3-9", "20-29", "30-39", "more than 70"]),
        }
    )
    texts = Items(
        "text", pl.DataFrame(schema=dict.fromkeys(["id", "text", "language"], pl.String)), may_be_empty=True
    )
    none = Relevance.from_pairs([], [], n_queries=FACES, n_items=0)
    return Benchmark("faces", Items("image", table), texts, none)


@pytest.fixture(scope="module")
def harmed(faces):
    return audited(Faces(0.25), faces)


def test_observations_satisfy_their_schemas(world, harmed):
    for observed in (of_world(world)[0], harmed[0]):
        for name, schema in SCHEMAS.items():
            schema.check(observed[name], name)
    observed = of_world(world)[0]
    assert len(observed["matches"]) == 2 * 40 * len(LANGUAGES)
    assert len(harmed[0]["predictions"]) == 3 * 8 * 3 * FACES
    assert len(harmed[0]["prompts"]) == 14 * 8 * 3


def test_matching_is_that_of_scikit_learn(world):
    _, estimates, _ = of_world(world)
    texts, vectors = pl.read_csv(world / "texts.csv"), np.load(world / "texts.npy")
    images = np.load(world / "images.npy")
    for code in LANGUAGES:
        said = vectors[texts["language"].eq(code).to_numpy()]
        cosine = (images / np.linalg.norm(images, axis=1, keepdims=True)) @ (
            said / np.linalg.norm(said, axis=1, keepdims=True)
        ).T
        for task, scores in (("image-to-text", cosine), ("text-to-image", cosine.T)):
            for k in (1, 5, 10):
                row = estimates.one(f"R@{k}", task=task, language=code)
                expected = top_k_accuracy_score(np.arange(40), scores, k=k)
                assert row["value"] == pytest.approx(expected)
                assert row["chance"] == pytest.approx(k / 40)
                assert row["n"] == 40


def test_classification_is_that_of_scikit_learn(harmed):
    observed, estimates, _ = harmed
    for task in ("gender", "race", "age"):
        for code in ("en", "tr"):
            own = observed["predictions"].filter(task=task, language=code)
            accuracy = estimates.one("accuracy", task=task, language=code)
            assert accuracy["value"] == pytest.approx(accuracy_score(own["truth"], own["predicted"]))
            assert accuracy["chance"] == pytest.approx(1 / len(PROMPTS[task].values))
            photo = own.filter(paraphrase="photo")
            one = estimates.one("accuracy", task=task, language=code, paraphrase="photo")
            assert one["value"] == pytest.approx(accuracy_score(photo["truth"], photo["predicted"]))


def test_more_skew_is_more_measured_bias(tmp_path):
    found = []
    for skew in (0.0, 2.0, 6.0):
        found.append(of_world(write_world(tmp_path / str(skew), skew=skew, images=150)))
    for task in ("image-to-text", "text-to-image"):
        gaps = [one.one("gap to pivot", task=task)["value"] for _, one, _ in found]
        ranges = [one.one("range over languages", task=task)["value"] for _, one, _ in found]
        assert gaps == sorted(gaps)
        assert ranges == sorted(ranges)
    verdicts = [PARITY.judge(estimates, options) for _, estimates, options in found]
    assert verdicts[-1].finding == "biased"
    assert verdicts[0].finding != "biased"
    assert "is served worse than English" in verdicts[-1].answer
    assert any("Worst served" in line for line in verdicts[-1].evidence)


def test_languages_that_are_alike_are_found_fair(tmp_path):
    folder = write_world(tmp_path / "w", images=60)
    np.save(folder / "texts.npy", np.repeat(np.load(folder / "images.npy"), len(LANGUAGES), axis=0))
    _, estimates, options = of_world(folder)
    assert PARITY.judge(estimates, options).finding == "fair"
    assert estimates.one("range over languages", task="image-to-text")["value"] == 0
    assert estimates.one("Gini over languages", task="image-to-text")["value"] == 0


def test_gaps_of_all_pairs_are_the_differences_of_accuracies(tmp_path):
    _, estimates, _ = of_world(write_world(tmp_path / "w", skew=3.0, images=80), pivot="de")
    accuracy = {
        code: estimates.one("R@1", task="image-to-text", language=code)["value"] for code in LANGUAGES
    }
    for row in estimates.table.filter(metric="gap", task="image-to-text").iter_rows(named=True):
        assert row["value"] == pytest.approx(accuracy[row["language"]] - accuracy[row["other"]])
    for code in ("en", "sw", "mi"):
        row = estimates.one("gap to pivot", task="image-to-text", language=code, other="de")
        assert row["value"] == pytest.approx(accuracy["de"] - accuracy[code])
        p = estimates.one("Holm p of gap to pivot", task="image-to-text", language=code, other="de")
        assert 0 < p["value"] <= 1
    mean = estimates.one("gap to pivot", task="image-to-text")["value"]
    assert mean == pytest.approx(accuracy["de"] - np.mean([accuracy[code] for code in ("en", "sw", "mi")]))
    spread = estimates.one("range over languages", task="image-to-text")
    assert spread["value"] == pytest.approx(max(accuracy.values()) - min(accuracy.values()))
    assert 0 < spread["chance"] < spread["value"]


def test_every_estimate_has_an_interval_around_it_and_an_n(world, harmed):
    for estimates in (of_world(world)[1], harmed[1]):
        table = estimates.table
        assert (table["low"] <= table["value"] + 1e-12).all()
        assert (table["high"] >= table["value"] - 1e-12).all()
        assert (table["n"] > 0).all()


def test_a_gap_across_languages_and_groups_is_the_sum_of_its_parts(harmed):
    _, estimates, _ = harmed
    table = estimates.table
    keys = ["task", "language", "attribute", "group", "against"]
    gaps = table.filter(metric="cross gap")
    assert len(gaps) == 3 * 7 * (1 + 3 + 4)  # genders, races but the one with too few images, ages
    parts = table.filter(metric="part of cross gap").group_by(keys).agg(pl.col("value").sum())
    joined = gaps.join(parts, on=keys, suffix=" of parts")
    assert len(joined) == len(gaps)
    assert (joined["value"] - joined["value of parts"]).abs().max() < 1e-12
    bound = gaps.join(table.filter(metric="bound of cross gap"), on=keys, suffix=" bound")
    assert (bound["value"].abs() <= bound["value bound"] + 1e-12).all()
    cell = {"task": "gender", "attribute": "gender"}
    women = estimates.one("accuracy", language="tr", group="Female", **cell)["value"]
    men = estimates.one("accuracy", language="en", group="Male", **cell)["value"]
    row = estimates.one("cross gap", language="tr", group="Female", against="Male", **cell)
    assert row["value"] == pytest.approx(women - men)


def test_groups_that_are_harmed_are_found(faces, harmed):
    _, estimates, options = harmed
    keys = {"task": "gender", "attribute": "gender", "group": "Female", "against": "Male"}
    gap = {
        (code, race): estimates.one("group gap", language=code, within=f"race={race}", **keys)
        for code in ("en", "tr")
        for race in ("White", "Black")
    }
    assert gap["tr", "Black"]["high"] < gap["en", "Black"]["low"] < 0
    assert gap["en", "White"]["low"] < 0 < gap["en", "White"]["high"]
    more = estimates.one("amplification", language="tr", within="race=Black", **keys)
    assert more["low"] > 0
    verdict = PARITY.judge(estimates, options)
    assert verdict.finding == "biased"
    assert "Asked for gender in Turkish, images labelled" in verdict.answer
    _, fair, options = audited(Faces(), faces)
    spared = fair.one("group gap", language="tr", within="race=Black", **keys)["value"]
    assert abs(spared) < 0.05 < abs(gap["tr", "Black"]["value"])


def test_cells_too_small_say_so(harmed):
    observed, estimates, options = harmed
    few = observed["groups"].filter(attribute="race", value="Indian")
    assert 0 < len(few) < 30
    keys = {"task": "race", "attribute": "race", "group": "Indian"}
    row = estimates.one("accuracy (too few)", language="en", **keys)
    assert row["n"] == len(few)
    assert not len(estimates.where("Holm p of group gap", language="en", against="the rest", **keys))
    assert any("too few images to judge" in line for line in PARITY.judge(estimates, options).evidence)


def test_paraphrases_stand_beside_languages(harmed):
    _, estimates, options = harmed
    spread = estimates.one("range over paraphrases", task="gender", language="tr")
    assert 0 <= spread["low"] <= spread["value"] <= spread["high"]
    assert any(
        line.startswith("Wordings of one language") for line in PARITY.judge(estimates, options).evidence
    )


def test_table_1_has_the_layout_of_the_paper(harmed):
    _, estimates, _ = harmed
    table = table_1(estimates.table)
    assert table.columns == ["language", "group", "White", "Black", "Indian", "Latino", "Average"]
    assert len(table) == 8 * 3
    turkish = table.filter(language="tr")
    assert turkish["group"].to_list() == ["Female", "Male", "gap"]
    black = estimates.one(
        "accuracy", task="gender", language="tr", attribute="gender", group="Female", within="race=Black"
    )
    assert turkish["Black"][0] == round(100 * black["value"], 1)
    assert turkish["Black"][2] == pytest.approx(abs(turkish["Black"][0] - turkish["Black"][1]), abs=0.11)


def test_the_order_of_images_does_not_matter(tmp_path):
    folder = write_world(tmp_path / "a", skew=3.0)
    before = of_world(folder)[1]
    images, vectors = pl.read_csv(folder / "images.csv"), np.load(folder / "images.npy")
    order = np.random.default_rng(3).permutation(len(images))
    images[order].write_csv(folder / "images.csv")
    np.save(folder / "images.npy", vectors[order])
    after = of_world(folder)[1]
    for code in LANGUAGES:
        for task in ("image-to-text", "text-to-image"):
            rows = [one.one("R@1", task=task, language=code)["value"] for one in (before, after)]
            assert rows[0] == rows[1]


def test_the_length_of_vectors_does_not_matter(tmp_path):
    folder = write_world(tmp_path / "a", skew=3.0)
    before = of_world(folder)[0]["matches"]
    np.save(folder / "texts.npy", 2 * np.load(folder / "texts.npy"))
    assert of_world(folder)[0]["matches"].equals(before)


def test_captions_of_several_rounds_are_averaged_within_the_image(tmp_path):
    folder = several(tmp_path / "w", slots=3)
    observed, estimates, _ = of_world(folder)
    assert observed["matches"]["round"].unique().to_list() == [1, 2, 3]
    row = estimates.one("R@1", task="image-to-text", language="sw")
    hits = observed["matches"].filter(direction="image-to-text", language="sw")["rank"] == 1
    assert row["value"] == pytest.approx(hits.mean())
    assert row["n"] == 40
    first = of_world(folder, captions="first")[0]["matches"]
    assert first.equals(observed["matches"].filter(round=1))


def test_images_that_a_language_lacks_are_left_out_or_its_own(tmp_path):
    folder = write_world(tmp_path / "w", images=60)
    texts, vectors = pl.read_csv(folder / "texts.csv"), np.load(folder / "texts.npy")
    keep = ~((texts["language"] == "mi") & (texts["image_id"].str.slice(1).cast(pl.Int64) < 20)).to_numpy()
    texts.filter(keep).write_csv(folder / "texts.csv")
    np.save(folder / "texts.npy", vectors[keep])
    _, common, _ = of_world(folder)
    _, own, _ = of_world(folder, common=False)
    for estimates, n in ((common, 40), (own, 60)):
        assert estimates.one("R@1", task="image-to-text", language="en")["n"] == n
        assert estimates.one("R@1", task="image-to-text", language="mi")["n"] == 40


def test_things_of_a_kind_are_broken_down_and_not_judged_as_people(tmp_path):
    folder = write_world(tmp_path / "w", images=120)
    images = pl.read_csv(folder / "images.csv")
    images.with_columns(group=pl.Series(["food", "flags", "animals"] * 40)).write_csv(folder / "images.csv")
    _, estimates, options = of_world(folder)
    cells = [
        estimates.one("R@1", task="image-to-text", language="sw", attribute="group", group=name)
        for name in ("food", "flags", "animals")
    ]
    overall = estimates.one("R@1", task="image-to-text", language="sw")["value"]
    assert np.mean([cell["value"] for cell in cells]) == pytest.approx(overall)
    assert [cell["n"] for cell in cells] == [40] * 3
    assert "food" not in PARITY.judge(estimates, options).answer


def test_what_cannot_be_compared_is_said(world, faces, tmp_path):
    with pytest.raises(InputError, match="the pivot 'fr' is not among the languages of image-to-text"):
        of_world(world, pivot="fr")
    with pytest.raises(InputError, match="parity compares two languages or more"):
        of_world(world, languages=["en"])
    with pytest.raises(InputError, match="no image label that prompts ask for"):
        audited(Faces(), faces, zero_shot=False)
    (tmp_path / "p.toml").write_text("attribute = 'gender'")
    with pytest.raises(InputError, match=r"p\.toml: values: field required"):
        audited(Faces(), faces, prompts=[str(tmp_path / "p.toml")])
    images = pl.read_csv(world / "images.csv")
    images.with_columns(gender=pl.Series(["male", "female"] * 20)).write_csv(world / "images.csv")
    with pytest.raises(InputError, match=r"classification needs an encoder, or parity\.zero_shot=false"):
        of_world(world)
    assert len(of_world(world, zero_shot=False)[0]["groups"]) == 40


def test_runs_have_their_figures(world, faces, tmp_path):
    subject = load_subject(f"embeddings:{world}")
    run = execute("s", subject, load_benchmark(f"folder:{world}"), ["parity"], tmp_path / "run")
    assert [figure.name for figure in run.figures("parity")] == [
        *("accuracy-image-to-text", "accuracy-text-to-image"),
        *("gap-to-pivot-image-to-text", "gap-by-pair-image-to-text", "gap-to-pivot-text-to-image"),
    ]
    options = {"parity": {"replicates": 200}}
    run = execute("s", Faces(0.25), faces, ["parity"], tmp_path / "faces", settings=options)
    names = {figure.name for figure in run.figures("parity")}
    assert {"accuracy-classified", "paraphrases", "gap-gender-gender-within-race"} <= names
    assert {"gap-age-gender-within-age", "cross-gap-gender-gender", "accuracy-race-by-race"} <= names
