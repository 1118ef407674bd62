"""The figures of parity."""

from equiview.audits.execute import execute
from equiview.benchmarks import load_benchmark
from equiview.subjects import load_subject
from tests.audits.parity.worlds import Faces


def test_runs_have_their_figures(world, faces, tmp_path):
    subject = load_subject(f"embeddings:{world}")
    run = execute(subject, load_benchmark(f"folder:{world}"), ["parity"], tmp_path / "run")
    assert [figure.name for figure in run.figures("parity")] == [
        *("accuracy-image-to-text", "accuracy-text-to-image"),
        *("gap-to-pivot-image-to-text", "gap-by-pair-image-to-text", "gap-to-pivot-text-to-image"),
    ]
    options = {"parity": {"replicates": 200}}
    run = execute(Faces(0.25), faces, ["parity"], tmp_path / "faces", settings=options)
    names = {figure.name for figure in run.figures("parity")}
    assert {"accuracy-classified", "paraphrases", "gap-gender-gender-within-race"} <= names
    assert {"gap-age-gender-within-age", "cross-gap-gender-gender", "accuracy-race-by-race"} <= names
