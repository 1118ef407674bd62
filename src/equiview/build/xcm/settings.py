"""Settings of a benchmark of triplets; the defaults are P's where it states them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from equiview.errors import InputError, unknown_name
from equiview.making import AskingSettings, Option, Reference, Settings

NONE = "none"
"""What is typed for no encoder."""
TRANSIENT = Option(recorded=False)


class FetchSettings(Settings):
    """How addresses are fetched; what is found does not depend on it."""

    contact: Annotated[str, TRANSIENT] = Field(
        default="",
        pattern=r"^[ -~]*$",
        description="Your address (e-mail or page), told to the hosts that are asked.",
    )
    rate: Annotated[float, TRANSIENT] = Field(
        default=1.0, ge=0, description="Requests a second to one host at most; 0 for no limit."
    )
    parallel: Annotated[int, TRANSIENT] = Field(
        default=4, ge=1, le=64, description="Searches under way at a time."
    )
    loopback: Annotated[bool, TRANSIENT] = Field(
        default=False, description="Fetch from this machine too, as for a trial with a server of your own."
    )


class XcmSettings(AskingSettings):
    """Concepts, countries, where images come from, and what is left out."""

    images: Reference = Field(
        description="Where images come from: folder:DIR, table:FILE, commons, or a provider of your own."
    )
    labeller: Reference = Field(
        description="Chat model or encoder that says which concepts an image shows, or none."
    )
    concepts: Annotated[Path | None, TRANSIENT] = Field(
        default=None,
        description="CSV or Parquet file with concept and name_xx; without it, the writer is asked.",
    )
    writer: Reference = Field(
        default="", description="Model that lists concepts and translates names that lack, as chat:MODEL."
    )
    count: int = Field(default=138, ge=3, le=1000, description="Concepts that the writer is asked for.")
    countries: tuple[str, ...] = Field(
        default=(), description="Countries between commas; P's 16 by default, of which they are."
    )
    text_encoder: Reference = Field(
        default="st:BAAI/bge-m3", description="Encoder that finds concepts that say the same, or none."
    )
    same_concept: float = Field(
        default=0.92, gt=0, le=1, description="Similarity from which two concepts are the same."
    )
    top: int = Field(default=10, ge=1, le=100, description="Images of each search.")
    smallest: int = Field(default=200, ge=1, description="Pixels of the shorter side of an image at least.")
    licences: tuple[str, ...] = Field(
        default=(), description="How licences begin that are kept, between commas; all by default."
    )
    encoder: Reference = Field(
        default="hf:openai/clip-vit-large-patch14",
        description="Encoder that finds images that repeat another, or none for the hash alone.",
    )
    same_image: float = Field(
        default=0.97, gt=0, le=1, description="Similarity from which two images are the same."
    )
    bits: int = Field(
        default=2, ge=0, le=31, description="Of 64 bits of the perceptual hash, those that may differ."
    )
    label_prompt: str = Field(
        default="a photo of {}", description="How an encoder that labels is asked for a concept."
    )
    labelled: Annotated[Path | None, TRANSIENT] = Field(
        default=None,
        description="CSV or Parquet file with path and concepts, by which the threshold is chosen.",
    )
    label_recall: float = Field(
        default=0.95, gt=0, lt=1, description="Share of the labels shown that the threshold must find."
    )
    label_threshold: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="Similarity from which an encoder sees a concept.",
    )
    label_parts: bool = Field(
        default=False,
        description="Let an encoder that labels see nine parts of each image too; ten times slower.",
    )
    keep_unseen: bool = Field(
        default=False, description="Keep images in which the labeller does not see their own concept."
    )
    people: int = Field(default=3, ge=0, le=100, description="People who judge each image; 0 for no review.")
    decisions: Annotated[Path | None, TRANSIENT] = Field(
        default=None, description="Decisions of the review of this folder; the rest is done again with them."
    )
    title: str = Field(default="", description="Title of the benchmark on its card; the folder's by default.")
    licence: str = Field(default="", description="Licence under which you release the triplets.")
    seed: int = Field(default=0, ge=0, description="Seed of the choice of candidates.")
    fetch: FetchSettings = Field(default_factory=FetchSettings)

    @field_validator("countries")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        from equiview.data.countries import countries

        known = countries()["country"].to_list()
        for name in names:
            if name not in known:
                raise unknown_name("country", name, known)
        if len(set(names)) < max(3, len(names)):
            raise ValueError("name three countries at least, each once; a triplet is of three")
        return names

    @field_validator("label_prompt")
    @classmethod
    def _holds_the_concept(cls, prompt: str) -> str:
        if prompt.count("{}") != 1 or "{" in prompt.replace("{}", ""):
            raise ValueError("it must hold {} once, where the concept stands")
        return prompt

    @model_validator(mode="after")
    def _has_concepts(self) -> Self:
        if self.concepts is None and not self.writer:
            raise ValueError("concepts come from a table (concepts) or from a model (writer); name one")
        if self.labelled and self.label_threshold is not None:
            raise ValueError("the threshold is given or chosen: leave label_threshold or labelled out")
        return self


def table_of_countries(settings: XcmSettings) -> list[dict[str, str]]:
    """The chosen countries, in the order in which they were named: country, code, language, native_name."""
    from equiview.data.countries import countries

    rows = {row["country"]: row for row in countries().iter_rows(named=True)}
    return [rows[name] for name in settings.countries or rows]


def spoken(settings: XcmSettings) -> list[str]:
    """Their languages, each once, English left out."""
    languages = dict.fromkeys(row["language"] for row in table_of_countries(settings))
    return [language for language in languages if language != "en"]


def needs(what: str, setting: str) -> InputError:
    """The error that something needs a setting that is not given."""
    return InputError(f"{what} needs the setting {setting}; name it with --{setting.replace('_', '-')}")
