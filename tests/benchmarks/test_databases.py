"""Live vector databases in their embedded modes give the lists that exact search gives."""

import sys

import numpy as np
import polars as pl
import pytest

from equiview.audits.prevalence import PrevalenceSettings, observe
from equiview.benchmarks import load_benchmark
from equiview.data.errors import InputError
from equiview.data.progress import silent
from equiview.subjects import load_encoder
from tests.conftest import write_world

pytestmark = pytest.mark.filterwarnings("ignore")


def fill_qdrant(world, ids, vectors, field):
    qdrant = pytest.importorskip("qdrant_client")
    client = qdrant.QdrantClient(path=str(world / "qdrant"))
    shape = qdrant.models.VectorParams(size=vectors.shape[1], distance=qdrant.models.Distance.COSINE)
    client.create_collection("captions", vectors_config=shape)
    points = [
        qdrant.models.PointStruct(id=row, vector=vector.tolist(), payload={field: name})
        for row, (name, vector) in enumerate(zip(ids, vectors, strict=True))
    ]
    client.upsert("captions", points)
    client.close()
    return f"qdrant:{world / 'qdrant'},collection="


def fill_lancedb(world, ids, vectors, field):
    lancedb = pytest.importorskip("lancedb")
    rows = [{field: name, "vector": vector.tolist()} for name, vector in zip(ids, vectors, strict=True)]
    lancedb.connect(str(world / "lance")).create_table("captions", rows)
    return f"lancedb:{world / 'lance'},table="


@pytest.fixture(params=[fill_qdrant, fill_lancedb])
def filled(request, tmp_path):
    world = write_world(tmp_path / "world")
    ids = pl.read_csv(world / "texts.csv")["id"].to_list()
    return world, request.param(world, ids, np.load(world / "texts.npy"), "id")


def test_a_database_gives_the_lists_of_exact_search(filled):
    world, subject = filled
    items, settings = load_benchmark(f"folder:{world}"), PrevalenceSettings(depth=30)
    exact = observe(load_encoder(f"embeddings:{world}"), items, settings, silent)["rankings"]
    live = load_encoder(f"{subject}captions,queries={world}")
    found = observe(live, items, settings, silent)["rankings"]
    key = ["query_id", "rank", "item_id", "relevant"]
    assert found.select(key).equals(exact.select(key))
    np.testing.assert_allclose(found["score"], exact["score"], atol=1e-5)
    assert len(live.fingerprint) == 16
    with pytest.raises(InputError, match="gives result lists and no vectors"):
        live.embed(items.images)


def test_what_is_not_there_is_said(filled):
    world, subject = filled
    items = load_benchmark(f"folder:{world}")
    with pytest.raises(InputError, match=r"has no (collection|table) 'pictures'"):
        load_encoder(f"{subject}pictures,queries={world}")
    with pytest.raises(InputError, match="items have no field 'name'"):
        load_encoder(f"{subject}captions,queries={world},id=name").on(items)


@pytest.mark.parametrize(("scheme", "option"), [("qdrant", "collection"), ("lancedb", "table")])
def test_usage_errors_are_said_plainly(scheme, option, tmp_path, monkeypatch):
    world = write_world(tmp_path / "world", images=3)
    for argument in ("", "place", f"place,{option}=captions", f"place,queries={world}"):
        with pytest.raises(InputError, match=f"is typed {scheme}:PLACE,{option}=NAME,queries=DIR"):
            load_encoder(f"{scheme}:{argument}")
    with pytest.raises(InputError, match="depth is '0'"):
        load_encoder(f"{scheme}:place,{option}=captions,queries={world},depth=0")
    monkeypatch.setitem(sys.modules, "qdrant_client" if scheme == "qdrant" else "lancedb", None)
    with pytest.raises(InputError, match=rf"pip install 'equiview\[{scheme}\]'"):
        load_encoder(f"{scheme}:place,{option}=captions,queries={world}")
