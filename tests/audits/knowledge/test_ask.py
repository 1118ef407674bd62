from pathlib import Path

import polars as pl
import pytest

from equiview.audits.knowledge.ask import LETTERS, prompts_of, requests_of, shipped_prompts
from equiview.audits.knowledge.settings import KnowledgeSettings
from equiview.benchmarks import Benchmark
from equiview.benchmarks.quiz import QUESTIONS
from equiview.data.items import Items
from equiview.errors import InputError

RELEASED = {"ar", "zh", "en", "fr", "de", "el", "he", "it", "ja", "ko", "pt", "ru", "sr", "es", "th"}


def quiz(languages: tuple[str, ...] = ("en", "fr"), picture: bytes | None = b"picture") -> Benchmark:
    rows = [
        {
            "question_id": str(n),
            "image_id": f"image {n}",
            "language": language,
            "question": f"{language} question {n}?",
            "options": [f"{language} {letter}" for letter in "wxyz"],
            "truth": n % 4,
            "region": "fr" if n % 2 else None,
        }
        for n in range(3)
        for language in languages
    ]
    images = Items("image", pl.DataFrame({"id": [f"image {n}" for n in (2, 1, 0)], "picture": picture}))
    return Benchmark(
        "quiz", images, tables={"questions": pl.DataFrame(rows)}, schemas={"questions": QUESTIONS}
    )


def test_a_request_is_a_question_in_a_language() -> None:
    requests = requests_of(quiz(), KnowledgeSettings())
    assert [request.id for request in requests] == ["0:en", "0:fr", "1:en", "1:fr", "2:en", "2:fr"]
    assert [request.image for request in requests] == [2, 2, 1, 1, 0, 0]
    third = requests[3]
    assert (third.language, third.question, third.options) == (
        "fr", "fr question 1?", ("fr w", "fr x", "fr y", "fr z"),
    )  # fmt: skip
    assert third.prompt == (
        "fr question 1?\n\nA. fr w\nB. fr x\nC. fr y\nD. fr z\n\n" + shipped_prompts()["direct"]["fr"]
    )
    assert third.max_tokens == 64


def test_without_a_picture_the_question_is_asked_in_words_alone() -> None:
    assert {request.image for request in requests_of(quiz(picture=None), KnowledgeSettings())} == {None}


def test_chains_of_thought_have_room_and_end_in_json() -> None:
    for kind in ("cot-local", "cot-english"):
        request = requests_of(quiz(), KnowledgeSettings(prompt=kind))[0]
        assert request.max_tokens == 2048
        assert request.prompt.endswith('{"answer": "X"}')
    assert requests_of(quiz(), KnowledgeSettings(max_tokens=9))[0].max_tokens == 9


def test_prompts_come_in_every_language_of_the_release() -> None:
    for kind, texts in shipped_prompts().items():
        assert set(texts) >= RELEASED or kind == "paper", kind
        assert len(set(texts.values())) == len(texts)


def test_the_prompt_of_the_paper_is_in_english_in_every_language() -> None:
    asked = requests_of(quiz(("en", "fr")), KnowledgeSettings(prompt="paper"))
    assert asked[3].prompt == (
        "Question:\nfr question 1?\n\nOptions:\nA. fr w\nB. fr x\nC. fr y\nD. fr z\n\n"
        "Answer the question using a single word or phrase."
    )
    assert {request.max_tokens for request in asked} == {16}


def test_one_text_of_the_user_serves_every_other_language(tmp_path: Path) -> None:
    path = tmp_path / "prompts.toml"
    path.write_text('[direct]\n"*" = "Which?"\nfr = "Laquelle ?"\n')
    asked = requests_of(quiz(("en", "fr")), KnowledgeSettings(prompts=str(path)))
    assert [request.prompt.split()[-1] for request in asked[:2]] == ["Which?", "?"]


def test_some_languages_can_be_chosen() -> None:
    chosen = KnowledgeSettings(languages=("de", "en"))
    requests = requests_of(quiz(("en", "fr", "de")), chosen)
    assert [request.language for request in requests[:2]] == ["en", "de"]


def test_a_file_of_the_user_replaces_prompts(tmp_path: Path) -> None:
    path = tmp_path / "prompts.toml"
    path.write_text('[direct]\nfr = "Choisis parmi {options} pour {question}"\nxx = "Which?"\n')
    settings = KnowledgeSettings(prompts=str(path))
    asked = requests_of(quiz(), settings)
    assert asked[1].prompt == "Choisis parmi A. fr w\nB. fr x\nC. fr y\nD. fr z pour fr question 0?"
    assert asked[0].prompt.endswith(shipped_prompts()["direct"]["en"])
    assert prompts_of(settings)["direct"]["xx"] == "Which?"


def test_languages_may_be_named_otherwise_but_not_twice(tmp_path: Path) -> None:
    path = tmp_path / "prompts.toml"
    path.write_text('[direct]\n"fr-FR" = "{question} Parmi: {options}"\n')
    settings = KnowledgeSettings(prompts=str(path), languages=("French", "EN", "fr"))
    assert settings.languages == ("fr", "en")
    assert prompts_of(settings)["direct"]["fr"] == "{question} Parmi: {options}"
    path.write_text('[direct]\nFrench = "Lequel?"\nfr = "Quoi?"\n')
    with pytest.raises(InputError, match=r"\[direct\]: has 'fr' twice"):
        prompts_of(settings)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "direct = 3\n",
            "'direct' is no kind of prompt; expected [direct], [paper], [cot-local], [cot-english]",
        ),
        ('[indirect]\nen = "a"\n', "'indirect' is no kind of prompt"),
        ('[direct]\nen = "Only {question}"\n', "[direct] en: must hold both {question} and {options}"),
        ("[direct]\nen = 3\n", "[direct] en: expected a text"),
        ("[direct\n", "is not TOML"),
    ],
)
def test_a_wrong_file_of_prompts_is_said(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "prompts.toml"
    path.write_text(content)
    with pytest.raises(InputError) as error:
        prompts_of(KnowledgeSettings(prompts=str(path)))
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_what_cannot_be_asked_is_said() -> None:
    with pytest.raises(InputError, match="no 'direct' prompt in tlh; add one in a file"):
        requests_of(quiz(("en", "tlh")), KnowledgeSettings())
    with pytest.raises(InputError, match="is not in de; it is in en, fr"):
        requests_of(quiz(), KnowledgeSettings(languages=("de", "en")))
    with pytest.raises(InputError, match="asked in en alone"):
        requests_of(quiz(), KnowledgeSettings(languages=("en",)))
    bare = Benchmark("bare", Items("image", pl.DataFrame({"id": ["a"]})))
    with pytest.raises(InputError, match="has no table 'questions'"):
        requests_of(bare, KnowledgeSettings())


def test_there_are_letters_for_as_many_options_as_a_quiz_may_have() -> None:
    assert LETTERS[:4] == "ABCD"
    assert len(LETTERS) == 26
