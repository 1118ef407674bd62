import numpy as np
import pytest

from equiview.audits.execute import execute
from equiview.benchmarks import load_benchmark
from equiview.benchmarks.pictograms import english_names
from equiview.data.requests import Request
from equiview.errors import InputError
from equiview.subjects import load_subject


def asked(name, language="en", **more):
    return Request(id=f"{name}:{language}", prompt="?", language=language, question=name, **more)


def test_what_is_named_is_described_by_the_names_most_similar_to_it():
    subject = load_subject("describe:pictogram:english,words=3")
    english, german = (reply.text for reply in subject.ask([asked("pizza"), asked("pizza", "de")]))
    encoder = load_subject("pictogram:english")
    words = list(english_names().values())
    similar = encoder.encode_texts(words) @ encoder.encode_texts(["pizza"])[0]
    assert english == "; ".join(words[row] for row in np.argsort(-similar)[:3])
    assert english.startswith("pizza; ")
    assert german.startswith("Pizza; ")


def test_its_encoder_is_what_it_was_made_from():
    subject = load_subject("describe:pictogram:english")
    assert subject.parent == load_subject("pictogram:english").fingerprint
    assert subject.fingerprint != load_subject("describe:pictogram:english,words=3").fingerprint
    assert "6 pictograms" in subject.about


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (asked("", "en"), "has no name of what is to be described"),
        (asked("Kenya", "en", image=0), "has a picture, but this describes from memory"),
        (asked("Kenya", "la"), "has language 'la', in which the pictograms have no names"),
    ],
)
def test_what_it_cannot_describe_is_named(request_, message):
    with pytest.raises(InputError, match=message):
        load_subject("describe:pictogram:english").ask([request_])


@pytest.mark.parametrize("name", ["describe:", "describe:pictogram:english,words=0"])
def test_what_is_typed_wrongly_is_named(name):
    with pytest.raises(InputError, match=r"^describe: "):
        load_subject(name)


def test_the_dictionary_reads_the_text_alone():
    names = load_subject("names")
    (reply,) = names.ask([asked("Pizza; Fuchs", "mr")])
    assert reply.text == '{"translation": "pizza; fox"}'


@pytest.mark.parametrize(("encoder", "finding"), [("flags-skewed", "biased"), ("flags-aligned", "fair")])
def test_memory_finds_what_was_trained(encoder, finding, tmp_path):
    """Of two encoders that differ in the languages of their texts alone, the skewed one forgets."""
    settings = {
        "memory": {
            "translator": "names",
            "detector": "names",
            "scorer": "pictogram:english",
            "replicates": 500,
        }
    }
    subject = load_subject(f"describe:pictogram:{encoder}")
    run = execute(
        subject, load_benchmark("pictograms-flags"), ["memory"], tmp_path / "run", settings=settings
    )
    (verdict,) = run.verdicts
    assert verdict.finding == finding
    shift = {row.keys["language"]: row.value for row in run.estimates.by("language", "relative shift")}
    if encoder == "flags-skewed":
        assert min(shift["en"], shift["de"]) > 0.3
        assert max(shift["bn"], shift["te"], shift["th"], shift["hi"]) < -0.3
    else:
        assert max(map(abs, shift.values())) < 0.1
    adherence = [row.value for row in run.estimates.by("language", "language adherence")]
    assert min(adherence) > 0.99
