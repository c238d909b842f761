"""The rehearsed researcher finds nothing where it does not know what to look for, and never quotes a tool."""

import json

import pytest

from engine.llm.prompt_blocks import fence, random_boundary
from inquiries import rehearsal

SOURCE = "[1] MAGI, from character 0:\nMAGI, the Multi-agent Gating Interface, decides."
NOTHING = "No passage has any of these words."


def worked(question, result):
    given = {"question": question, "moves": [{"result": result}]}
    return json.loads(rehearsal.rehearse_researcher([{}, {"content": fence(given, random_boundary())}]))["done"]


@pytest.mark.parametrize(("question", "result"), [("Who is the CEO?", SOURCE), ("what is this", NOTHING)])
def test_of_a_question_of_short_words_nothing_is_found(question, result):
    done = worked(question, result)
    assert (done["found"], done["claims"]) == (False, [])


def test_what_the_tool_says_itself_is_not_quoted():
    assert worked("Which passage has words?", NOTHING)["claims"] == []
    assert worked("What is the gating interface?", SOURCE)["claims"][0]["quotes"][0]["source"] == 1
