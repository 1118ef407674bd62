"""`geode:DIR`: GeoDE, objects photographed in 6 regions of the world (Ramaswamy et al., NeurIPS 2023).

`index.csv` and the pictures in `images/`, where `file_path` says. Images have `concept` (the object, 40 of
them), `region` and `country`. Texts are the objects' names in 11 languages, which come with equiview;
`names=FILE` adds those of others or replaces them (`equiview.benchmarks.names`).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import polars as pl

from equiview.benchmarks.base import Benchmark, same_attribute
from equiview.benchmarks.names import name_items
from equiview.benchmarks.release import Release, image_items
from equiview.errors import InputError
from equiview.io.tables import Column, Schema, read_table

GEODE = Release(
    name="geode",
    title="GeoDE",
    licence="CC BY 4.0",
    needs=(("index.csv", "*/index.csv"),),
    options=("names",),
)
INDEX = Schema(
    "index",
    (
        Column("file_path", pl.String, "file of the picture below images/", unique=True),
        Column("object", pl.String, "what it shows"),
        Column("region", pl.String, "region of the world"),
        Column("ip_country", pl.String, "country that it was sent from", nullable=True, optional=True),
        Column("country", pl.String, "the same, in copies that call it so", nullable=True, optional=True),
    ),
)
COUNTRIES = ("ip_country", "country")


def geode(argument: str) -> Benchmark:
    """Read the index; images have `concept`, `region` and `country`, texts are names of the objects."""
    place, options = GEODE.open(argument)
    path = GEODE.find(place)
    table = read_table(path, INDEX)
    column = next((name for name in COUNTRIES if name in table.columns), None)
    if column is None:
        raise InputError(
            f"{path}: has no column {' nor '.join(COUNTRIES)}, which says where a picture is from"
        )
    words = {"concept": "object", "region": "region", "country": column}
    labels = {name: table[of].str.replace_all("_", " ") for name, of in words.items()}
    names = {name: name for name in table["file_path"]}
    images = image_items(path.parent, names, ("images", "."), path, labels)
    texts = name_items(object_names(), options.get("names"), "equiview's names of GeoDE's objects")
    objects, regions = labels["concept"].n_unique(), labels["region"].n_unique()
    about = f"{len(images):,} images of {objects} objects in {regions} regions of the world"
    return GEODE.benchmark(images, texts, same_attribute(images, texts, "concept"), about=about)


@cache
def object_names() -> pl.DataFrame:
    """Names of GeoDE's objects: concept, language, text. No native speaker has checked them.

    >>> object_names().filter(concept="hat", language="es")["text"].item()
    'sombrero'
    """
    wide = pl.read_csv(files("equiview.benchmarks").joinpath("geode_names.csv").read_bytes())
    return wide.unpivot(index="concept", variable_name="language", value_name="text")
