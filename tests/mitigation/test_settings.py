"""Settings of a training that no training could follow are refused by name."""

import pytest

from equiview.errors import InputError
from equiview.mitigation.connector.settings import ConnectorSettings
from equiview.mitigation.finetune.settings import FineTuneSettings

ODD = [
    ({"seed": 2**64}, "seed"),
    ({"seed": 2**32}, "seed"),
    ({"dual": {"epochs": 1e300}}, "epochs"),
    ({"dual": {"learning_rate": 1e30}}, "learning_rate"),
    ({"adapter": {"learning_rate": 1e30}}, "learning_rate"),
    ({"dual": {"steps": 10**18}}, "steps"),
]


@pytest.mark.parametrize(("given", "said"), ODD)
def test_fine_tuning_refuses(given, said):
    with pytest.raises(InputError, match=said):
        FineTuneSettings.of(given)


@pytest.mark.parametrize(
    "given", [{"seed": 2**64}, {"captions": {"epochs": 1e300}}, {"questions": {"learning_rate": 1e30}}]
)
def test_training_a_connector_refuses(given):
    with pytest.raises(InputError, match=r"seed|epochs|learning_rate"):
        ConnectorSettings.of(given)


def test_the_largest_seed_is_taken():
    assert FineTuneSettings.of({"seed": 2**32 - 1}).seed == 2**32 - 1
