"""What is audited is nobody else's business: libraries that report to their makers are told not to."""

import os
import subprocess
import sys
from pathlib import Path

EMBED = """
import polars as pl
from equiview.data.items import Items
from equiview.subjects import load_subject

texts = Items("text", pl.DataFrame({"id": ["a"], "text": ["a cat"], "language": ["en"]}))
print(load_subject("pictogram:aligned").embed(texts).shape[0])
"""


def test_onnx_runtime_prepares_no_report(tmp_path: Path) -> None:
    """ONNX Runtime keeps what it will send under the user's home; where it sees CI it is quiet anyway."""
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", EMBED], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert [path for path in tmp_path.rglob("*") if "onnxruntime" in path.name] == []
