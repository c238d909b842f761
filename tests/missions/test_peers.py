"""What others get for the small goals: `python -m tests.missions.peers` has all of them reached."""

import asyncio

from tests.missions.goals import GOALS
from tests.missions.peer_commands import COMMANDS, WITHOUT
from tests.missions.peer_endpoint import PeerScript
from tests.missions.peer_play import percentile

ASKED = {"messages": [{"content": "You are Tester, one of a crew"}]}
NOTHING = {"content": "nothing"}


def test_each_goal_has_commands_or_a_reason_why_not():
    assert {*COMMANDS, *WITHOUT} == {goal.name for goal in GOALS}
    assert not COMMANDS.keys() & WITHOUT.keys()


def test_what_a_step_takes_lies_between_an_answer_and_the_next_question():
    script = PeerScript({"Tester": [("ls", {"content": "one"})]}, NOTHING)
    assert asyncio.run(script.answer(ASKED)) == ("ls", {"content": "one"})
    script.sent("ls")
    assert asyncio.run(script.answer(ASKED)) == ("", NOTHING)
    assert "gap" not in script.calls[0]
    assert script.calls[1]["after"] == "ls"
    assert script.calls[1]["gap"] < 1


def test_a_percentile_is_one_of_the_values():
    assert [percentile(range(1, 21), of) for of in (50, 95, 100)] == [10, 19, 20]
    assert percentile([], 95) == 0
