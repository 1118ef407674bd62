"""Who takes part: the same links every time, and no secret where it could be read."""

from __future__ import annotations

import json
import sqlite3
import stat
from pathlib import Path

import pytest

from equiview.errors import InputError
from tests.review.reviews import opened, write


def links(folder: Path, people: int | None = None) -> dict[str, str]:
    with opened(folder, people) as review:
        return dict(review.tokens)


def test_links_are_the_same_again_and_people_are_added(tmp_path: Path) -> None:
    write(tmp_path)
    first = links(tmp_path)
    assert sorted(first) == ["adjudicator", "coordinator", "reviewer-1", "reviewer-2", "reviewer-3"]
    assert len(set(first.values())) == 5
    assert links(tmp_path) == first
    more = links(tmp_path, 5)
    assert first.items() < more.items()
    assert len(more) == 7
    assert links(tmp_path) == more


def test_secrets_are_readable_by_their_owner_alone_and_hashed_in_the_database(tmp_path: Path) -> None:
    write(tmp_path)
    tokens = links(tmp_path).values()
    for name in ("links.json", "review.sqlite"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    database = sqlite3.connect(tmp_path / "review.sqlite")
    held = "\n".join(database.iterdump())
    database.close()
    assert len(tokens) == 5
    assert all(len(token) >= 48 and token not in held for token in tokens)


def test_without_the_file_links_are_made_anew(tmp_path: Path) -> None:
    write(tmp_path)
    first = links(tmp_path)
    (tmp_path / "links.json").unlink()
    second = links(tmp_path)
    assert not set(first.values()) & set(second.values())
    with opened(tmp_path) as review:
        assert not review.people["reviewer-1"].has(first["reviewer-1"])
        assert review.people["reviewer-1"].has(second["reviewer-1"])


def test_a_token_for_one_person_made_up_by_hand_is_replaced(tmp_path: Path) -> None:
    write(tmp_path)
    first = links(tmp_path)
    (tmp_path / "links.json").write_text(json.dumps(first | {"reviewer-2": "guess"}))
    second = links(tmp_path)
    assert second["reviewer-2"] not in {"guess", first["reviewer-2"]}
    assert second["reviewer-1"] == first["reviewer-1"]


def test_names_keep_their_pseudonyms(tmp_path: Path) -> None:
    write(tmp_path, reviewers=["Ann", "Bo", "Chidi"])
    assert len(links(tmp_path)) == 5
    write(tmp_path, reviewers=["Zoe", "chidi", "Bo\u200b", "Ann"])
    with opened(tmp_path) as review:
        names = {person.name: name for name, person in review.people.items() if person.name}
    assert names == {"Ann": "reviewer-1", "Bo": "reviewer-2", "Chidi": "reviewer-3", "Zoe": "reviewer-4"}


def test_an_item_needs_as_many_people_as_there_are(tmp_path: Path) -> None:
    write(tmp_path, people_per_item=3, reviewers=2)
    with pytest.raises(InputError, match="3 people judge each item, but there are 2 reviewers; start with"):
        links(tmp_path)
    assert len(links(tmp_path, 3)) == 5


def test_a_damaged_file_of_links_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "links.json").write_text("[1]")
    with pytest.raises(InputError, match=r"links\.json: holds no links; remove it"):
        links(tmp_path)


def test_more_people_than_a_page_is_made_for_are_refused_at_once(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(InputError, match="100000000 reviewers are more than one page is made for"):
        links(tmp_path, 100_000_000)
    assert len(links(tmp_path)) == 5
    for settings in (
        {"reviewers": 100_000},
        {"reviewers": [f"p{number}" for number in range(100_000)]},
    ):
        write(tmp_path, **settings)
        with pytest.raises(InputError, match="0 reviewers are more than one page is made for; at most 1000"):
            links(tmp_path)
