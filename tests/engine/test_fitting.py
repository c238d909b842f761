"""What is left out of a request, where a model has no room for all of it."""

import json
from dataclasses import dataclass

import pytest

from engine.llm.fitting import fitted
from engine.llm.tokens import ANSWER, prompt_tokens

SMALL = 4_096


@dataclass(frozen=True)
class FittingResult:
    name: str
    text: str


@pytest.fixture(autouse=True)
def small(settings):
    settings.PROVIDERS = {"small": {"base_url": "http://127.0.0.1:9/v1", "api_key": "none", "contexts": {"x": SMALL}}}


def asked(shown, said):
    parts = {name: [getattr(one, "text", one) for one in items] for name, items in shown.items()}
    return [{"role": "user", "content": json.dumps(parts | {"said": said})}]


def shown_of(**parts):
    messages, said = fitted(asked, parts, ["small/x", ""], kept={"results": 1})
    assert prompt_tokens(messages) + ANSWER <= SMALL
    shown = json.loads(messages[0]["content"])
    assert shown.pop("said") == said
    return shown, said


def test_what_there_is_room_for_is_told_whole():
    assert shown_of(results=[FittingResult("a", "Short.")], words=["b"]) == (
        {"results": ["Short."], "words": ["b"]},
        "",
    )
    assert fitted(asked, {"results": ["long " * 9_000]}, ["small/y"]).left_out == ""


def test_the_oldest_text_of_the_least_needed_part_is_shortened_first_and_as_little_as_will_do():
    old, newer = "old " * 2_000, "newer " * 900
    shown, said = shown_of(results=[FittingResult("a", old), FittingResult("b", newer)], words=["c " * 600])
    assert (shown["results"][1], shown["words"]) == (newer, ["c " * 600])
    kept, _, mark = shown["results"][0].rpartition("\n")
    assert old.startswith(kept)
    assert 400 < len(kept) < 8_000
    assert mark == f"[Left out: {8_000 - len(kept):,} of 8,000 characters, for which the model has no room.]"
    gone = 8_000 - len(kept)
    assert said == f"This model has no room for all of it. Left out: {gone:,} characters of 1 long text."


def test_whole_items_go_where_shorter_texts_are_not_enough_and_the_newest_stays():
    shown, said = shown_of(
        results=[FittingResult("a", f"{number:3}" * 100) for number in range(90)], words=["c " * 150]
    )
    assert shown["results"] == [f"{number:3}" * 100 for number in range(90 - len(shown["results"]), 90)]
    assert said == f"This model has no room for all of it. Left out: results ({90 - len(shown['results'])} of 90)."
    assert shown["words"] == ["c " * 150]
    assert (90 - len(shown["results"])) % 4 == 0
    shown, said = shown_of(results=["a " * 150], words=["c " * 150] * 90, more_words=["d " * 150] * 3)
    assert (shown["results"], shown["more_words"], len(shown["words"]) < 40) == (["a " * 150], ["d " * 150] * 3, True)
