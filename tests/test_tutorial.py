"""The tutorial's commands, run on a small copy in the layout of its data, say what the page says they do."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from tests import tutorial_data
from tests.processes import COMMAND, fresh
from tests.test_docs import ROOT, blocks, spoken

PAGE = ROOT / "docs" / "tutorial.md"
STAND_INS = {
    "hf:openai/clip-vit-base-patch32": "pictogram:english",
    "hf:google/siglip2-base-patch16-224": "pictogram:aligned",
}
GATE_FAILS = 3


def test_every_command_of_the_tutorial_says_what_stands_below_it(tmp_path: Path) -> None:
    text = PAGE.read_text("utf-8")
    for model, stand_in in STAND_INS.items():
        assert f"| `{model}`" in text
        assert f"| `{stand_in}`" in text
    tutorial_data.write(tmp_path / "xm3600")
    said = ""
    tried = 0
    for block in blocks(PAGE):
        if block.language == "sh":
            said = "".join(run(line, tmp_path) for line in block.content.splitlines())
            tried += 1
        elif said:
            for wanted in block.content.splitlines():
                assert spoken(wanted) in said, f"{wanted!r} is not said: {said}"
    assert tried == 6


def run(line: str, folder: Path) -> str:
    for model, stand_in in STAND_INS.items():
        line = line.replace(model, stand_in)
    program, *words = shlex.split(line)
    assert program == "equiview"
    done = fresh(COMMAND, words, folder=folder, environment=os.environ | {"COLUMNS": "200"})
    assert done.returncode == (GATE_FAILS if words[0] == "check" else 0), done.stdout + done.stderr
    return spoken(done.stdout) + " "
