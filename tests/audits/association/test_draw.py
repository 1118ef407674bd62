"""The figures of a run, and what they show."""

from equiview.audits.association import ASSOCIATION
from equiview.audits.execute import execute
from tests.audits import steps
from tests.audits.association.planted import Planted, audited, world


def test_a_run_has_all_figures_of_the_audit(tmp_path):
    run = execute(Planted(0.7), world(), ["association"], tmp_path / "run", name="s")
    names = {figure.name for figure in run.figures("association")}
    assert {
        "wins-by-country-text-to-image", "sp-by-country-image-to-image",
        "sp-against-texts", "sp-against-images",
        "text-map-pca", "image-map-pca", "examples",
    } <= names  # fmt: skip
    assert run.manifest.settings["association"]["ties"] == "first"


def test_only_the_directions_of_the_settings_are_drawn():
    observations, estimates, options = audited(0.7, directions=["image-to-image"])
    names = [figure.name for figure in steps.drawn(ASSOCIATION, observations, estimates, options)]
    assert names[:2] == ["wins-by-country-image-to-image", "sp-by-country-image-to-image"]
    assert not any(name.endswith("text-to-image") for name in names)


def test_examples_mark_the_winner_of_each_trial():
    observations, estimates, options = audited(0.7)
    gallery = steps.drawn(ASSOCIATION, observations, estimates, options)[-1]
    for part in gallery.table.partition_by("group"):
        winner = part.filter("winner")
        assert winner["score"].item() == part["score"].max()
        assert part.filter("correct")["note"].to_list() == ["semantic"]
