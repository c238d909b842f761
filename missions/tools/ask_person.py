"""The tool that asks a person by a gate. The procedure creates the gate, because only it can suspend the run."""

from typing import Any

from pydantic import Field

from engine.models import Effect
from engine.tools import Tool, ToolRefused, ToolUse

from .output import SHOWN, MissionToolArgumentsBase, tool_text

ASK_PERSON = "ask_person"
CHOICES, CHOICE_LENGTH, QUESTION_LENGTH = 6, 200, 4_000
OTHER_ANSWER = "other"


class AskPersonArguments(MissionToolArgumentsBase):
    question: str = Field(min_length=1, max_length=QUESTION_LENGTH)
    choices: list[str] = Field(default=[], max_length=CHOICES, description="answers to choose from")


async def not_callable(asked: AskPersonArguments, use: ToolUse) -> str:
    raise ToolRefused("Only an agent of a mission asks a person.")


def choices_of(asked: AskPersonArguments) -> list[dict[str, str]]:
    """The choices for the gate, always with a free answer."""
    named = [(str(number), one[:CHOICE_LENGTH]) for number, one in enumerate(asked.choices, 1)]
    named += [(OTHER_ANSWER, "Something else, in these words" if named else "Answer, in these words")]
    return [{"word": word, "decision": "answer", "sentence": sentence} for word, sentence in named]


def answer_of(gate: Any) -> str:
    """The choice and the text of the answer; empty if nobody answered."""
    if not gate.last_decision or gate.last_decision.decision != "answer":
        return ""
    chosen = next((one["sentence"] for one in gate.choices if one["word"] == gate.choice != OTHER_ANSWER), "")
    return "\n".join(filter(None, (chosen, gate.words)))


def result_of(answer: str) -> str:
    return (
        tool_text(ASK_PERSON, answered=True) if answer else "nobody_answered: go on without it, or say what you need."
    )


TOOLS = (
    Tool(
        ASK_PERSON,
        "Asks a person and waits for the answer. Ask what only a person can know or decide, one thing at a time.",
        AskPersonArguments,
        Effect.WRITES,
        perform=not_callable,
        contained=True,
        shown=SHOWN,
        kept=SHOWN,
    ),
)
