from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from equiview.errors import InputError
from equiview.subjects import SUBJECTS, load_subject
from equiview.subjects.known import in_full, known_models

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "src" / "equiview" / "report" / "published" / "perspectival.json"


def test_the_table_is_that_of_the_paper() -> None:
    published = json.loads(PUBLISHED.read_text())["models"]
    for row in known_models().iter_rows(named=True):
        assert row["subject"].partition(":")[2] == published[row["name"]]
        assert 400 < row["parameters_millions"] < 8100
    assert set(known_models()["name"]) == set(published)


def test_each_names_a_scheme_and_an_extra_that_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for row in known_models().iter_rows(named=True):
        assert row["subject"].partition(":")[0] in SUBJECTS.all()
        assert row["extra"] in extras


@pytest.mark.parametrize("name", known_models()["name"])
def test_a_known_name_reaches_its_checkpoint(name: str) -> None:
    # No checkpoint is here, so the right loader says which it looked for.
    repository = in_full(name).partition(":")[2]
    with pytest.raises(InputError, match=f"{repository}: is not a folder"):
        load_subject(name)


def test_names_are_known_in_any_case_and_keep_their_options() -> None:
    assert in_full("xlm-r-l/14,batch=2") == "mclip:M-CLIP/XLM-Roberta-Large-Vit-L-14,batch=2"
    commit = "ce765ae71b8cdb208203cd8fb64a170b1b84293a"
    assert in_full("gme-qwen2-2b,batch=2") == f"gme:Alibaba-NLP/gme-Qwen2-VL-2B-Instruct@{commit},batch=2"
    assert in_full("embeddings:some/folder") == "embeddings:some/folder"
