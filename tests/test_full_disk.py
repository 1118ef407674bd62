"""What torch and safetensors raise on a full disk is told as such, and not as a defect."""

import pytest

from equiview.errors import as_input_error

SAID = [
    "[enforce fail at inline_container.cc:672] . unexpected pos 576 vs 534",
    "PytorchStreamWriter failed writing file data/0: file write failed",
    "Error while serializing: I/O error: No space left on device (os error 28)",
    "Error while serializing: I/O error: File too large (os error 27)",
]


@pytest.mark.parametrize("said", SAID)
def test_a_checkpoint_that_does_not_fit_is_a_full_disk(said):
    assert "is the disk full?" in str(as_input_error(RuntimeError(said)))


def test_a_damaged_checkpoint_is_not():
    assert as_input_error(RuntimeError("PytorchStreamReader failed reading zip archive")) is None
