"""A file that a setting names is part of what a run is: changed, it is another run."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from equiview.audits import AUDITS
from equiview.audits.execute import execute
from equiview.benchmarks import load_benchmark
from equiview.data.fields import FileName, FileNames, NamesFiles, contents
from equiview.errors import InputError
from equiview.making import MAKERS
from equiview.making.options import settings_of
from equiview.studies import compare
from equiview.subjects import load_subject

SOME = """
[templates]
en = ["{person}", "a photo of {person}"]
[concepts.kind]
en = "a kind person"
[concepts.busy]
en = "a busy person"
[concepts.sings]
en = "a person who sings"
[concepts.outdoors]
en = "a person outdoors"
"""


class Some(BaseModel):
    one: FileName = ""
    several: FileNames = ()
    words: tuple[str, ...] = ("a.toml",)


def test_contents_are_of_files_and_folders_that_are_there(tmp_path: Path):
    first, folder = tmp_path / "a.toml", tmp_path / "folder"
    first.write_text("x")
    folder.mkdir()
    (folder / "b.toml").write_text("y")
    assert contents(Some()) == contents(Some(one="berg", several=("nothing.toml",))) == {}
    before = contents(Some(one=str(folder), several=(str(first),)))
    assert set(before) == {"one", "several"}
    (folder / "b.toml").write_text("z")
    after = contents(Some(one=str(folder), several=(str(first),)))
    assert before["one"] != after["one"]
    assert before["several"] == after["several"]


@pytest.mark.parametrize("audit", AUDITS.all())
def test_every_setting_that_names_a_file_says_so(audit: str):
    """A description that speaks of a file is of a setting whose file is read for the identity of runs."""
    for name, field in AUDITS.get(audit).settings.model_fields.items():
        about = field.description or ""
        if "file" in about.split() or "files" in about.split():
            assert any(isinstance(entry, NamesFiles) for entry in field.metadata), name


@pytest.mark.parametrize("maker", MAKERS.all())
def test_files_of_makers_are_inputs_or_content(maker: str):
    """Of a file that a maker is given the card has the content or, as of an input, the fingerprint."""
    for setting in settings_of(MAKERS.get(maker).settings):
        about = setting.field.description or ""
        if setting.type is Path or "file" in about.lower().replace(",", "").split():
            assert setting.option.file or setting.option.argument or not setting.option.recorded, setting.name


def audited(folder: Path, subject: str, file: Path):
    people = load_benchmark("pictograms-people")
    return execute(
        load_subject(subject),
        people,
        ["social"],
        folder,
        settings={"social": {"replicates": 100, "prompts": [str(file)]}},
    )


def test_a_changed_file_is_another_run_and_is_not_compared(tmp_path: Path):
    file = tmp_path / "prompts.toml"
    file.write_text(SOME)
    first = audited(tmp_path / "a", "pictogram:tied", file)
    assert audited(tmp_path / "a", "pictogram:tied", file).manifest == first.manifest
    copy = tmp_path / "copy.toml"
    copy.write_text(SOME)
    alike = audited(tmp_path / "b", "pictogram:untied", copy)
    assert len(compare([first, alike]))
    file.write_text(SOME.replace("a kind", "a good"))
    with pytest.raises(InputError, match="holds a run that differs in files"):
        audited(tmp_path / "a", "pictogram:tied", file)
    changed = audited(tmp_path / "c", "pictogram:untied", file)
    with pytest.raises(InputError, match="the file changed between them"):
        compare([first, changed])
