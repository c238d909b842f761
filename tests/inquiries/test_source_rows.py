"""Each row of what the source of inquiries asks for has a test that is there, or a reason why it has none."""

import json
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from inquiries.prompts.critics import read_review
from inquiries.prompts.moves import read_research
from inquiries.prompts.planner import read_plan
from inquiries.rules.course import begin, fold
from inquiries.rules.facts import Planned, Reviewed
from inquiries.schemas import NewInquiry
from tests.acceptance.site import ROOT
from tests.inquiries.scenes import QUESTION

ROWS = 149
FILE = Path(__file__).parent / "source_rows.txt"
SHOWN_OTHERWISE: dict[int, str] = {}


def named():
    """Rows, file and test of each line."""
    lines = [line.split(" ") for line in FILE.read_text().splitlines() if not line.startswith("#")]
    return [([*rows_in(rows)], ROOT / "tests" / file, test) for rows, file, test in lines]


def rows_in(text):
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def test_each_test_that_shows_a_row_is_there():
    there = {file: set(re.findall(r"^(?:async )?def test_(\w+)", file.read_text(), re.M)) for _, file, _ in named()}
    assert [(file.name, test) for _, file, test in named() if test not in there[file]] == []


def test_no_row_is_left_out():
    shown = {row for rows, _, _ in named() for row in rows}
    assert shown | set(SHOWN_OTHERWISE) == set(range(1, ROWS + 1))
    assert not shown & set(SHOWN_OTHERWISE)


@pytest.mark.parametrize("more", [{"questions": ["And that?"]}, {"messages": [{"content": "Another?"}]}])
def test_an_inquiry_has_one_question_of_one_text(more):
    assert NewInquiry.model_validate({"question": QUESTION}).question == QUESTION
    for wrong in ({"question": QUESTION, **more}, {"question": [QUESTION]}, {}):
        with pytest.raises(ValidationError):
            NewInquiry.model_validate(wrong)


def test_the_question_stays_in_the_state_whatever_happens():
    facts = [Planned(("Research it.",), ("Say it.",)), Reviewed(approve=False, feedback="Another.")]
    assert begin(QUESTION).question == QUESTION
    assert {fold(QUESTION, 5, facts[:number]).question for number in range(3)} == {QUESTION}


def test_what_planner_and_critics_answer_is_read_strictly():
    assert read_plan(json.dumps({"research_steps": [], "expert_steps": ["Say what it is."]})).steps.research == ()
    for steps in ({"research_steps": []}, {"research_steps": ["Short."], "expert_steps": ["Say what it is."]},
                  {"research_steps": ["Find the limit."] * 2, "expert_steps": ["Say what it is."]},
                  {"research_steps": [], "expert_steps": []}):  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            read_plan(json.dumps(steps))
    for said in ({"decision": "maybe", "feedback": "It is so."}, {"decision": "reject", "feedback": "No."}, {}):
        with pytest.raises(ValueError, match=r"."):
            read_review(json.dumps(said))
    with pytest.raises(ValueError, match="empty"):
        read_research(json.dumps({"done": {"found": False, "result": " "}}), {})
