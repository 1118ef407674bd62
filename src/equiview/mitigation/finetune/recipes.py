"""Recipes of fine-tuning, a class for each kind. A file of your own needs to hold only what differs.

[O]    stated by "Exposing and Mitigating Spurious Correlations for Cross-Modal Retrieval", section 4.1.
[CLIP], [BLIP], [VSE++]  O does not say; the published code of that model does.
[ours] neither says, or we differ.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, NonNegativeFloat, PositiveFloat

from equiview.mitigation.settings import Epochs, Rate, Stage

Pairs = Annotated[int, Field(ge=2)]


class Recipe(Stage):
    """How a kind of model is fine-tuned; the defaults are those of dual encoders.

    The learning rate is multiplied by `decay` every `decay_epochs`. `frozen` has name prefixes of frozen
    parameters, as in `("vision_model.",)`. A `max_grad_norm` of 0 clips nothing.
    """

    batch: Pairs = 256  # [O]
    learning_rate: Rate = 2e-6  # [O]
    epochs: Epochs = 10.0  # [O]
    decay: float = Field(default=0.5, gt=0, le=1)  # [O]
    decay_epochs: PositiveFloat = 2.0  # [O]
    weight_decay: NonNegativeFloat = 0.0  # [O] Adam
    max_grad_norm: NonNegativeFloat = 0.0  # [CLIP]
    frozen: tuple[str, ...] = ()  # [ours]


class BlipRecipe(Recipe):
    """BLIP's, with the temperature of its contrastive loss.

    It is where BLIP's own training begins; checkpoints of transformers do not hold the learnt one.
    """

    batch: Pairs = 16  # [O]
    learning_rate: Rate = 1e-5  # [O]
    epochs: Epochs = 2.0  # [O]
    decay_epochs: PositiveFloat = 0.5  # [O]
    weight_decay: NonNegativeFloat = 0.05  # [BLIP] O names AdamW and no number
    temperature: PositiveFloat = 0.07  # [BLIP]


class VseppRecipe(Recipe):
    """VSE++'s, with the margin of its triplet loss.

    O does not say whether VGG19 learns; `frozen = ["cnn."]` keeps it as VSE++'s first stage does.
    """

    learning_rate: Rate = 1e-4  # [O]
    max_grad_norm: NonNegativeFloat = 2.0  # [VSE++]
    margin: PositiveFloat = 0.2  # [VSE++]


class AdapterRecipe(Recipe):
    """The recipe of small networks over a frozen encoder; `hidden` 0 makes them linear."""

    learning_rate: Rate = 1e-3
    temperature: PositiveFloat = 0.05
    hidden: int = Field(default=256, ge=0, le=65_536)
