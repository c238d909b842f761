import pytest

from judgements.forms import JudgementSubmission
from tests.conftest import JAPAN, agents


def problems(title="Japan", content=JAPAN, **changes):
    """What is to be corrected after some values have been changed, as in `a2_name=""`."""
    trio = agents()
    for place, value in changes.items():
        trio[int(place[1]) - 1][place[3:]] = value
    submission = JudgementSubmission.of({"title": title, "content": content}, trio)
    valid = submission.is_valid()
    assert valid == (not submission.problems)
    return {problem.field_id: problem.message for problem in submission.problems}


def test_a_title_is_optional():
    assert problems(title="") == {}


def test_nothing_to_decide_is_refused_and_why():
    said = {content: problems(content=content)["content"] for content in ("", "   ", "\n\n", "\u200b", ":", "?", "…!")}
    empty = [content for content, why in said.items() if why == "Write what is to be decided. It is empty."]
    wordless = [content for content, why in said.items() if why == "Write what is to be decided. It has no words."]
    assert (empty, wordless) == (["", "   ", "\n\n"], ["\u200b", ":", "?", "…!"])


def test_one_character_too_many_is_refused_with_the_number():
    assert problems(content="x" * 20_000) == {}
    assert problems(content="x" * 20_312) == {"content": "This is 312 characters too long."}


@pytest.mark.parametrize(("char", "name"), [("\x00", "U+0000"), ("\ud800", "U+D800"), ("\x1b", "U+001B")])
def test_a_character_that_no_database_keeps_is_refused_with_its_place(char, name):
    assert problems(content=f"ab{char}c") == {"content": f"Character {name} at position 3 cannot be kept."}


@pytest.mark.parametrize(
    "content", ["👍", "\u202eabc", "a\U000e0061b", "e\u0301", "a\u2028b", "{{ 7|add:7 }} <svg onload=x>"]
)
def test_all_other_text_is_kept_exactly(content):
    submission = JudgementSubmission.of({"content": content}, agents())
    assert submission.is_valid()
    assert submission.values()["content"] == content


def test_leading_and_trailing_lines_of_the_content_are_kept():
    submission = JudgementSubmission.of({"content": "\n  Go.  \n"}, agents())
    assert submission.is_valid()
    assert submission.values()["content"] == "\n  Go.  \n"


def test_each_missing_part_of_an_agent_is_named_at_its_field():
    assert problems(a1_name="", a2_model="", a3_criteria=" ") == {
        "a1-name": "Give agent 1 a name.",
        "a2-model": "Choose a model for agent 2.",
        "a3-criteria": "Write the criteria of agent 3. An agent cannot decide without them.",
    }


@pytest.mark.parametrize(
    "name",
    [
        "Melchior",
        "melchior",
        "ＭＥＬＣＨＩＯＲ",
        " Melchior ",
        "Mel\u200bchior",
        "Melchi\u00ador",
        "Melchior\ufe0f",
        "Melchior\ue000",
    ],
)
def test_two_agents_of_one_name_are_refused(name):
    assert problems(a2_name=name) == {"a2-name": "Give agent 2 another name. Agent 1 already has this one."}


@pytest.mark.parametrize("name", ["\u200b", "\u00ad\u200d", "\ufeff \u2060", "\u3164"])
def test_a_name_that_nobody_can_see_is_none(name):
    assert problems(a2_name=name) == {"a2-name": "Give agent 2 a name."}


def test_a_problem_names_its_field():
    submission = JudgementSubmission.of({"content": ""}, [agents()[0], agents()[1] | {"criteria": ""}, agents()[2]])
    assert not submission.is_valid()
    assert [problem.label for problem in submission.problems] == ["Content", "Agent 2, criteria"]


def test_a_model_of_no_provider_is_refused_and_the_rehearsal_is_not_taken_instead():
    assert "No model provider is configured" in problems(a1_model="gpt-5-mini")["a1-model"]


@pytest.mark.usefixtures("provider")
@pytest.mark.parametrize("model", ["openai/gpt-5-mini", "gpt-5-mini", "meta-llama/llama-3.1-8b", "rehearsal/magi"])
def test_any_model_name_goes_to_the_only_provider(model):
    assert problems(a1_model=model) == {}
