"""An honest answer is the model's own, although words of it stand in its instructions; a part of its form is none."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from debates import prompts as debating
from debates.rules.state import TurnReason, TurnState
from engine.llm.own_words import not_own
from engine.tools import own_tools
from inquiries.prompts import critics, moves
from judgements import prompts as judging
from missions.prompts import steps
from plans.prompts import agent
from tests.debates.golden import debate
from toolbox.agent_step import AgentAct, AgentStep

HONEST = (
    "Yes.|No.|15|0|3.|200|Today.|Free.|Empty.|Nothing.|Done.|Nein.|はい。|なし。|Ada|Hire her.|It passes.|Not stated."
)
HONEST += (
    "|No free slot was found.|1000 km/h|true|Search.|Read it.|15.|Paris|There are none.|Not found.|No answer.|So it is."
)
HONEST += "|Too dear.|Missing information.|That was done.|In the outbox.|Two of three.|Nothing is missing.|Yes, by Ada."
OWN = {
    "judgement": "My criteria cannot be judged from the content.|The criteria cannot be judged from the content: no.",
    "review": "The quotes carry the claims.|It is the answer to this very question.|It belongs to what the step asks."
    "|The steps, if all of them succeed, answer the whole question.|There are enough of them, and none too many.",
    "research": "There are none.",
    "its hand-in": "There are none.|I have no more uses of tools.",
    "answer": "There are none.|The results do not carry an answer.",
    "move": "The step is done.|It cannot be done.|I keep the calendar.",
    "step": "The goal is reached.|This is the last step.|This is the last step, so I finish.|I look at the file.",
    "message": "I have a verdict and nothing to add.|That others agree is not a reason.",
}
NOT_OWN = {
    "judgement": "two to five sentences: name the parts of your criteria and of the content that decide it"
    "|name the parts|five sentences|exactly one",
    "review": "name the parts of the work that speak for it, or what has to change in it|parts of the work|one of the",
    "research": "a text of a few sentences that says what was found|one sentence|a text of",
    "its hand-in": "a text of one sentence that everybody may read|words that stand",
    "answer": "a text that says how the answer follows|how the answer|one statement",
    "move": "the reply, the question, or why it cannot be done|the reply|its first key",
    "step": "say what is true now and what you did not do|two sentences|one of your",
    "message": "what you say, 20 to 150 words|what you say|as before",
}
LEFT = {"moves": 3, "tokens": 9}


class ShortAnswerCase(NamedTuple):
    name: str
    told: str
    said: Callable[[str], Sequence[str]] = lambda text: [text]

    def takes(self, text: str) -> bool:
        return not not_own(self.said(text), self.told)


def asked() -> Iterator[ShortAnswerCase]:
    tools = {name: (name, tool.description, tool.schema) for name, tool in own_tools().items()}
    usable = [moves.ResearchTool(*one) for one in tools.values()]
    research = moves.ResearchWork("", "", [], {}, [], [], [], [], [], [], LEFT)
    expertise = moves.ExpertWork("", "", [], [], [], [], [], [], [], [], LEFT)
    shown = [agent.OfferedTool(*one) for one in tools.values()]
    work = agent.StepWork("Ada", "I keep the calendar.", "Else say: No free slot was found.", "", "", shown, left=3)
    now: Any = ("", "", [], True, [steps.AgentPromptTool(*one) for one in tools.values()], "", [], [], "", {}, True)
    step, turn = steps.AgentWork("Ada", *now), TurnState(999, 2, TurnReason.DRAW)
    yield ShortAnswerCase("judgement", judging.instructions(judging.messages(judging.PromptCase("A", "", "", 1))))
    for critic in critics.ASKED:
        yield ShortAnswerCase(
            "review", critics.instructions(critics.critic_messages(critic, critics.WorkToReview("", "", {})))
        )
    yield ShortAnswerCase("research", moves.instructions(moves.researcher_messages(research, usable)))
    yield ShortAnswerCase(
        "its hand-in",
        moves.instructions(moves.researcher_messages(research, [], how=moves.QuestionScope(hand_in=True))),
    )
    yield ShortAnswerCase("answer", moves.instructions(moves.expert_messages(expertise, [])))
    reply = lambda text: agent.own_texts(AgentStep(AgentAct.REPLY, text=text))  # noqa: E731
    yield ShortAnswerCase("move", agent.instructions(work, agent.step_messages(work)), reply)
    finish = lambda text: steps.own_texts(steps.StepAnswer("I have looked.", "finish", {"result": text}))  # noqa: E731
    yield ShortAnswerCase("step", steps.instructions(step, steps.step_messages(step)), finish)
    message = lambda text: debating.answers.own_texts(debating.DebateAnswer(text))  # noqa: E731
    yield ShortAnswerCase(
        "message", debating.answers.instructions(debating.member_messages(debate(5, 1), turn)), message
    )


def test_no_honest_answer_is_taken_for_the_instructions_and_no_part_of_the_form_for_an_answer():
    wrong = [
        (one.name, text) for one in asked() for text in f"{HONEST}|{OWN[one.name]}".split("|") if not one.takes(text)
    ]
    assert wrong == []
    assert [(one.name, text) for one in asked() for text in NOT_OWN[one.name].split("|") if one.takes(text)] == []


def test_a_critic_that_only_asks_what_it_was_asked_has_said_nothing():
    for question in critics.ASKED.values():
        for feedback in (question, question.partition("? ")[2]):
            with pytest.raises(ValueError, match="repeats what you were asked"):
                critics.read_review(json.dumps({"feedback": feedback, "decision": "approve"}))
