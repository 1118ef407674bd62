"""GeoDE and Dollar Street: objects by region and income, as trials and as classes."""

import polars as pl
import pytest

from equiview import api
from equiview.benchmarks import load_benchmark
from equiview.benchmarks.geode import object_names
from equiview.benchmarks.names import prompts_of_names
from equiview.benchmarks.own_trials import trials_of
from equiview.benchmarks.prompts import Prompts, check_prompts
from equiview.errors import InputError
from tests.benchmarks import layouts


def test_the_names_of_geode_are_whole_and_tell_its_objects_apart():
    names = object_names()
    assert names["concept"].n_unique() == 40
    assert names["language"].n_unique() == 11
    table = names.rename({"concept": "value"}).with_columns(paraphrase=pl.lit("name"))
    assert check_prompts(Prompts("object", dict.fromkeys(names["concept"], ()), table)) == []


def test_geode_is_asked_in_the_languages_of_its_countries(tmp_path):
    layouts.geode(tmp_path)
    read = load_benchmark(f"geode:{tmp_path}")
    assert read.images.table.drop("path").row(0) == (
        "000.hand_soap/Africa_Egypt_hand_soap_1.jpg", "hand soap", "Africa", "Egypt",
    )  # fmt: skip
    assert read.about == "20 images of 4 objects in 3 regions of the world"
    trials = trials_of(read)
    assert len(trials) == 20
    asked = dict(trials.select("trial_id", "query_id").iter_rows())
    assert asked["001.dog/EastAsia_China_dog_1.jpg"] == "dog-zh"
    assert asked["003.plate_of_food/Africa_Egypt_plate_of_food_1.jpg"] == "plate of food-ar"


def test_names_of_a_user_are_added_and_replace_those_that_are_there(tmp_path):
    layouts.geode(tmp_path / "data")
    names = tmp_path / "names.csv"
    names.write_text("concept,language,text\ndog,sw,mbwa\ndog,spa,can\n")
    texts = load_benchmark(f"geode:{tmp_path / 'data'},names={names}").texts.table
    dogs = dict(texts.filter(concept="dog").select("language", "text").iter_rows())
    assert (dogs["sw"], dogs["es"], dogs["it"]) == ("mbwa", "can", "cane")
    names.write_text("concept,language,text,country\ndog,en,dog,Egypt\nstove,en,stove,Egypt\n")
    read = load_benchmark(f"geode:{tmp_path / 'data'},names={names}")
    assert read.texts.ids.to_list() == ["dog-Egypt", "stove-Egypt"]
    assert set(trials_of(read)["language"]) == {"en"}


def test_a_copy_of_geode_without_countries_is_refused(tmp_path):
    layouts.geode(tmp_path)
    index = pl.read_csv(tmp_path / "index.csv")
    index.rename({"ip_country": "country"}).write_csv(tmp_path / "index.csv")
    assert "country" in load_benchmark(f"geode:{tmp_path}").images.table.columns
    index.drop("ip_country").write_csv(tmp_path / "index.csv")
    with pytest.raises(InputError, match=r"index\.csv: has no column ip_country nor country, which says"):
        load_benchmark(f"geode:{tmp_path}")


def test_dollar_street_has_topics_regions_and_quarters_of_income(tmp_path):
    layouts.dollarstreet(tmp_path)
    read = load_benchmark(f"dollarstreet:{tmp_path}")
    table = read.images.table
    columns = ["concept", "shows", "country", "region", "income", "income_quartile"]
    assert table.select(columns).row(1) == (
        "beds",
        "beds;kids' beds",
        "Burundi",
        "Africa",
        26.99,
        "1 (lowest)",
    )
    assert table["income_quartile"].to_list()[::3] == ["1 (lowest)", "2", "3"]
    assert table["concept"].to_list()[:3] == ["stoves", "beds", "soap"]
    assert read.texts.ids.to_list() == ["beds-en", "soap-en", "stoves-en"]
    assert len(load_benchmark(f"dollarstreet:{tmp_path},topics=single").images) == 6
    path = tmp_path / "dataset_dollarstreet" / "images_v2.csv"
    path.write_text(path.read_text().replace(",1250", ",NaN"))
    poor = load_benchmark(f"dollarstreet:{tmp_path}").images.table["income_quartile"]
    assert poor.to_list()[::3] == ["1 (lowest)", "3", None]
    part = load_benchmark(f"dollarstreet:{tmp_path},part=test")
    assert (part.name, len(part.images)) == ("dollarstreet-test", 5)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("region.id", "xx", r"images_v2\.csv: column 'region\.id', row 2: 'xx' is none of af, am, as, eu"),
        ("topics", "['beds'", r"column 'topics', row 2: \"\['beds'\" is not a list of words"),
        ("topics", "[1]", r"column 'topics', row 2: '\[1\]' is not a list of words"),
        ("topics", "[]", "row 2: '\\[\\]' names no topic, or one without words"),
        ("income", "poor", r"column 'income'.* 'poor'"),
    ],
)
def test_what_dollar_street_cannot_say_is_named_by_row(tmp_path, column, value, said):
    layouts.dollarstreet(tmp_path)
    path = tmp_path / "dataset_dollarstreet" / "images_v2.csv"
    table = pl.read_csv(path, infer_schema=False)
    wrong = pl.when(pl.int_range(pl.len()) == 1).then(pl.lit(value)).otherwise(column)
    table.with_columns(wrong.alias(column)).write_csv(path)
    with pytest.raises(InputError, match=said):
        load_benchmark(f"dollarstreet:{tmp_path}")


DRAWN = {"dog": "1f415", "tree": "1f333", "house": "1f3e0", "bus": "1f68c", "car": "1f697", "candle": "1f56f"}
REGIONS = {
    "Africa": ("Egypt", "South Africa"),
    "Europe": ("Italy", "Spain", "Romania"),
    "EastAsia": ("China", "Japan", "South_Korea"),
    "Americas": ("Mexico", "Argentina"),
}


def drawn_geode(place, worse=""):
    """GeoDE's layout with drawings for photographs, in one region those of other objects than are said."""
    pictograms = load_benchmark("pictograms").images
    row_of = dict(zip(pictograms.ids, range(len(pictograms)), strict=True))
    rows = []
    for number, (name, code) in enumerate(DRAWN.items()):
        for region, countries in REGIONS.items():
            for country in countries:
                for copy in range(6):
                    shown = list(DRAWN.values())[(number + copy) % 6] if region == worse else code
                    file = f"{number:03}.{name}/{region}_{country}_{name}_{copy}.png"
                    (place / "images" / file).parent.mkdir(parents=True, exist_ok=True)
                    content = pictograms.encoded(row_of[f"noto-{shown}"])
                    (place / "images" / file).write_bytes(content)
                    rows.append((file, name, region, country))
    columns = ["file_path", "object", "region", "ip_country"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(place / "index.csv")
    return f"geode:{place}"


def test_objects_that_are_not_known_in_one_region_are_found_by_the_name_of_the_region(tmp_path):
    name = drawn_geode(tmp_path / "data", worse="Africa")
    audits, settings = ["parity", "association"], {"parity": {"replicates": 200}}
    run = api.audit("pictogram:aligned", name, audits, tmp_path / "out", settings=settings, cache=False)
    parity = run.estimates.of("parity")
    gap = parity.one("group gap", task="concept", language="en", attribute="region", group="Africa",
                     against="the rest")  # fmt: skip
    assert gap.value < -0.3
    answer = next(verdict for verdict in run.verdicts if verdict.audit == "parity")
    assert answer.finding == "biased"
    assert "images labelled Africa are answered correctly less often" in answer.answer
    assert any("from the places that are served worse" in advice for advice in answer.advice)
    assert not any("gender" in limit for limit in answer.limits)
    trials = run.estimates.of("association").one("M_sem", direction="text-to-image")
    assert trials.n == 360


def test_regions_are_compared_in_a_single_language_too(tmp_path):
    """As GeoDE and Dollar Street are used: English names alone, and gaps of regions."""
    name = drawn_geode(tmp_path / "worse", worse="Africa")
    settings = {"parity": {"replicates": 200, "languages": ("en",)}}
    run = api.audit("pictogram:aligned", name, ["parity"], tmp_path / "a", settings=settings, cache=False)
    (verdict,) = run.verdicts
    assert verdict.finding == "biased"
    assert any("English, the only language" in line for line in verdict.evidence)
    assert not any("pivot" in line for line in verdict.evidence)
    settings["parity"]["tolerance"] = 0.3
    fair = drawn_geode(tmp_path / "fair")
    run = api.audit("pictogram:aligned", fair, ["parity"], tmp_path / "b", settings=settings, cache=False)
    assert run.verdicts[0].finding == "fair"
    said = "No: all between groups of places are within 30 points, intervals included (concept, zero-shot)."
    assert run.verdicts[0].answer.startswith(said)
    settings["parity"]["least"] = 200
    run = api.audit("pictogram:aligned", fair, ["parity"], tmp_path / "c", settings=settings, cache=False)
    said = "there is one language, and no two groups of people or places have 200 images"
    assert said in run.verdicts[0].answer


def test_a_language_that_does_not_tell_the_concepts_apart_classifies_nothing(tmp_path, caplog):
    layouts.geode(tmp_path / "data")
    names = tmp_path / "names.csv"
    names.write_text("concept,language,text\ndog,it,cane\nstove,it,cane\ndog,sw,mbwa\n")
    prompts, lacking = prompts_of_names(load_benchmark(f"geode:{tmp_path / 'data'},names={names}"))
    assert set(prompts.languages) == {"en", "ar", "es", "id", "ja", "ko", "ro", "th", "tr", "zh"}
    assert lacking == {
        "it": "'cane' names 'dog' and 'stove'",
        "sw": "1 of 4 concepts have a name in it",
    }
    assert [message.partition("no image is ")[2] for message in caplog.messages] == [
        "classified in Italian: 'cane' names 'dog' and 'stove'",
        "classified in Swahili: 1 of 4 concepts have a name in it",
    ]


def test_things_of_poor_homes_that_are_not_known_are_found_by_income(tmp_path):
    """Dollar Street as it is published, with drawings for photographs: English topics alone."""
    pictograms = load_benchmark("pictograms").images
    row_of = dict(zip(pictograms.ids, range(len(pictograms)), strict=True))
    homes = {"Burundi": ("af", 30), "India": ("as", 200), "Peru": ("am", 900), "Austria": ("eu", 9000)}
    rows = []
    for number, (topic, code) in enumerate(DRAWN.items()):
        for country, (region, income) in homes.items():
            for copy in range(10):
                name = f"{number}{region}{copy}"
                shown = list(DRAWN.values())[(number + copy) % 6] if region == "af" else code
                path = tmp_path / "assets" / name / f"{name}.png"
                path.parent.mkdir(parents=True)
                path.write_bytes(pictograms.encoded(row_of[f"noto-{shown}"]))
                rows.append(
                    (name, country, region, f"assets/{name}/{name}.png", f"['{topic.title()}']", income)
                )
    columns = ["id", "country.name", "region.id", "imageRelPath", "topics", "income"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(tmp_path / "images_v2.csv")
    settings = {"parity": {"replicates": 200, "attributes": ("income_quartile",)}}
    name = f"dollarstreet:{tmp_path}"
    run = api.audit("pictogram:aligned", name, ["parity"], tmp_path / "out", settings=settings, cache=False)
    keys = ("language", "attribute", "group", "against")
    gaps = run.estimates.of("parity").by(keys, "group gap", task="concept")
    assert {gap.keys["group"]: gap.value < -0.3 for gap in gaps} == {
        "1 (lowest)": True, "2": False, "3": False, "4 (highest)": False,
    }  # fmt: skip
    (verdict,) = run.verdicts
    assert verdict.finding == "biased"
    assert "images labelled 1 (lowest) are answered correctly less often than the rest" in verdict.answer
    assert any("remains over the same things" in limit for limit in verdict.limits)
