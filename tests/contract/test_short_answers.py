"""An honest short answer is the model's own, although a word or two of it stand in its instructions."""

from typing import Any

from engine.llm.own_words import instructions_of, not_own
from engine.tools import own_tools
from inquiries.prompts import moves
from missions.prompts import steps
from plans.prompts import agent

HONEST = "Yes.|No.|15|0|3.|200|Today.|Free.|Empty.|There are none.|It cannot be done.|The step is done.|Nothing.|Done."
HONEST += (
    "|Nein.|はい。|なし。|Ada|Hire her.|It passes.|No free slot was found.|Not stated.|1000 km/h|true|Search.|Read it."
)
LEFT = {"moves": 3, "tokens": 9}


def requests() -> dict[str, list[dict[str, str]]]:
    tools = {name: (name, tool.description, tool.schema) for name, tool in own_tools().items()}
    usable = [moves.Usable(*one) for one in tools.values()]
    research = moves.Research("", "", [], {}, [], [], [], [], [], [], LEFT)
    expertise = moves.Expertise("", "", [], [], [], [], [], [], [], [], LEFT)
    work = agent.Work("Ada", "", "", "", "", [agent.Usable(*one) for one in tools.values()], left=3)
    now: Any = ("", "", [], True, [steps.Offered(*one) for one in tools.values()], "", [], [], "", {})
    return {
        "research": moves.research(research, usable),
        "its hand-in": moves.research(research, [], hand_in=True),
        "answer": moves.answer(expertise, usable),
        "move": agent.move(work),
        "step": steps.step(steps.Work("Ada", *now)),
    }


def test_no_honest_short_answer_is_taken_for_the_instructions():
    told = {name: instructions_of(request) for name, request in requests().items()}
    wrong = [(name, text) for name, one in told.items() for text in HONEST.split("|") if not_own([text], one)]
    assert wrong == []


def test_what_an_agent_says_to_people_has_to_be_its_own_too():
    told = instructions_of(requests()["step"])
    for tool, name in (("finish", "result"), ("ask_person", "question"), ("send_message", "message")):
        for text, own in (("Say what is true now and what you did not do.", False), ("The sum is right now.", True)):
            said = steps.own_texts(steps.Stepped("I have looked.", tool, {name: text}))
            assert bool(not_own(said, told)) is not own
