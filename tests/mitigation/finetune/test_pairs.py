"""What is learnt from, read from benchmarks and from folders of removals."""

import polars as pl
import pytest

from equiview.benchmarks import Benchmark
from equiview.data.items import Items
from equiview.errors import InputError
from equiview.io.tables import Column, Schema
from equiview.mitigation.finetune import pairs as module
from equiview.mitigation.finetune.pairs import load_pairs, load_synthetic, mixed, pairs_of
from tests.mitigation.finetune import worlds


def test_every_relevant_caption_makes_a_pair(tmp_path):
    pairs = load_pairs(f"folder:{worlds.world(tmp_path)}")
    assert pairs.image.tolist() == list(range(16))
    assert pairs.texts[:2] == ("a dog", "a sofa")


def test_a_folder_of_removals_is_read_and_images_without_captions_are_left_out(tmp_path):
    pairs = load_synthetic(str(worlds.removals(tmp_path)))
    assert len(pairs) == 14
    assert pairs.texts[:3] == ("a dog", "a dog on a sofa", "a sofa")
    assert pairs.image[:3].tolist() == [0, 0, 1]
    assert pairs.images.pictures([0])[0].size == (32, 32)


def test_synthetic_images_of_a_benchmark_have_their_own_captions(monkeypatch):
    images = Items("image", pl.DataFrame({"id": ["real", "made", "bare"]}))
    columns = (Column("image_id", pl.String, "."), Column("captions", pl.List(pl.String), ".", optional=True))
    table = pl.DataFrame({"image_id": ["made", "bare"], "captions": [["a cat"], []]})
    schemas = {"removals": Schema("removals", columns)}

    def load(_: str) -> Benchmark:
        return Benchmark("mine", images, tables={"removals": table}, schemas=schemas)

    monkeypatch.setattr(module, "load_benchmark", load)
    pairs = load_synthetic("mine")
    assert (pairs.image.tolist(), pairs.texts) == ([1], ("a cat",))
    table = table.drop("captions")
    with pytest.raises(InputError, match="'mine' has no captions of its synthetic images, from which"):
        load_synthetic("mine")


def test_the_ratio_is_of_pairs_and_subsets_are_nested(tmp_path):
    real = load_pairs(f"folder:{worlds.world(tmp_path / 'd')}")
    synthetic = load_synthetic(str(worlds.removals(tmp_path / "s")))
    sizes, before = [], set()
    for ratio in (0, 0.1, 0.25, 0.5, None):
        mixture = mixed(real, synthetic, ratio, seed=0)
        made = mixture.synthetic
        drawn = set() if made is None else set(zip(made.image.tolist(), made.texts, strict=True))
        assert before <= drawn
        sizes.append(len(mixture))
        before = drawn
    assert sizes == [16, 18, 20, 24, 30]
    assert mixed(real, synthetic, 0.25, 0).text.tolist() == mixed(real, synthetic, 0.25, 0).text.tolist()
    assert mixed(real, synthetic, 0.25, 0).synthetic.texts != mixed(real, synthetic, 0.25, 3).synthetic.texts


def test_pictures_and_numbers_of_both_sides(tmp_path):
    real = load_pairs(f"folder:{worlds.world(tmp_path / 'd')}")
    mixture = mixed(real, load_synthetic(str(worlds.removals(tmp_path / "s"))), None, 0)
    assert mixture.image[14:20].tolist() == [14, 15, 16, 16, 17, 17]
    assert mixture.text[[0, 4, 16]].tolist() == [0, 0, 0]
    assert mixture.picture(16).tobytes() == mixture.synthetic.images.pictures([0])[0].tobytes()
    assert mixture.picture(3).tobytes() == real.images.pictures([3])[0].tobytes()


@pytest.mark.parametrize(
    ("ratio", "synthetic", "said"),
    [
        (0.1, False, r"^a ratio of 0.1 needs synthetic data; name them with --synthetic$"),
        (-0.1, True, "the ratio of D' to D is -0.1; expected a number from 0"),
        (float("nan"), True, "the ratio of D' to D is nan"),
        (1.0, True, "a ratio of 1 needs 16 synthetic pairs .* has 14, enough for 0.875$"),
    ],
)
def test_ratios_that_cannot_be_had(ratio, synthetic, said, tmp_path):
    real = load_pairs(f"folder:{worlds.world(tmp_path / 'd')}")
    made = load_synthetic(str(worlds.removals(tmp_path / "s"))) if synthetic else None
    with pytest.raises(InputError, match=said):
        mixed(real, made, ratio, 0)


def test_data_without_captions_are_said(tmp_path):
    images = Items("image", pl.DataFrame({"id": ["a"]}))
    with pytest.raises(
        InputError, match="benchmark 'bare' has no captions of its images; fine-tuning learns"
    ):
        pairs_of(Benchmark("bare", images))
    with pytest.raises(InputError, match=r"holds no removals.parquet; `equiview build removal` writes one"):
        load_synthetic(str(tmp_path))
    table = pl.read_parquet(worlds.removals(tmp_path) / "removals.parquet")
    table.with_columns(captions=pl.lit([], dtype=pl.List(pl.String))).write_parquet(
        tmp_path / "removals.parquet"
    )
    with pytest.raises(InputError, match="has no captions of its synthetic images"):
        load_synthetic(str(tmp_path))
    table.drop("captions").write_parquet(tmp_path / "removals.parquet")
    with pytest.raises(InputError, match="has no captions of its synthetic images"):
        load_synthetic(str(tmp_path))
