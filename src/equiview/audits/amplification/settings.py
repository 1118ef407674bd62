"""Settings of the amplification audit."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from equiview.audits.base import Settings
from equiview.data.fields import FileName, FileNames, LanguageLabel
from equiview.data.labels import UNKNOWN


class AmplificationSettings(Settings):
    """Task, people, prompts, words, the classifier of LIC, and what counts as amplification."""

    task: Literal["", "questions", "captions"] = Field(
        default="",
        description="what is asked for; none: questions where the benchmark has any, else captions",
    )
    attributes: tuple[str, ...] = Field(
        default=(), description="attributes of people; none: gender, skin, age and race, those there are"
    )
    excluded: tuple[str, ...] = Field(
        default=UNKNOWN,
        description="values of an attribute that do not count: several people who differ, or nobody knows",
    )
    language: LanguageLabel = Field(default="en", description="language of questions and captions")
    prompt: str = Field(
        default="", description="what a chat model is asked; {question} stands for a question"
    )
    count_missing: bool = Field(
        default=False, description="go on without replies that are missing, and count them"
    )
    top: int = Field(default=50, ge=2, description="most frequent answers that are tested for amplification")
    words: FileNames = Field(default=(), description="files of masked words of your own (.toml)")
    nouns: FileName = Field(default="", description="file of nouns of your own (.toml); none: COCO's things")
    classifier: Literal["tf-idf", "bert"] = Field(
        default="tf-idf", description="what guesses who is shown from a caption"
    )
    bert: str = Field(
        default="google-bert/bert-base-uncased", description="checkpoint of the classifier bert"
    )
    epochs: int = Field(default=5, ge=1, description="passes over the captions by which bert learns")
    splits: int = Field(default=10, ge=2, description="seeds of the classifier, each with a test of its own")
    test_share: float = Field(default=0.1, gt=0, lt=1, description="share of each group that is the test")
    align_vocabulary: bool = Field(
        default=True, description="words of human captions that no caption of the model has count as unknown"
    )
    shuffles: int = Field(
        default=20, ge=0, description="classifiers of shuffled people, which give the floor of leakage"
    )
    cider_within: str = Field(
        default="",
        description="attribute within whose groups CIDEr weighs words, as S does; none: over all images",
    )
    least: int = Field(default=30, ge=2, description="images below which a group is not judged")
    tolerance: float = Field(
        default=0.05,
        gt=0,
        lt=1,
        description="amplification up to which replies count as not worse than people",
    )

    @field_validator("prompt")
    @classmethod
    def _readable(cls, prompt: str) -> str:
        try:
            prompt.format(question="")
        except (KeyError, IndexError, ValueError):
            raise ValueError("the prompt may hold {question} and no other brace") from None
        return prompt
